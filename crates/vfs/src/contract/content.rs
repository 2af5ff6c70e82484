//! Which sizes and bytes a file may have.
//!
//! Each byte may have any value of its history since its floor, and a moment at which the file did not reach that far
//! counts as a zero: size and bytes need not come from the same op. The size may be any of its history since its floor,
//! or lie between those before and after a write, since write-back extends a file piece by piece.

use std::ops::Range;

use super::{breach::Clause, chain::Chain, history::Zeros, pins::Floors};
use crate::{Contents, NodeId};

/// The clause that the content of a file breaks, if any, and for a byte its offset.
pub(super) fn broken(chain: &Chain, floors: &Floors, node: NodeId, found: &[u8]) -> Option<(Clause, usize)> {
    if chain.changed_unseen(node) || chain.contents(node, floors.content(node)).any(|(_, bytes)| **bytes == *found) {
        return None;
    }
    if !size_allowed(chain, floors, node, found.len()) {
        return Some((Clause::PinnedSize, found.len()));
    }
    let since = |moment, offset| moment >= floors.byte(node, offset as u64);
    let floor = floors.byte_lowest(node);
    let offset = unexplained(chain, node, floor, found, since)?;
    Some((Clause::PinnedContent, offset))
}

/// The first byte that no moment explains, among those from `floor` on that `counts` admits for its offset.
fn unexplained(
    chain: &Chain,
    node: NodeId,
    floor: usize,
    found: &[u8],
    counts: impl Fn(usize, usize) -> bool,
) -> Option<usize> {
    let beyond_end = (chain.zeros == Zeros::Allowed).then_some(0);
    let mut left: Vec<usize> = (0..found.len()).collect();
    for (moment, bytes) in chain.contents(node, floor) {
        left.retain(|&offset| {
            bytes.get(offset).copied().or(beyond_end) != Some(found[offset]) || !counts(moment, offset)
        });
        if left.is_empty() {
            return None;
        }
    }
    left.first().copied()
}

/// The first byte that is neither zero (where that is allowed) nor was ever written to the file at that offset.
pub(super) fn foreign(chain: &Chain, node: NodeId, found: &[u8]) -> Option<usize> {
    if chain.changed_unseen(node) {
        return None;
    }
    let offset = unexplained(chain, node, 0, found, |_, _| true)?;
    match chain.zeros {
        Zeros::Forbidden => Some(offset),
        Zeros::Allowed => {
            let held = |at: usize| chain.contents(node, 0).any(|(_, bytes)| bytes.get(at) == Some(&found[at]));
            (offset..found.len()).find(|&at| found[at] != 0 && !held(at))
        }
    }
}

fn size_allowed(chain: &Chain, floors: &Floors, node: NodeId, size: usize) -> bool {
    let floor = floors.size(node);
    // A pinned range reaches as far as it did, unless the size comes from a later moment.
    let reaches = |moment: usize| {
        floors.ranges(node).iter().all(|(range, at)| moment >= *at || size as u64 >= reach(chain, node, range, *at))
    };
    chain.contents(node, floor).any(|(moment, bytes)| bytes.len() == size && reaches(moment))
        || (floor + 1..=chain.end()).any(|moment| partly_extended(chain, node, moment, size) && reaches(moment - 1))
}

/// How far into a file a range reached when it was pinned.
fn reach(chain: &Chain, node: NodeId, range: &Range<u64>, at: usize) -> u64 {
    chain.content(node, at).map_or(0, |bytes| bytes.len() as u64).min(range.end)
}

/// The pin that forbids a size which is too small for a range, or else the pin of the size as a whole.
pub(super) fn floor_of_size(chain: &Chain, floors: &Floors, node: NodeId, size: usize) -> usize {
    let too_long = floors.ranges(node).iter().filter(|(range, at)| reach(chain, node, range, *at) > size as u64);
    too_long.map(|(_, at)| *at).max().unwrap_or(0).max(floors.size(node))
}

/// Whether the op that made this moment is a write that had the file pass through this size.
pub(super) fn partly_extended(chain: &Chain, node: NodeId, moment: usize, size: usize) -> bool {
    let size_at = |moment| chain.content(node, moment).map_or(0, Contents::len);
    chain.written(moment) == Some(node) && size_at(moment - 1) < size && size < size_at(moment)
}
