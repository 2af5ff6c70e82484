//! What a user can see of a file system.
//!
//! A tree is a small graph: nodes with identities, and names that lead to them. Hard links are two names with one
//! node. Times, directory sizes and inode numbers are left out: the identities say only which names are the same
//! file, and comparisons of two trees never compare them.

use std::{collections::BTreeMap, sync::Arc};

/// The identity of a node within one tree. In the reference it is never reused, so it follows a file through
/// renames and links; in an observed tree it is whatever the observer chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// What a node is, with what only that kind has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A regular file. Holes read as zeros, so the bytes are all there is to see.
    File(Arc<[u8]>),
    /// A directory: its names, without `.` and `..`.
    Dir(BTreeMap<Arc<str>, NodeId>),
    /// A symlink and what it says.
    Symlink(Arc<str>),
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

/// All nodes that can be reached from the root.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root directory's node.
    pub root: NodeId,
    /// The nodes. Sharing makes a clone of a tree cheap.
    pub nodes: Arc<BTreeMap<NodeId, Arc<Node>>>,
}
