//! The bytes of an image: a persistent radix tree of shared chunks.
//!
//! A write copies one chunk and the few branches above it; everything else stays shared with the images that
//! were cloned from the same ancestor. What was never written is absent and reads as zeros. An image of at most one
//! chunk is that chunk alone: tiny models pay for one small allocation a write.

use std::sync::Arc;

/// The bytes of a chunk on a disk of large blocks: one block, so that no block lies in two chunks.
const CHUNK_BYTES_MAX: usize = 4096;
/// The bytes of a chunk on a disk of small blocks. A write copies a chunk whatever its own size is, but to copy one
/// branch more costs more than to copy twice as many bytes: a branch is references, to be counted one by one.
const CHUNK_BYTES_MIN: usize = 1024;
/// The children of a branch. A write copies a branch a level; 8 keeps those copies far below the chunk's own.
const FAN_OUT: usize = 1 << FAN_OUT_BITS;
const FAN_OUT_BITS: u32 = 3;

static ZEROS: [u8; CHUNK_BYTES_MAX] = [0; CHUNK_BYTES_MAX];

/// The bytes of an image.
#[derive(Clone)]
pub(crate) enum Chunks {
    Small(Arc<[u8]>),
    Large { root: Slot, height: u32, chunk_bytes: usize },
}

/// A subtree. Those at height 0 are chunks, those above are branches; either may be absent.
#[derive(Clone, Default)]
pub(crate) enum Slot {
    #[default]
    Zeros,
    Chunk(Arc<[u8]>),
    Branch(Arc<[Slot; FAN_OUT]>),
}

impl Chunks {
    /// `bytes` zeros, which will be written in blocks of this size.
    pub(crate) fn zeroed(bytes: usize, block_bytes: usize) -> Self {
        let chunk_bytes = block_bytes.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        if bytes <= chunk_bytes {
            return Self::Small(ZEROS[..bytes].into());
        }
        let chunks = bytes.div_ceil(chunk_bytes);
        let mut height = 1;
        while FAN_OUT.pow(height) < chunks {
            height += 1;
        }
        Self::Large { root: Slot::Zeros, height, chunk_bytes }
    }

    /// The `len` bytes at `offset`, which must lie in one chunk.
    pub(crate) fn get(&self, offset: usize, len: usize) -> &[u8] {
        match self {
            Self::Small(bytes) => &bytes[offset..offset + len],
            Self::Large { root, height, chunk_bytes } => {
                let within = offset % chunk_bytes;
                &root.chunk(offset / chunk_bytes, *height)[within..within + len]
            }
        }
    }

    /// Calls `visit` with all bytes in pieces of whole blocks, without those that were never written.
    pub(crate) fn each_written(&self, visit: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Small(bytes) => visit(bytes),
            Self::Large { root, .. } => root.each_chunk(visit),
        }
    }

    /// Replaces the bytes at `offset`; they must lie in one chunk.
    pub(crate) fn put(&mut self, offset: usize, data: &[u8]) {
        match self {
            Self::Small(bytes) => Arc::make_mut(bytes)[offset..offset + data.len()].copy_from_slice(data),
            Self::Large { root, height, chunk_bytes } => {
                let slot = root.chunk_slot(offset / *chunk_bytes, *height);
                slot.put(offset % *chunk_bytes, data, *chunk_bytes);
            }
        }
    }

    /// Appends the chunks that are there, with the offset of each.
    pub(crate) fn present<'a>(&'a self, parts: &mut Vec<(u64, &'a [u8])>) {
        match self {
            Self::Small(bytes) => parts.push((0, bytes)),
            Self::Large { root, height, chunk_bytes } => {
                root.present(0, *height, &mut |index, bytes| parts.push(((index * chunk_bytes) as u64, bytes)));
            }
        }
    }

    /// Whether both hold the same bytes. Shared parts cost nothing.
    pub(crate) fn same_bytes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Large { root: a, .. }, Self::Large { root: b, .. }) => a.same_bytes(b),
            _ => false,
        }
    }
}

impl Slot {
    /// A chunk's bytes; what is absent is as many zeros as there can be.
    fn chunk(&self, index: usize, mut height: u32) -> &[u8] {
        let mut slot = self;
        loop {
            match slot {
                Self::Zeros => return &ZEROS,
                Self::Chunk(bytes) => return bytes,
                Self::Branch(children) => slot = &children[child_at(index, height)],
            }
            height -= 1;
        }
    }

    /// Calls `visit` with every chunk that is there, in order.
    fn each_chunk(&self, visit: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Zeros => {}
            Self::Chunk(bytes) => visit(bytes),
            Self::Branch(children) => children.iter().for_each(|child| child.each_chunk(visit)),
        }
    }

    /// Calls `found` with each chunk that is there; `first` is the index of the first below this slot.
    fn present<'a>(&'a self, first: usize, height: u32, found: &mut impl FnMut(usize, &'a [u8])) {
        match self {
            Self::Zeros => {}
            Self::Chunk(bytes) => found(first, bytes),
            Self::Branch(children) => {
                for (place, child) in children.iter().enumerate() {
                    child.present(first + place * FAN_OUT.pow(height - 1), height - 1, found);
                }
            }
        }
    }

    /// The slot of a chunk, with private branches above it.
    fn chunk_slot(&mut self, index: usize, height: u32) -> &mut Self {
        if height == 0 {
            return self;
        }
        if !matches!(self, Self::Branch(_)) {
            *self = Self::Branch(Arc::default());
        }
        let Self::Branch(children) = self else { unreachable!("it was just made a branch") };
        Arc::make_mut(children)[child_at(index, height)].chunk_slot(index, height - 1)
    }

    fn put(&mut self, within: usize, data: &[u8], chunk_bytes: usize) {
        // A whole chunk needs no copy of what it replaces.
        if data.len() == chunk_bytes {
            *self = if is_zero(data) { Self::Zeros } else { Self::Chunk(data.into()) };
            return;
        }
        if !matches!(self, Self::Chunk(_)) {
            *self = Self::Chunk(zeros(chunk_bytes).into());
        }
        let Self::Chunk(bytes) = self else { unreachable!("it was just made a chunk") };
        Arc::make_mut(bytes)[within..within + data.len()].copy_from_slice(data);
    }

    fn same_bytes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Chunk(a), Self::Chunk(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Branch(a), Self::Branch(b)) => {
                Arc::ptr_eq(a, b) || a.iter().zip(b.iter()).all(|(a, b)| a.same_bytes(b))
            }
            _ => self.is_zero() && other.is_zero(),
        }
    }

    fn is_zero(&self) -> bool {
        match self {
            Self::Zeros => true,
            Self::Chunk(bytes) => is_zero(bytes),
            Self::Branch(children) => children.iter().all(Self::is_zero),
        }
    }
}

/// Which child of a branch at `height` leads to a chunk.
fn child_at(index: usize, height: u32) -> usize {
    index >> (FAN_OUT_BITS * (height - 1)) & (FAN_OUT - 1)
}

/// `len` zeros, at most a chunk.
pub(crate) fn zeros(len: usize) -> &'static [u8] {
    &ZEROS[..len]
}

/// Whether all bytes are zero. `bytes` is at most a chunk.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes == zeros(bytes.len())
}
