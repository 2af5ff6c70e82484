//! The disk at the moment of a power cut: what is durable and what is pending. The rules of durability live here.
//!
//! - A write or discard is pending until it becomes durable, then it is part of the durable image.
//! - A flush makes everything pending durable.
//! - A FUA write is durable at once. Where it lies over pending blocks, their older versions can no longer be found,
//!   so those blocks are no longer pending; the rest of such a write is.
//! - A cache of `n` entries pushes the oldest out to the medium when one more comes. An entry counts until it is
//!   durable or a FUA write has covered all its blocks; with `n` = 0 every write is durable at once.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    Block, CrashMode, Entry, EntryIndex, EntryKind, Geometry, Image, Position, Taken, TakenEntry, entries::Done,
    image::content_hash,
};

/// The durable image and the pending entries at one position of a log.
#[derive(Clone, Debug)]
pub struct Cut<'log> {
    position: Position,
    durable: Image,
    pending: Vec<Pending<'log>>,
    /// Whether a FUA write became durable before something older that is pending still. Otherwise what is durable with
    /// the first so many pending entries is what a reader saw after the last of them.
    overtaken: bool,
    cache: Option<usize>,
}

/// A pending entry.
#[derive(Clone, Debug)]
pub(crate) struct Pending<'log> {
    pub(crate) index: EntryIndex,
    pub(crate) entry: &'log Entry,
    /// What a reader saw after it.
    visible: &'log Image,
    /// The blocks that are pending still, as ascending ranges.
    live: SmallVec<[Range<u32>; 1]>,
}

/// A crash state that the log does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("take entry {} at position {}: it, or a block of it, is not pending there", entry.0, position.0)]
pub struct NotPending {
    /// The entry that was to be taken.
    pub entry: EntryIndex,
    /// Where.
    pub position: Position,
}

impl Pending<'_> {
    /// The blocks that are pending still.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.live.iter().cloned().flatten().map(Block)
    }

    /// Applies it to the blocks that are pending still.
    pub(crate) fn apply(&self, image: &mut Image) {
        let geometry = image.geometry();
        for block in self.blocks() {
            image.set_block(block, self.entry.content(geometry, block));
        }
    }

    fn contains(&self, block: Block) -> bool {
        self.live.iter().any(|run| run.contains(&block.0))
    }

    fn cover(&mut self, covered: &Range<u32>) {
        if self.live.iter().any(|run| run.start < covered.end && covered.start < run.end) {
            let parts = self
                .live
                .iter()
                .flat_map(|run| [run.start..run.end.min(covered.start), run.start.max(covered.end)..run.end]);
            self.live = parts.filter(|part| !part.is_empty()).collect();
        }
    }
}

fn range_of(entry: &Entry, geometry: Geometry) -> Range<u32> {
    let (first, count) = entry.extent(geometry);
    first.0..first.0 + count
}

impl<'log> Cut<'log> {
    /// The moment before the first entry of a log.
    pub(crate) fn new(base: Image, position: Position, cache: Option<usize>) -> Self {
        Self { position, durable: base, pending: Vec::new(), overtaken: false, cache }
    }

    /// Goes on by one entry, the one that the log has at this position.
    pub(crate) fn push(&mut self, Done { entry, visible }: &'log Done) {
        let index = EntryIndex(self.position.0);
        self.position.0 += 1;
        match &entry.kind {
            EntryKind::Flush => self.pending.clear(),
            EntryKind::Fua { .. } => {
                let covered = range_of(entry, self.durable.geometry());
                self.pending.retain_mut(|pending| {
                    pending.cover(&covered);
                    !pending.live.is_empty()
                });
                if !self.pending.is_empty() {
                    entry.apply(&mut self.durable);
                    self.overtaken = true;
                }
            }
            EntryKind::Write { .. } | EntryKind::Discard { .. } => {
                let live = smallvec![range_of(entry, self.durable.geometry())];
                self.pending.push(Pending { index, entry, visible, live });
                while self.cache.is_some_and(|cache| self.pending.len() > cache) {
                    let durable = self.prefix_images(1..2).next();
                    self.durable = durable.expect("one is pending");
                    self.pending.remove(0);
                }
            }
        }
        if self.pending.is_empty() {
            // What a reader sees is all there is.
            self.durable = visible.clone();
            self.overtaken = false;
        }
    }

