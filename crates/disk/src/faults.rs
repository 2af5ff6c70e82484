//! Requests that fail: the n-th read, write, flush or allocation returns an error, once.
//!
//! What may fail: any read, write, FUA write, discard (these three count as writes), flush, and any allocation of
//! memory that a file system announces. A failed write or discard changes nothing, a failed flush makes nothing
//! durable; neither is logged. Armed without any fault, it counts requests, which tells a caller how many faults there
//! are to try.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::IoError;

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failing {
    /// A read.
    Read,
    /// A write, FUA write or discard.
    Write,
    /// A flush.
    Flush,
    /// An allocation of memory.
    Allocation,
}

impl Failing {
    /// Everything that can fail.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Allocation];

    fn error(self) -> IoError {
        match self {
            Self::Read => IoError::Read,
            Self::Write => IoError::Write,
            Self::Flush => IoError::Flush,
            Self::Allocation => IoError::Memory,
        }
    }
}

/// One request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What kind of request.
    pub what: Failing,
    /// How many requests of that kind succeed first: 0 fails the next one.
    pub after: u64,
}

/// Which requests fail.
pub type Faults = SmallVec<[Fault; 2]>;

/// How many requests were made, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IoCounts {
    /// Calls that read.
    pub reads: u64,
    /// Calls that write or discard.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Allocations that were announced.
    pub allocations: u64,
}

impl IoCounts {
    /// Those of one kind.
    pub fn of(&self, what: Failing) -> u64 {
        match what {
            Failing::Read => self.reads,
            Failing::Write => self.writes,
            Failing::Flush => self.flushes,
            Failing::Allocation => self.allocations,
        }
    }

    fn of_mut(&mut self, what: Failing) -> &mut u64 {
        match what {
            Failing::Read => &mut self.reads,
            Failing::Write => &mut self.writes,
            Failing::Flush => &mut self.flushes,
            Failing::Allocation => &mut self.allocations,
        }
    }
}

/// What is done about allocations of a file system that are not announced by [`Disk::allocate`](crate::Disk::allocate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnseenAllocations {
    /// They are not even counted: no faults are tried, or the one that was to fail has failed.
    Ignored,
    /// They are counted, and none fails.
    Counted,
    /// They are counted, and the one with this number fails, counted from 0 from now on.
    Failing(u64),
}

/// Armed faults. Reads are counted through a shared reference, as borrowed reads need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmedFaults {
    faults: Faults,
    done: Cell<IoCounts>,
    /// How many allocations were made out of our sight.
    unseen: Cell<u64>,
    held: Cell<bool>,
}

impl ArmedFaults {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, done: Cell::default(), unseen: Cell::default(), held: Cell::default() }
    }

    /// What is done about those that are made out of our sight from now on.
    pub(crate) fn unseen(&self) -> UnseenAllocations {
        let mut allocations = self.faults.iter().filter(|fault| fault.what == Failing::Allocation).peekable();
        if allocations.peek().is_none() {
            return UnseenAllocations::Counted;
        }
        let next = allocations.filter_map(|fault| fault.after.checked_sub(self.unseen.get())).min();
        next.map_or(UnseenAllocations::Ignored, UnseenAllocations::Failing)
    }

    /// Counts allocations that were made out of our sight. None can be chosen to fail beside another: whoever lets one
    /// fail counts no more after it.
    pub(crate) fn count_unseen(&self, count: u64) {
        if self.held.get() {
            return;
        }
        self.unseen.set(self.unseen.get() + count);
        if self.faults.iter().all(|fault| fault.what != Failing::Allocation) {
            let mut done = self.done.get();
            done.allocations += count;
            self.done.set(done);
        }
    }

    pub(crate) fn done(&self) -> IoCounts {
        self.done.get()
    }

    /// From now on nothing fails, and nothing is counted.
    pub(crate) fn hold(&self) {
        self.held.set(true);
    }

    /// Counts a request and says whether it fails.
    pub(crate) fn next(&self, what: Failing) -> Result<(), IoError> {
        if self.held.get() {
            return Ok(());
        }
        let mut done = self.done.get();
        let count = done.of_mut(what);
        let fault = Fault { what, after: *count };
        *count += 1;
        self.done.set(done);
        if self.faults.contains(&fault) { Err(what.error()) } else { Ok(()) }
    }
}
