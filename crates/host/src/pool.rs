//! Workers that wait for work: one for each thread that ever was busy at the same time.
//!
//! Nobody serves the disk of one that waits. Whoever syncs all file systems of this machine would wait with it, and the
//! kernel's own clocks would make it write. So what is mounted is unmounted after a moment of waiting, and neither what
//! is mounted nor a worker is gone on with once it is old ([`writeback`]).

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use disk::Image;

use crate::{
    HostError,
    place::{Place, Start},
    runner,
    session::SessionId,
    writeback,
};

/// So long may something wait that is mounted.
const WAITING_MAX: Duration = Duration::from_secs(1);
/// With so many, what was mounted last is still mounted somewhere when a recovery is looked at from all sides.
const WAITING_AT_LEAST: usize = 3;
const PATROL: Duration = Duration::from_millis(250);

/// Workers with disks of one size.
#[derive(Debug)]
pub(crate) struct Pool {
    start: Start,
    silence_max: Duration,
    idle: Arc<Mutex<Vec<Seat>>>,
}

/// A worker, and what is mounted there.
#[derive(Debug)]
pub(crate) struct Seat {
    pub place: Place,
    /// What is mounted, if anything is.
    pub mounted: Option<MountedHere>,
    put_back: Instant,
}

/// What is mounted, the bytes of its disk, and since when.
#[derive(Debug)]
pub(crate) struct MountedHere {
    pub session: SessionId,
    pub image: Image,
    pub since: Instant,
}

impl Seat {
    pub fn has(&self, session: SessionId, image: &Image) -> bool {
        self.mounted.as_ref().is_some_and(|here| {
            let age = self.place.age().max(here.since.elapsed());
            here.session == session && here.image.hash() == image.hash() && writeback::leaves_time_to_go_on(age)
        })
    }

    /// Whether something else may be mounted here.
    pub fn may_mount(&self) -> bool {
        writeback::leaves_time_to_mount(self.place.age())
    }
}

impl Drop for Seat {
    /// What is mounted is unmounted in peace: without its disk, the kernel would complain in its log.
    fn drop(&mut self) {
        let _ = runner::clear(self);
    }
}

impl Pool {
    pub fn new(start: Start, silence_max: Duration) -> Self {
        let idle = Arc::new(Mutex::new(Vec::new()));
        let watched = Arc::downgrade(&idle);
        std::thread::spawn(move || patrol(&watched));
        Self { start, silence_max, idle }
    }

    /// A worker that has this mounted, or else one that has nothing mounted, or else, if several wait, the one that has
    /// waited for longest. What is mounted at others may still be asked for, so another one is started rather.
    pub fn take(&self, wanted: Option<(SessionId, &Image)>) -> Result<Seat, HostError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |seat: &Seat| wanted.is_some_and(|(session, image)| seat.has(session, image));
        let place = idle.iter().position(has).or_else(|| {
            let usable = || (0..idle.len()).filter(|place| idle[*place].may_mount());
            let first = (usable().count() >= WAITING_AT_LEAST).then(|| usable().next()).flatten();
            usable().find(|place| idle[*place].mounted.is_none()).or(first)
        });
        if let Some(place) = place {
            return Ok(idle.remove(place));
        }
        drop(idle);
        self.start()
    }

    /// A worker that was just started.
    pub fn start(&self) -> Result<Seat, HostError> {
        let place = self.start.place(self.silence_max)?;
        Ok(Seat { place, mounted: None, put_back: Instant::now() })
    }

    /// Takes a worker back that can be used again.
    pub fn put(&self, mut seat: Seat) {
        seat.put_back = Instant::now();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
    }
}

/// Unmounts what has waited for too long, and ends who is too old, until there is no pool any more.
fn patrol(idle: &Weak<Mutex<Vec<Seat>>>) {
    loop {
        std::thread::sleep(PATROL);
        let Some(idle) = idle.upgrade() else { return };
        let waits = |seat: &mut Seat| {
            let waited = seat.put_back.elapsed();
            (seat.mounted.is_some() && waited > WAITING_MAX) || (!seat.may_mount() && waited > PATROL)
        };
        let late: Vec<Seat> = {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.extract_if(.., |seat| waits(seat)).collect()
        };
        for mut seat in late {
            // One that cannot be used any more is dropped, and cleared away as a whole.
            if matches!(runner::clear(&mut seat), Ok(true)) && seat.may_mount() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MountedBy, machine::SILENCE_MAX};

    fn grow_older(seat: &mut Seat, by: Duration) {
        if let Place::Worker(machine) = &mut seat.place {
            machine.grow_older(by);
        }
    }

    fn is_old(seat: &Seat) -> bool {
        !seat.may_mount()
    }

    /// The kernel goes by the age of a device, not by that of what is mounted there.
    #[test]
    fn a_worker_whose_device_is_old_is_not_taken_again_and_is_ended() {
        let pool = Pool::new(Start { sectors: 8, mounted_by: MountedBy::RunningKernel }, SILENCE_MAX);
        let mut seat = match pool.start() {
            Ok(seat) => seat,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "could not {error}");
                eprintln!("skipped: could not {error}");
                return;
            }
        };
        grow_older(&mut seat, writeback::begins_after() / 6);
        let age = seat.place.age();
        pool.put(seat);
        let mut seat = pool.take(None).unwrap();
        assert!(seat.place.age() >= age, "one that is young is taken again");
        grow_older(&mut seat, writeback::begins_after() / 3);
        assert!(is_old(&seat));
        pool.put(seat);
        assert!(!is_old(&pool.take(None).unwrap()), "another one takes its place");
        let begun = Instant::now();
        while pool.idle.lock().unwrap().iter().any(is_old) {
            assert!(begun.elapsed() < Duration::from_mins(1), "the patrol ends it");
            std::thread::sleep(PATROL);
        }
    }
}
