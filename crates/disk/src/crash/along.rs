//! Crash states along a log: what each entry makes possible that was not possible before it.
//!
//! A caller that visits every position judges each state of the log once for each entry that can bring it about. Going
//! on by one entry costs what that entry costs, however much is pending.

use smallvec::SmallVec;

use super::{CrashMode, CrashStates, Hashes, Limits};
use crate::{
    Cut, DiskLog, EntryKind, Position,
    entries::{Done, OldestFirst},
};

/// A place in a log that moves on entry by entry.
pub struct CrashesAlong<'log> {
    cut: Cut<'log>,
    entries: <OldestFirst<'log> as IntoIterator>::IntoIter,
    mode: CrashMode,
    limits: Limits,
    /// In mode `prefix`.
    prefixes: Option<Prefixes>,
}

/// The hashes of the images that take the first so many pending entries, fewest entries first.
type Prefixes = SmallVec<[u128; 16]>;

fn prefixes(cut: &Cut<'_>) -> Prefixes {
    cut.prefix_images(0..cut.pending().len() + 1).map(|image| image.hash()).collect()
}

impl<'log> CrashesAlong<'log> {
    /// Starts at a position of a log.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn new(log: &'log DiskLog, from: Position, mode: CrashMode, limits: Limits) -> Self {
        let cut = log.cut(from);
        let prefixes = (mode == CrashMode::Prefix).then(|| prefixes(&cut));
        Self { cut, entries: log.entries_from(from).into_iter(), mode, limits, prefixes }
    }

    /// Goes on by one entry: the crash states that it makes possible. `None` at the end of the log.
    #[expect(clippy::should_implement_trait, reason = "an iterator of iterators reads worse than it says")]
    pub fn next(&mut self) -> Option<CrashStates<'log>> {
        let done = self.entries.next()?;
        Some(match (&mut self.prefixes, self.mode) {
            (_, CrashMode::Off) => {
                self.cut.push(done);
                self.cut.no_states()
            }
            (Some(prefixes), _) => push_in_order(&mut self.cut, prefixes, done),
            (None, CrashMode::Flushed | CrashMode::Prefix) => {
                let before = self.cut.durable().hash();
                self.cut.push(done);
                if self.cut.durable().hash() == before { self.cut.no_states() } else { self.cut.durable_state() }
            }
            // A flush only makes certain what was possible before.
            (None, CrashMode::Subsets | CrashMode::Torn) if done.entry.kind == EntryKind::Flush => {
                self.cut.push(done);
                self.cut.no_states()
            }
            (None, mode @ (CrashMode::Subsets | CrashMode::Torn)) => {
                let before = self.cut.clone();
                self.cut.push(done);
                self.cut.combined_states(Some(&before), mode, self.limits)
            }
        })
    }
}

/// On a disk that keeps the order, a write makes possible the image that takes everything, and no other.
fn push_in_order<'log>(cut: &mut Cut<'log>, hashes: &mut Prefixes, done: &'log Done) -> CrashStates<'log> {
    cut.push(done);
    match &done.entry.kind {
        EntryKind::Flush => {
            hashes.drain(..hashes.len() - 1);
            cut.no_states()
        }
        EntryKind::Write { .. } | EntryKind::Discard { .. } => {
            let hash = done.visible.hash();
            let is_new = !hashes.contains(&hash);
            hashes.push(hash);
            // What a full cache gives up can no longer be lost.
            hashes.drain(..hashes.len() - 1 - cut.pending().len());
            if is_new { cut.visible_state(done.visible.clone()) } else { cut.no_states() }
        }
        EntryKind::Fua { .. } => {
            let old: Hashes = hashes.iter().copied().collect();
            *hashes = prefixes(cut);
            cut.prefix_states(0..cut.pending().len() + 1, old)
        }
    }
}
