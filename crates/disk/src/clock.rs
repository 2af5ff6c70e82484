//! When each op started and returned, on the clock of the disk log.
//!
//! A crash at position `p` finds the ops with `end <= p` returned and those with `start <= p < end` under way. Several
//! ops may be under way at once, when a file system serves more than one task.

use crate::{OpIndex, Position};

/// The times of the ops of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpClock {
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: Position,
    /// `None` while the op runs.
    end: Option<Position>,
}

impl OpClock {
    /// An op starts now; ops are numbered in the order of their starts.
    ///
    /// # Panics
    /// It is op 2^32.
    pub fn start(&mut self, now: Position) -> OpIndex {
        self.spans.push(Span { start: now, end: None });
        OpIndex(u32::try_from(self.spans.len() - 1).expect("a workload of fewer than 2^32 ops"))
    }

    /// The op returns now.
    ///
    /// # Panics
    /// No such op was started.
    pub fn end(&mut self, op: OpIndex, now: Position) {
        self.spans[op.0 as usize].end = Some(now);
    }

    /// The ops that a crash at this position finds returned.
    pub fn ops_returned_at(&self, position: Position) -> impl Iterator<Item = OpIndex> {
        self.ops(move |span| span.end.is_some_and(|end| end <= position))
    }

    /// The ops that a crash at this position finds under way.
    pub fn ops_under_way_at(&self, position: Position) -> impl Iterator<Item = OpIndex> {
        self.ops(move |span| span.start <= position && span.end.is_none_or(|end| position < end))
    }

    fn ops(&self, keep: impl Fn(&Span) -> bool) -> impl Iterator<Item = OpIndex> {
        (0..).zip(&self.spans).filter(move |(_, span)| keep(span)).map(|(index, _)| OpIndex(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_under_way_from_its_start_until_just_before_its_end() {
        let mut clock = OpClock::default();
        let writes_two = clock.start(Position(0));
        clock.end(writes_two, Position(2));
        let writes_nothing = clock.start(Position(2));
        clock.end(writes_nothing, Position(2));
        let first_of_two_tasks = clock.start(Position(2));
        let second_of_two_tasks = clock.start(Position(3));
        clock.end(second_of_two_tasks, Position(4));

        let at = |position| {
            let returned: Vec<u32> = clock.ops_returned_at(Position(position)).map(|op| op.0).collect();
            let under_way: Vec<u32> = clock.ops_under_way_at(Position(position)).map(|op| op.0).collect();
            (returned, under_way)
        };
        assert_eq!(at(0), (vec![], vec![0]));
        assert_eq!(at(1), (vec![], vec![0]));
        assert_eq!(at(2), (vec![0, 1], vec![2]));
        assert_eq!(at(3), (vec![0, 1], vec![2, 3]));
        assert_eq!(at(4), (vec![0, 1, 3], vec![2]));
        assert_eq!(first_of_two_tasks, OpIndex(2));
    }
}
