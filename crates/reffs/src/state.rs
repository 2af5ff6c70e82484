//! The file system as a value: the reference, the times beside it, and how much room is left.
//!
//! Everything that a snapshot keeps is here, and a clone shares all of it. Each function is one request of the kernel
//! after it was decoded; it either fails and changes nothing or does everything, the times included.

use std::{ops::Range, sync::Arc};

use vfs::{
    Contents, Credentials, Errno, Fallocate, Node, NodeId, NodeKind, Radix, Reference, Rename,
    contents::BLOCK_SIZE,
    reference::{Owner, Removal},
};

use crate::{
    names,
    times::{Time, Times},
};

/// The longest file: its blocks are numbered with 32 bits.
pub const FILE_SIZE_MAX: u64 = (1 << 32) * BLOCK_SIZE;

/// How much the file system holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Blocks of 4096 bytes for the contents of files. Names and attributes take none.
    pub blocks: u64,
    /// Files, directories and everything else that has an inode.
    pub inodes: u64,
}

/// What a user asked to change of a node's attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The size of a file.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: Option<Time>,
    /// Last change of contents.
    pub modified: Option<Time>,
}

/// The whole file system. See the [module](self).
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) fs: Reference,
    pub(crate) times: Radix<Times>,
    pub(crate) blocks_used: u64,
    room: Room,
}

impl State {
    /// An empty file system that belongs to this user.
    pub fn new(room: Room, owner: Owner, now: Time) -> Self {
        let mut fs = Reference::new();
        if let Ok(root) = fs.node_mut(Reference::ROOT) {
            (root.uid, root.gid) = (owner.uid, owner.gid);
        }
        Self::of(fs, room, |_| Times::new(now))
    }

    /// A file system that is there already. It takes every name that the kernel does, and as many links as can be
    /// counted: the limits of a reference are those of a disk format.
    pub(crate) fn of(mut fs: Reference, room: Room, times_of: impl Fn(NodeId) -> Times) -> Self {
        fs.configure(|config| (config.name_max, config.link_max) = (names::TEXT_MAX, u32::MAX));
        let mut state = Self { times: Radix::default(), blocks_used: 0, fs: fs.in_parts(), room };
        let tree = state.fs.tree();
        for (id, node) in tree.nodes.iter() {
            state.times.insert(id.0, times_of(*id));
            state.blocks_used += blocks(node);
        }
        state
    }

    /// How much it holds in all.
    pub fn room(&self) -> Room {
        self.room
    }

    /// How much is left.
    pub fn left(&self) -> Room {
        Room {
            blocks: self.room.blocks.saturating_sub(self.blocks_used),
            inodes: self.room.inodes.saturating_sub(self.times.len() as u64),
        }
    }

    /// A node and its times.
    ///
    /// # Errors
    /// `ESTALE`: there is no such node any more.
    pub fn node(&self, id: NodeId) -> Result<(&Arc<Node>, &Times), Errno> {
        self.fs.node(id).zip(self.times.get(id.0)).ok_or(Errno::ESTALE)
    }

    /// What a name leads to.
    ///
    /// # Errors
    /// As `lookup`.
    pub fn child(&self, dir: NodeId, name: &str) -> Result<NodeId, Errno> {
        self.fs.child(dir, name)
    }

    fn touch(&mut self, id: NodeId, touch: impl FnOnce(&mut Times)) {
        if let Some(times) = self.times.get_mut(id.0) {
            touch(times);
        }
    }

    /// Contents (for a directory: names) changed.
    fn modified(&mut self, id: NodeId, now: Time) {
        self.touch(id, |times| (times.modified, times.changed) = (now, now));
    }

    /// Something else changed.
    fn changed(&mut self, id: NodeId, now: Time) {
        self.touch(id, |times| times.changed = now);
    }

    /// Makes a node.
    ///
    /// # Errors
    /// As `mknod`, `mkdir` and `symlink`.
    pub fn make(
        &mut self,
        (dir, name): (NodeId, &str),
        kind: NodeKind,
        mode: u32,
        owner: Owner,
        now: Time,
    ) -> Result<NodeId, Errno> {
        if self.left().inodes == 0 {
            self.fs.child(dir, name).map_or(Ok(()), |_| Err(Errno::EEXIST))?;
            return Err(Errno::ENOSPC);
        }
        let id = self.fs.make(dir, name, kind, mode, owner)?;
        self.times.insert(id.0, Times::new(now));
        self.modified(dir, now);
        Ok(id)
    }

    /// Gives a node another name.
    ///
    /// # Errors
    /// As `link`.
    pub fn link(&mut self, id: NodeId, dir: NodeId, name: &str, now: Time) -> Result<(), Errno> {
        self.fs.link_at(id, dir, name)?;
        self.modified(dir, now);
        self.changed(id, now);
        Ok(())
    }

