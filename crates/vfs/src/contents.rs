//! The bytes of a file, in one of two forms that read the same.
//!
//! *Flat*: all bytes in one piece, shared by `Arc`. Checks work on small files, which are compared, hashed and diffed
//! as a whole; this is the form in which they come.
//!
//! *Sparse*: the blocks that were written, each shared by itself, so that a hole takes no memory and a change after a
//! clone copies a block and not the file. This is what the files of a mounted reference are. Seen as a slice it is made
//! flat at first use, and kept so until it changes.
//!
//! A file keeps its form. Only a sparse one tells holes from zeros.

mod sparse;

use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::{Deref, Range},
    sync::Arc,
};

pub use sparse::BLOCK_SIZE;
use sparse::Sparse;

use crate::Fallocate;

/// The bytes of a file. See the [module](self).
#[derive(Clone)]
pub struct Contents(Form);

#[derive(Clone)]
enum Form {
    Flat(Arc<[u8]>),
    Sparse(Arc<Sparse>),
}

impl Contents {
    /// An empty file in the sparse form.
    pub fn sparse() -> Self {
        Self(Form::Sparse(Arc::default()))
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        match &self.0 {
            Form::Flat(bytes) => bytes.len() as u64,
            Form::Sparse(sparse) => sparse.size(),
        }
    }

