//! Where the power is cut, said so that it means the same in a shorter trace.
//!
//! A request that was pending is named by its op, and by its place among the requests of that op, counted back from the
//! cut. Its number in the disk log would change with every op that is removed before it, and its distance from the
//! cut with every op in between; counting from the beginning of the op would need requests that the log has forgotten.

use std::ops::Range;

use disk::{Block, DiskLog, EntryIndex, OpIndex, Position, Taken, TakenEntry};
use serde::{Deserialize, Serialize};

/// A power cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrashPoint {
    /// How many disk requests the move had completed.
    pub entries: usize,
    /// Which pending requests reached the medium, oldest first.
    pub taken: Vec<TakenRequest>,
}

/// A pending request that reached the medium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenRequest {
    /// The op that made it, by its place in the trace; `None` if it was no op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<usize>,
    /// Which of the requests of that op, counted back from the power cut: 1 is the last.
    pub back: usize,
    /// Which of its blocks, if the write was torn; otherwise all that were pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Block>>,
}

impl CrashPoint {
    /// The cut at a position of a log, during a move that began at `start`.
    pub(crate) fn new(log: &DiskLog, start: Position, cut: Position, taken: &Taken) -> Self {
        let name = |TakenEntry { entry, blocks }: &TakenEntry| {
            let op = log.entry(*entry).and_then(|entry| entry.op);
            let later = requests(log, cut, op).take_while(|request| request > entry).count();
            TakenRequest { op: op.map(|op| op.0 as usize), back: later + 1, blocks: blocks.clone() }
        };
        Self { entries: cut.0 - start.0, taken: taken.0.iter().map(name).collect() }
    }

    /// The entries of a log that were taken, if it has them.
    pub(crate) fn taken_in(&self, log: &DiskLog, start: Position) -> Option<Taken> {
        let cut = Position(start.0.checked_add(self.entries)?);
        let find = |TakenRequest { op, back, blocks }: &TakenRequest| {
            let op = op.map(|op| u32::try_from(op).map(OpIndex)).transpose().ok()?;
            let entry = requests(log, cut, op).nth(back.checked_sub(1)?)?;
            Some(TakenEntry { entry, blocks: blocks.clone() })
        };
        self.taken.iter().map(find).collect::<Option<_>>().map(Taken)
    }

    /// The cut in a trace from which some ops were removed.
    pub(crate) fn forget_ops(&mut self, gone: &Range<usize>) {
        self.taken.retain(|request| request.op.is_none_or(|op| !gone.contains(&op)));
        for op in self.taken.iter_mut().filter_map(|request| request.op.as_mut()) {
            *op -= if *op >= gone.end { gone.len() } else { 0 };
        }
    }
}

/// The requests of an op before a cut, the last one first.
fn requests(log: &DiskLog, cut: Position, op: Option<OpIndex>) -> impl Iterator<Item = EntryIndex> {
    let before = log.entries().rev().skip_while(move |(index, _)| index.0 >= cut.0);
    before.filter(move |(_, entry)| entry.op == op).map(|(index, _)| index)
}
