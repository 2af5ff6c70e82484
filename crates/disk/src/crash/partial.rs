//! A disk that keeps the order of writes but may be interrupted in the middle of the last one.
//!
//! These states lie between `prefix` and `torn`: everything before the last write is on the medium, and of the last
//! write some blocks are. They make shorter stories than arbitrary reordering, so whoever looks for the easiest
//! explanation tries them first.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{CrashState, Limits, Taken, TakenEntry};
use crate::{Block, DiskLog, EntryIndex, Position};

/// Which blocks of a write may be there when it was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// The first so many.
    LeftToRight,
    /// Any.
    AnyBlocks,
}

/// The crash states in which the request that ends at `position`, if it is a write of several blocks that is pending,
/// got onto the medium in part, after everything before it; and whether they are a sample. No two have equal images,
/// and none has that of the whole write or of none of it.
///
/// # Panics
/// The position is not one of [`DiskLog::positions`].
pub fn interrupted(log: &DiskLog, position: Position, how: Interrupted, limits: Limits) -> (Vec<CrashState>, bool) {
    let cut = log.cut(position);
    let Some((last, before)) = cut.pending_entries().split_last() else { return (Vec::new(), false) };
    if last.index.0 + 1 != position.0 {
        return (Vec::new(), false);
    }
    let earlier: Vec<EntryIndex> = before.iter().map(|pending| pending.index).collect();
    let blocks: Vec<Block> = last.blocks().collect();
    let (parts, sampled) = match how {
        Interrupted::LeftToRight => ((1..blocks.len()).map(|count| blocks[..count].to_vec()).collect(), false),
        Interrupted::AnyBlocks => parts(&blocks, limits),
    };
    let image = |taken: &Taken| cut.image_with(taken).expect("taken from what is pending");
    let none = Taken::whole(earlier.iter().copied());
    let whole = Taken::whole(earlier.iter().copied().chain([last.index]));
    let mut seen = vec![image(&none).hash(), image(&whole).hash()];
    let mut states = Vec::new();
    for blocks in parts {
        let mut taken = none.clone();
        taken.0.push(TakenEntry { entry: last.index, blocks: Some(blocks) });
        let image = image(&taken);
        if !seen.contains(&image.hash()) {
            seen.push(image.hash());
            states.push(CrashState { position, image, taken });
        }
    }
    (states, sampled)
}

/// The non-empty parts of a set of blocks, or a sample of them; and whether it is one.
fn parts(blocks: &[Block], limits: Limits) -> (Vec<Vec<Block>>, bool) {
    let chosen = |bits: u64| -> Vec<Block> {
        blocks.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, block)| *block).collect()
    };
    let all = 1u64.checked_shl(u32::try_from(blocks.len()).unwrap_or(u32::MAX)).filter(|all| *all > 0);
    if let Some(all) = all.filter(|all| *all <= limits.states_max as u64) {
        return ((1..all - 1).map(chosen).collect(), false);
    }
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let mut sample = || blocks.iter().copied().filter(|_| random.next_u32() & 1 == 1).collect();
    ((0..limits.states_max).map(|_| sample()).collect(), true)
}
