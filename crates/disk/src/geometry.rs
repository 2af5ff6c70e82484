//! How a disk is divided: blocks of one size, numbered from zero.
//!
//! A block is the unit that the device writes atomically (its sector), so that everything above a block can be torn
//! by a power cut and nothing below it can.

use serde::{Deserialize, Serialize};

/// The number of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Block(pub u32);

impl std::fmt::Display for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The size of a block: a power of two from 4 to 4096 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct BlockSize {
    log2: u32,
}

/// A block size that no disk here has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use blocks of {0} bytes: the size must be a power of two from 4 to 4096")]
pub struct BadBlockSize(pub u32);

impl BlockSize {
    /// Four bytes, for the tiny models.
    pub const MIN: Self = Self { log2: 2 };
    /// The sector of most disks.
    pub const SECTOR: Self = Self { log2: 9 };
    /// A page.
    pub const MAX: Self = Self { log2: 12 };

    /// Checks the size.
    ///
    /// # Errors
    /// The size is not a power of two from 4 to 4096.
    pub fn new(bytes: u32) -> Result<Self, BadBlockSize> {
        match bytes {
            4..=4096 if bytes.is_power_of_two() => Ok(Self { log2: bytes.trailing_zeros() }),
            _ => Err(BadBlockSize(bytes)),
        }
    }

    /// The size in bytes.
    pub fn bytes(self) -> usize {
        1 << self.log2
    }
}

impl TryFrom<u32> for BlockSize {
    type Error = BadBlockSize;

    fn try_from(bytes: u32) -> Result<Self, BadBlockSize> {
        Self::new(bytes)
    }
}

impl From<BlockSize> for u32 {
    fn from(size: BlockSize) -> Self {
        1 << size.log2
    }
}

/// The shape of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// The size of one block.
    pub block_size: BlockSize,
    /// How many blocks there are.
    pub blocks: u32,
}

/// Why the disk refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum IoError {
    /// The request reaches past the last block.
    #[error("reach block {block}: the disk has {blocks} blocks")]
    OutOfRange {
        /// The first block of the request.
        block: Block,
        /// The blocks of the disk.
        blocks: u32,
    },
    /// The bytes are not one or more whole blocks.
    #[error("transfer {bytes} bytes: they are not one or more whole blocks")]
    NotWholeBlocks {
        /// The length of the request.
        bytes: usize,
    },
    /// An injected fault.
    #[error("read the medium: input/output error (injected)")]
    Read,
    /// An injected fault.
    #[error("write the medium: input/output error (injected)")]
    Write,
    /// An injected fault.
    #[error("flush the cache: input/output error (injected)")]
    Flush,
    /// An injected fault.
    #[error("allocate memory: there is none left (injected)")]
    Memory,
}

impl Geometry {
    /// The size of the whole disk.
    pub fn bytes(self) -> usize {
        self.blocks as usize * self.block_size.bytes()
    }

    /// Checks a transfer of `bytes` bytes that starts at `block` and says how many blocks it covers.
    ///
    /// # Errors
    /// The bytes are not whole blocks, or the disk ends before they do.
    pub fn blocks_of(self, block: Block, bytes: usize) -> Result<u32, IoError> {
        let size = self.block_size.bytes();
        if bytes == 0 || !bytes.is_multiple_of(size) {
            return Err(IoError::NotWholeBlocks { bytes });
        }
        let count = u32::try_from(bytes / size).unwrap_or(u32::MAX);
        self.check_range(block, count)?;
        Ok(count)
    }

    /// Checks that `count` blocks from `block` on exist.
    ///
    /// # Errors
    /// The disk ends before they do.
    pub fn check_range(self, block: Block, count: u32) -> Result<(), IoError> {
        let end = u64::from(block.0) + u64::from(count);
        if end <= u64::from(self.blocks) { Ok(()) } else { Err(IoError::OutOfRange { block, blocks: self.blocks }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_powers_of_two_from_4_to_4096() {
        let good: Vec<u32> = (0..=10_000).filter(|bytes| BlockSize::new(*bytes).is_ok()).collect();
        assert_eq!(good, [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
        assert!(good.iter().all(|bytes| BlockSize::new(*bytes).unwrap().bytes() == *bytes as usize));
        assert!(serde_json::from_str::<BlockSize>("12").is_err());
        assert_eq!(serde_json::to_string(&BlockSize::SECTOR).unwrap(), "512");
    }

    #[test]
    fn transfers_must_be_whole_blocks_on_the_disk() {
        let geometry = Geometry { block_size: BlockSize::MIN, blocks: 16 };
        assert_eq!(geometry.blocks_of(Block(14), 8), Ok(2));
        assert_eq!(geometry.blocks_of(Block(0), 0), Err(IoError::NotWholeBlocks { bytes: 0 }));
        assert_eq!(geometry.blocks_of(Block(0), 6), Err(IoError::NotWholeBlocks { bytes: 6 }));
        let too_far = IoError::OutOfRange { block: Block(15), blocks: 16 };
        assert_eq!(geometry.blocks_of(Block(15), 8), Err(too_far));
        assert!(geometry.check_range(Block(u32::MAX), u32::MAX).is_err());
    }
}
