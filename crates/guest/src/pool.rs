//! Guests that wait for work: one for each worker that ever was busy at the same time, each on a core of its own.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use disk::Image;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::{Guest, GuestError, Kernel, session::SessionId};

/// Guests of one kernel with disks of one size.
#[derive(Debug)]
pub(crate) struct Pool {
    kernel: Kernel,
    sectors: u64,
    cores: Vec<usize>,
    booted: AtomicUsize,
    idle: Mutex<Vec<Seat>>,
}

/// A guest, and what is mounted in it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub guest: Guest,
    /// What is mounted, if anything is, and the bytes of its disk.
    pub mounted: Option<(SessionId, Image)>,
}

/// The cores that the calling thread may use, put back when this is dropped.
pub(crate) struct Pinned(Option<CpuSet>);

impl Pool {
    pub fn new(kernel: Kernel, sectors: u64) -> Self {
        let allowed = sched_getaffinity(None).ok();
        let may_use = |core: &usize| allowed.as_ref().is_none_or(|allowed| allowed.is_set(*core));
        let mut cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(may_use).collect();
        // Several of us at a time, as in a swarm, would crowd together on the first core.
        let here = sched_getcpu();
        let first = cores.iter().position(|core| *core == here).unwrap_or(0);
        cores.rotate_left(first);
        Self { kernel, sectors, cores, booted: AtomicUsize::new(0), idle: Mutex::default() }
    }

    /// The kernel that they run.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// A guest that has this mounted, or else any that waits.
    pub fn take(&self, wanted: Option<SessionId>) -> Option<Seat> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |seat: &Seat| seat.mounted.as_ref().map(|(session, _)| *session) == wanted;
        let place = idle.iter().position(has).or_else(|| idle.len().checked_sub(1));
        place.map(|place| idle.remove(place))
    }

    /// A guest that has done nothing yet.
    pub fn boot(&self) -> Result<Seat, GuestError> {
        let number = self.booted.fetch_add(1, Ordering::Relaxed);
        let core = self.cores.get(number % self.cores.len().max(1)).copied().unwrap_or(0);
        let _pinned = pin(core);
        Ok(Seat { guest: Guest::boot(&self.kernel, self.sectors, core)?, mounted: None })
    }

    /// Takes a guest back that can be used again.
    pub fn put(&self, seat: Seat) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
    }
}

/// Keeps the calling thread on a core, the one of the guest that it works with.
pub(crate) fn pin(core: usize) -> Pinned {
    let before = sched_getaffinity(None).ok();
    let mut only = CpuSet::new();
    only.set(core);
    // Slower elsewhere, but not wrong.
    let _ = sched_setaffinity(None, &only);
    Pinned(before)
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(None, before);
        }
    }
}
