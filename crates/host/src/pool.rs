//! Workers that wait for work: one for each thread that ever was busy at the same time.
//!
//! Nobody serves the disk of one that waits. Whoever syncs all file systems of this machine would wait with it, and the
//! kernel's own clocks would make it write. So what is mounted is unmounted after a moment of waiting, and is not gone
//! on with once it is old.

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
};

/// So long may something wait that is mounted.
const WAITING_MAX: Duration = Duration::from_secs(1);
/// What is older is mounted anew: after 30 seconds the kernel writes back what was changed, whoever asks for it or not.
const AGE_MAX: Duration = Duration::from_secs(10);
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
            here.session == session && here.image.hash() == image.hash() && here.since.elapsed() < AGE_MAX
        })
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
        let place = idle.iter().position(has).or_else(|| idle.iter().position(|seat| seat.mounted.is_none()));
        if let Some(place) = place.or_else(|| (idle.len() >= WAITING_AT_LEAST).then_some(0)) {
            return Ok(idle.remove(place));
        }
        drop(idle);
        let place = self.start.place(self.silence_max)?;
        Ok(Seat { place, mounted: None, put_back: Instant::now() })
    }

    /// Takes a worker back that can be used again.
    pub fn put(&self, mut seat: Seat) {
        seat.put_back = Instant::now();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
    }
}

/// Unmounts what has waited for too long, until there is no pool any more.
fn patrol(idle: &Weak<Mutex<Vec<Seat>>>) {
    loop {
        std::thread::sleep(PATROL);
        let Some(idle) = idle.upgrade() else { return };
        let waits = |seat: &mut Seat| seat.mounted.is_some() && seat.put_back.elapsed() > WAITING_MAX;
        let late: Vec<Seat> = {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.extract_if(.., |seat| waits(seat)).collect()
        };
        for mut seat in late {
            // One that cannot be cleared is dropped, and cleared away as a whole.
            if runner::clear(&mut seat).is_ok() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
            }
        }
    }
}
