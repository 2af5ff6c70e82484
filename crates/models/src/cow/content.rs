//! The bytes of files: changed in memory block by block, read from memory or from the disk.

use disk::Disk;
use vfs::{Data, Errno};

use super::{
    Cow,
    item::{Inode, ItemKind, Key},
    layout::{BLOCK_BYTES, Page},
    memory::Memory,
    variant::Flaw,
};
use crate::nodes::{Ino, Kind};

impl Cow {
    pub(super) fn file(memory: &Memory, ino: Ino) -> Result<Inode, Errno> {
        let inode = memory.items.inode(ino).ok_or(Errno::EIO)?;
        if inode.kind == Kind::File { Ok(inode) } else { Err(Errno::EISDIR) }
    }

    pub(super) fn read_file(&self, memory: &Memory, disk: &Disk, ino: Ino) -> Result<Vec<u8>, Errno> {
        let size = usize::from(Self::file(memory, ino)?.size);
        let mut bytes = Vec::with_capacity(size);
        for index in (0..).take_while(|index| *index as usize * BLOCK_BYTES < size) {
            bytes.extend_from_slice(&memory.page(disk, Key::extent(ino, index), self.data_verified())?);
        }
        bytes.truncate(size);
        Ok(bytes)
    }

    pub(super) fn write_file(
        &self,
        memory: &mut Memory,
        disk: &Disk,
        ino: Ino,
        offset: u64,
        data: Data,
    ) -> Result<(), Errno> {
        let inode = Self::file(memory, ino)?;
        let start = Self::file_offset(offset)?;
        let end = Self::file_offset(offset.checked_add(data.len).ok_or(Errno::EFBIG)?)?;
        self.change(memory, disk, ino, start..end, data.fill)?;
        let size = inode.size.max(u16::try_from(end).unwrap_or(u16::MAX));
        memory.items.put(Key::inode(ino), Inode { size, ..inode }.encode());
        Ok(())
    }

    /// What lies beyond the end is always zero, so that a file that grows again shows no old bytes.
    pub(super) fn resize_file(&self, memory: &mut Memory, disk: &Disk, ino: Ino, size: u64) -> Result<(), Errno> {
        let inode = Self::file(memory, ino)?;
        let size = Self::file_offset(size)?;
        let blocks = size.div_ceil(BLOCK_BYTES) as u64;
        let is_beyond = |key: &Key| key.ino() == ino && key.kind == ItemKind::Extent && key.offset >= blocks;
        memory.items.retain(|item| !is_beyond(&item.key));
        memory.forget_pages(is_beyond);
        let tail_end = size.next_multiple_of(BLOCK_BYTES);
        let last = Key::extent(ino, u32::try_from(size / BLOCK_BYTES).unwrap_or(u32::MAX));
        let ends_within = size < usize::from(inode.size) && size < tail_end && memory.items.get(last).is_some();
        if ends_within && !self.variant.is(Flaw::TailKept) {
            self.change(memory, disk, ino, size..tail_end, 0)?;
        }
        let size = u16::try_from(size).unwrap_or(u16::MAX);
        memory.items.put(Key::inode(ino), Inode { size, ..inode }.encode());
        Ok(())
    }

    fn change(
        &self,
        memory: &mut Memory,
        disk: &Disk,
        ino: Ino,
        range: std::ops::Range<usize>,
        fill: u8,
    ) -> Result<(), Errno> {
        for index in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            let key = Key::extent(ino, u32::try_from(index).unwrap_or(u32::MAX));
            let mut page: Page = memory.page(disk, key, self.data_verified())?;
            let start = range.start.saturating_sub(index * BLOCK_BYTES);
            let end = (range.end - index * BLOCK_BYTES).min(BLOCK_BYTES);
            page[start..end].fill(fill);
            memory.set_page(disk, key, page)?;
        }
        Ok(())
    }

    /// A size that a file may have.
    fn file_offset(offset: u64) -> Result<usize, Errno> {
        let largest = Self::FILE_BLOCKS_MAX as usize * BLOCK_BYTES;
        usize::try_from(offset).ok().filter(|offset| *offset <= largest).ok_or(Errno::EFBIG)
    }
}
