//! The disk log: what a file system asked of its disk, in order, each request tagged with the op that issued it.
//!
//! The log starts from an image, its base. What is durable and what is pending after a prefix of the log is not
//! stored but derived by [`Cut`], the one place that knows those rules. Entries are shared between clones, so
//! that a log travels with every state of a search.

use std::{ops::RangeInclusive, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    Block, Cut, Geometry, Image, IoError,
    chunks::zeros,
    entries::{Done, Entries, OldestFirst},
};

/// Which op of a workload, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpIndex(pub u32);

/// A moment: so many entries have been done since the log was begun. Settling does not change the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub usize);

/// Which entry: entry `n` leads from `Position(n)` to `Position(n + 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryIndex(pub usize);

/// What the disk was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// Replace blocks; pending until a flush covers it.
    Write {
        /// The first block.
        block: Block,
        /// Whole blocks.
        data: Arc<[u8]>,
    },
    /// Replace blocks and return when they are durable ("force unit access"). Earlier writes stay pending, but what
    /// they wrote to the same blocks can no longer be found.
    Fua {
        /// The first block.
        block: Block,
        /// Whole blocks.
        data: Arc<[u8]>,
    },
    /// Make everything durable that came before.
    Flush,
    /// Give up blocks: they read as zeros. Pending like a write: after a crash each may have its old content.
    Discard {
        /// The first block.
        block: Block,
        /// How many.
        count: u32,
    },
}

/// One request, completed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What the disk was asked.
    pub kind: EntryKind,
    /// The op during which it was issued; `None` for background work.
    pub op: Option<OpIndex>,
}

impl Entry {
    /// The blocks that it changes: the first and how many. A flush changes none.
    ///
    /// # Panics
    /// No disk has so many.
    pub fn extent(&self, geometry: Geometry) -> (Block, u32) {
        match &self.kind {
            EntryKind::Write { block, data } | EntryKind::Fua { block, data } => {
                let count = data.len() / geometry.block_size.bytes();
                (*block, u32::try_from(count).expect("fewer than 2^32 blocks"))
            }
            EntryKind::Discard { block, count } => (*block, *count),
            EntryKind::Flush => (Block(0), 0),
        }
    }

    /// What it puts into `block`, one of those that it changes.
    pub(crate) fn content(&self, geometry: Geometry, block: Block) -> &[u8] {
        let size = geometry.block_size.bytes();
        match &self.kind {
            EntryKind::Write { block: first, data } | EntryKind::Fua { block: first, data } => {
                &data[(block.0 - first.0) as usize * size..][..size]
            }
            EntryKind::Discard { .. } | EntryKind::Flush => zeros(size),
        }
    }

    /// Does to `image` what a reader sees at once.
    ///
    /// # Panics
    /// The entry does not fit the image's disk.
    pub fn apply(&self, image: &mut Image) {
        let geometry = image.geometry();
        let (first, count) = self.extent(geometry);
        for block in (first.0..first.0 + count).map(Block) {
            image.set_block(block, self.content(geometry, block));
        }
    }

    fn check(&self, geometry: Geometry) -> Result<(), IoError> {
        match &self.kind {
            EntryKind::Write { block, data } | EntryKind::Fua { block, data } => {
                geometry.blocks_of(*block, data.len()).map(drop)
            }
            EntryKind::Discard { block, count } => geometry.check_range(*block, *count),
            EntryKind::Flush => Ok(()),
        }
    }
}

/// The ordered requests since an image.
#[derive(Clone, Debug)]
pub struct DiskLog {
    base: Image,
    entries: Entries,
    /// The position of the base.
    start: usize,
    /// The first position that may still be asked about.
    settled: usize,
    cache: Option<usize>,
}

impl DiskLog {
    /// An empty log that starts from `base`. `cache` is how many pending entries the volatile cache holds: one
    /// more pushes the oldest out to the medium, where it is durable. `None`: as many as there are.
    pub fn new(base: Image, cache: Option<usize>) -> Self {
        Self { base, entries: Entries::default(), start: 0, settled: 0, cache }
    }

    /// The image before the first entry that is still kept.
    pub fn base(&self) -> &Image {
        &self.base
    }

    /// How many pending entries the volatile cache holds.
    pub fn cache(&self) -> Option<usize> {
        self.cache
    }

