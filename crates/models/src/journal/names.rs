//! Ops on names: each changes a few blocks of the running transaction.

use vfs::Errno;

use super::{
    change::Change,
    layout::{BLOCK_SIZE, DirEntry, ENTRIES_PER_BLOCK, ZEROS},
};
use crate::nodes::{Ino, Kind, Name, Renaming};

impl Change<'_> {
    /// Makes an empty file, or a directory with one empty block.
    pub fn make(&mut self, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        let ino = self.make_inode(kind)?;
        if kind == Kind::Dir {
            self.grow(ino)?;
        }
        self.add_name(at, ino)
    }

    pub fn remove(&mut self, at: Name<'_>, ino: Ino) -> Result<(), Errno> {
        self.set_name(at, None)?;
        self.drop_link(ino)
    }

    pub fn rename(&mut self, Renaming { from, to, ino, replaced, .. }: Renaming<'_>) -> Result<(), Errno> {
        self.set_name(from, None)?;
        let Some(replaced) = replaced else { return self.add_name(to, ino) };
        self.set_name(to, Some(ino))?;
        self.drop_link(replaced)
    }

    pub fn exchange(&mut self, [(one, first), (two, second)]: [(Name<'_>, Ino); 2]) -> Result<(), Errno> {
        self.set_name(one, Some(second))?;
        self.set_name(two, Some(first))
    }

    pub fn link(&mut self, ino: Ino, to: Name<'_>) -> Result<(), Errno> {
        let mut inode = self.volume().inode(ino)?;
        inode.links = inode.links.checked_add(1).ok_or(Errno::EMLINK)?;
        self.store_inode(ino, Some(inode))?;
        self.add_name(to, ino)
    }

    /// Points a name that exists to another node, or to none.
    fn set_name(&mut self, Name { dir, name }: Name<'_>, ino: Option<Ino>) -> Result<(), Errno> {
        for block in self.volume().dir_blocks(dir)? {
            let content = self.volume().block(block)?;
            let has_name = |slot: &usize| {
                DirEntry::load(&content, *slot).is_ok_and(|entry| entry.is_some_and(|entry| entry.name == name))
            };
            if let Some(slot) = (0..ENTRIES_PER_BLOCK).find(has_name) {
                let entry = ino.map(|ino| DirEntry { ino, name });
                return self.alter(block, |content| DirEntry::store(content, slot, entry));
            }
        }
        Err(Errno::ENOENT)
    }

    /// Adds a name, in the first free slot.
    fn add_name(&mut self, Name { dir, name }: Name<'_>, ino: Ino) -> Result<(), Errno> {
        let entry = Some(DirEntry { ino, name });
        for block in self.volume().dir_blocks(dir)? {
            let content = self.volume().block(block)?;
            let is_free = |slot: &usize| DirEntry::load(&content, *slot) == Ok(None);
            if let Some(slot) = (0..ENTRIES_PER_BLOCK).find(is_free) {
                return self.alter(block, |content| DirEntry::store(content, slot, entry));
            }
        }
        let block = self.grow(dir)?;
        self.alter(block, |content| DirEntry::store(content, 0, entry))
    }

    /// Gives a directory one more block.
    fn grow(&mut self, dir: Ino) -> Result<disk::Block, Errno> {
        let mut inode = self.volume().inode(dir)?;
        let index = inode.blocks();
        if index >= super::layout::FILE_BLOCKS_MAX {
            return Err(Errno::ENOSPC);
        }
        let (block, _) = self.map(&mut inode, index)?;
        self.put(block, ZEROS)?;
        inode.size += BLOCK_SIZE;
        self.store_inode(dir, Some(inode))?;
        Ok(block)
    }
}
