//! What a mounted file system keeps in memory: the items as they are now, the trees as they were last committed, and
//! what has happened in between that a log must know of.

use std::sync::Arc;

use disk::Disk;
use smallvec::SmallVec;
use vfs::Errno;

use super::{
    item::{ItemKind, Items, Key, Pointer, Value},
    layout::{BLOCK_BYTES, Page, checksum},
    space::Blocks,
    tree::Tree,
};
use crate::nodes::{Ino, io};

/// A mounted file system.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// How many superblocks were written so far, those not counted that failed.
    pub(super) sequence: u32,
    /// The last committed generation, its two trees, and the root of the log that belongs to it.
    pub(super) generation: u32,
    pub(super) files: Tree,
    pub(super) extents: Tree,
    pub(super) log_root: Option<Pointer>,
    /// Whether the generation after it, or a log, was tried and failed. It may be on the disk all the same. So nothing
    /// counts as durable and nothing is written before it was given up: the next one takes its blocks, and what is left
    /// of it must not pass for that.
    pub(super) failed: bool,
    /// What the log says.
    pub(super) log: Items,
    /// The files as they are now. An extent that leads nowhere has its data in `pages`.
    pub(super) items: Items,
    pub(super) pages: SmallVec<[(Key, Arc<Page>); 2]>,
    /// Blocks of the committed generation, and those given out since then. Nothing of this is given out before the next
    /// commit: until then a crash goes back to it.
    pub(super) used: Blocks,
    /// Whether free blocks are held back; a flaw, else they never are.
    pub(super) held: bool,
    /// The names that were taken away since the last commit, in order.
    pub(super) removals: SmallVec<[Removal; 4]>,
}

/// A name that no longer leads where it led.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Removal {
    pub entry: Key,
    pub ino: Ino,
    pub how: RemovedBy,
}

/// What took a name away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RemovedBy {
    /// An unlink, or a rename of something else to this name.
    Unlink,
    /// A rename to another name.
    Rename,
}

impl Memory {
    /// Whether everything is as it was committed, and no log says anything else.
    pub(super) fn is_clean(&self) -> bool {
        self.log.as_slice().is_empty() && self.pages.is_empty() && self.items == self.files.items()
    }

    /// The generation that the next commit makes.
    pub(super) fn next_generation(&self) -> u32 {
        self.generation.wrapping_add(1)
    }

    /// The number of the superblock after the last one.
    pub(super) fn next_sequence(&self) -> u32 {
        self.sequence.wrapping_add(1)
    }

    pub(super) fn note_removal(&mut self, removal: Removal) {
        if let Err(at) = self.removals.binary_search(&removal) {
            self.removals.insert(at, removal);
        }
    }

    /// The first inode number that nothing has, neither now nor where a crash may go back to.
    pub(super) fn free_ino(&self) -> Result<Ino, Errno> {
        let committed = self.files.items();
        let is_free = |ino: &Ino| {
            [&self.items, &committed, &self.log].iter().all(|items| items.inode(*ino).is_none())
                && self.removals.iter().all(|removal| removal.ino != *ino)
        };
        (1..=u32::from(u8::MAX)).map(Ino).find(is_free).ok_or(Errno::ENOSPC)
    }

    /// The block of a file that an extent item speaks of; a hole reads as zeros.
    pub(super) fn page(&self, disk: &Disk, key: Key, verified: bool) -> Result<Page, Errno> {
        if let Some((_, page)) = self.pages.iter().find(|(of, _)| *of == key) {
            return Ok(**page);
        }
        match self.items.get(key).map(Pointer::decode) {
            None => Ok([0; BLOCK_BYTES]),
            Some(extent) => read_data(disk, extent, verified),
        }
    }

    /// Adds an item, which takes memory.
    pub(super) fn add(&mut self, disk: &Disk, key: Key, value: Value) -> Result<(), Errno> {
        disk.allocate().map_err(io)?;
        self.items.put(key, value);
        Ok(())
    }

    /// Changes a block of a file in memory, which takes a page of it. What the block had on disk is left alone.
    pub(super) fn set_page(&mut self, disk: &Disk, key: Key, page: Page) -> Result<(), Errno> {
        disk.allocate().map_err(io)?;
        self.forget_pages(|of| *of == key);
        self.pages.push((key, Arc::new(page)));
        self.pages.sort_by_key(|(key, _)| *key);
        self.items.put(key, Pointer::NOWHERE.encode());
        Ok(())
    }

    pub(super) fn forget_pages(&mut self, forget: impl Fn(&Key) -> bool) {
        self.pages.retain(|(key, _)| !forget(key));
    }

    /// The blocks that the files have now.
    pub(super) fn data_blocks(&self) -> impl Iterator<Item = disk::Block> {
        let extents = self.items.all(ItemKind::Extent).map(|item| Pointer::decode(item.value));
        extents.filter(|extent| *extent != Pointer::NOWHERE).map(|extent| extent.block)
    }

    /// Appends what the disk does not say. Which superblock is in force it does not say after a failure.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.used.0.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.push(u8::from(self.failed) | u8::from(self.held) << 1);
        bytes.push(u8::try_from(self.removals.len()).unwrap_or(u8::MAX));
        for Removal { entry, ino, how } in &self.removals {
            bytes.extend_from_slice(&[entry.object, u8::try_from(ino.0).unwrap_or(0), *how as u8]);
            bytes.extend_from_slice(&entry.offset.to_le_bytes());
        }
        for item in self.items.as_slice() {
            let start = bytes.len();
            bytes.resize(start + super::item::ITEM_BYTES, 0);
            item.encode(&mut bytes[start..]);
        }
    }
}

/// Reads a block of data that must have the checksum that its extent item says.
pub(super) fn read_data(disk: &Disk, extent: Pointer, verified: bool) -> Result<Page, Errno> {
    disk.allocate().map_err(io)?;
    let content: Page = disk.try_block(extent.block).map_err(io)?.try_into().map_err(|_| Errno::EIO)?;
    let right = !verified || checksum(&content, extent.block) == extent.check;
    if right { Ok(content) } else { Err(Errno::EUCLEAN) }
}
