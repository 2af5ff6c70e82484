//! What a user sees of a file-mapping model.

use std::{collections::BTreeMap, sync::Arc};

use disk::Disk;
use vfs::{Node, NodeId, NodeKind, Tree};

use super::layout::{BLOCK_BYTES, Layout};

/// Data bytes lie in this range, so that data is never a block number, and the mark for "nowhere" is never data.
pub(super) const FILL_MIN: u8 = 0x40;
/// See [`FILL_MIN`].
pub(super) const FILL_MAX: u8 = 0xfd;
/// The permissions of every file.
pub(super) const MODE: u32 = 0o644;

fn node(kind: NodeKind, mode: u32, nlink: u32) -> Arc<Node> {
    Arc::new(Node { kind, mode, uid: 0, gid: 0, nlink, xattrs: BTreeMap::new() })
}

/// The tree: one directory with the files that exist. A block that is nowhere reads as zeros.
pub(super) fn tree<L: Layout>(layout: &L, files: u8, disk: &Disk) -> Tree {
    let root = NodeId(0);
    let mut names = BTreeMap::new();
    let mut nodes = BTreeMap::new();
    for file in 0..files {
        let Some(inode) = layout.inode(disk, file) else { continue };
        let mut bytes = Vec::with_capacity(usize::from(inode.len) * BLOCK_BYTES);
        for block in layout.mapped(disk, inode) {
            match block {
                Some(block) => bytes.extend_from_slice(disk.block(layout.data_block(block))),
                None => bytes.extend_from_slice(&[0; BLOCK_BYTES]),
            }
        }
        let id = NodeId(u32::from(file) + 1);
        names.insert(name(file), id);
        nodes.insert(id, node(NodeKind::File(bytes.into()), MODE, 1));
    }
    nodes.insert(root, node(NodeKind::Dir(names.into()), 0o755, 2));
    Tree { root, nodes: Arc::new(nodes) }
}

/// The names are few and the trees are many: they share one copy each.
pub(super) fn name(file: u8) -> Arc<str> {
    static NAMES: std::sync::OnceLock<Vec<Arc<str>>> = std::sync::OnceLock::new();
    let all = NAMES.get_or_init(|| (0..super::FILES_MAX).map(|file| Arc::from(format!("f{file}"))).collect());
    Arc::clone(&all[usize::from(file)])
}

/// The bytes of a regular file.
pub(super) fn of_node(node: &Node) -> Option<&[u8]> {
    match &node.kind {
        NodeKind::File(bytes) => Some(bytes),
        _ => None,
    }
}

/// The bytes of a file in a tree.
pub(super) fn bytes(tree: &Tree, id: NodeId) -> Option<&[u8]> {
    of_node(tree.node(id)?)
}

/// The length of a file in a tree.
pub(super) fn file_len(tree: &Tree, id: NodeId) -> Option<usize> {
    bytes(tree, id).map(<[u8]>::len)
}