    /// What is durable with the first `n` pending entries, for each `n` in `counts`.
    pub(crate) fn prefix_images(&self, counts: Range<usize>) -> impl Iterator<Item = Image> {
        let mut image = self.durable.clone();
        if self.overtaken {
            self.pending[..counts.start.saturating_sub(1)].iter().for_each(|pending| pending.apply(&mut image));
        }
        counts.map(move |count| {
            match count.checked_sub(1).map(|last| &self.pending[last]) {
                Some(last) if self.overtaken => last.apply(&mut image),
                Some(last) => image = last.visible.clone(),
                None => {}
            }
            image.clone()
        })
    }

    /// The position in the log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// What is on the medium for certain.
    pub fn durable(&self) -> &Image {
        &self.durable
    }

    /// What is on the medium for certain.
    pub fn into_durable(self) -> Image {
        self.durable
    }

    /// The pending entries, oldest first. Of an entry that a later FUA write covers in part, only the rest is pending.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = (EntryIndex, &'log Entry)> {
        self.pending.iter().map(|pending| (pending.index, pending.entry))
    }

    /// The image of the crash state that took these pending entries.
    ///
    /// # Errors
    /// An entry, or a block of it, is not pending.
    pub fn image_with(&self, taken: &Taken) -> Result<Image, NotPending> {
        let mut image = self.durable.clone();
        let geometry = image.geometry();
        let mut in_order: Vec<&TakenEntry> = taken.0.iter().collect();
        in_order.sort_by_key(|taken| taken.entry);
        for TakenEntry { entry, blocks } in in_order {
            let refusal = NotPending { entry: *entry, position: self.position };
            let found = self.pending.binary_search_by_key(entry, |pending| pending.index);
            let pending = &self.pending[found.map_err(|_| refusal.clone())?];
            match blocks {
                None => pending.apply(&mut image),
                Some(blocks) if blocks.iter().all(|block| pending.contains(*block)) => {
                    for block in blocks {
                        image.set_block(*block, pending.entry.content(geometry, *block));
                    }
                }
                Some(_) => return Err(refusal),
            }
        }
        Ok(image)
    }

    /// A hash of everything that decides which crash states of this mode can follow, given what a reader sees (which
    /// is for the caller to hash too: [`Image::hash`]). It leaves out positions and op tags.
    ///
    /// What is pending is left out in mode `flushed` on an unlimited cache: there the next durable image is the
    /// present one or what a reader sees.
    pub fn fingerprint(&self, mode: CrashMode) -> u128 {
        if mode == CrashMode::Off {
            return 0;
        }
        let mut bytes: SmallVec<[u8; 256]> = SmallVec::from_slice(&self.durable.hash().to_le_bytes());
        if mode != CrashMode::Flushed || self.cache.is_some() {
            for pending in &self.pending {
                bytes.extend_from_slice(&pending.live.len().to_le_bytes());
                for run in &pending.live {
                    bytes.extend_from_slice(&run.start.to_le_bytes());
                    bytes.extend_from_slice(&run.end.to_le_bytes());
                }
                if let EntryKind::Write { block, data } = &pending.entry.kind {
                    bytes.extend_from_slice(&block.0.to_le_bytes());
                    bytes.extend_from_slice(&content_hash(data).to_le_bytes());
                }
            }
        }
        xxh3_128(&bytes)
    }

    pub(crate) fn pending_entries(&self) -> &[Pending<'log>] {
        &self.pending
    }
}
