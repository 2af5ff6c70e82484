//! Steps on a worker that is in the right session: found, or brought there by doing again what was done.
//!
//! After that, the disk of the state takes on the bytes of what was done again, since what the kernel has in memory
//! goes with these. That is possible if both runs have the same shape; a run that has not is tried again a few times,
//! and then reported.

use std::{sync::Arc, time::Instant};

use check::Finding;
use disk::{Asked, Disk, EntryKind, Image, in_order_of};
use explore::Property;
use guest::{Again, Live, Looked};
use posix::message::{Answer, Got, Step};
use vfs::{Errno, Op};

use crate::{
    HostError, Subject,
    pool::{MountedHere, Pool, Seat},
    session::Session,
    target::Mounted,
};

/// The file system found damage on its disk that no failed request explains.
const DAMAGE_REPORTED: Property = Property::critical("damage-reported");
/// The same ops on the same image asked for something else, again and again.
const NONDETERMINISTIC: Property = Property::critical("host-nondeterministic");
/// A worker did not come back from an op.
const HANGS: Property = Property::critical("host-hangs");
/// No worker could be had, or it ended: what mounts the file system is gone.
const NO_WORKER: Property = Property::critical("host-unavailable");

/// A run that does not repeat is tried so often.
const TRIES: u32 = 5;

/// What is done to see what a step has left.
const LOOK: [Step; 2] = [Step::Observe, Step::MayWrite];

/// Workers that do steps on one file system.
#[derive(Debug)]
pub(crate) struct Runner {
    pub pool: Pool,
    pub subject: Subject,
}

impl Runner {
    pub fn mount_step(&self) -> Step {
        Step::Mount(self.subject.mount())
    }

    /// A worker with nothing mounted.
    pub fn empty_seat(&self) -> Result<Seat, Trouble> {
        let mut seat = self.pool.take(None)?;
        clear(&mut seat)?;
        Ok(seat)
    }

    /// A fresh image as it is after it was mounted and used once, for what a file system does then and never again.
    pub fn broken_in(&self, fresh: Image) -> Result<Image, Trouble> {
        let path = vfs::Path::root().join("d");
        let ops = [Op::Mkdir { path: path.clone(), mode: 0o755 }, Op::Syncfs, Op::Rmdir { path }, Op::Syncfs];
        let mut batch = vec![self.mount_step()];
        batch.extend(ops.map(Step::Run));
        batch.push(Step::Unmount);
        let mut disk = Disk::new(fresh);
        let mut seat = self.empty_seat()?;
        seat.place.run(&mut Live::new(&mut disk, false), &batch)?;
        self.pool.put(seat);
        Ok(disk.image().clone())
    }

    /// A worker in this session, whose disk looks like this one; if it has to be brought there, this one then looks
    /// like that.
    pub fn seat_in(&self, session: &Session, disk: &mut Disk) -> Result<Seat, Trouble> {
        let mut seat = self.pool.take(Some((session.id, disk.image())))?;
        if seat.has(session.id, disk.image()) {
            return Ok(seat);
        }
        let mut differences = Vec::new();
        for _ in 0..TRIES {
            clear(&mut seat)?;
            let since = Instant::now();
            let again = self.replay(&mut seat, session)?;
            let image = again.image().clone();
            seat.mounted = Some(MountedHere { session: session.id, image, since });
            match take_on(disk, session, &again) {
                Ok(()) => return Ok(seat),
                Err(difference) => differences.push(difference),
            }
        }
        self.pool.put(seat);
        differences.dedup();
        Err(Trouble::Nondeterministic(differences.join("; ")))
    }

    /// Does again what led to a session; the disk then.
    fn replay(&self, seat: &mut Seat, session: &Session) -> Result<Disk, Trouble> {
        let mut disk = Disk::new(session.base.clone());
        let mut again = Again::new(Live::new(&mut disk, self.subject.file_system.flushes_are_lies));
        for done in &session.done {
            again.fail(&done.failed);
            let step = done.op.as_ref().map_or_else(|| self.mount_step(), |op| Step::Run(op.clone()));
            if done.failed.is_empty() {
                seat.place.run(&mut again, &[&[step][..], &LOOK].concat())?;
            } else {
                seat.place.run(&mut again, &[step])?;
                again.fail(&[]);
                seat.place.run(&mut again, &LOOK)?;
            }
        }
        Ok(disk)
    }

