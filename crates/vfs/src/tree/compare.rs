//! Equality of trees as a user sees it, and a fingerprint that agrees with it.
//!
//! Both walk names in order and number the nodes as they are met. Meeting a number again is a hard link, so two
//! trees with the same numbering have the same link structure whatever identities their nodes carry.

use std::sync::Arc;

use smallvec::SmallVec;
use xxhash_rust::xxh3::Xxh3;

use super::{Node, NodeId, NodeKind, Tree};

/// Nodes with their number in the order in which a walk met them, sorted: most trees are so small that a map would be
/// slower.
#[derive(Default)]
struct Met(SmallVec<[(NodeId, usize); 16]>);

impl Met {
    /// The number of a node that was met before; otherwise it is given the next one.
    fn again(&mut self, id: NodeId) -> Option<usize> {
        match self.0.binary_search_by_key(&id, |(met, _)| *met) {
            Ok(place) => Some(self.0[place].1),
            Err(place) => {
                self.0.insert(place, (id, self.0.len()));
                None
            }
        }
    }
}

impl Tree {
    /// Whether a user could not tell the two apart. Identities are not compared, but which names are the same node is.
    pub fn same_as(&self, other: &Self) -> bool {
        let shared = self.root == other.root && Arc::ptr_eq(&self.nodes, &other.nodes);
        shared || same(self, self.root, &mut Met::default(), other, other.root, &mut Met::default())
    }

    /// A hash of everything that [`Tree::same_as`] compares. The same on every machine.
    pub fn fingerprint(&self) -> u128 {
        let mut hash = Xxh3::new();
        self.feed(self.root, &mut Met::default(), &mut hash);
        hash.digest128()
    }

    fn feed(&self, id: NodeId, met: &mut Met, hash: &mut Xxh3) {
        let Some(node) = self.node(id) else { return hash.update(b"?") };
        if let Some(number) = met.again(id) {
            hash.update(b"=");
            return hash.update(&number.to_le_bytes());
        }
        hash.update(b"n");
        for number in [node.mode, node.uid, node.gid, node.nlink] {
            hash.update(&number.to_le_bytes());
        }
        hash.update(&node.xattrs.len().to_le_bytes());
        for (name, value) in &node.xattrs {
            feed_bytes(name.as_bytes(), hash);
            feed_bytes(value, hash);
        }
        match &node.kind {
            NodeKind::File(bytes) => {
                hash.update(b"f");
                feed_bytes(bytes, hash);
            }
            NodeKind::Symlink(target) => {
                hash.update(b"l");
                feed_bytes(target.as_bytes(), hash);
            }
            NodeKind::Special(special) => {
                hash.update(b"s");
                feed_bytes(special.to_string().as_bytes(), hash);
            }
            NodeKind::Dir(entries) => {
                hash.update(b"d");
                hash.update(&entries.len().to_le_bytes());
                for (name, child) in entries {
                    feed_bytes(name.as_bytes(), hash);
                    self.feed(*child, met, hash);
                }
            }
        }
    }
}

/// The length comes first, so that no two sequences of fields feed the same bytes.
fn feed_bytes(bytes: &[u8], hash: &mut Xxh3) {
    hash.update(&bytes.len().to_le_bytes());
    hash.update(bytes);
}

fn same(a: &Tree, a_id: NodeId, a_met: &mut Met, b: &Tree, b_id: NodeId, b_met: &mut Met) -> bool {
    let (a_node, b_node) = match (a.node(a_id), b.node(b_id)) {
        (Some(a_node), Some(b_node)) => (a_node, b_node),
        (None, None) => return true,
        _ => return false,
    };
    match (a_met.again(a_id), b_met.again(b_id)) {
        (None, None) => {}
        (a_number, b_number) => return a_number == b_number,
    }
    match (&a_node.kind, &b_node.kind) {
        (NodeKind::Dir(a_entries), NodeKind::Dir(b_entries)) => {
            same_attributes(a_node, b_node)
                && a_entries.len() == b_entries.len()
                && a_entries.iter().zip(b_entries).all(|((a_name, a_child), (b_name, b_child))| {
                    a_name == b_name && same(a, *a_child, a_met, b, *b_child, b_met)
                })
        }
        _ => Arc::ptr_eq(a_node, b_node) || a_node.kind == b_node.kind && same_attributes(a_node, b_node),
    }
}

fn same_attributes(a: &Node, b: &Node) -> bool {
    (a.mode, a.uid, a.gid, a.nlink) == (b.mode, b.uid, b.gid, b.nlink) && a.xattrs == b.xattrs
}
