//! What a file-mapping model is made of on disk: the part in which link and index differ.

use check::Task;
use disk::{Block, Disk, Image, IoError};

use super::Writes;

/// The size of a block.
pub const BLOCK_BYTES: usize = 4;
/// A pointer that leads nowhere.
pub(super) const NOWHERE: u8 = 0xff;

/// What an op does, as the first register of its task says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Make an empty file.
    Create = 1,
    /// Add one block.
    Append = 2,
    /// Remove the file.
    Delete = 3,
}

/// One disk request of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Write the inode as the op leaves it.
    Inode,
    /// Mark the new blocks as allocated.
    Mark,
    /// link: let the last block of the file point to the new one.
    Chain,
    /// link: mark and chain in one write.
    MarkAndChain,
    /// index: write the indirect block with the new entry.
    Indirect,
    /// index: clear the indirect block.
    ClearIndirect,
    /// Mark the blocks of the file as free.
    Free,
    /// Write the data.
    Data,
    /// Flush.
    Flush,
}

/// An inode as it lies on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// In blocks.
    pub len: u8,
    /// link: the first block; index: two direct ones and the indirect one.
    pub pointers: [u8; 3],
}

/// Some bytes of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: Block,
    /// Where in it.
    pub offset: usize,
    /// How many bytes.
    pub len: usize,
}

impl Place {
    /// The bytes at this place of an image.
    pub fn of(self, image: &Image) -> &[u8] {
        &image.block(self.block)[self.offset..self.offset + self.len]
    }

    /// The bytes at this place of a write that starts at `first`, if it covers the place.
    pub fn in_write(self, first: Block, data: &[u8]) -> Option<&[u8]> {
        let start = self.block.0.checked_sub(first.0)? as usize * BLOCK_BYTES + self.offset;
        data.get(start..start + self.len)
    }
}

/// How files and blocks are laid out.
pub trait Layout: Copy + Send + Sync {
    /// For so many files and data blocks.
    fn new(files: u8, blocks: u8) -> Self;

    /// How many files there can be.
    fn files(&self) -> u8;

    /// How many data blocks there are.
    fn blocks(&self) -> u8;

    /// How many blocks the disk has.
    fn disk_blocks(&self) -> u32;

    /// Writes an empty file system.
    fn format(&self, image: &mut Image);

    /// The longest file, in blocks.
    fn file_blocks_max(&self) -> u8;

    /// How many blocks an op must allocate, given the length of its file.
    fn blocks_needed(&self, kind: Kind, len: u8) -> usize;

    /// Which requests the op makes, in order.
    fn program(&self, writes: Writes, task: &Task) -> &'static [Request];

    /// Makes one of them, from what the disk says now and what the op remembers.
    ///
    /// # Errors
    /// The disk refused, or what lies on it is damaged.
    fn perform(&self, request: Request, disk: &mut Disk, task: &Task) -> Result<(), IoError>;

    /// What an op that deletes the file must remember besides the inode, because it will be overwritten.
    fn listed(&self, disk: &Disk, inode: Inode) -> [u8; 4] {
        let _ = (disk, inode);
        [NOWHERE; 4]
    }

    /// The inode of a file, if the file exists.
    fn inode(&self, disk: &Disk, file: u8) -> Option<Inode>;

    /// The data blocks of a file in order: as many as its length says. `None` where a pointer leads nowhere.
    fn mapped(&self, disk: &Disk, inode: Inode) -> Vec<Option<u8>>;

    /// Blocks that a file holds besides those that are mapped: an indirect block, or the first block of an empty file.
    fn held(&self, disk: &Disk, inode: Inode) -> Vec<Option<u8>>;

    /// Whether the allocation table on the disk calls a block allocated.
    fn is_allocated(&self, image: &Image, block: u8) -> bool;

    /// Frees blocks that nothing refers to, cuts off what files have beyond their length, and clears whatever a block
    /// may bring back when it is allocated again. What it writes is flushed.
    ///
    /// # Errors
    /// The disk refused.
    fn repair(&self, disk: &mut Disk, dead: u16) -> Result<(), IoError>;

    /// Where a data block lies on the disk.
    fn data_block(&self, block: u8) -> Block;

    /// Where the inode of a file is; its first byte is the length, the others are pointers.
    fn inode_place(&self, file: u8) -> Place;

    /// How many inodes one block holds.
    fn inodes_per_block(&self) -> u8;

    /// Where pointers from a data block to others are, if it has any.
    fn link_place(&self, block: u8) -> Place;

    /// Where the data of a block is, for as far as it is not pointers.
    fn data_place(&self, block: u8) -> Place {
        Place { block: self.data_block(block), offset: 0, len: BLOCK_BYTES }
    }

    /// The blocks of the allocation table, which is always written as a whole.
    fn table(&self) -> std::ops::Range<u32>;

    /// Whether an allocation table calls a block free.
    fn is_free(&self, table: &[u8], block: u8) -> bool;

    /// What lies in a block, for people.
    fn block_name(&self, block: Block) -> String;

    /// What its content says, for people.
    fn block_content(&self, block: Block, content: &[u8]) -> String;
}

/// What an op remembers: the registers of its task by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notes {
    pub kind: u8,
    pub file: u8,
    /// The length before the op.
    pub len: u8,
    /// The new data block.
    pub fresh: u8,
    /// index: the new indirect block.
    pub fresh_indirect: u8,
    /// The first pointer of the inode before the op.
    pub first: u8,
    /// index: the indirect pointer before the op.
    pub indirect: u8,
    /// Append: the data.
    pub fill: u8,
    /// Delete: the second pointer of the inode before the op.
    pub second: u8,
    /// Delete, index: what the indirect block said before the op.
    pub listed: [u8; 4],
}

impl Notes {
    /// Whether the op has freed the blocks of its file: then it has forgotten them.
    pub fn has_freed(self) -> bool {
        self.kind == Kind::Delete as u8 && self.len > 0 && self.first == NOWHERE
    }

    pub fn of(task: &Task) -> Self {
        let [kind, file, len, fresh, fresh_indirect, first, indirect, last, listed @ ..] = task.registers;
        Self { kind, file, len, fresh, fresh_indirect, first, indirect, fill: last, second: last, listed }
    }
}

/// Reads blocks, changes them and writes them back in one request.
pub(super) fn update(
    disk: &mut Disk,
    first: Block,
    count: usize,
    change: impl FnOnce(&mut [u8]),
) -> Result<(), IoError> {
    let mut data = vec![0; count * BLOCK_BYTES];
    disk.read(first, &mut data)?;
    change(&mut data);
    disk.write(first, &data)
}
