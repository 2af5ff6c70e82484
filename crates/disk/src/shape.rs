//! The shape of a run: what was asked of the disk where, without the bytes.
//!
//! Two runs of the same ops on a kernel with clocks of its own never write the same bytes, because times and random
//! numbers are among them. They have the same shape if between any two flushes they ask for the same blocks: in which
//! order several threads of the kernel issue what no flush separates is nobody's promise. A flush that has nothing to
//! flush does not count.

use crate::{Block, EntryKind};

/// What was asked, without the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// See [`EntryKind::Write`].
    Write {
        /// The first block.
        block: Block,
        /// How much.
        bytes: usize,
    },
    /// See [`EntryKind::Fua`].
    Fua {
        /// The first block.
        block: Block,
        /// How much.
        bytes: usize,
    },
    /// See [`EntryKind::Flush`].
    Flush,
    /// See [`EntryKind::Discard`].
    Discard {
        /// The first block.
        block: Block,
        /// How many.
        count: u32,
    },
}

impl Asked {
    /// The shape of a request.
    pub fn of(kind: &EntryKind) -> Self {
        match kind {
            EntryKind::Write { block, data } => Self::Write { block: *block, bytes: data.len() },
            EntryKind::Fua { block, data } => Self::Fua { block: *block, bytes: data.len() },
            EntryKind::Flush => Self::Flush,
            EntryKind::Discard { block, count } => Self::Discard { block: *block, count: *count },
        }
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Write { block, bytes } => write!(f, "write of {bytes} bytes at block {block}"),
            Self::Fua { block, bytes } => write!(f, "FUA write of {bytes} bytes at block {block}"),
            Self::Flush => f.write_str("flush"),
            Self::Discard { block, count } => write!(f, "discard of {count} blocks at block {block}"),
        }
    }
}

/// A run in the order of another one of the same shape.
///
/// # Errors
/// The shapes differ: in words, where first.
pub fn in_order_of(first: &[Asked], run: Vec<EntryKind>) -> Result<Vec<EntryKind>, String> {
    let mut rest: Vec<Option<EntryKind>> = without_idle_flushes(run).into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(first.len());
    let mut begin = 0;
    for (number, (asked, is_idle)) in first.iter().zip(idle_flushes(first)).enumerate() {
        if is_idle {
            ordered.push(EntryKind::Flush);
            continue;
        }
        let is_the_one = |kind: &Option<EntryKind>| kind.as_ref().is_some_and(|kind| Asked::of(kind) == *asked);
        let epoch_ends = rest[begin..].iter().position(|kind| *kind == Some(EntryKind::Flush));
        let epoch_ends = epoch_ends.map_or(rest.len(), |at| begin + at + 1);
        let found = rest[begin..epoch_ends].iter().position(is_the_one).map(|at| begin + at);
        let is_early =
            *asked == Asked::Flush && rest[begin..epoch_ends].iter().filter(|kind| kind.is_some()).count() > 1;
        let Some(found) = found.filter(|_| !is_early) else {
            let other = rest[begin..].iter().flatten().next();
            let other = other.map_or_else(|| "nothing".to_owned(), |kind| format!("a {}", Asked::of(kind)));
            return Err(format!("request {} was a {asked}, and then {other}", number + 1));
        };
        ordered.extend(rest[found].take());
        if *asked == Asked::Flush {
            begin = epoch_ends;
        }
    }
    match rest.iter().flatten().next() {
        Some(more) => Err(format!("after {} requests there was an end, and then a {}", first.len(), Asked::of(more))),
        None => Ok(ordered),
    }
}

/// Which requests are flushes that have nothing to make durable. They change nothing, and anybody may cause them:
/// whoever calls sync(2) flushes all disks of the machine.
fn idle_flushes(run: &[Asked]) -> Vec<bool> {
    let mut all_is_durable = true;
    let is_idle = |asked: &Asked| {
        let is_flush = *asked == Asked::Flush;
        std::mem::replace(&mut all_is_durable, is_flush) && is_flush
    };
    run.iter().map(is_idle).collect()
}

fn without_idle_flushes(run: Vec<EntryKind>) -> Vec<EntryKind> {
    let asked: Vec<Asked> = run.iter().map(Asked::of).collect();
    run.into_iter().zip(idle_flushes(&asked)).filter(|(_, is_idle)| !is_idle).map(|(kind, _)| kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(block: u32, fill: u8) -> EntryKind {
        EntryKind::Write { block: Block(block), data: vec![fill; 512].into() }
    }

    fn shape(run: &[EntryKind]) -> Vec<Asked> {
        run.iter().map(Asked::of).collect()
    }

    #[test]
    fn order_matters_only_between_flushes() {
        let first = shape(&[write(1, 0), write(2, 0), EntryKind::Flush, write(3, 0), write(1, 0)]);
        let again = vec![write(2, 1), write(1, 2), EntryKind::Flush, write(1, 3), write(3, 4)];
        let expected = vec![write(1, 2), write(2, 1), EntryKind::Flush, write(3, 4), write(1, 3)];
        assert_eq!(in_order_of(&first, again).unwrap(), expected);
        let across = vec![write(2, 1), EntryKind::Flush, write(1, 2), write(1, 3), write(3, 4)];
        assert!(in_order_of(&first, across).unwrap_err().contains("request 1 was a write of 512 bytes at block 1"));
    }

    #[test]
    fn flushes_that_have_nothing_to_do_do_not_count() {
        let run = [EntryKind::Flush, write(1, 0), EntryKind::Flush, EntryKind::Flush, write(2, 0)];
        let plain = [write(1, 0), EntryKind::Flush, write(2, 0)];
        assert_eq!(in_order_of(&shape(&run), plain.to_vec()).unwrap(), run);
        assert_eq!(in_order_of(&shape(&plain), run.to_vec()).unwrap(), plain);
        let busy = [write(1, 0), EntryKind::Flush, write(2, 0), EntryKind::Flush];
        assert!(in_order_of(&shape(&busy), plain.to_vec()).unwrap_err().contains("request 4 was a flush"));
        assert!(in_order_of(&shape(&plain), busy.to_vec()).unwrap_err().contains("then a flush"));
    }

    #[test]
    fn more_and_less_and_other_requests_are_noticed() {
        let run = [write(1, 0), EntryKind::Flush, write(2, 0)];
        let first = shape(&run);
        assert!(in_order_of(&first, run.to_vec()).is_ok());
        assert!(in_order_of(&first, run[..2].to_vec()).unwrap_err().contains("then nothing"));
        assert!(in_order_of(&first[..2], run.to_vec()).unwrap_err().contains("there was an end"));
        let more = vec![write(1, 0), write(5, 0), EntryKind::Flush, write(2, 0)];
        assert!(in_order_of(&first, more).unwrap_err().contains("request 2 was a flush"));
        let longer = EntryKind::Write { block: Block(1), data: vec![0; 1024].into() };
        assert!(in_order_of(&first, vec![longer, EntryKind::Flush, write(2, 0)]).is_err());
    }
}
