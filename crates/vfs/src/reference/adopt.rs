//! A reference that starts from a tree: how a check goes on after a recovery.

use std::{collections::BTreeMap, sync::Arc};

use super::{ROOT, Reference, table::Table};
use crate::{NodeId, NodeKind, Tree};

impl Reference {
    /// A file system that looks like `tree`, with nothing open. Names that lead nowhere are left out. The nodes get
    /// identities of their own, in walking order, so equal trees give equal references.
    pub fn from_tree(tree: &Tree) -> Self {
        Self::adopt(tree, &Self::new()).0
    }

    /// As [`Reference::from_tree`], with identities that `other` has not given out (but for the root, which has its
    /// own); and which node of the tree got which.
    pub fn adopt(tree: &Tree, other: &Self) -> (Self, BTreeMap<NodeId, NodeId>) {
        let mut ids = BTreeMap::from([(tree.root, ROOT)]);
        let mut next = other.next;
        for (_, id) in tree.paths() {
            ids.entry(id).or_insert_with(|| {
                next = next.saturating_add(1);
                NodeId(next - 1)
            });
        }
        let adopt = |id: &NodeId| {
            let mut node = tree.node(*id)?.as_ref().clone();
            if let NodeKind::Dir(names) = &mut node.kind {
                let leading = names.iter().filter(|(_, child)| tree.node(**child).is_some());
                *names = leading.map(|(name, child)| (Arc::clone(name), ids[child])).collect();
            }
            Some((ids[id], Arc::new(node)))
        };
        let nodes: BTreeMap<_, _> = ids.keys().filter_map(adopt).collect();
        let mut reference = Self::new();
        reference.next = next;
        reference.nodes = Table::Whole(Arc::new(nodes));
        (reference, ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn an_adopted_tree_is_the_same_and_can_be_used() {
        let mut original = Reference::new();
        let ops =
            ["mkdir(\"/d\", mode=0755)", "create(\"/d/f\", mode=0644)", "link(\"/d/f\", \"/g\")", "unlink(\"/d/f\")"];
        for op in ops {
            original.apply(&op.parse::<Op>().unwrap()).unwrap();
        }
        let mut adopted = Reference::from_tree(&original.tree());
        assert!(adopted.tree().same_as(&original.tree()));
        let op: Op = "create(\"/d/new\", mode=0644)".parse().unwrap();
        assert!(adopted.apply(&op).is_ok());
        assert!(original.apply(&op).is_ok());
        assert!(adopted.tree().same_as(&original.tree()));
    }
}