    /// The entries that are still kept, each with its index.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (EntryIndex, &Entry)> {
        let entries = self.entries.oldest_first(self.entries.len());
        entries.into_iter().enumerate().map(|(at, done)| (EntryIndex(self.start + at), &done.entry))
    }

    /// The entries after a position.
    pub(crate) fn entries_from(&self, position: Position) -> OldestFirst<'_> {
        let done = self.done(position);
        self.entries.oldest_first(self.entries.len()).into_iter().skip(done).collect()
    }

    /// The entry with this index, if it exists and was not settled.
    pub fn entry(&self, index: EntryIndex) -> Option<&Entry> {
        self.entries.get(index.0.checked_sub(self.start)?).map(|done| &done.entry)
    }

    /// The position after the last entry.
    pub fn position(&self) -> Position {
        Position(self.start + self.entries.len())
    }

    /// The positions that can be asked about.
    pub fn positions(&self) -> RangeInclusive<Position> {
        Position(self.settled)..=self.position()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The entry does not fit the disk; the log is as before.
    pub fn push(&mut self, entry: Entry) -> Result<(), IoError> {
        entry.check(self.base.geometry())?;
        let mut visible = self.visible().clone();
        entry.apply(&mut visible);
        self.entries.push(Done { entry, visible });
        Ok(())
    }

    /// What a reader sees after the last entry.
    pub fn visible(&self) -> &Image {
        self.entries.newest().map_or(&self.base, |done| &done.visible)
    }

    /// What a reader saw at this position: every entry so far.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn image_at(&self, position: Position) -> Image {
        self.image_after(self.done(position)).clone()
    }

    /// What is on the medium for certain at this position.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn durable_at(&self, position: Position) -> Image {
        self.cut(position).into_durable()
    }

    /// The durable image and the pending entries at this position.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn cut(&self, position: Position) -> Cut<'_> {
        let done = self.done(position);
        let mut cut = Cut::new(self.base.clone(), Position(self.start), self.cache);
        self.entries.oldest_first(done).into_iter().for_each(|done| cut.push(done));
        cut
    }

    /// The entries that are pending after the last one, oldest first.
    pub fn pending(&self) -> Vec<(EntryIndex, &Entry)> {
        self.cut(self.position()).pending().collect()
    }

    /// Forgets every entry after `position`.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn rollback(&mut self, position: Position) {
        self.entries.truncate(self.done(position));
    }

    /// Puts another run of the same requests in the place of those that led here, see
    /// [`Disk::retell`](crate::Disk::retell).
    pub(crate) fn retell(&mut self, from: &Image, run: &[EntryKind]) -> Result<(), IoError> {
        let ops: Vec<Option<OpIndex>> = self.entries().map(|(_, entry)| entry.op).collect();
        let kept = ops.len().saturating_sub(run.len());
        let folded = run.len().saturating_sub(ops.len());
        if kept == 0 {
            let mut base = from.clone();
            run[..folded].iter().for_each(|kind| Entry { kind: kind.clone(), op: None }.apply(&mut base));
            self.base = base;
        }
        self.entries.truncate(kept);
        for (kind, op) in run[folded..].iter().zip(&ops[kept..]) {
            self.push(Entry { kind: kind.clone(), op: *op })?;
        }
        Ok(())
    }

    /// Declares that no position before `position` will be asked about again, and folds the oldest entries into the
    /// base, up to the first that is pending at `position`. A caller that settles after every op keeps the log as
    /// short as what its file system leaves pending. Positions and entry indices keep their meaning.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn settle(&mut self, position: Position) {
        let folded = self.first_pending(position) - self.start;
        if folded > 0 {
            self.base = self.image_after(folded).clone();
            self.entries = self.entries.without_oldest(folded);
            self.start += folded;
        }
        self.settled = position.0;
    }

    /// The index of the first entry that is pending at a position, or the position itself if none is.
    fn first_pending(&self, position: Position) -> usize {
        let done = self.entries.oldest_first(self.done(position));
        let is_fua = |done: &&Done| matches!(done.entry.kind, EntryKind::Fua { .. });
        if self.cache.is_some() || done.iter().any(is_fua) {
            return self.cut(position).pending().next().map_or(position.0, |(index, _)| index.0);
        }
        let last_flush = done.iter().rposition(|done| done.entry.kind == EntryKind::Flush);
        self.start + last_flush.map_or(0, |flush| flush + 1)
    }

    /// The base after so many of the kept entries.
    fn image_after(&self, count: usize) -> &Image {
        let last = count.checked_sub(1).and_then(|last| self.entries.get(last));
        last.map_or(&self.base, |done| &done.visible)
    }

    /// How many of the kept entries were done at a position.
    fn done(&self, position: Position) -> usize {
        let known = self.positions();
        assert!(known.contains(&position), "{position:?} is not in {known:?}");
        position.0 - self.start
    }
}
