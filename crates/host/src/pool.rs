//! Workers that wait for work: one for each thread that ever was busy at the same time.
//!
//! While one waits, the kernel may ask something of its disk all the same: because a thread of its own writes, or
//! because somebody syncs all file systems of this machine. Whoever asks may hold what others wait for, such as the
//! list of devices of all file systems with one UUID, so such requests are answered too, by a thread that does nothing
//! else.
//! What is mounted there is not gone on with then, as nobody knows what the kernel has in memory. The kernel's own
//! clocks would make it write as well. So what is mounted is unmounted after a moment of waiting, and neither what is
//! mounted nor a worker is gone on with once it is old ([`writeback`]).

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, Instant},
};

use disk::Image;
use explore::Stop;
use guest::Storage;

use crate::{
    HostError,
    machine::end_together,
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
/// So long a request to a disk waits at most if nobody does a batch there, and the next one, if one was there just now:
/// seldom does one come alone.
const REQUESTS_WAIT: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(1));

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
    /// Whether the kernel has asked something of the disk by itself.
    pub has_gone_on: bool,
}

impl Seat {
    pub fn has(&self, session: SessionId, image: &Image) -> bool {
        self.mounted.as_ref().is_some_and(|here| {
            let age = self.place.age().max(here.since.elapsed());
            let is_it = here.session == session && !here.has_gone_on;
            is_it && here.image.hash() == image.hash() && writeback::leaves_time_to_go_on(age)
        })
    }

    /// Answers what the kernel asks of the disk by itself; whether it asked anything.
    fn serve(&mut self) -> bool {
        let Some(here) = &mut self.mounted else { return self.place.serve(&mut Nothing) };
        let has_asked = self.place.serve(&mut here.image);
        here.has_gone_on |= has_asked;
        has_asked
    }

    /// Whether something else may be mounted here.
    pub fn may_mount(&self) -> bool {
        writeback::leaves_time_to_mount(self.place.age())
    }
}

/// What a disk is on which nothing is mounted: whoever looks finds nothing, and what is written there is forgotten.
struct Nothing;

impl Storage for Nothing {
    fn read(&mut self, _: u64, data: &mut [u8]) -> bool {
        data.fill(0);
        true
    }

    fn write(&mut self, _: u64, _: &[u8]) -> bool {
        true
    }

    fn discard(&mut self, _: u64, _: u32) -> bool {
        true
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
        for watch in [patrol, serve] {
            let watched = Arc::downgrade(&idle);
            std::thread::spawn(move || watch(&watched));
        }
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

    /// From now on, nobody waits for a guest who is asked to stop by this.
    pub fn heed(&self, stop: &Stop) {
        self.start.heeded.heed(stop);
    }

    /// Takes a worker back that can be used again.
    pub fn put(&self, mut seat: Seat) {
        seat.put_back = Instant::now();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
    }
}

impl Drop for Pool {
    /// To unmount one may have to wait for what is asked of the disk of another one: that is answered until the other
    /// one is unmounted too, and refused from then on.
    fn drop(&mut self) {
        let seats = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        end_together(seats);
    }
}

/// Takes out the first for which this is so.
fn next(idle: &Mutex<Vec<Seat>>, is_wanted: impl FnMut(&Seat) -> bool) -> Option<Seat> {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    let place = idle.iter().position(is_wanted)?;
    Some(idle.remove(place))
}

/// Unmounts what has waited for too long, and ends who is too old, until there is no pool any more.
fn patrol(idle: &Weak<Mutex<Vec<Seat>>>) {
    loop {
        std::thread::sleep(PATROL);
        let Some(idle) = idle.upgrade() else { return };
        let waits = |seat: &Seat| {
            let waited = seat.put_back.elapsed();
            (seat.mounted.is_some() && waited > WAITING_MAX) || (!seat.may_mount() && waited > PATROL)
        };
        // The others stay where they are served.
        while let Some(mut seat) = next(&idle, waits) {
            // One that cannot be used any more is dropped, and cleared away as a whole.
            if matches!(runner::clear(&mut seat), Ok(true)) && seat.may_mount() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(seat);
            }
        }
    }
}

