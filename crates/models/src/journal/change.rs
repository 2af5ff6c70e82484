//! Ops on blocks, inodes and bytes. They change the running transaction in memory and nothing else; what reaches the
//! disk, and when, is the business of commits and checkpoints.

use disk::{Block, Disk};
use vfs::{Data, Errno};

use super::{
    DataMode, Flaw, Variant, io,
    layout::{
        BLOCK_BITMAP, BLOCK_BYTES, Content, FILE_BYTES_MAX, INODE_BITMAP, INODES, Inode, NONE, ZEROS, get_bit,
        inode_bit, pointer, set_bit,
    },
    memory::{AtCommit, Memory, Page},
    volume::Volume,
};
use crate::nodes::{Ino, Kind};

/// An op that joins the running transaction.
pub(super) struct Change<'a> {
    pub variant: Variant,
    pub memory: &'a mut Memory,
    pub disk: &'a Disk,
}

impl Change<'_> {
    pub fn volume(&self) -> Volume<'_> {
        Volume { variant: self.variant, memory: self.memory, disk: self.disk }
    }

    /// Changes a block of metadata.
    pub fn alter(&mut self, block: Block, alter: impl FnOnce(&mut Content)) -> Result<(), Errno> {
        let mut content = self.volume().block(block)?;
        alter(&mut content);
        self.put(block, content)
    }

    /// Changes a block through the journal. One that is new to the running transaction takes memory.
    pub fn put(&mut self, block: Block, content: Content) -> Result<(), Errno> {
        if self.memory.running.get(block).is_none() {
            let allocated = self.disk.allocate();
            assert!(allocated.is_ok() || !self.is(Flaw::PanicsWithoutMemory), "there is memory for a buffer");
            allocated.map_err(io)?;
        }
        self.memory.put(block, content);
        Ok(())
    }

    pub fn store_inode(&mut self, ino: Ino, inode: Option<Inode>) -> Result<(), Errno> {
        self.alter(Inode::home(ino), |table| Inode::store(table, ino, inode))
    }

    /// A new inode.
    pub fn make_inode(&mut self, kind: Kind) -> Result<Ino, Errno> {
        let bitmap = self.volume().block(INODE_BITMAP)?;
        let free = (1..=INODES).map(Ino).find(|ino| !get_bit(&bitmap, inode_bit(*ino)));
        let ino = free.ok_or(Errno::ENOSPC)?;
        self.alter(INODE_BITMAP, |bitmap| set_bit(bitmap, inode_bit(ino), true))?;
        self.store_inode(ino, Some(Inode::new(kind)))?;
        Ok(ino)
    }

    /// Takes one name from an inode, and frees it if that was the last.
    pub fn drop_link(&mut self, ino: Ino) -> Result<(), Errno> {
        let mut inode = self.volume().inode(ino)?;
        if inode.kind == Kind::File && inode.links > 1 {
            inode.links -= 1;
            return self.store_inode(ino, Some(inode));
        }
        self.free_blocks_from(&mut inode, 0)?;
        self.alter(INODE_BITMAP, |bitmap| set_bit(bitmap, inode_bit(ino), false))?;
        self.store_inode(ino, None)
    }

    /// A free block. One that was freed since the last commit does not count: a crash would give it back to its owner.
    fn allocate(&mut self) -> Result<Block, Errno> {
        let volume = self.volume();
        let now = volume.block(BLOCK_BITMAP)?;
        let committed = if self.is(Flaw::ReuseBeforeCommit) { now } else { volume.committed_block(BLOCK_BITMAP)? };
        let mut blocks = self.variant.layout.data_blocks().enumerate();
        let free = blocks.find(|(index, _)| !get_bit(&now, *index) && !get_bit(&committed, *index));
        let (index, block) = free.ok_or(Errno::ENOSPC)?;
        self.alter(BLOCK_BITMAP, |bitmap| set_bit(bitmap, index, true))?;
        Ok(block)
    }

    /// Frees a block. Copies in the log of what passed through it must not come back.
    fn free(&mut self, block: Block, journaled: bool) -> Result<(), Errno> {
        let index = self.variant.layout.data_index(block).ok_or(Errno::EUCLEAN)?;
        self.alter(BLOCK_BITMAP, |bitmap| set_bit(bitmap, index, false))?;
        self.memory.forget(block, journaled);
        Ok(())
    }

    /// The block of a file at an index, allocated if it is a hole; the flag says that it was.
    pub fn map(&mut self, inode: &mut Inode, index: usize) -> Result<(Block, bool), Errno> {
        if let Some(block) = self.volume().mapped(*inode, index)? {
            return Ok((block, false));
        }
        let Some(listed) = index.checked_sub(1) else {
            inode.direct = self.allocate()?;
            return Ok((inode.direct, true));
        };
        if inode.indirect == NONE {
            inode.indirect = self.allocate()?;
            self.put(inode.indirect, ZEROS)?;
        }
        let block = self.allocate()?;
        self.alter(inode.indirect, |list| list[listed] = pointer(block))?;
        Ok((block, true))
    }

    /// Frees all blocks of a file from an index on.
    pub fn free_blocks_from(&mut self, inode: &mut Inode, first: usize) -> Result<(), Errno> {
        let journaled = inode.kind == Kind::Dir || self.variant.data == DataMode::Journal;
        if inode.indirect != NONE {
            let keep = first.saturating_sub(1);
            for listed in keep..BLOCK_BYTES {
                if let Some(block) = self.volume().mapped(*inode, listed + 1)? {
                    self.free(block, journaled)?;
                    self.alter(inode.indirect, |list| list[listed] = 0)?;
                }
            }
            if keep == 0 {
                self.free(std::mem::replace(&mut inode.indirect, NONE), true)?;
            }
        }
        if first == 0 && inode.direct != NONE {
            self.free(std::mem::replace(&mut inode.direct, NONE), journaled)?;
        }
        Ok(())
    }

    /// Stores bytes in a file.
    pub fn write(&mut self, ino: Ino, offset: u64, data: Data) -> Result<(), Errno> {
        let end = offset.checked_add(data.len).filter(|end| *end <= FILE_BYTES_MAX).ok_or(Errno::EFBIG)?;
        let mut inode = self.volume().inode(ino)?;
        if end > u64::from(inode.size) {
            self.clear_tail(ino, inode)?;
            inode.size = u16::try_from(end).map_err(|_| Errno::EFBIG)?;
        }
        let (start, end) = (file_offset(offset)?, file_offset(end)?);
        for index in start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES) {
            let (block, fresh) = self.map(&mut inode, index)?;
            let mut content = if fresh { ZEROS } else { self.volume().block(block)? };
            let first = index * BLOCK_BYTES;
            content[start.max(first) - first..end.min(first + BLOCK_BYTES) - first].fill(data.fill);
            self.put_data(ino, block, content, if fresh { AtCommit::Clear } else { AtCommit::Keep })?;
        }
        self.store_inode(ino, Some(inode))
    }

    /// Sets the size of a file.
    pub fn truncate(&mut self, ino: Ino, size: u64) -> Result<(), Errno> {
        let mut inode = self.volume().inode(ino)?;
        let size = u16::try_from(size).ok().filter(|size| u64::from(*size) <= FILE_BYTES_MAX).ok_or(Errno::EFBIG)?;
        if size > inode.size && self.is(Flaw::GrowRefused) {
            return Err(Errno::EINVAL);
        }
        if size > inode.size && self.is(Flaw::GrowTooLarge) {
            return Err(Errno::EFBIG);
        }
        if size > inode.size {
            self.clear_tail(ino, inode)?;
        }
        inode.size = size;
        let kept = inode.blocks();
        self.free_blocks_from(&mut inode, kept)?;
        self.store_inode(ino, Some(inode))
    }

    /// A file that grows must not show what a truncation left in its last block.
    fn clear_tail(&mut self, ino: Ino, inode: Inode) -> Result<(), Errno> {
        let used = usize::from(inode.size) % BLOCK_BYTES;
        if used == 0 {
            return Ok(());
        }
        let Some(block) = self.volume().mapped(inode, inode.blocks() - 1)? else { return Ok(()) };
        let mut content = self.volume().block(block)?;
        content[used..].fill(0);
        self.put_data(ino, block, content, AtCommit::Write)
    }

    fn put_data(&mut self, ino: Ino, block: Block, content: Content, at_commit: AtCommit) -> Result<(), Errno> {
        if self.variant.data == DataMode::Journal {
            return self.put(block, content);
        }
        let earlier = self.memory.dirty.get(block).map(|page| page.at_commit);
        if earlier.is_none() {
            self.disk.allocate().map_err(io)?;
        }
        let at_commit = earlier.map_or(at_commit, |earlier| earlier.max(at_commit));
        self.memory.dirty.insert(block, Page { content, ino, at_commit });
        Ok(())
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.variant.flaw == Some(flaw)
    }
}

fn file_offset(offset: u64) -> Result<usize, Errno> {
    usize::try_from(offset).map_err(|_| Errno::EFBIG)
}
