//! The table of nodes, in one of two forms.
//!
//! *Whole*: one map, shared by `Arc` with every [`Tree`] that is handed out. A check asks for the tree after every op
//! and has few nodes: sharing the map is cheapest, and to copy it before a change costs little.
//!
//! *In parts*: a map of which a change copies only a part, for a mounted reference, which may have any number of nodes
//! and is asked for its tree hardly ever. A tree is then made node by node.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Node, NodeId, Radix};

#[derive(Clone, Debug)]
pub(super) enum Table {
    Whole(Arc<BTreeMap<NodeId, Arc<Node>>>),
    InParts(Radix<Arc<Node>>),
}

impl Table {
    pub(super) fn get(&self, id: NodeId) -> Option<&Arc<Node>> {
        match self {
            Self::Whole(nodes) => nodes.get(&id),
            Self::InParts(nodes) => nodes.get(id.0),
        }
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Arc<Node>> {
        match self {
            Self::Whole(nodes) => Arc::make_mut(nodes).get_mut(&id),
            Self::InParts(nodes) => nodes.get_mut(id.0),
        }
    }

    pub(super) fn insert(&mut self, id: NodeId, node: Arc<Node>) {
        match self {
            Self::Whole(nodes) => drop(Arc::make_mut(nodes).insert(id, node)),
            Self::InParts(nodes) => drop(nodes.insert(id.0, node)),
        }
    }

    pub(super) fn remove(&mut self, id: NodeId) -> Option<Arc<Node>> {
        match self {
            Self::Whole(nodes) => Arc::make_mut(nodes).remove(&id),
            Self::InParts(nodes) => nodes.remove(id.0),
        }
    }

    /// All nodes with their identities, as a tree has them.
    pub(super) fn whole(&self) -> Arc<BTreeMap<NodeId, Arc<Node>>> {
        match self {
            Self::Whole(nodes) => Arc::clone(nodes),
            Self::InParts(nodes) => Arc::new(nodes.iter().map(|(id, node)| (NodeId(id), Arc::clone(node))).collect()),
        }
    }

    /// The same nodes, in parts.
    pub(super) fn in_parts(&self) -> Self {
        let mut parts = Radix::default();
        self.whole().iter().for_each(|(id, node)| drop(parts.insert(id.0, Arc::clone(node))));
        Self::InParts(parts)
    }

    /// The identities under which the two have different nodes. In parts, what they share is not looked at.
    pub(super) fn differences(&self, other: &Self) -> Vec<NodeId> {
        if let (Self::InParts(left), Self::InParts(right)) = (self, other) {
            return left.differences(right, Arc::ptr_eq).into_iter().map(NodeId).collect();
        }
        let (left, right) = (self.whole(), other.whole());
        let same = |id: &NodeId| match (left.get(id), right.get(id)) {
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            _ => false,
        };
        left.keys().chain(right.keys()).filter(|id| !same(id)).copied().collect()
    }
}
