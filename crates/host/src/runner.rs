//! Steps on a worker that is in the right session: found, or brought there by doing again what was done.
//!
//! After that, the disk of the state takes on the bytes of what was done again, since what the kernel has in memory
//! goes with these. That is possible if both runs have the same shape; a run that has not is tried again a few times,
//! and then reported.

use std::{sync::Arc, time::Instant};

use check::Finding;
use disk::{Asked, Disk, EntryKind, Image, in_order_of};
use explore::Property;
use guest::{Again, GIVEN_UP, Live, Looked};
use posix::message::{Answer, Step};
use vfs::{Errno, Op};

use crate::{
    HostError, MountedBy, Subject,
    pool::{MountedHere, Pool, Seat},
    session::Session,
    target::Mounted,
    writeback,
};

/// The file system found damage on its disk that no failed request explains.
const DAMAGE_REPORTED: Property = Property::critical("damage-reported");
/// The same ops on the same image asked for something else, again and again.
pub const NONDETERMINISTIC: Property = Property::critical("host-nondeterministic");
/// A worker did not come back from an op.
pub(crate) const HANGS: Property = Property::critical("host-hangs");
/// What mounts the file system crashed.
const CRASHES: Property = Property::critical("host-crashes");
/// No worker could be had, or it was ended, or a program that is needed: the fault is on this machine, not in the file
/// system.
pub const UNAVAILABLE: Property = Property::critical("host-unavailable");

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
        self.cleared(self.pool.take(None)?)
    }

    /// A worker with nothing mounted: this one, unless it cannot unmount what it has or is too old to mount anything
    /// else; then another one in its place.
    fn cleared(&self, mut seat: Seat) -> Result<Seat, Trouble> {
        if clear(&mut seat)? && seat.may_mount() {
            return Ok(seat);
        }
        // It is ended before: what is asked of its disk would not be answered while the other one starts.
        drop(seat);
        Ok(self.pool.start()?)
    }

    /// Sees whether the command that mounts, if one does, can be used at all; if not, says why in words
    /// that fit after "could not ". One that does not answer is left to the search, which accuses it.
    pub fn try_command(&self, fresh: &Image) -> Result<(), String> {
        let MountedBy::Command(command) = &self.subject.mounted_by else { return Ok(()) };
        let words = |trouble: Trouble| trouble.words();
        let mut seat = self.empty_seat().map_err(words)?;
        let mut image = fresh.clone();
        match seat.place.run(&mut image, &[self.mount_step()]).map(|answers| answers.into_iter().next()) {
            Ok(Some(Err(errno))) => Err(cannot_mount(command, seat.place.why_not(), errno)),
            Ok(_) => {
                let (session, since) = (Session::begin(image.clone(), Vec::new(), Vec::new()).id, Instant::now());
                seat.mounted = Some(MountedHere { session, image, since, has_gone_on: false });
                self.pool.put(self.cleared(seat).map_err(words)?);
                Ok(())
            }
            Err(HostError::Hung { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
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
            seat = self.cleared(seat)?;
            let since = Instant::now();
            let again = self.replay(&mut seat, session)?;
            let image = again.image().clone();
            seat.mounted = Some(MountedHere { session: session.id, image, since, has_gone_on: false });
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

    /// Runs one step live on a worker that is found by `begin`, looks at what it left, and gives the worker back. What
    /// took so long that the kernel may have written something by itself is done again.
    pub fn run_and_look(
        &self,
        begin: impl Fn(&mut Disk) -> Result<Seat, Trouble>,
        disk: &mut Disk,
        step: &Step,
        session: impl Fn(Vec<u32>, Vec<Asked>) -> Session,
    ) -> Result<(Answer, Mounted), Trouble> {
        let before = disk.clone();
        for _ in 0..TRIES {
            let seat = begin(disk)?;
            if let Some(done) = self.run_once(seat, disk, step, &session)? {
                return Ok(done);
            }
            *disk = before.clone();
        }
        Err(Trouble::TooSlow)
    }

    /// The same once; nothing if the kernel may have written something by itself.
    fn run_once(
        &self,
        mut seat: Seat,
        disk: &mut Disk,
        step: &Step,
        session: impl Fn(Vec<u32>, Vec<Asked>) -> Session,
    ) -> Result<Option<(Answer, Mounted)>, Trouble> {
        let since = seat.mounted.as_ref().map_or_else(Instant::now, |here| here.since);
        let from = disk.position();
        let mut live = Live::new(disk, self.subject.file_system.flushes_are_lies);
        let answer = seat.place.run(&mut live, std::slice::from_ref(step))?.pop().unwrap_or(Err(Errno::EIO));
        let failed = live.failed;
        let asked = |disk: &Disk| {
            let since = disk.log().entries().filter(|(index, _)| index.0 >= from.0);
            since.map(|(_, entry)| Asked::of(&entry.kind)).collect()
        };
        let is_disturbed = |seat: &Seat| seat.place.age() >= writeback::begins_after();
        if matches!((step, &answer), (Step::Mount(_), Err(_))) {
            if is_disturbed(&seat) {
                return Ok(None);
            }
            let session = session(failed, asked(disk));
            seat.mounted = None;
            let complaint = self.put_back(seat, session.saw_failures());
            let (session, tree) = (Arc::new(session), Err(Errno::ENODEV));
            return Ok(Some((answer, Mounted { session, tree, complaint, has_given_up: false, is_gone: true })));
        }
        let mut looked = Looked::new(disk, self.subject.file_system.flushes_are_lies);
        let mut seen = seat.place.run(&mut looked, &LOOK)?.into_iter();
        let (tree, contradiction) = guest::seen(seen.next());
        let tree = tree.map(|tree| self.subject.file_system.conventions().in_terms_of_the_reference(tree));
        let session = session(failed, asked(disk));
        // One that no request has failed has no reason to give up.
        let has_given_up = session.saw_failures() && matches!(seen.next(), Some(Err(Errno::EROFS)));
        let image = disk.image().clone();
        seat.mounted = Some(MountedHere { session: session.id, image, since, has_gone_on: false });
        if is_disturbed(&seat) {
            return Ok(None);
        }
        let contradiction = contradiction.filter(|_| !session.saw_failures());
        let complaint = self.put_back(seat, session.saw_failures()).or(contradiction);
        Ok(Some((answer, Mounted { session: Arc::new(session), tree, complaint, has_given_up, is_gone: false })))
    }

    /// Gives a worker back; what the kernel complained about, unless it is excused by requests that failed.
    pub fn put_back(&self, mut seat: Seat, is_excused: bool) -> Option<Arc<Finding>> {
        let complaint = seat.place.complaint();
        self.pool.put(seat);
        let complaint = complaint.filter(|_| !is_excused)?;
        Some(Arc::new(Finding { property: DAMAGE_REPORTED, detail: complaint.text }))
    }
}

/// That a command mounts nothing, in words that fit after "could not ".
pub(crate) fn cannot_mount(command: &str, why_not: Option<String>, errno: Errno) -> String {
    format!("mount with `{command}`: {}", why_not.unwrap_or_else(|| errno.to_string()))
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
    /// Each time, the kernel may have written something by itself before the step was done.
    TooSlow,
}

impl From<HostError> for Trouble {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl Trouble {
    /// Words that fit after "could not ".
    pub fn words(&self) -> String {
        match self {
            Self::Host(error) => error.to_string(),
            Self::Nondeterministic(how) => format!("do the same twice: {how}"),
            Self::TooSlow => {
                let seconds = writeback::begins_after().as_secs_f64();
                format!("do a step within the {seconds} s after which the kernel writes by itself, {TRIES} times")
            }
        }
    }

    pub fn finding(self) -> Arc<Finding> {
        let (property, detail) = match self {
            Self::Host(error @ HostError::Hung { .. }) => (HANGS, error.to_string()),
            Self::Host(error @ HostError::Crashed { .. }) => (CRASHES, error.to_string()),
            Self::Host(error @ HostError::GivenUp) => (GIVEN_UP, error.to_string()),
            Self::Nondeterministic(how) => (
                NONDETERMINISTIC,
                format!("the same ops on the same image, done {TRIES} times, asked for something else: {how}"),
            ),
            trouble @ (Self::Host(_) | Self::TooSlow) => return Arc::new(of_the_machine(&trouble.words())),
        };
        Arc::new(Finding { property, detail })
    }
}

/// What cannot be blamed on a file system: words that fit after "could not ".
pub(crate) fn of_the_machine(what: &str) -> Finding {
    let detail = format!("the machine is at fault, not the file system: could not {what}");
    Finding { property: UNAVAILABLE, detail }
}

/// Unmounts whatever is mounted, on a copy of its disk that is then thrown away; whether that went well. A worker that
/// cannot is not to be used any more: whatever was mounted may still be.
pub(crate) fn clear(seat: &mut Seat) -> Result<bool, HostError> {
    let Some(mut here) = seat.mounted.take() else { return Ok(true) };
    let answers = seat.place.run(&mut here.image, &[Step::Unmount])?;
    // What the kernel says of a session that is over was said of it before, or is of no matter.
    drop(seat.place.complaint());
    Ok(answers.iter().all(Result::is_ok))
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
    fn what_went_wrong_with_a_worker_decides_who_is_accused() {
        let said = || String::from("the last words");
        let cases = [
            (Trouble::Host(HostError::Hung { said: said() }), "host-hangs"),
            (Trouble::Host(HostError::Crashed { said: said() }), "host-crashes"),
            (Trouble::Host(HostError::GivenUp), "guest-given-up"),
            (Trouble::Host(HostError::Died { said: said() }), "host-unavailable"),
            (Trouble::Host(HostError::Start(std::io::ErrorKind::NotFound.into())), "host-unavailable"),
            (Trouble::TooSlow, "host-unavailable"),
            (Trouble::Nondeterministic(said()), "host-nondeterministic"),
        ];
        for (trouble, expected) in cases {
            assert_eq!(trouble.finding().property.name, expected);
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
