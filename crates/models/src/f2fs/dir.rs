//! Directories: names in dentry blocks, which are written like data.

use disk::Disk;
use vfs::Errno;

use super::{
    Memory,
    clean::Room,
    codec::{FileName, INDEX, Nid, Node, Role, Summary},
    dentry::{self, Dentries, Dentry},
    layout::Addr,
    log::{Fs, Run, Stream, read_block},
};
use crate::nodes::{Kind, Name, Renaming};

/// Where a name was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub at: usize,
    pub slot: usize,
    pub nid: Nid,
}

/// The number of the node that the layer above calls so.
pub(super) fn nid(ino: crate::nodes::Ino) -> Nid {
    Nid(u8::try_from(ino.0).unwrap_or_default())
}

impl Memory {
    /// Calls `visit` with every name in a directory and the dentry block that it is in.
    pub(super) fn each_name<'d>(
        &self,
        disk: &'d Disk,
        dir: Nid,
        mut visit: impl FnMut(usize, Dentry<'d>),
    ) -> Result<(), Errno> {
        for (at, addr) in self.node(dir).index.iter().enumerate().filter(|(_, addr)| **addr != Addr::NONE) {
            let block = read_block(disk, addr.block())?;
            dentry::each(block, &mut |dentry| visit(at, dentry)).map_err(|_| Errno::EIO)?;
        }
        Ok(())
    }

    pub(super) fn look_up(&self, disk: &Disk, dir: Nid, name: &[u8]) -> Result<Option<Found>, Errno> {
        let mut found = None;
        self.each_name(disk, dir, |at, dentry| {
            if dentry.name.as_bytes() == name {
                found = Some(Found { at, slot: dentry.slot, nid: dentry.nid });
            }
        })?;
        Ok(found)
    }
}

impl Fs<'_> {
    pub fn make(&mut self, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        self.f2fs.admit(self.memory, 0, 1, Room::Ordinary)?;
        let name = FileName::new(at.name.as_bytes()).ok_or(Errno::ENAMETOOLONG)?;
        let role = if kind == Kind::Dir { Role::Dir } else { Role::File };
        let node = self.new_node(Node { role, owner: nid(at.dir), name, ..Node::default() })?;
        self.add_name(nid(at.dir), name.bytes(), node)
    }

    pub fn remove(&mut self, at: Name<'_>, node: Nid) -> Result<(), Errno> {
        self.f2fs.admit(self.memory, 0, 1, Room::Releasing)?;
        self.remove_name(nid(at.dir), at.name.as_bytes())?;
        self.release_node(node);
        Ok(())
    }

    pub fn rename(&mut self, Renaming { from, to, ino, replaced, .. }: Renaming<'_>) -> Result<(), Errno> {
        self.f2fs.admit(self.memory, 0, 2, Room::Ordinary)?;
        let node = nid(ino);
        if let Some(replaced) = replaced {
            self.redirect_name(nid(to.dir), to.name.as_bytes(), node)?;
            self.release_node(nid(replaced));
            self.remove_name(nid(from.dir), from.name.as_bytes())?;
        } else {
            self.remove_name(nid(from.dir), from.name.as_bytes())?;
            self.add_name(nid(to.dir), to.name.as_bytes(), node)?;
        }
        let name = FileName::new(to.name.as_bytes()).ok_or(Errno::ENAMETOOLONG)?;
        let node = self.memory.node_mut(node);
        (node.owner, node.name) = (nid(to.dir), name);
        self.memory.renamed = true;
        Ok(())
    }

    /// Adds a name that is not there, in the first dentry block with room for it.
    pub fn add_name(&mut self, dir: Nid, name: &[u8], node: Nid) -> Result<(), Errno> {
        for at in 0..INDEX {
            let mut dentries = self.dentries(dir, at)?;
            if dentries.insert(name, node) {
                return self.put_dentries(dir, at, &dentries);
            }
        }
        Err(Errno::ENOSPC)
    }

    fn remove_name(&mut self, dir: Nid, name: &[u8]) -> Result<(), Errno> {
        let found = self.memory.look_up(self.disk, dir, name)?.ok_or(Errno::ENOENT)?;
        let mut dentries = self.dentries(dir, found.at)?;
        dentries.remove(found.slot);
        self.put_dentries(dir, found.at, &dentries)
    }

    /// Lets a name lead to another node.
    pub fn redirect_name(&mut self, dir: Nid, name: &[u8], node: Nid) -> Result<(), Errno> {
        let found = self.memory.look_up(self.disk, dir, name)?.ok_or(Errno::ENOENT)?;
        let mut dentries = self.dentries(dir, found.at)?;
        dentries.redirect(found.slot, node);
        self.put_dentries(dir, found.at, &dentries)
    }

    fn dentries(&self, dir: Nid, at: usize) -> Result<Dentries, Errno> {
        match self.memory.node(dir).index[at] {
            Addr::NONE => Ok(Dentries::EMPTY),
            addr => Ok(Dentries(*read_block(self.disk, addr.block())?)),
        }
    }

    /// Gives a directory a new version of a dentry block; one without names needs no block.
    pub fn put_dentries(&mut self, dir: Nid, at: usize, dentries: &Dentries) -> Result<(), Errno> {
        let mut addr = Addr::NONE;
        if !dentries.is_empty() {
            self.allocate()?;
            addr = self.take(Stream::Dentries, Summary { nid: dir, at: at.to_le_bytes()[0] })?;
            let mut run = Run::default();
            run.put(self.disk, addr.block(), &dentries.0)?;
            run.end(self.disk)?;
        }
        let old = std::mem::replace(&mut self.memory.node_mut(dir).index[at], addr);
        if old != Addr::NONE {
            self.kill(old);
        }
        Ok(())
    }
}
