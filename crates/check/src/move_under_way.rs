//! What is known of a move while it is made: what it is made for, and which of its recoveries were judged.

use std::{
    cell::{Cell, OnceCell, RefCell},
    sync::Arc,
};

use disk::{Faults, Position};
use smallvec::SmallVec;

use crate::{
    checker::Mishap,
    crash_point::CrashPoint,
    recovery::Recovered,
    room::RoomBefore,
    state::{Foreseen, State},
    target::Target,
    wanted::Wanted,
};

/// A move that is being made.
pub(crate) struct MoveUnderWay<'a, T: Target> {
    /// Where in the log it began.
    pub start: Position,
    /// The op, by its place among those under way.
    pub task: usize,
    /// Which of its requests fail.
    pub faults: &'a Faults,
    /// What it is made for, and whether that was found.
    pub wanted: Wanted<'a>,
    pub found: Cell<bool>,
    /// What the op will do, if that was asked while it was the only one under way.
    pub foreseen: OnceCell<Foreseen>,
    /// What there was room for before it.
    pub room: RoomBefore<'a, T>,
    /// Recoveries that were found to be right.
    judged: RefCell<SmallVec<[Judged<T>; 8]>>,
    /// The most blocks that a recovery wrote, if the power was cut at all.
    pub recovery_wrote: Cell<Option<u32>>,
}

/// A recovery that was judged, and when: how many ops had returned and how many were under way.
type Judged<T> = (Arc<Recovered<T>>, (usize, usize));

impl<'a, T: Target> MoveUnderWay<'a, T> {
    pub fn new(before: &'a State<T>, start: Position, task: usize, (faults, wanted): (&'a Faults, Wanted<'a>)) -> Self {
        let (foreseen, judged, recovery_wrote) = (OnceCell::new(), RefCell::default(), Cell::default());
        let (room, found) = (RoomBefore::new(before), Cell::new(false));
        Self { start, task, faults, wanted, found, foreseen, room, judged, recovery_wrote }
    }

    pub fn was_judged(&self, recovered: &Arc<Recovered<T>>, (returned, under_way): (usize, usize)) -> bool {
        self.judged.borrow().iter().any(|(known, then)| Arc::ptr_eq(known, recovered) && *then == (returned, under_way))
    }

    pub fn note_judged(&self, recovered: Arc<Recovered<T>>, (returned, under_way): (usize, usize)) {
        self.judged.borrow_mut().push((recovered, (returned, under_way)));
    }

    pub fn note_recovery(&self, recovered: &Recovered<T>) {
        self.recovery_wrote.set(self.recovery_wrote.get().max(Some(recovered.blocks_written)));
    }

    pub fn mishap(&self, crash: Option<CrashPoint>) -> Mishap {
        Mishap { faults: self.faults.clone(), crash }
    }
}
