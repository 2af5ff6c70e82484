//! One state of a comparison: each side as it is, the tree on which all of them agree, and how it came about.

use std::{collections::BTreeMap, sync::Arc};

use smallvec::SmallVec;
use vfs::{Fd, Op, OpenFlags, Outcome, Path, Place, Tree};
use xxhash_rust::xxh3::xxh3_128;

use super::{Comparison, SideState, past::Past};
use crate::{fullness, options::Equality};

/// A state of the search: a moment, and what led to it. What led to it does not tell states apart.
#[derive(Clone)]
pub struct Compared {
    pub(super) now: Arc<Moment>,
    /// How far a script is.
    pub(super) place: Place,
    pub(super) past: Past,
}

/// All sides after the same ops.
pub struct Moment {
    /// In the order of the command line.
    pub(super) sides: SmallVec<[SideState; 3]>,
    /// What a user sees on every side.
    pub(super) tree: Tree,
    /// Ops done so far.
    pub(super) ops: u32,
    /// What of the room was used that sides grant (`fullness::uses`).
    pub(super) room_used: u64,
    slots: Slots,
}

/// Which files are open, by the names under which they were opened. A tree does not show that, but it decides what ops
/// on a slot come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Slots(Arc<BTreeMap<Fd, (Path, OpenFlags)>>);

impl Compared {
    pub fn fresh(sides: SmallVec<[SideState; 3]>, tree: Tree) -> Self {
        let now = Moment { sides, tree, ops: 0, room_used: 0, slots: Slots::default() };
        Self { now: Arc::new(now), place: Place::default(), past: Past::default() }
    }

    /// The state after an op: what each side said, what that counts as, how each side is and what all of them show.
    pub fn after(
        &self,
        op: &Op,
        said: &[Outcome],
        outcome: &Outcome,
        (sides, tree): (SmallVec<[SideState; 3]>, Tree),
    ) -> Self {
        let (mut slots, mut room_used) = (self.now.slots.clone(), self.now.room_used);
        if outcome.is_ok() {
            slots.note(op);
            room_used = room_used.saturating_add(fullness::uses(op));
        }
        let now = Moment { sides, tree, ops: self.now.ops + 1, room_used, slots };
        Self { now: Arc::new(now), place: self.place, past: self.past.and(&self.now, op, said) }
    }

    /// Whether there is no name, and nothing open.
    pub fn is_empty(&self) -> bool {
        !self.has_open_files() && self.now.tree.is_empty()
    }

    pub fn has_open_files(&self) -> bool {
        !self.now.slots.0.is_empty()
    }

    /// How the slot was opened on which an op works; no flags if it works on none that is open.
    pub fn slot_of(&self, op: &Op) -> OpenFlags {
        let opened = op.fd().and_then(|fd| self.now.slots.0.get(&fd));
        opened.map_or(OpenFlags(0), |(_, flags)| *flags)
    }

    /// Whether a user sees no difference.
    pub fn looks_like(&self, other: &Self) -> bool {
        self.now.slots == other.now.slots && self.now.tree.same_as(&other.now.tree)
    }

    /// Appends what tells it from other states, by the chosen equality.
    pub fn encode(&self, comparison: &Comparison, equality: Equality, bytes: &mut Vec<u8>) {
        if equality == Equality::Full {
            for (side, state) in comparison.sides().zip(&self.now.sides) {
                side.encode(state, bytes);
            }
        }
        bytes.extend_from_slice(&self.now.tree.fingerprint().to_le_bytes());
        if self.has_open_files() {
            bytes.extend_from_slice(&xxh3_128(format!("{:?}", self.now.slots).as_bytes()).to_le_bytes());
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