    /// Removes a name. The node stays until it is [let go](Self::let_go).
    ///
    /// # Errors
    /// As `unlink` and `rmdir`.
    pub fn remove(&mut self, dir: NodeId, name: &str, removal: Removal, now: Time) -> Result<NodeId, Errno> {
        let id = self.fs.remove_at(dir, name, removal)?;
        self.modified(dir, now);
        self.changed(id, now);
        Ok(id)
    }

    /// Renames; says which node lost its name to this.
    ///
    /// # Errors
    /// As `renameat2`.
    pub fn rename(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
        how: Rename,
        now: Time,
    ) -> Result<Option<NodeId>, Errno> {
        let source = self.fs.child(from.0, from.1)?;
        let target = self.fs.child(to.0, to.1).ok();
        let replaced = self.fs.rename_at(from, to, how)?;
        if target != Some(source) {
            self.modified(from.0, now);
            self.modified(to.0, now);
            self.changed(source, now);
            target.into_iter().for_each(|target| self.changed(target, now));
        }
        Ok(replaced)
    }

    /// Nobody has the node open any more; without a name it is gone.
    pub fn let_go(&mut self, id: NodeId) {
        if let Some(node) = self.fs.let_go(id) {
            self.blocks_used -= blocks(&node);
            self.times.remove(id.0);
        }
    }

    /// Changes contents, and counts the blocks that they have then.
    fn edit(&mut self, id: NodeId, edit: impl FnOnce(&mut Contents)) -> Result<(), Errno> {
        let contents = self.fs.contents_mut(id)?;
        let before = contents.blocks();
        edit(contents);
        self.blocks_used = self.blocks_used + contents.blocks() - before;
        Ok(())
    }

    fn contents(&self, id: NodeId) -> Result<&Contents, Errno> {
        match &self.node(id)?.0.kind {
            NodeKind::File(contents) => Ok(contents),
            NodeKind::Dir(_) => Err(Errno::EISDIR),
            NodeKind::Symlink(_) | NodeKind::Special(_) => Err(Errno::EINVAL),
        }
    }

    /// The contents to read from, which stay as they are while others write.
    ///
    /// # Errors
    /// It is not a file.
    pub fn read(&mut self, id: NodeId, now: Time) -> Result<Contents, Errno> {
        let contents = self.contents(id)?.clone();
        self.accessed(id, now);
        Ok(contents)
    }

    /// A file or a directory was read.
    pub fn accessed(&mut self, id: NodeId, now: Time) {
        if self.times.get(id.0).is_some_and(|times| times.is_access_due(now)) {
            self.touch(id, |times| times.accessed = now);
        }
    }

    /// Writes what there is room for, and says how much that was.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`, or it is not a file.
    pub fn write(&mut self, id: NodeId, offset: u64, bytes: &[u8], now: Time) -> Result<usize, Errno> {
        let contents = self.contents(id)?;
        let end = fitting(contents, offset..end_of_write(offset, bytes)?, self.left().blocks);
        let len = usize::try_from(end - offset).unwrap_or(bytes.len());
        if len == 0 && !bytes.is_empty() {
            return Err(Errno::ENOSPC);
        }
        self.edit(id, |contents| contents.write(offset, &bytes[..len]))?;
        self.modified(id, now);
        Ok(len)
    }

    /// Writes what the kernel had in its pages, all or nothing: of a writeback it notices whether it failed, but not
    /// how much was written.
    ///
    /// # Errors
    /// As [`State::write`].
    pub fn write_back(&mut self, id: NodeId, offset: u64, bytes: &[u8], now: Time) -> Result<usize, Errno> {
        let range = offset..end_of_write(offset, bytes)?;
        if self.contents(id)?.blocks_missing(range) > self.left().blocks {
            return Err(Errno::ENOSPC);
        }
        self.write(id, offset, bytes, now)
    }

    /// Takes the set-id bits that a change by this user takes, and what capabilities the file gave.
    pub fn drop_privileges(&mut self, id: NodeId, caller: &Credentials) {
        // What is not there any more has no privileges.
        let _ = self.fs.drop_set_id_for(id, caller);
        let gives = self.fs.node(id).is_some_and(|node| node.xattrs.contains_key(CAPABILITY));
        if gives && let Ok(node) = self.fs.node_mut(id) {
            node.xattrs.remove(CAPABILITY);
        }
    }

