//! The inode level: ops on nodes and single names, for whoever has followed the path already.
//!
//! A kernel that mounts the reference walks paths, follows symlinks, checks permissions and locks, and keeps a
//! directory from being moved into itself. What is left to do is here, on the same nodes and by the same functions as
//! for ops on paths. A node that loses its last name stays until [`Reference::let_go`], since the kernel may have it
//! open. Who calls here keeps its own limits of sizes and space, and its own times.

use std::sync::Arc;

use super::{Credentials, ROOT, Reference, permission::set_id_bits, xattr};
use crate::{Contents, Errno, Node, NodeId, NodeKind, Rename};

/// Whom a new node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group, unless the directory hands down its own.
    pub gid: u32,
}

/// What a name must lead to for it to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// `rmdir`: an empty directory.
    Dir,
    /// `unlink`: anything else.
    NotDir,
}

impl Reference {
    /// The root directory.
    pub const ROOT: NodeId = ROOT;

    /// What a name in a directory leads to.
    ///
    /// # Errors
    /// `ESTALE`: there is no such directory any more; `ENOTDIR`, `ENOENT`, `ENAMETOOLONG`.
    pub fn child(&self, dir: NodeId, name: &str) -> Result<NodeId, Errno> {
        self.looked_up(dir, name)?.ok_or(Errno::ENOENT)
    }

    fn looked_up(&self, dir: NodeId, name: &str) -> Result<Option<NodeId>, Errno> {
        match self.node(dir) {
            None => Err(Errno::ESTALE),
            Some(node) if !node.is_dir() => Err(Errno::ENOTDIR),
            Some(_) => self.find(dir, name),
        }
    }

    /// Whether a name can be added: the directory exists, is not removed, and has no such name.
    fn may_enter(&self, dir: NodeId, name: &str) -> Result<(), Errno> {
        match self.looked_up(dir, name)? {
            Some(_) => Err(Errno::EEXIST),
            None if self.get(dir).nlink == 0 => Err(Errno::ENOENT),
            None => Ok(()),
        }
    }

    /// Makes a node with one name.
    ///
    /// # Errors
    /// Those of [`Reference::child`]; `EEXIST`; `EMLINK`; `ENOSPC` when every identity was given out.
    pub fn make(&mut self, dir: NodeId, name: &str, kind: NodeKind, mode: u32, owner: Owner) -> Result<NodeId, Errno> {
        self.may_enter(dir, name)?;
        if matches!(kind, NodeKind::Dir(_)) && self.get(dir).nlink >= self.config.link_max {
            return Err(Errno::EMLINK);
        }
        if self.next == u32::MAX {
            return Err(Errno::ENOSPC);
        }
        Ok(self.add_for((owner.uid, owner.gid), dir, name, kind, mode))
    }

    /// Gives a node another name.
    ///
    /// # Errors
    /// Those of [`Reference::child`]; `EEXIST`; `EPERM` for a directory; `EMLINK`; `ENOENT` if it has no name left.
    pub fn link_at(&mut self, id: NodeId, dir: NodeId, name: &str) -> Result<(), Errno> {
        self.may_enter(dir, name)?;
        let node = self.node(id).ok_or(Errno::ESTALE)?;
        match node.nlink {
            _ if node.is_dir() => Err(Errno::EPERM),
            0 => Err(Errno::ENOENT),
            links if links >= self.config.link_max => Err(Errno::EMLINK),
            _ => {
                self.enter(dir, name, id);
                Ok(())
            }
        }
    }

    /// Removes a name and says what it led to.
    ///
    /// # Errors
    /// Those of [`Reference::child`]; `ENOTDIR` or `EISDIR` if it is not what was meant; `ENOTEMPTY`.
    pub fn remove_at(&mut self, dir: NodeId, name: &str, removal: Removal) -> Result<NodeId, Errno> {
        let id = self.child(dir, name)?;
        match (removal, self.get(id).entries()) {
            (Removal::Dir, None) => return Err(Errno::ENOTDIR),
            (Removal::NotDir, Some(_)) => return Err(Errno::EISDIR),
            (Removal::Dir, Some(entries)) if !entries.is_empty() => return Err(Errno::ENOTEMPTY),
            _ => {}
        }
        self.leave(dir, name);
        self.keep_nameless(id);
        Ok(id)
    }