    /// The size as an index, without making a slice.
    ///
    /// # Panics
    /// For a size beyond what a slice could have.
    pub fn len(&self) -> usize {
        usize::try_from(self.size()).expect("sizes are limited to what memory holds")
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// How many blocks are held for it.
    pub fn blocks(&self) -> u64 {
        match &self.0 {
            Form::Flat(bytes) => (bytes.len() as u64).div_ceil(BLOCK_SIZE),
            Form::Sparse(sparse) => sparse.blocks(),
        }
    }

    /// How many blocks a write to this range would add.
    pub fn blocks_missing(&self, range: Range<u64>) -> u64 {
        match &self.0 {
            Form::Flat(_) => range.end.div_ceil(BLOCK_SIZE).saturating_sub(self.blocks()),
            Form::Sparse(sparse) => sparse.blocks_missing(range),
        }
    }

    /// Puts the bytes from `offset` on behind `bytes`, as many as there are up to `len`.
    pub fn read(&self, offset: u64, len: u64, bytes: &mut Vec<u8>) {
        let end = offset.saturating_add(len).min(self.size());
        match &self.0 {
            _ if offset >= end => {}
            Form::Flat(flat) => bytes.extend_from_slice(&flat[index(offset..end)]),
            Form::Sparse(sparse) => sparse.read(offset..end, bytes),
        }
    }

    /// The first offset from here on at which there is data; none if only a hole is left.
    pub fn next_data(&self, offset: u64) -> Option<u64> {
        match &self.0 {
            Form::Flat(_) => (offset < self.size()).then_some(offset),
            Form::Sparse(sparse) => sparse.next_data(offset),
        }
    }

    /// The first offset from here on at which there is none; the end of the file counts.
    pub fn next_hole(&self, offset: u64) -> u64 {
        match &self.0 {
            Form::Flat(_) => self.size(),
            Form::Sparse(sparse) => sparse.next_hole(offset),
        }
    }

    /// Stores bytes, extending the file with zeros where needed.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        if end > self.size() {
            self.resize(end);
        }
        match &mut self.0 {
            Form::Flat(flat) => Arc::make_mut(flat)[index(offset..end)].copy_from_slice(bytes),
            Form::Sparse(sparse) => Arc::make_mut(sparse).write(offset, bytes),
        }
    }

    /// Sets a range of bytes, extending the file with zeros where needed.
    pub fn fill(&mut self, range: Range<u64>, fill: u8) {
        if range.end > self.size() {
            self.resize(range.end);
        }
        match &mut self.0 {
            Form::Flat(flat) => Arc::make_mut(flat)[index(range)].fill(fill),
            Form::Sparse(sparse) => Arc::make_mut(sparse).fill(range, fill),
        }
    }

    /// Cuts the file off, or extends it by a hole.
    pub fn resize(&mut self, size: u64) {
        if size == self.size() {
            return;
        }
        match &mut self.0 {
            Form::Flat(flat) => edit(flat, |bytes| bytes.resize(index(0..size).end, 0)),
            Form::Sparse(sparse) => Arc::make_mut(sparse).resize(size),
        }
    }

    /// What `fallocate` does to a range that it has accepted.
    pub fn allocate(&mut self, how: Fallocate, range: Range<u64>) {
        let size = self.size();
        let extends = matches!(how, Fallocate::Allocate | Fallocate::ZeroRange) && range.end > size;
        if extends {
            self.resize(range.end);
        }
        let within = range.start..range.end.min(self.size());
        match (how, &mut self.0) {
            (Fallocate::CollapseRange, _) => self.collapse(range),
            (Fallocate::InsertRange, _) => self.insert(range),
            (Fallocate::Allocate | Fallocate::KeepSize, Form::Flat(_)) => {}
            (Fallocate::Allocate | Fallocate::KeepSize, Form::Sparse(sparse)) => Arc::make_mut(sparse).hold(range),
            (_, Form::Flat(_)) if within.is_empty() => {}
            (_, Form::Flat(flat)) => Arc::make_mut(flat)[index(within)].fill(0),
            (Fallocate::PunchHole, Form::Sparse(sparse)) => Arc::make_mut(sparse).punch(range),
            (Fallocate::ZeroRange | Fallocate::ZeroRangeKeepSize, Form::Sparse(sparse)) => {
                let sparse = Arc::make_mut(sparse);
                sparse.punch(range.clone());
                sparse.hold(range);
            }
        }
    }

    fn collapse(&mut self, range: Range<u64>) {
        match &mut self.0 {
            Form::Flat(flat) => edit(flat, |bytes| drop(bytes.drain(index(range)))),
            Form::Sparse(sparse) => *sparse = Arc::new(sparse.collapsed(range)),
        }
    }

    fn insert(&mut self, range: Range<u64>) {
        match &mut self.0 {
            Form::Flat(flat) => edit(flat, |bytes| {
                let (range, size) = (index(range), bytes.len());
                bytes.resize(size + range.len(), 0);
                bytes[range.start..].rotate_right(range.len());
                bytes[range].fill(0);
            }),
            Form::Sparse(sparse) => *sparse = Arc::new(sparse.inserted(range)),
        }
    }

    /// Whether the two are one and the same memory, which says at once that they are equal.
    pub fn shared_with(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Flat(left), Form::Flat(right)) => Arc::ptr_eq(left, right),
            (Form::Sparse(left), Form::Sparse(right)) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }
}

/// Changes flat contents by an arbitrary edit, at the cost of copying them.
fn edit(flat: &mut Arc<[u8]>, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut edited = flat.to_vec();
    edit(&mut edited);
    *flat = Arc::from(edited);
}

/// A range of a file as indices. What is flat fits into memory, so its offsets do.
fn index(range: Range<u64>) -> Range<usize> {
    let index = |number| usize::try_from(number).expect("sizes are limited to what memory holds");
    index(range.start)..index(range.end)
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Form::Flat(bytes) => bytes,
            Form::Sparse(sparse) => sparse.flat(),
        }
    }
}

impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        self.shared_with(other) || self[..] == other[..]
    }
}

impl Eq for Contents {}

impl Hash for Contents {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<B: Into<Arc<[u8]>>> From<B> for Contents {
    fn from(bytes: B) -> Self {
        Self(Form::Flat(bytes.into()))
    }
}

impl FromIterator<u8> for Contents {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        Self(Form::Flat(bytes.into_iter().collect()))
    }
}
