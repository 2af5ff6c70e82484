//! One state of a comparison: each side as it is, and the tree on which all of them agree.

use std::{collections::BTreeMap, sync::Arc};

use smallvec::SmallVec;
use vfs::{Fd, Op, OpenFlags, Outcome, Path, Place, Tree};
use xxhash_rust::xxh3::xxh3_128;

use super::{Comparison, SideState};
use crate::options::Equality;

/// All sides after the same ops.
#[derive(Clone)]
pub struct Compared {
    /// In the order of the command line.
    pub(super) sides: SmallVec<[SideState; 3]>,
    /// What a user sees on every side.
    pub(super) tree: Tree,
    /// Ops done so far.
    pub(super) ops: u32,
    /// How far a script is.
    pub(super) place: Place,
    pub(super) slots: Slots,
}

/// Which files are open, by the names under which they were opened. A tree does not show that, but it decides what ops
/// on a slot come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Slots(Arc<BTreeMap<Fd, (Path, OpenFlags)>>);

impl Compared {
    pub fn fresh(sides: SmallVec<[SideState; 3]>, tree: Tree) -> Self {
        Self { sides, tree, ops: 0, place: Place::default(), slots: Slots::default() }
    }

    /// The state after an op, given each side and what all of them show.
    pub fn after(&self, op: &Op, outcome: &Outcome, sides: SmallVec<[SideState; 3]>, tree: Tree) -> Self {
        let mut slots = self.slots.clone();
        if outcome.is_ok() {
            slots.note(op);
        }
        Self { sides, tree, ops: self.ops + 1, place: self.place, slots }
    }

    /// Appends what tells it from other states, by the chosen equality.
    pub fn encode(&self, comparison: &Comparison, equality: Equality, bytes: &mut Vec<u8>) {
        if equality == Equality::Full {
            for (side, state) in comparison.sides().zip(&self.sides) {
                side.encode(state, bytes);
            }
        }
        bytes.extend_from_slice(&self.tree.fingerprint().to_le_bytes());
        if !self.slots.0.is_empty() {
            bytes.extend_from_slice(&xxh3_128(format!("{:?}", self.slots).as_bytes()).to_le_bytes());
        }
    }
}

impl Slots {
    fn note(&mut self, op: &Op) {
        match op {
            Op::Open { path, flags, fd, .. } => {
                Arc::make_mut(&mut self.0).insert(*fd, (path.clone(), *flags));
            }
            Op::Close { fd } => {
                Arc::make_mut(&mut self.0).remove(fd);
            }
            Op::Remount => *self = Self::default(),
            _ => {}
        }
    }
}
