//! The moments that a crash may have left something of, in one order: the start, each op that returned, and each op
//! that was under way as if it had gone on to its end.

use std::sync::Arc;

use super::{
    history::{Moment, Record, Zeros},
    pins::Name,
    things::{Thing, Value},
};
use crate::{Contents, Fallocate, Node, NodeId, NodeKind, Op, OpenFlags, Path, Tree};

#[derive(Debug)]
pub(super) struct Chain {
    base: Tree,
    records: Vec<Arc<Record>>,
    /// How many of the ops had returned; the rest was under way.
    pub returned: usize,
    pub zeros: Zeros,
}

impl Chain {
    pub fn new(base: Tree, records: Vec<Arc<Record>>, returned: usize, zeros: Zeros) -> Self {
        Self { base, records, returned, zeros }
    }

    /// The last moment.
    pub fn end(&self) -> usize {
        self.records.len()
    }

    pub fn base(&self) -> &Tree {
        &self.base
    }

    pub fn returned(&self) -> &[Arc<Record>] {
        &self.records[..self.returned]
    }

    pub fn tree(&self, moment: usize) -> &Tree {
        moment.checked_sub(1).map_or(&self.base, |op| &self.records[op].event.after)
    }

    /// The op that made a moment; the start was made by none.
    pub fn op(&self, moment: usize) -> Option<&Op> {
        moment.checked_sub(1).map(|op| &self.records[op].event.op)
    }

    /// The moment as people count it.
    pub fn moment(&self, moment: usize) -> Moment {
        Moment(moment.checked_sub(1).map_or(0, |op| self.records[op].number))
    }

    /// The distinct values that a thing had at `floor` or later, each with the first such moment. A node that was gone
    /// by then keeps its last attributes: a slot may still lead to it.
    pub fn values(&self, thing: &Thing, floor: usize) -> Vec<(Value, usize)> {
        let mut values: Vec<(Value, usize)> = Vec::new();
        for moment in floor..=self.end() {
            if let Some(value) = thing.value_in(self.tree(moment))
                && values.iter().all(|(known, _)| *known != value)
            {
                values.push((value, moment));
            }
        }
        if values.is_empty() {
            let last = (0..floor).rev().find_map(|at| Some((thing.value_in(self.tree(at))?, at)));
            values.extend(last);
        }
        values
    }

    /// The distinct nodes (or absence) that a name led to at `floor` or later, the latest first.
    pub fn children(&self, name: &Name, floor: usize) -> Vec<Option<NodeId>> {
        let values = self.values(&Thing::Name(name.0, name.1.clone()), floor);
        let child = |(value, _)| if let Value::Child(child) = value { child } else { None };
        values.into_iter().rev().map(child).collect()
    }

    /// The states of a node at `floor` or later, else its last one before.
    pub fn states(&self, node: NodeId, floor: usize) -> Vec<(usize, &Arc<Node>)> {
        let at = |moment: usize| self.tree(moment).node(node).map(|state| (moment, state));
        let states: Vec<_> = (floor..=self.end()).filter_map(at).collect();
        if states.is_empty() { (0..floor).rev().find_map(at).into_iter().collect() } else { states }
    }

    /// The contents of a file at `floor` or later.
    pub fn contents(&self, node: NodeId, floor: usize) -> impl Iterator<Item = (usize, &Contents)> {
        self.states(node, floor).into_iter().filter_map(|(moment, state)| match &state.kind {
            NodeKind::File(bytes) => Some((moment, bytes)),
            NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
        })
    }

    /// The content of a file at one moment.
    pub fn content(&self, node: NodeId, moment: usize) -> Option<&Contents> {
        match &self.tree(moment).node(node)?.kind {
            NodeKind::File(bytes) => Some(bytes),
            NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
        }
    }

    /// The file that the op which made this moment wrote to, if it was a write.
    pub fn written(&self, moment: usize) -> Option<NodeId> {
        let record = &self.records[moment.checked_sub(1)?];
        record.subject.filter(|_| record.is_write())
    }

    /// Whether the content of a file is beyond the trees: it was changed through a slot when no name led to it.
    pub fn changed_unseen(&self, node: NodeId) -> bool {
        self.records.iter().any(|record| {
            let changes = match &record.event.op {
                Op::Write { .. } | Op::Truncate { .. } => true,
                Op::Fallocate { how, .. } => *how != Fallocate::KeepSize,
                Op::Open { flags, .. } => flags.contains(OpenFlags::TRUNC),
                _ => false,
            };
            changes && record.subject == Some(node) && record.event.after.node(node).is_none()
        })
    }

    /// A path of a node at the latest moment that has one, for messages.
    pub fn path(&self, node: NodeId) -> Option<Path> {
        let named = |moment| self.tree(moment).paths().into_iter().find(|(_, id)| *id == node);
        (0..=self.end()).rev().find_map(named).map(|(path, _)| path)
    }
}
