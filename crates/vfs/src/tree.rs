//! What a user can see of a file system.
//!
//! A tree is a small graph: nodes with identities, and names that lead to them. Hard links are two names with one
//! node. Times, directory sizes and inode numbers are left out: the identities say only which names are the same
//! file, and comparisons of two trees never compare them.
//!
//! A tree may have been observed on a broken file system, so nothing here trusts it: a name may lead nowhere, and a
//! directory may contain itself. Every walk enters a directory once.

mod compare;
mod contents;
mod diff;
mod invariants;
mod render;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use contents::Runs;
pub(crate) use contents::Sentence;
pub use diff::{Aspect, Difference, TreeDiff, diff};

use serde::{Deserialize, Serialize};

use crate::{Contents, Entries, Path};

/// The identity of a node within one tree. In the reference it is never reused, so it follows a file through
/// renames and links; in an observed tree it is whatever the observer chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// What a node is, with what only that kind has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A regular file. Holes read as zeros, so the bytes are all there is to see.
    File(Contents),
    /// A directory: its names, without `.` and `..`.
    Dir(Entries),
    /// A symlink and what it says.
    Symlink(Arc<str>),
    /// Something that only a mounted reference holds.
    Special(Special),
}

/// A node that is a name for something else: what is read from it or written to it is no matter of the file system. No
/// op makes one, but programs do on a mounted reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device and its number, as Linux packs it into 32 bits.
    CharDevice(u32),
    /// A block device and its number.
    BlockDevice(u32),
}

impl std::fmt::Display for Special {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fifo => f.write_str("named pipe"),
            Self::Socket => f.write_str("socket"),
            Self::CharDevice(device) => write!(f, "character device {device:#x}"),
            Self::BlockDevice(device) => write!(f, "block device {device:#x}"),
        }
    }
}

/// A file, directory or symlink.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Permission, set-id and sticky bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The link count that the file system reports (for a directory: 2 plus its subdirectories).
    pub nlink: u32,
    /// Extended attributes.
    pub xattrs: BTreeMap<Arc<str>, Arc<[u8]>>,
}

impl Node {
    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        matches!(self.kind, NodeKind::Dir(_))
    }

    /// How many bytes it has, if it is a file.
    pub fn file_bytes(&self) -> u64 {
        if let NodeKind::File(contents) = &self.kind { contents.size() } else { 0 }
    }

    /// The names in it, if it is a directory.
    pub fn entries(&self) -> Option<&Entries> {
        match &self.kind {
            NodeKind::Dir(entries) => Some(entries),
            NodeKind::File(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
        }
    }
}

/// All nodes that can be reached from the root.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root directory's node.
    pub root: NodeId,
    /// The nodes. Sharing makes a clone of a tree cheap.
    pub nodes: Arc<BTreeMap<NodeId, Arc<Node>>>,
}

impl Tree {
    /// Whether there is no name in it.
    pub fn is_empty(&self) -> bool {
        self.node(self.root).and_then(|root| root.entries()).is_none_or(Entries::is_empty)
    }

    /// The bytes of all files together.
    pub fn file_bytes(&self) -> u64 {
        self.nodes.values().map(|node| node.file_bytes()).sum()
    }

    /// The node with this identity.
    pub fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.nodes.get(&id)
    }

    /// The node that a path names. Components are taken as plain names: symlinks are not followed and `..` is not
    /// understood; empty components are skipped.
    pub fn lookup(&self, path: &Path) -> Option<NodeId> {
        path.as_str()
            .split('/')
            .filter(|name| !name.is_empty())
            .try_fold(self.root, |dir, name| self.node(dir)?.entries()?.get(name).copied())
    }

    /// Every name with its node, each directory right before what is in it, names in order. A directory that has
    /// several names is entered at the first.
    pub fn paths(&self) -> Vec<(Path, NodeId)> {
        let mut paths = Vec::with_capacity(self.nodes.len());
        self.walk(&Path::root(), self.root, &mut BTreeSet::new(), &mut paths);
        paths
    }

    fn walk(&self, path: &Path, id: NodeId, entered: &mut BTreeSet<NodeId>, paths: &mut Vec<(Path, NodeId)>) {
        paths.push((path.clone(), id));
        if let Some(entries) = self.node(id).and_then(|node| node.entries())
            && entered.insert(id)
        {
            for (name, child) in entries {
                self.walk(&path.join(name), *child, entered, paths);
            }
        }
    }
}
