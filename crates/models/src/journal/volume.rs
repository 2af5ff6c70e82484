//! The file system as it is now, read through what is in memory. Whatever the bytes are, reading ends.

use disk::{Block, Disk};
use vfs::Errno;

use super::{
    Flaw, Variant, io,
    layout::{
        BLOCK_BYTES, Content, DirEntry, ENTRIES_PER_BLOCK, FILE_BLOCKS_MAX, FILE_BYTES_MAX, Inode, NONE, ZEROS,
        is_inode,
    },
    memory::Memory,
};
use crate::nodes::{Ino, Kind};

/// The content of a block on the disk, in a buffer of its own.
pub(super) fn read_block(disk: &Disk, block: Block) -> Result<Content, Errno> {
    disk.allocate().map_err(io)?;
    let bytes = disk.try_block(block).map_err(io)?;
    bytes.try_into().map_err(|_| Errno::EIO)
}

/// A file system to be read.
#[derive(Clone, Copy)]
pub(super) struct Volume<'a> {
    pub variant: Variant,
    pub memory: &'a Memory,
    pub disk: &'a Disk,
}

impl Volume<'_> {
    /// The newest content of a block.
    pub fn block(&self, block: Block) -> Result<Content, Errno> {
        if let Some(page) = self.memory.dirty.get(block) {
            return Ok(page.content);
        }
        self.memory.running.get(block).map_or_else(|| self.committed_block(block), |content| Ok(*content))
    }

    /// The content of a block that goes through the journal, as of the last commit.
    pub fn committed_block(&self, block: Block) -> Result<Content, Errno> {
        self.memory.committed.get(block).map_or_else(|| read_block(self.disk, block), |logged| Ok(logged.content))
    }

    /// An inode that is in use.
    pub fn inode(&self, ino: Ino) -> Result<Inode, Errno> {
        if !is_inode(ino) {
            return Err(Errno::EUCLEAN);
        }
        Inode::load(&self.block(Inode::home(ino))?, ino).ok().flatten().ok_or(Errno::EUCLEAN)
    }

    /// The block of a file at an index; `None` is a hole.
    pub fn mapped(&self, inode: Inode, index: usize) -> Result<Option<Block>, Errno> {
        let pointer = match index.checked_sub(1) {
            None => inode.direct,
            Some(_) if inode.indirect == NONE => NONE,
            Some(listed) => {
                let list = self.block(self.in_data_area(inode.indirect)?)?;
                Block(u32::from(*list.get(listed).ok_or(Errno::EUCLEAN)?))
            }
        };
        if pointer == NONE { Ok(None) } else { self.in_data_area(pointer).map(Some) }
    }

    fn in_data_area(&self, block: Block) -> Result<Block, Errno> {
        self.variant.layout.data_index(block).map(|_| block).ok_or(Errno::EUCLEAN)
    }

    /// All bytes of a file.
    pub fn read(&self, ino: Ino) -> Result<Vec<u8>, Errno> {
        let inode = self.inode(ino)?;
        if u64::from(inode.size) > FILE_BYTES_MAX {
            return Err(Errno::EUCLEAN);
        }
        let mut bytes = Vec::with_capacity(inode.blocks() * BLOCK_BYTES);
        for index in 0..inode.blocks() {
            let content = self.mapped(inode, index)?.map_or(Ok(ZEROS), |block| self.block(block))?;
            bytes.extend_from_slice(&content);
        }
        bytes.truncate(usize::from(inode.size));
        Ok(bytes)
    }

    /// The blocks of a directory, in order. A directory has no holes and ends with a whole block.
    pub fn dir_blocks(&self, dir: Ino) -> Result<Vec<Block>, Errno> {
        let inode = self.inode(dir)?;
        if inode.kind != Kind::Dir || !usize::from(inode.size).is_multiple_of(BLOCK_BYTES) {
            return Err(Errno::EUCLEAN);
        }
        if inode.blocks() > FILE_BLOCKS_MAX {
            return Err(Errno::EUCLEAN);
        }
        (0..inode.blocks()).map(|index| self.mapped(inode, index)?.ok_or(Errno::EUCLEAN)).collect()
    }

    /// Calls `visit` with each name of a directory.
    pub fn entries(&self, dir: Ino, visit: &mut dyn FnMut(&str, Ino)) -> Result<(), Errno> {
        for block in self.dir_blocks(dir)? {
            let content = match self.block(block) {
                Err(Errno::ENOMEM) if self.variant.flaw == Some(Flaw::LookupSkipsBlock) => continue,
                content => content?,
            };
            for slot in 0..ENTRIES_PER_BLOCK {
                if let Some(entry) = DirEntry::load(&content, slot).map_err(|_| Errno::EUCLEAN)? {
                    visit(entry.name, entry.ino);
                }
            }
        }
        Ok(())
    }
}
