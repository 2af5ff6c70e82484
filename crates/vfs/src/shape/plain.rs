//! The shape of a plain tree: a hash of hashes, without a text on the way.
//!
//! Most trees of a search have no symlink, no file with two names and no open file. Their nodes are told apart by what
//! is below them, so that a walk is enough.

use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_128;

use super::{ShapeOptions, Sizes};
use crate::{Node, NodeId, NodeKind, Tree};

/// What a node is made of, apart from what is below it.
const FILE: u8 = 0;
const DIR: u8 = 1;

/// Equal for trees of the same shape and, but for collisions of a 128-bit hash, for no others; `None` if the tree is
/// not plain. No file of it is open.
pub(super) fn fingerprint(tree: &Tree, options: ShapeOptions) -> Option<u128> {
    Plain { tree, options, left: tree.nodes.len() }.hash(tree.root)
}

struct Plain<'a> {
    tree: &'a Tree,
    options: ShapeOptions,
    /// How many nodes may still be met. A plain tree has each once; only a broken one has directories without end.
    left: usize,
}

impl Plain<'_> {
    fn hash(&mut self, id: NodeId) -> Option<u128> {
        self.left = self.left.checked_sub(1)?;
        let node = self.tree.node(id)?;
        let mut bytes: SmallVec<[u8; 128]> = SmallVec::new();
        match &node.kind {
            NodeKind::Symlink(_) | NodeKind::Special(_) => return None,
            NodeKind::File(_) if node.nlink != 1 => return None,
            NodeKind::File(content) => {
                let size = match self.options.sizes {
                    Sizes::Bytes => content.len() as u64,
                    Sizes::Blocks(size) => (content.len() as u64).div_ceil(size.get()),
                };
                bytes.push(FILE);
                bytes.extend_from_slice(&size.to_le_bytes());
                self.add_attributes(node, &mut bytes);
            }
            NodeKind::Dir(entries) => {
                bytes.push(DIR);
                self.add_attributes(node, &mut bytes);
                let mut children: SmallVec<[(&str, u128); 8]> = SmallVec::new();
                for (name, child) in entries {
                    children.push((if self.options.names_kept { name } else { "" }, self.hash(*child)?));
                }
                children.sort_unstable();
                for (name, hash) in children {
                    add(name.as_bytes(), &mut bytes);
                    bytes.extend_from_slice(&hash.to_le_bytes());
                }
            }
        }
        Some(xxh3_128(&bytes))
    }

    fn add_attributes(&self, node: &Node, bytes: &mut SmallVec<[u8; 128]>) {
        if self.options.attributes {
            [node.mode, node.uid, node.gid].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            for (name, value) in &node.xattrs {
                add(name.as_bytes(), bytes);
                bytes.extend_from_slice(&value.len().to_le_bytes());
            }
            // What follows is of fixed length, or begins with its length, which this is not.
            bytes.extend_from_slice(&usize::MAX.to_le_bytes());
        }
    }
}

/// The length comes first, so that no two sequences of fields are the same bytes.
fn add(field: &[u8], bytes: &mut SmallVec<[u8; 128]>) {
    bytes.extend_from_slice(&field.len().to_le_bytes());
    bytes.extend_from_slice(field);
}