/// Serves the disks of all who wait, until there is no pool any more. It waits for nobody.
fn serve(idle: &Weak<Mutex<Vec<Seat>>>) {
    while let Some(idle) = idle.upgrade() {
        let mut seats = idle.lock().unwrap_or_else(PoisonError::into_inner);
        let asking = seats.iter_mut().map(Seat::serve).filter(|has_asked| *has_asked).count();
        drop(seats);
        // Whoever holds it at last ends what is in it, which takes its time.
        drop(idle);
        let (first, next) = REQUESTS_WAIT;
        std::thread::sleep(if asking > 0 { next } else { first });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read as _, Write as _},
    };

    use disk::{Block, BlockSize, Geometry};
    use guest::Heeded;
    use posix::loop_device;
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

    use super::*;
    use crate::{MountedBy, machine::SILENCE_MAX, session::Session};

    fn grow_older(seat: &mut Seat, by: Duration) {
        if let Place::Worker(machine) = &mut seat.place {
            machine.grow_older(by);
        }
    }

    fn is_old(seat: &Seat) -> bool {
        !seat.may_mount()
    }

    /// A pool, and a worker of it; nothing, and a word about it, if there can be none.
    fn pool() -> Option<(Pool, Seat)> {
        let start = Start { sectors: 8, mounted_by: MountedBy::RunningKernel, heeded: Heeded::default() };
        let pool = Pool::new(start, SILENCE_MAX);
        match pool.start() {
            Ok(seat) => Some((pool, seat)),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "could not {error}");
                eprintln!("skipped: could not {error}");
                None
            }
        }
    }

    /// How long each of the stuck is waited for: much longer than it takes to end them otherwise.
    const END_MAX: Duration = Duration::from_secs(2);

    #[test]
    fn workers_that_are_stuck_are_waited_for_together() {
        let Some((pool, first)) = pool() else { return };
        let mut seats = vec![first, pool.start().unwrap(), pool.start().unwrap()];
        let get_stuck = |seat: &mut Seat| {
            let Place::Worker(machine) = &mut seat.place else { panic!("it is a worker") };
            machine.get_stuck(END_MAX)
        };
        let keepers: Vec<Pid> = seats.iter_mut().map(get_stuck).collect();
        seats.into_iter().for_each(|seat| pool.put(seat));
        let begun = Instant::now();
        drop(pool);
        let waited = begun.elapsed();
        for keeper in &keepers {
            kill_process(*keeper, Signal::CONT).unwrap();
            waitpid(Some(*keeper), WaitOptions::empty()).unwrap();
        }
        let one_by_one: Duration = keepers.iter().map(|_| END_MAX).sum();
        assert!(waited >= END_MAX && waited < one_by_one, "{waited:?}");
    }

    fn device(seat: &Seat) -> File {
        let Place::Worker(machine) = &seat.place else { panic!("it is a worker") };
        loop_device::open(machine.number()).unwrap()
    }

    /// Whoever writes there by himself would else wait for as long as nobody gives the worker something to do.
    #[test]
    fn the_disk_of_a_worker_that_waits_is_served_and_not_gone_on_with() {
        let Some((pool, mut seat)) = pool() else { return };
        let image = Image::zeroed(Geometry { block_size: BlockSize::SECTOR, blocks: 8 });
        let session = Session::begin(image.clone(), Vec::new(), Vec::new()).id;
        let since = Instant::now();
        seat.mounted = Some(MountedHere { session, image: image.clone(), since, has_gone_on: false });
        let mut device = device(&seat);
        assert!(seat.has(session, &image));
        pool.put(seat);
        device.write_all(&[7; 4096]).and_then(|()| device.sync_all()).unwrap();
        drop(device);
        let seat = next(&pool.idle, |_| true).expect("nobody else has taken it");
        let here = seat.mounted.as_ref().unwrap();
        assert_eq!((here.image.block(Block(0))[0], here.has_gone_on), (7, true));
        assert!(!seat.has(session, &image) && !seat.has(session, &here.image));
    }

    #[test]
    fn whoever_looks_where_nothing_is_mounted_finds_nothing() {
        let Some((pool, seat)) = pool() else { return };
        let mut device = device(&seat);
        pool.put(seat);
        let mut read = [7; 512];
        device.read_exact(&mut read).unwrap();
        drop(device);
        assert_eq!(read, [0; 512]);
    }

    /// The kernel goes by the age of a device, not by that of what is mounted there.
    #[test]
    fn a_worker_whose_device_is_old_is_not_taken_again_and_is_ended() {
        let Some((pool, mut seat)) = pool() else { return };
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
