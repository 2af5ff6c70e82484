//! The tree of a file system, read node by node. It may be broken, so every node is visited once.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use disk::Disk;
use smallvec::SmallVec;
use vfs::{Errno, Node, NodeId, NodeKind, Tree};

use super::{Ino, Kind, Nodes};

/// Nodes that are still to be looked at.
type Waiting = SmallVec<[Ino; 8]>;

pub(super) fn tree<N: Nodes>(nodes: &N, memory: &N::Memory, disk: &Disk) -> Result<Tree, Errno> {
    let mut found = BTreeMap::new();
    let mut waiting = Waiting::from_slice(&[nodes.root()]);
    while let Some(ino) = waiting.pop() {
        if let Entry::Vacant(place) = found.entry(NodeId(ino.0)) {
            place.insert(Arc::new(node(nodes, memory, disk, ino, &mut waiting)?));
        }
    }
    count_subdirectories(&mut found);
    Ok(Tree { root: NodeId(nodes.root().0), nodes: Arc::new(found) })
}

fn node<N: Nodes>(nodes: &N, memory: &N::Memory, disk: &Disk, ino: Ino, waiting: &mut Waiting) -> Result<Node, Errno> {
    let stat = nodes.stat(memory, disk, ino)?;
    let (kind, nlink) = match stat.kind {
        Kind::File => (NodeKind::File(nodes.read(memory, disk, ino)?.into()), stat.links),
        Kind::Dir => {
            let mut entries = BTreeMap::new();
            nodes.entries(memory, disk, ino, &mut |name, child| {
                entries.insert(Arc::from(name), NodeId(child.0));
                waiting.push(child);
            })?;
            (NodeKind::Dir(entries.into()), 2)
        }
    };
    let mode = nodes.mode(memory, disk, ino, stat.kind)?;
    Ok(Node { kind, mode, uid: 0, gid: 0, nlink, xattrs: BTreeMap::new() })
}

/// A directory has two links and one for each directory in it.
fn count_subdirectories(nodes: &mut BTreeMap<NodeId, Arc<Node>>) {
    let is_dir = |id: &&NodeId| nodes.get(id).is_some_and(|node| node.is_dir());
    let subdirectories = |node: &Node| node.entries().map_or(0, |names| names.values().filter(is_dir).count());
    let counted = nodes.iter().map(|(id, node)| (*id, subdirectories(node))).filter(|(_, count)| *count > 0);
    for (id, count) in counted.collect::<SmallVec<[(NodeId, usize); 4]>>() {
        if let Some(node) = nodes.get_mut(&id) {
            Arc::make_mut(node).nlink += u32::try_from(count).unwrap_or(u32::MAX);
        }
    }
}