    /// Renames, and says which node was replaced.
    ///
    /// # Errors
    /// Those of [`Reference::child`] for either name; `EEXIST`, `ENOTDIR`, `EISDIR`, `ENOTEMPTY` for what is in the
    /// way; `EMLINK`.
    pub fn rename_at(
        &mut self,
        from: (NodeId, &str),
        to: (NodeId, &str),
        how: Rename,
    ) -> Result<Option<NodeId>, Errno> {
        let source = self.child(from.0, from.1)?;
        let target = self.looked_up(to.0, to.1)?;
        match (how, target) {
            (Rename::NoReplace, Some(_)) => return Err(Errno::EEXIST),
            (Rename::Exchange, None) => return Err(Errno::ENOENT),
            (_, Some(target)) if target == source => return Ok(None),
            (Rename::Replace, Some(target)) => self.may_replace(source, target)?,
            _ if self.get(to.0).nlink == 0 => return Err(Errno::ENOENT),
            _ => {}
        }
        let (moves_dir, meets_dir) =
            (self.get(source).is_dir(), target.is_some_and(|target| self.get(target).is_dir()));
        let full = |dir| self.get(dir).nlink >= self.config.link_max;
        let gives_back = how == Rename::Exchange && meets_dir && !moves_dir;
        if from.0 != to.0 && (moves_dir && !meets_dir && full(to.0) || gives_back && full(from.0)) {
            return Err(Errno::EMLINK);
        }
        let replaced = self.move_name(from, to, how);
        if let Some(replaced) = replaced {
            self.keep_nameless(replaced);
        }
        Ok(replaced)
    }

    fn may_replace(&self, source: NodeId, target: NodeId) -> Result<(), Errno> {
        match (self.get(source).is_dir(), self.get(target).entries()) {
            (true, None) => Err(Errno::ENOTDIR),
            (false, Some(_)) => Err(Errno::EISDIR),
            (true, Some(entries)) if !entries.is_empty() => Err(Errno::ENOTEMPTY),
            _ => Ok(()),
        }
    }

    fn keep_nameless(&mut self, id: NodeId) {
        if let Some(node) = self.take_nameless(id) {
            self.orphans.insert(id, node);
        }
    }

    /// The nodes that have no name any more and were not let go.
    pub fn nameless(&self) -> impl Iterator<Item = NodeId> {
        self.orphans.keys().copied()
    }

    /// Nobody has this node open any more: if it has no name either, it is gone, and returned.
    pub fn let_go(&mut self, id: NodeId) -> Option<Arc<Node>> {
        self.orphans.remove(&id)
    }

    /// A node whose attributes are to be changed. Its kind, names and link count are not for the caller to touch.
    ///
    /// # Errors
    /// `ESTALE`: there is no such node any more.
    pub fn node_mut(&mut self, id: NodeId) -> Result<&mut Node, Errno> {
        self.node(id).ok_or(Errno::ESTALE)?;
        Ok(self.get_mut(id))
    }

    /// The contents of a file that are to be changed.
    ///
    /// # Errors
    /// `ESTALE`: there is no such node any more; `EISDIR`, `EINVAL`: it is not a file.
    pub fn contents_mut(&mut self, id: NodeId) -> Result<&mut Contents, Errno> {
        match self.node(id).map(|node| &node.kind) {
            None => Err(Errno::ESTALE),
            Some(NodeKind::Dir(_)) => Err(Errno::EISDIR),
            Some(NodeKind::Symlink(_) | NodeKind::Special(_)) => Err(Errno::EINVAL),
            Some(NodeKind::File(_)) => Ok(self.contents_of(id)),
        }
    }

    /// Takes the set-id bits from a file that a change of its contents or its owner takes.
    ///
    /// # Errors
    /// `ESTALE`: there is no such node any more.
    pub fn drop_set_id_for(&mut self, id: NodeId, caller: &Credentials) -> Result<(), Errno> {
        let node = self.node(id).ok_or(Errno::ESTALE)?;
        let dropped = set_id_bits(node, caller.is_root() || caller.in_group(node.gid));
        if dropped != 0 && matches!(node.kind, NodeKind::File(_)) {
            self.get_mut(id).mode &= !dropped;
        }
        Ok(())
    }

    /// Whether an extended attribute of this name can exist here at all.
    ///
    /// # Errors
    /// `EOPNOTSUPP`, `EINVAL`, `ERANGE`.
    pub fn xattr_name_fits(name: &str) -> Result<(), Errno> {
        xattr::name_fits(name)
    }

    /// The nodes that were made, changed or lost since an earlier state of the same file system, in no order and
    /// perhaps with some that have no name.
    pub fn changed_since(&self, earlier: &Self) -> Vec<NodeId> {
        let orphans = self.orphans.keys().chain(earlier.orphans.keys());
        self.nodes.differences(&earlier.nodes).into_iter().chain(orphans.copied()).collect()
    }

    /// The same file system, kept so that a change after a clone costs what it changes, however many nodes there are.
    #[must_use]
    pub fn in_parts(mut self) -> Self {
        self.nodes = self.nodes.in_parts();
        self
    }

    /// Gives out no identity that `other` has given out. A state that was saved and is restored must not take an
    /// identity for a new node under which somebody still knows another one.
    pub fn continue_identities_of(&mut self, other: &Self) {
        self.next = self.next.max(other.next);
    }
}
