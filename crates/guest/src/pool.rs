//! Guests that wait for work: one for each worker that ever was busy at the same time, each on a core of its own.

use std::{
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    },
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use disk::Image;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{Guest, GuestError, Kernel, patience::Heeded, session::SessionId};

/// Guests of one kernel with disks of one size.
#[derive(Debug)]
pub(crate) struct Pool {
    kernel: Kernel,
    sectors: u64,
    cores: Vec<usize>,
    booted: AtomicUsize,
    /// Who may ask to give up waiting for any of them.
    pub heeded: Heeded,
    idle: Mutex<Vec<Seat>>,
}

/// A guest, and what is mounted in it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub guest: Guest,
    /// What is mounted, if anything is, and the bytes of its disk.
    pub mounted: Option<(SessionId, Image)>,
    /// Its place on its core, for as long as the guest runs.
    _claim: Option<Claim>,
}

/// The cores that the calling thread may use, put back when this is dropped.
pub(crate) struct Pinned(Option<CpuSet>);

impl Pool {
    pub fn new(kernel: Kernel, sectors: u64) -> Self {
        let allowed = sched_getaffinity(None).ok();
        let may_use = |core: &usize| allowed.as_ref().is_none_or(|allowed| allowed.is_set(*core));
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(may_use).collect();
        Self { kernel, sectors, cores, booted: AtomicUsize::new(0), heeded: Heeded::default(), idle: Mutex::default() }
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
        let in_turn = || self.cores.get(number % self.cores.len().max(1)).copied().unwrap_or(0);
        let claim = Claim::least_shared(&self.cores);
        let core = claim.as_ref().map_or_else(in_turn, |claim| claim.core);
        let _pinned = pin(core);
        let guest = Guest::boot(&self.kernel, self.sectors, core)?.heeding(self.heeded.clone());
        Ok(Seat { guest, mounted: None, _claim: claim })
    }

    /// Takes a guest back that can be used again.
    pub fn put(&self, seat: Seat) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
    }
}

/// So many guests share a core before one is put just anywhere.
const GUESTS_ON_A_CORE_MAX: u32 = 64;

/// A place on a core that has as few guests as any: the tasks of a swarm, which know nothing of each other, would crowd
/// together on the first core otherwise. It is a name among the sockets of this machine, which goes with its owner.
#[derive(Debug)]
struct Claim {
    core: usize,
    _name: UnixDatagram,
}

impl Claim {
    /// A place on the core where fewest are.
    fn least_shared(cores: &[usize]) -> Option<Self> {
        (0..GUESTS_ON_A_CORE_MAX).find_map(|others| cores.iter().find_map(|core| Self::of(*core, others)))
    }

    /// A claim to a core beside so many others, unless another guest has that place.
    fn of(core: usize, others: u32) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("shakedown-guest-{others}-on-core-{core}")).ok()?;
        Some(Self { core, _name: UnixDatagram::bind_addr(&name).ok()? })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_a_core_is_claimed_once_until_it_is_given_back() {
        // No machine has so many, so that no guest is in the way.
        const CORE: usize = 1_000_000;
        let claim = Claim::of(CORE, 0).unwrap();
        assert_eq!(claim.core, CORE);
        assert!(Claim::of(CORE, 0).is_none() && Claim::of(CORE, 1).is_some());
        drop(claim);
        assert!(Claim::of(CORE, 0).is_some());
    }

    #[test]
    fn guests_are_spread_over_the_cores() {
        let cores = [1_000_001, 1_000_002];
        let claims: Vec<Claim> = (0..5).map(|_| Claim::least_shared(&cores).unwrap()).collect();
        assert_eq!(claims.iter().map(|claim| claim.core - 1_000_000).collect::<Vec<_>>(), [1, 2, 1, 2, 1]);
    }
}
