//! Who may do what: permission bits, sticky directories, and the set-id bits that Linux takes away.

use super::Reference;
use crate::{Errno, Node, NodeId, NodeKind};

pub(super) const SETUID: u32 = 0o4000;
pub(super) const SETGID: u32 = 0o2000;
pub(super) const STICKY: u32 = 0o1000;
pub(super) const GROUP_EXECUTE: u32 = 0o010;
/// All bits that `chmod` can set.
pub(super) const MODE_BITS: u32 = 0o7777;

/// What a caller wants of a node, in the bits of one class of a mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Access(pub u32);

impl Access {
    pub(super) const NONE: Self = Self(0);
    pub(super) const EXECUTE: Self = Self(1);
    pub(super) const WRITE: Self = Self(2);
    pub(super) const READ: Self = Self(4);

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Reference {
    /// The first class that fits decides, even if a later one would allow more.
    pub(super) fn may(&self, node: &Node, access: Access) -> Result<(), Errno> {
        let caller = &self.config.caller;
        let class = if caller.uid == node.uid {
            node.mode >> 6
        } else if caller.in_group(node.gid) {
            node.mode >> 3
        } else {
            node.mode
        };
        if caller.is_root() || Access(class).includes(access) { Ok(()) } else { Err(Errno::EACCES) }
    }

    /// Whether the caller may add names to a directory.
    pub(super) fn may_add(&self, dir: NodeId) -> Result<(), Errno> {
        self.may(self.get(dir), Access::WRITE.and(Access::EXECUTE))
    }

    /// Whether the caller may take the name of `victim` out of `dir`, where a directory is or is not `wanted`.
    pub(super) fn may_remove(&self, dir: NodeId, victim: &Node, wanted: Wanted) -> Result<(), Errno> {
        self.may_add(dir)?;
        let dir = self.get(dir);
        let owner = [dir.uid, victim.uid].contains(&self.config.caller.uid);
        if dir.mode & STICKY != 0 && !owner && !self.config.caller.is_root() {
            return Err(Errno::EPERM);
        }
        match (wanted, victim.is_dir()) {
            (Wanted::Dir, false) => Err(Errno::ENOTDIR),
            (Wanted::NotDir, true) => Err(Errno::EISDIR),
            _ => Ok(()),
        }
    }

    pub(super) fn owns(&self, node: &Node) -> bool {
        self.config.caller.is_root() || self.config.caller.uid == node.uid
    }

    /// Whether the caller may give or leave the set-group-id bit to something of this group.
    pub(super) fn trusted_with_group(&self, gid: u32) -> bool {
        self.config.caller.is_root() || self.config.caller.in_group(gid)
    }

    /// The set-id bits that a change of owner takes from a file, root's or not. Without group execution the
    /// set-group-id bit once meant mandatory locking and stays with those who could set it.
    pub(super) fn dropped_by_chown(&self, node: &Node) -> u32 {
        set_id_bits(node, self.trusted_with_group(node.gid))
    }

    /// The set-id bits that a change of contents takes from a file: none if root changes it.
    pub(super) fn drop_set_id(&mut self, id: NodeId) {
        let node = self.get(id);
        if self.config.caller.is_root() || !matches!(node.kind, NodeKind::File(_)) {
            return;
        }
        let dropped = self.dropped_by_chown(node);
        if dropped != 0 {
            self.get_mut(id).mode &= !dropped;
        }
    }
}

/// The set-id bits that go, if the caller is or is not trusted with the node's group.
pub(super) fn set_id_bits(node: &Node, trusted: bool) -> u32 {
    let keeps_group = node.mode & GROUP_EXECUTE == 0 && trusted;
    let group = if keeps_group { 0 } else { SETGID };
    node.mode & (SETUID | group)
}

/// What must stand under a name that is to be removed or replaced.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    Dir,
    NotDir,
}