    /// `fallocate`, but for the modes that move bytes: the kernel refuses these before it asks a FUSE file system.
    ///
    /// # Errors
    /// `EFBIG`, `ENOSPC`, or it is not a file.
    pub fn allocate(&mut self, id: NodeId, how: Fallocate, range: Range<u64>, now: Time) -> Result<(), Errno> {
        let contents = self.contents(id)?;
        if range.end > FILE_SIZE_MAX {
            return Err(Errno::EFBIG);
        }
        let frees = matches!(how, Fallocate::PunchHole);
        if !frees && contents.blocks_missing(range.clone()) > self.left().blocks {
            return Err(Errno::ENOSPC);
        }
        self.edit(id, |contents| contents.allocate(how, range))?;
        self.modified(id, now);
        Ok(())
    }

    /// Changes attributes.
    ///
    /// # Errors
    /// `EFBIG`, or a size for what is not a file.
    pub fn change(&mut self, id: NodeId, change: &Change, caller: &Credentials, now: Time) -> Result<(), Errno> {
        self.node(id)?;
        if let Some(size) = change.size {
            if size > FILE_SIZE_MAX {
                return Err(Errno::EFBIG);
            }
            self.edit(id, |contents| contents.resize(size))?;
            self.touch(id, |times| times.modified = now);
            if !caller.is_root() {
                self.drop_privileges(id, caller);
            }
        }
        if change.uid.is_some() || change.gid.is_some() {
            self.drop_privileges(id, caller);
        }
        let node = self.fs.node_mut(id)?;
        node.mode = change.mode.map_or(node.mode, |mode| mode & 0o7777);
        node.uid = change.uid.unwrap_or(node.uid);
        node.gid = change.gid.unwrap_or(node.gid);
        self.touch(id, |times| {
            times.accessed = change.accessed.unwrap_or(times.accessed);
            times.modified = change.modified.unwrap_or(times.modified);
            times.changed = now;
        });
        Ok(())
    }

    /// Sets or removes an extended attribute.
    ///
    /// # Errors
    /// As `setxattr` and `removexattr`.
    pub fn change_xattr(
        &mut self,
        id: NodeId,
        name: &str,
        value: Option<&[u8]>,
        wanted: Existence,
        now: Time,
    ) -> Result<(), Errno> {
        Reference::xattr_name_fits(name)?;
        match (wanted, self.node(id)?.0.xattrs.contains_key(name)) {
            (Existence::No | Existence::Both, true) => return Err(Errno::EEXIST),
            (Existence::Yes | Existence::Both, false) => return Err(Errno::ENODATA),
            (Existence::No | Existence::Any, false) | (Existence::Yes | Existence::Any, true) => {}
        }
        let xattrs = &mut self.fs.node_mut(id)?.xattrs;
        match value {
            Some(value) => drop(xattrs.insert(Arc::from(name), Arc::from(value))),
            None => drop(xattrs.remove(name)),
        }
        self.changed(id, now);
        Ok(())
    }
}

/// What gives a program capabilities.
const CAPABILITY: &str = "security.capability";

/// What must be there for an extended attribute to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It must exist.
    Yes,
    /// It must not.
    No,
    /// It must, and it must not: one may ask for that, and never gets it.
    Both,
    /// Either is fine.
    Any,
}

fn blocks(node: &Node) -> u64 {
    match &node.kind {
        NodeKind::File(contents) => contents.blocks(),
        NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => 0,
    }
}

fn end_of_write(offset: u64, bytes: &[u8]) -> Result<u64, Errno> {
    offset.checked_add(bytes.len() as u64).filter(|end| *end <= FILE_SIZE_MAX).ok_or(Errno::EFBIG)
}

/// Where a write ends that may take only so many new blocks.
fn fitting(contents: &Contents, range: Range<u64>, blocks_left: u64) -> u64 {
    if contents.blocks_missing(range.clone()) <= blocks_left {
        return range.end;
    }
    let mut end = range.start;
    loop {
        let next = (end + 1).next_multiple_of(BLOCK_SIZE).min(range.end);
        if contents.blocks_missing(range.start..next) > blocks_left {
            return end;
        }
        end = next;
    }
}

#[cfg(test)]
mod tests {
    use vfs::Entries;

    use super::*;

    #[test]
    fn a_directory_has_as_many_subdirectories_as_there_are_inodes() {
        const DIRS: u32 = 65_100;
        let (now, owner) = (Time { seconds: 0, nanos: 0 }, Owner { uid: 0, gid: 0 });
        let room = Room { blocks: 0, inodes: 1 + u64::from(DIRS) };
        let mut state = State::new(room, owner, now);
        let mut make = |number: u32| {
            let name = number.to_string();
            state.make((Reference::ROOT, &name), NodeKind::Dir(Entries::new()), 0o755, owner, now)
        };
        for number in 0..DIRS {
            make(number).unwrap();
        }
        assert_eq!(make(DIRS), Err(Errno::ENOSPC));
        assert_eq!(state.node(Reference::ROOT).unwrap().0.nlink, DIRS + 2);
    }
}
