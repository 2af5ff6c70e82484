//! Crash states by their definition, without any of the crate's own machinery.
//!
//! After a prefix of the log every entry is durable or pending. A crash image is found by going through the log in
//! order and applying, block by block, what is durable and what was chosen of the pending.

use std::collections::{BTreeSet, VecDeque};

use disk::{Block, CrashMode, DiskLog, Entry, EntryKind, Image, Position};

/// The bytes of a whole disk.
pub type Bytes = Vec<u8>;

/// The bytes of an image, block by block.
pub fn bytes_of(image: &Image) -> Bytes {
    (0..image.geometry().blocks).flat_map(|block| image.block(Block(block)).to_vec()).collect()
}

/// What an entry puts into a block; `None` if it does not touch it.
fn version(entry: &Entry, block: usize, size: usize) -> Option<Bytes> {
    match &entry.kind {
        EntryKind::Write { block: first, data } | EntryKind::Fua { block: first, data } => {
            let start = block.checked_sub(first.0 as usize)? * size;
            data.get(start..start + size).map(<[u8]>::to_vec)
        }
        EntryKind::Discard { block: first, count } => {
            let first = first.0 as usize;
            (first..first + *count as usize).contains(&block).then(|| vec![0; size])
        }
        EntryKind::Flush => None,
    }
}

struct History {
    base: Bytes,
    entries: Vec<Entry>,
    durable: Vec<bool>,
    blocks: usize,
    size: usize,
}

impl History {
    fn new(log: &DiskLog, position: Position) -> Self {
        let geometry = log.base().geometry();
        let entries: Vec<Entry> = log.entries().take(position.0).map(|(_, entry)| entry.clone()).collect();
        let (blocks, size) = (geometry.blocks as usize, geometry.block_size.bytes());
        let mut history =
            Self { base: bytes_of(log.base()), durable: vec![false; entries.len()], entries, blocks, size };
        history.find_durable(log.cache());
        history
    }

    fn find_durable(&mut self, cache: Option<usize>) {
        let mut in_cache: VecDeque<usize> = VecDeque::new();
        for now in 0..self.entries.len() {
            match self.entries[now].kind {
                EntryKind::Flush => in_cache.drain(..).for_each(|entry| self.durable[entry] = true),
                EntryKind::Fua { .. } => {
                    self.durable[now] = true;
                    in_cache.retain(|entry| !self.is_covered_by_fua(*entry, now));
                }
                EntryKind::Write { .. } | EntryKind::Discard { .. } => in_cache.push_back(now),
            }
            while in_cache.len() > cache.unwrap_or(usize::MAX) {
                self.durable[in_cache.pop_front().unwrap()] = true;
            }
        }
    }

    fn is_covered_by_fua(&self, entry: usize, now: usize) -> bool {
        let touches = |entry: usize, block| version(&self.entries[entry], block, self.size).is_some();
        let is_fua = |entry: usize| matches!(self.entries[entry].kind, EntryKind::Fua { .. });
        (0..self.blocks)
            .filter(|block| touches(entry, *block))
            .all(|block| (entry..=now).any(|later| is_fua(later) && touches(later, block)))
    }

    fn pending(&self) -> Vec<usize> {
        let changes = |entry: &usize| !matches!(self.entries[*entry].kind, EntryKind::Flush);
        (0..self.entries.len()).filter(|entry| !self.durable[*entry]).filter(changes).collect()
    }

    fn image(&self, taken: impl Fn(usize) -> bool) -> Bytes {
        let mut image = self.base.clone();
        for entry in (0..self.entries.len()).filter(|entry| self.durable[*entry] || taken(*entry)) {
            for (block, content) in image.chunks_mut(self.size).enumerate() {
                if let Some(new) = version(&self.entries[entry], block, self.size) {
                    content.copy_from_slice(&new);
                }
            }
        }
        image
    }

    /// Old content or any pending version that no durable one has replaced since.
    fn contents_possible(&self, block: usize) -> BTreeSet<Bytes> {
        let mut contents = BTreeSet::from([self.base[block * self.size..][..self.size].to_vec()]);
        for (entry, durable) in self.entries.iter().zip(&self.durable) {
            if let Some(content) = version(entry, block, self.size) {
                if *durable {
                    contents.clear();
                }
                contents.insert(content);
            }
        }
        contents
    }
}

/// All crash images of a log of few entries.
pub fn crash_images(log: &DiskLog, position: Position, mode: CrashMode) -> BTreeSet<Bytes> {
    let history = History::new(log, position);
    let pending = history.pending();
    match mode {
        CrashMode::Off => BTreeSet::new(),
        CrashMode::Flushed => BTreeSet::from([history.image(|_| false)]),
        CrashMode::Prefix => (0..=history.entries.len()).map(|end| history.image(|entry| entry < end)).collect(),
        CrashMode::Subsets => (0..1_u32 << pending.len())
            .map(|subset| {
                history.image(|entry| {
                    pending.iter().position(|other| *other == entry).is_some_and(|at| subset & 1 << at != 0)
                })
            })
            .collect(),
        CrashMode::Torn => {
            let mut images = BTreeSet::from([Bytes::new()]);
            for block in 0..history.blocks {
                let contents = history.contents_possible(block);
                let longer =
                    images.iter().flat_map(|image| contents.iter().map(move |more| [&image[..], more].concat()));
                images = longer.collect();
            }
            images
        }
    }
}
