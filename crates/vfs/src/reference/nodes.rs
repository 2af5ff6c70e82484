//! The nodes: how they are made, changed, linked into directories and forgotten.
//!
//! A node lives in `nodes` while it has a name and in `orphans` while it is only open. Everything else in the
//! reference goes through these few functions, so link counts are kept in one place.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Reference,
    permission::{MODE_BITS, SETGID},
};
use crate::{Entries, Names, Node, NodeId, NodeKind};

impl Reference {
    /// A node that is known to exist: its identity came out of a directory or an open slot.
    pub(super) fn get(&self, id: NodeId) -> &Node {
        self.node(id).expect("names and slots lead to nodes")
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> &mut Node {
        let node = match self.orphans.get_mut(&id) {
            Some(orphan) => orphan,
            None => self.nodes.get_mut(id).expect("names and slots lead to nodes"),
        };
        Arc::make_mut(node)
    }

    fn entries_mut(&mut self, dir: NodeId) -> &mut Entries {
        match &mut self.get_mut(dir).kind {
            NodeKind::Dir(entries) => entries,
            NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => {
                unreachable!("only directories hold names")
            }
        }
    }

    /// A new node of the caller with one name.
    pub(super) fn add(&mut self, dir: NodeId, name: &str, kind: NodeKind, mode: u32) -> NodeId {
        let owner = (self.config.caller.uid, self.config.caller.gid);
        self.add_for(owner, dir, name, kind, mode)
    }

    /// A new node of a user and a group, with one name. A directory with the set-group-id bit hands down its group, and
    /// to directories the bit too.
    pub(super) fn add_for(
        &mut self,
        (uid, gid): (u32, u32),
        dir: NodeId,
        name: &str,
        kind: NodeKind,
        mode: u32,
    ) -> NodeId {
        let id = NodeId(self.next);
        self.next += 1;
        let parent = self.get(dir);
        let inherits = parent.mode & SETGID != 0;
        let is_dir = matches!(kind, NodeKind::Dir(_));
        let node = Node {
            mode: self.config.modes.of_new(mode & MODE_BITS | if inherits && is_dir { SETGID } else { 0 }, is_dir),
            uid,
            gid: if inherits { parent.gid } else { gid },
            nlink: if is_dir { 2 } else { 0 },
            xattrs: BTreeMap::new(),
            kind,
        };
        self.nodes.insert(id, Arc::new(node));
        self.enter(dir, name, id);
        id
    }

    /// Puts a name into a directory and counts it; returns the node that the name led to before.
    pub(super) fn enter(&mut self, dir: NodeId, name: &str, id: NodeId) -> Option<NodeId> {
        if self.get(id).is_dir() {
            self.get_mut(dir).nlink += 1;
        } else {
            self.get_mut(id).nlink += 1;
        }
        let name = self.entry(dir, name).map_or_else(|| Arc::from(self.config.names.shown(name)), |(known, _)| known);
        self.entries_mut(dir).insert(name, id)
    }

    /// The entry that a name means, under the name that it has.
    pub(super) fn entry(&self, dir: NodeId, name: &str) -> Option<(Arc<str>, NodeId)> {
        let entries = self.get(dir).entries()?;
        let names = self.config.names;
        let found = if names == Names::AsGiven {
            entries.get_key_value(name)
        } else {
            entries.iter().find(|(known, _)| names.are_same(known, name))
        };
        found.map(|(known, id)| (Arc::clone(known), *id))
    }

    /// Takes a name out of a directory and counts it. The node stays; `forget` it unless it gets another name.
    pub(super) fn leave(&mut self, dir: NodeId, name: &str) -> Option<NodeId> {
        let (name, _) = self.entry(dir, name)?;
        let id = self.entries_mut(dir).remove(&name)?;
        if self.get(id).is_dir() {
            self.get_mut(dir).nlink -= 1;
        } else {
            self.get_mut(id).nlink -= 1;
        }
        Some(id)
    }

    /// Lets go of a node that lost a name: without names it is gone, or an orphan while it is open.
    pub(super) fn forget(&mut self, id: NodeId) {
        if let Some(node) = self.take_nameless(id)
            && self.open.values().any(|file| file.node == id)
        {
            self.orphans.insert(id, node);
        }
    }

    /// Takes a node out of the tree if the name that it lost was its last.
    pub(super) fn take_nameless(&mut self, id: NodeId) -> Option<Arc<Node>> {
        if self.get(id).is_dir() {
            self.get_mut(id).nlink = 0;
        }
        if self.get(id).nlink > 0 {
            return None;
        }
        self.nodes.remove(id)
    }

    /// How many bytes can still be stored.
    pub(super) fn free(&self) -> u64 {
        let Some(capacity) = self.config.capacity else { return u64::MAX };
        let size = |node: &Arc<Node>| match &node.kind {
            NodeKind::File(contents) => contents.size(),
            NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => 0,
        };
        let used: u64 = self.nodes.whole().values().chain(self.orphans.values()).map(size).sum();
        capacity.saturating_sub(used)
    }
}