    /// Runs one step live, looks at what it left, and gives the worker back.
    pub fn run_and_look(
        &self,
        mut seat: Seat,
        disk: &mut Disk,
        step: &Step,
        session: impl FnOnce(Vec<u32>, Vec<Asked>) -> Session,
    ) -> Result<(Answer, Mounted), Trouble> {
        let since = seat.mounted.as_ref().map_or_else(Instant::now, |here| here.since);
        let from = disk.position();
        let mut live = Live::new(disk, self.subject.file_system.flushes_are_lies);
        let answer = seat.place.run(&mut live, std::slice::from_ref(step))?.pop().unwrap_or(Err(Errno::EIO));
        let failed = live.failed;
        let asked = |disk: &Disk| {
            let since = disk.log().entries().filter(|(index, _)| index.0 >= from.0);
            since.map(|(_, entry)| Asked::of(&entry.kind)).collect()
        };
        if matches!((step, &answer), (Step::Mount(_), Err(_))) {
            let session = session(failed, asked(disk));
            seat.mounted = None;
            let complaint = self.put_back(seat, session.saw_failures());
            let (session, tree) = (Arc::new(session), Err(Errno::ENODEV));
            return Ok((answer, Mounted { session, tree, complaint, has_given_up: false }));
        }
        let mut looked = Looked::new(disk, self.subject.file_system.flushes_are_lies);
        let mut seen = seat.place.run(&mut looked, &LOOK)?.into_iter();
        let tree = match seen.next() {
            Some(Ok(Got::Tree(tree))) => Ok(self.subject.file_system.conventions().in_terms_of_the_reference(tree)),
            Some(Err(errno)) => Err(errno),
            _ => Err(Errno::EIO),
        };
        let session = session(failed, asked(disk));
        // One that no request has failed has no reason to give up.
        let has_given_up = session.saw_failures() && matches!(seen.next(), Some(Err(Errno::EROFS)));
        seat.mounted = Some(MountedHere { session: session.id, image: disk.image().clone(), since });
        let complaint = self.put_back(seat, session.saw_failures());
        Ok((answer, Mounted { session: Arc::new(session), tree, complaint, has_given_up }))
    }

    /// Gives a worker back; what the kernel complained about, unless it is excused by requests that failed.
    pub fn put_back(&self, mut seat: Seat, is_excused: bool) -> Option<Arc<Finding>> {
        let complaint = seat.place.complaint();
        self.pool.put(seat);
        let complaint = complaint.filter(|_| !is_excused)?;
        Some(Arc::new(Finding { property: DAMAGE_REPORTED, detail: complaint.text }))
    }
}

/// Gives a disk the bytes of the same done again.
fn take_on(disk: &mut Disk, session: &Session, again: &Disk) -> Result<(), String> {
    let run: Vec<EntryKind> = again.log().entries().map(|(_, entry)| entry.kind.clone()).collect();
    let run = in_order_of(&session.asked(), run)?;
    let mut retold = disk.clone();
    let fits = retold.retell(&session.base, &run).is_ok();
    if !fits || retold.image().hash() != again.image().hash() {
        return Err("writes to the same blocks changed places".to_owned());
    }
    *disk = retold;
    Ok(())
}

/// Why a step could not be made.
#[derive(Debug)]
pub(crate) enum Trouble {
    Host(HostError),
    Nondeterministic(String),
}

impl From<HostError> for Trouble {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl Trouble {
    pub fn finding(self) -> Arc<Finding> {
        let (property, detail) = match self {
            Self::Host(error @ HostError::Hung { .. }) => (HANGS, error.to_string()),
            Self::Host(error) => (NO_WORKER, error.to_string()),
            Self::Nondeterministic(how) => (
                NONDETERMINISTIC,
                format!("the same ops on the same image, done {TRIES} times, asked for something else: {how}"),
            ),
        };
        Arc::new(Finding { property, detail })
    }
}

/// Unmounts whatever is mounted, on a copy of its disk that is then thrown away.
pub(crate) fn clear(seat: &mut Seat) -> Result<(), HostError> {
    if let Some(mut here) = seat.mounted.take() {
        seat.place.run(&mut here.image, &[Step::Unmount])?;
        // What the kernel says of a session that is over was said of it before, or is of no matter.
        drop(seat.place.complaint());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use disk::{Block, BlockSize, Geometry};

    use super::*;

    fn image() -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::SECTOR, blocks: 8 })
    }

    /// A mount that writes a time to block 1 and an op that writes one to block 2.
    fn run(time: u8) -> Disk {
        let mut disk = Disk::new(image());
        disk.write(Block(1), &[time; 512]).unwrap();
        disk.flush().unwrap();
        disk.write(Block(2), &[time; 512]).unwrap();
        disk
    }

    fn session(disk: &Disk) -> Session {
        let asked = disk.log().entries().map(|(_, entry)| Asked::of(&entry.kind)).collect();
        Session::begin(image(), Vec::new(), asked)
    }

    #[test]
    fn a_disk_takes_on_the_bytes_of_the_same_done_again() {
        let first = run(1);
        let again = run(2);
        // Whole, with the beginning forgotten, and with everything forgotten.
        for forgotten in 0..3 {
            let mut disk = match forgotten {
                0 => first.clone(),
                1 => {
                    let mut disk = first.clone();
                    disk.settle();
                    disk
                }
                _ => Disk::new(first.image().clone()),
            };
            let position = disk.position();
            take_on(&mut disk, &session(&first), &again).unwrap();
            assert_eq!((disk.image().hash(), disk.position()), (again.image().hash(), position));
            let durable = disk.log().durable_at(disk.position());
            assert_eq!(durable.block(Block(1))[0], 2, "what was forgotten is durable in the new bytes");
        }
    }

    #[test]
    fn what_is_not_the_same_leaves_the_disk_as_it_was() {
        let first = run(1);
        let mut other = run(2);
        other.write(Block(5), &[1; 512]).unwrap();
        let mut disk = first.clone();
        assert!(take_on(&mut disk, &session(&first), &other).unwrap_err().contains("there was an end"));
        assert_eq!(disk.image().hash(), first.image().hash());
    }
}
