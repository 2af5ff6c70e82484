//! The content of a disk: cheap to clone, to compare and to hash.
//!
//! The hash is the sum of one term for each block that is not all zeros, so a write replaces one term and reading the
//! hash costs nothing. A term hashes the block's number together with its content (if long, with the hash of it): the
//! number must not be a mere seed, because a short XXH3 only mixes its seed into the input, and then two contents in
//! two blocks could trade places unnoticed.

use xxhash_rust::xxh3::xxh3_128;

use crate::{
    Block, Geometry, IoError,
    chunks::{Chunks, is_zero},
};

/// The content of a disk.
#[derive(Clone)]
pub struct Image {
    geometry: Geometry,
    hash: u128,
    chunks: Chunks,
}

/// The hash by which a block's content is known in read sets: XXH3-128, the same in every build.
pub fn content_hash(content: &[u8]) -> u128 {
    xxh3_128(content)
}

/// What a block adds to the hash of its image.
pub(crate) fn hash_term(block: Block, content: &[u8]) -> u128 {
    if is_zero(content) {
        return 0;
    }
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&block.0.to_le_bytes());
    // Content that is no longer than its hash can stand for itself.
    let len = content.len().min(16);
    match bytes.get_mut(4..4 + content.len()) {
        Some(room) => room.copy_from_slice(content),
        None => bytes[4..].copy_from_slice(&content_hash(content).to_le_bytes()),
    }
    xxh3_128(&bytes[..4 + len])
}

impl Image {
    /// A disk full of zeros.
    pub fn zeroed(geometry: Geometry) -> Self {
        let mut shape = [0; 8];
        shape[..4].copy_from_slice(&u32::from(geometry.block_size).to_le_bytes());
        shape[4..].copy_from_slice(&geometry.blocks.to_le_bytes());
        Self { geometry, hash: xxh3_128(&shape), chunks: Chunks::zeroed(geometry.bytes(), geometry.block_size.bytes()) }
    }

    /// The shape of the disk.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The content of one block.
    ///
    /// # Panics
    /// The disk has no such block.
    pub fn block(&self, block: Block) -> &[u8] {
        assert!(block.0 < self.geometry.blocks, "block {block} of a disk of {} blocks", self.geometry.blocks);
        let size = self.geometry.block_size.bytes();
        self.chunks.get(block.0 as usize * size, size)
    }

    /// Calls `visit` with the content of each block, in order. Of those that are all zeros some are left out: that is
    /// what makes it cheaper than to ask for each.
    pub fn each_block(&self, mut visit: impl FnMut(&[u8])) {
        let size = self.geometry.block_size.bytes();
        self.chunks.each_written(&mut |bytes| bytes.chunks_exact(size).for_each(&mut visit));
    }

    /// Copies one or more whole blocks into `buffer`.
    ///
    /// # Errors
    /// The buffer is not whole blocks, or the disk ends before it does.
    pub fn read(&self, block: Block, buffer: &mut [u8]) -> Result<(), IoError> {
        self.geometry.blocks_of(block, buffer.len())?;
        for (block, part) in (block.0..).zip(buffer.chunks_exact_mut(self.geometry.block_size.bytes())) {
            part.copy_from_slice(self.block(Block(block)));
        }
        Ok(())
    }

    /// Replaces one or more whole blocks.
    ///
    /// # Errors
    /// The data is not whole blocks, or the disk ends before it does; nothing was changed.
    pub fn write(&mut self, block: Block, data: &[u8]) -> Result<(), IoError> {
        self.geometry.blocks_of(block, data.len())?;
        for (block, content) in (block.0..).zip(data.chunks_exact(self.geometry.block_size.bytes())) {
            self.set_block(Block(block), content);
        }
        Ok(())
    }

    /// Every part that may hold something else than zeros, in order: where it begins, in bytes, and what is there.
    pub fn present(&self) -> Vec<(u64, &[u8])> {
        let mut parts = Vec::new();
        self.chunks.present(&mut parts);
        parts
    }

    /// A number that is equal for equal contents and, but for a chance of 2^-128, different for different ones. Stable
    /// across builds.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// Replaces one block that exists, by content of the right size.
    pub(crate) fn set_block(&mut self, block: Block, content: &[u8]) {
        let old = self.block(block);
        // Writing what is there already must not break the sharing.
        if old != content {
            let hash = self.hash.wrapping_sub(hash_term(block, old)).wrapping_add(hash_term(block, content));
            self.set_block_unhashed(block, content);
            self.hash = hash;
        }
    }

    /// As [`Image::set_block`] for a caller that knows the hash of the result and will call [`Image::set_hash`].
    pub(crate) fn set_block_unhashed(&mut self, block: Block, content: &[u8]) {
        self.chunks.put(block.0 as usize * self.geometry.block_size.bytes(), content);
    }

    /// Declares the hash after [`Image::set_block_unhashed`].
    pub(crate) fn set_hash(&mut self, hash: u128) {
        self.hash = hash;
    }
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.geometry == other.geometry && self.hash == other.hash && self.chunks.same_bytes(&other.chunks)
    }
}

impl Eq for Image {}

impl std::hash::Hash for Image {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Geometry { block_size, blocks } = self.geometry;
        write!(f, "Image({blocks} x {} bytes, {:032x})", block_size.bytes(), self.hash)
    }
}
