//! Ops on names: they change items in memory and nothing on the disk.

use disk::Disk;
use vfs::Errno;

use super::{
    Cow,
    item::{Inode, ItemKind, Key, leads_to},
    memory::{Memory, Removal, RemovedBy},
};
use crate::nodes::{Ino, Kind, Name, Renaming};

impl Cow {
    pub(super) fn make_node(memory: &mut Memory, disk: &Disk, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        let ino = memory.free_ino()?;
        memory.add(disk, Key::inode(ino), Inode::new(kind).encode())?;
        memory.add(disk, Key::entry(at.dir, at.name), leads_to(ino))
    }

    pub(super) fn add_link(memory: &mut Memory, disk: &Disk, ino: Ino, to: Name<'_>) -> Result<(), Errno> {
        let inode = memory.items.inode(ino).ok_or(Errno::EIO)?;
        let links = inode.links.checked_add(1).ok_or(Errno::EMLINK)?;
        memory.items.put(Key::inode(ino), Inode { links, ..inode }.encode());
        memory.add(disk, Key::entry(to.dir, to.name), leads_to(ino))
    }

    /// Takes a name away, and with the last one the node.
    pub(super) fn remove_name(memory: &mut Memory, at: Name<'_>, ino: Ino) -> Result<(), Errno> {
        let entry = Key::entry(at.dir, at.name);
        memory.note_removal(Removal { entry, ino, how: RemovedBy::Unlink });
        memory.items.remove(entry);
        let inode = memory.items.inode(ino).ok_or(Errno::EIO)?;
        if inode.kind == Kind::File && inode.links > 1 {
            memory.items.put(Key::inode(ino), Inode { links: inode.links - 1, ..inode }.encode());
        } else {
            memory.items.retain(|item| item.key.ino() != ino || item.key.kind > ItemKind::Extent);
            memory.forget_pages(|key| key.ino() == ino);
        }
        Ok(())
    }

    pub(super) fn move_name(
        memory: &mut Memory,
        disk: &Disk,
        Renaming { from, to, ino, replaced, .. }: Renaming<'_>,
    ) -> Result<(), Errno> {
        if let Some(replaced) = replaced {
            Self::remove_name(memory, to, replaced)?;
        }
        let entry = Key::entry(from.dir, from.name);
        memory.note_removal(Removal { entry, ino, how: RemovedBy::Rename });
        memory.items.remove(entry);
        memory.add(disk, Key::entry(to.dir, to.name), leads_to(ino))
    }

    pub(super) fn set_mode(memory: &mut Memory, ino: Ino, mode: u16) -> Result<(), Errno> {
        let inode = memory.items.inode(ino).ok_or(Errno::EIO)?;
        memory.items.put(Key::inode(ino), Inode { mode, ..inode }.encode());
        Ok(())
    }
}
