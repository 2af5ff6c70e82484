//! Steps on a guest that is in the right session: found, or brought there by doing again what was done.
//!
//! After a replay, the disk must be what it was when the ops were done first; if it is not, that is trouble that is
//! reported, never passed over.

use std::{fmt::Display, sync::Arc};

use check::Finding;
use disk::{Disk, Image};
use explore::Property;
use posix::message::{Answer, Got, Step};
use vfs::{Errno, Op, Path, Tree};

use crate::{
    Complaint, FileSystem, GuestError, Storage,
    pool::{Pool, Seat, pin},
    serve::NoDisk,
    session::{Failed, Session, SessionId},
    storage::{Again, Live, Looked},
    target::Mounted,
    watch::{again, given, is_mount, looked_at, watched},
};

/// The kernel panicked, oopsed, warned, or was killed by what it did.
const KERNEL_BUG: Property = Property::critical("kernel-bug");
/// When it was unmounted, the kernel found that something was not given back.
const KERNEL_LEAKS: Property = Property::critical("kernel-leaks");
/// The kernel did not come back from an op.
pub(crate) const KERNEL_HANGS: Property = Property::critical("kernel-hangs");
/// The file system found damage on its disk that no failed request explains.
pub(crate) const DAMAGE_REPORTED: Property = Property::critical("damage-reported");
/// What one call says of a file, another one contradicts.
const CONTRADICTS_ITSELF: Property = Property::critical("contradicts-itself");
/// The same ops on the same image wrote something else.
const NONDETERMINISTIC: Property = Property::critical("guest-nondeterministic");
/// Somebody asked to stop while a guest was waited for: nothing is known of what it would have done.
pub const GIVEN_UP: Property = Property::critical("guest-given-up");
/// No guest could be had, or no program that it needs: the fault is on this machine, not in the file system.
pub const UNAVAILABLE: Property = Property::critical("guest-unavailable");

/// A message costs a guest as much as ten system calls, so a session is done again in few of them.
const OPS_IN_A_MESSAGE: usize = 64;

/// Guests that do steps on one file system.
#[derive(Debug)]
pub(crate) struct Runner {
    pub pool: Pool,
    pub file_system: FileSystem,
    /// A file system that nobody needs.
    pub fresh: Image,
}

impl Runner {
    pub fn mount_step(&self) -> Step {
        Step::Mount(self.file_system.mount())
    }

    fn take(&self, wanted: Option<SessionId>) -> Result<Seat, Trouble> {
        self.pool.take(wanted).map_or_else(|| self.boot(), Ok)
    }

    /// A guest that has been at work before: at the first mount a kernel makes threads and caches that it has from then
    /// on, and what has to wait for them comes at another time.
    fn boot(&self) -> Result<Seat, Trouble> {
        self.warm_up(self.pool.boot().map_err(Trouble::NotBooted)?)
    }

    /// What a kernel finds wrong with itself on the way it may never say again: most warnings come once.
    fn warm_up(&self, mut seat: Seat) -> Result<Seat, Trouble> {
        let mut disk = self.fresh.clone();
        let create = Op::Create { path: Path::root().join("warm"), mode: 0o644 };
        let mounted = run(&mut seat, &mut disk, &[self.mount_step()])?.pop();
        for step in [Step::Observe, Step::Run(create), Step::Run(Op::Sync), Step::Unmount] {
            run(&mut seat, &mut disk, &[step])?;
        }
        let console = seat.guest.last_words();
        let complaint = seat.guest.complaint().filter(|complaint| !complaint.is_about_the_disk);
        match (complaint, mounted) {
            (Some(complaint), _) => Err(Trouble::Complained(complaint)),
            (None, Some(Err(errno))) => Err(Trouble::NotMounted { errno, console }),
            (None, _) => Ok(seat),
        }
    }

    /// What the kernel makes of the fresh image when it mounts that for the first time. Its root is given the mode that
    /// it has: jffs2 keeps nothing of a root that nobody has touched, and refuses to mount what was written to and
    /// holds nothing that is still valid, which is so when the last file was removed.
    pub fn mounted_first(&self) -> Result<Image, Trouble> {
        let mut seat = self.pool.boot().map_err(Trouble::NotBooted)?;
        let mut disk = self.fresh.clone();
        let touch = Op::Chmod { path: Path::root(), mode: 0o755 };
        run(&mut seat, &mut disk, &[self.mount_step(), Step::Run(touch), Step::Unmount])?;
        Ok(disk)
    }

    /// A guest with nothing mounted.
    pub fn empty_seat(&self) -> Result<Seat, Trouble> {
        let mut seat = self.take(None)?;
        self.clear(&mut seat)?;
        Ok(seat)
    }

    /// A guest with nothing mounted that has only warmed up, in the place of one that waits. How many allocations a
    /// mount makes depends on all that was mounted before: most likely because the files that the kernel shows of it
    /// are numbered on and on, and a tree of their numbers needs another node now and then.
    pub fn fresh_seat(&self) -> Result<Seat, Trouble> {
        drop(self.pool.take(None));
        self.boot()
    }

    /// A guest in this session, whose disk looks like `image`.
    pub fn seat_in(&self, session: &Session, image: &Image) -> Result<Seat, Trouble> {
        let mut seat = self.take(Some(session.id))?;
        let _pinned = pin(seat.guest.core());
        let is_there = |(there, disk): &(SessionId, Image)| *there == session.id && disk.hash() == image.hash();
        if !seat.mounted.as_ref().is_some_and(is_there) {
            seat = self.brought_into(session, image, seat)?;
        }
        Ok(seat)
    }

    /// A guest that was brought into a session by doing again what led there.
    fn brought_into(&self, session: &Session, image: &Image, mut seat: Seat) -> Result<Seat, Trouble> {
        if session.failed.allocation.is_some() {
            drop(seat);
            seat = self.boot()?;
        } else {
            self.clear(&mut seat)?;
        }
        let reached = self.replay(&mut seat, session)?;
        let is_there = reached.hash() == image.hash();
        seat.mounted = Some((session.id, reached));
        if is_there { Ok(seat) } else { Err(Trouble::Nondeterministic) }
    }

    /// Unmounts whatever is mounted, on a copy of its disk that is thrown away. A kernel that cannot, or that warns
    /// of itself then (of inodes that are still in use, say), is not to be trusted any more: another takes its place.
    /// Nobody hears of it here: who is to blame is asked by [`Runner::leave`], whose answer does not depend on which
    /// guest was taken for what.
    fn clear(&self, seat: &mut Seat) -> Result<(), Trouble> {
        let _pinned = pin(seat.guest.core());
        if let Some((_, mut image)) = seat.mounted.take() {
            let answers = run(seat, &mut image, &[Step::Unmount])?;
            // What it says of the disk of a session that is over was said of it before, or is of no matter.
            let complaint = seat.guest.complaint().filter(|complaint| !complaint.is_about_the_disk);
            if complaint.is_some() || answers.iter().any(Result::is_err) {
                *seat = self.boot()?;
            }
        }
        Ok(())
    }

    /// Unmounts a session, on a copy of its disk; what it leaves there, and what is wrong then.
    pub fn leave(&self, session: &Session, image: &Image) -> Result<(Image, Option<Arc<Finding>>), Trouble> {
        let seat = self.seat_in(session, image)?;
        let mut left = image.clone();
        let (answer, complaint) = self.end(seat, &mut left, session)?;
        let refused = |errno| Arc::new(Finding { property: KERNEL_LEAKS, detail: format!("it failed with {errno}") });
        Ok((left, complaint.or_else(|| answer.err().map(refused))))
    }

    /// Unmounts what a guest has mounted and gives it back; what came of it, and what is wrong then.
    pub fn end(&self, mut seat: Seat, storage: &mut dyn Storage, session: &Session) -> Result<Ended, Trouble> {
        let _pinned = pin(seat.guest.core());
        let answer = one(&mut seat, storage, &Step::Unmount)?;
        self.ended(seat, answer, session)
    }

    /// The same live; what failed then as well. An unmount that fails for want of memory has not begun. It is tried
    /// again, as whoever calls it would; in this guest, since no other has closed the files already.
    pub fn end_live(&self, mut seat: Seat, disk: &mut Disk, session: &Session) -> Result<(Ended, Failed), Trouble> {
        let _pinned = pin(seat.guest.core());
        let mut live = Live::new(disk, self.file_system.flushes_are_lies);
        let step = watched(Step::Unmount, live.disk);
        let tried = one(&mut seat, &mut live, &step)?;
        let (mut answer, allocation) = looked_at(&step, tried, live.disk);
        if answer.is_err() && allocation.is_some() {
            answer = one(&mut seat, &mut live, &Step::Unmount)?;
        }
        let failed = Failed { requests: live.failed, allocation };
        Ok((self.ended(seat, answer, session)?, failed))
    }

    fn ended(&self, mut seat: Seat, answer: Answer, session: &Session) -> Result<Ended, Trouble> {
        seat.mounted = None;
        if answer.is_err() {
            return Ok((answer, None));
        }
        let leaks = self.find_leaks(&mut seat)?;
        if leaks.is_some() {
            return Ok((answer, leaks));
        }
        Ok((answer, self.put_back(seat, session, KERNEL_LEAKS)))
    }

    /// Memory that is gone after an unmount, if the kernel looks for it.
    fn find_leaks(&self, seat: &mut Seat) -> Result<Option<Arc<Finding>>, Trouble> {
        if !self.pool.kernel().is_for_debugging() {
            return Ok(None);
        }
        match run(seat, &mut NoDisk, &[Step::FindLeaks])?.pop() {
            Some(Ok(Got::Said(said))) if said.is_empty() => Ok(None),
            Some(Ok(Got::Said(detail))) => Ok(Some(Arc::new(Finding { property: KERNEL_LEAKS, detail }))),
            _ => Err(GuestError::Protocol("ask its kernel for debugging what memory was lost".to_owned()).into()),
        }
    }

    /// Does again what led to a session; what the disk looks like then.
    fn replay(&self, seat: &mut Seat, session: &Session) -> Result<Image, Trouble> {
        let mut disk = Again::new(session.base.clone());
        disk.fail(&session.failed.requests);
        let mounted = self.mount(seat, &mut disk, &again(self.mount_step(), session.failed.allocation))?;
        if given(&mounted).is_err() {
            return Err(Trouble::Nondeterministic);
        }
        disk.fail(&[]);
        run(seat, &mut disk, &[Step::Observe])?;
        if session.saw_failures() {
            // Requests fail by their number, and looking makes requests, too.
            for done in &session.done {
                disk.fail(&done.failed.requests);
                run(seat, &mut disk, &[again(Step::Run(done.op.clone()), done.failed.allocation)])?;
                disk.fail(&[]);
                run(seat, &mut disk, &[Step::Observe])?;
            }
            return Ok(disk.storage);
        }
        for some in session.done.chunks(OPS_IN_A_MESSAGE) {
            let batch: Vec<Step> = some.iter().map(|done| Step::Again(done.op.clone())).collect();
            run(seat, &mut disk, &batch)?;
        }
        if !session.done.is_empty() {
            // What was read once is not read again, so that an op that is done now makes the requests it made then.
            run(seat, &mut disk, &[Step::Observe])?;
        }
        Ok(disk.storage)
    }

    /// Mounts, in another guest if this one has lost memory: what it hands out then is not what a fresh one hands out,
    /// and some of that comes to the disk. It says so before it has asked anything of the disk.
    fn mount(&self, seat: &mut Seat, storage: &mut dyn Storage, step: &Step) -> Result<Answer, Trouble> {
        let mounted = one(seat, storage, step)?;
        if matches!(given(&mounted), Err(Errno::ENOTEMPTY)) {
            *seat = self.boot()?;
            return Ok(one(seat, storage, step)?);
        }
        Ok(mounted)
    }

    /// Runs one step live, looks at what it left, and gives the guest back.
    pub fn run_and_look(
        &self,
        mut seat: Seat,
        disk: &mut Disk,
        step: &Step,
        session: impl FnOnce(Failed) -> Session,
    ) -> Result<(Answer, Mounted), Trouble> {
        let _pinned = pin(seat.guest.core());
        let mut live = Live::new(disk, self.file_system.flushes_are_lies);
        let mounts = is_mount(step);
        let answer = if mounts { self.mount(&mut seat, &mut live, step)? } else { one(&mut seat, &mut live, step)? };
        let requests = live.failed;
        let (answer, allocation) = looked_at(step, answer, disk);
        let session = session(Failed { requests, allocation });
        if mounts && answer.is_err() {
            seat.mounted = None;
            let complaint = self.put_back(seat, &session, KERNEL_BUG);
            let (session, tree) = (Arc::new(session), Err(Errno::ENODEV));
            return Ok((answer, Mounted { session, tree, complaint, has_given_up: false, is_gone: true }));
        }
        let looks = [Step::Observe, Step::MayWrite];
        let looks = if session.saw_failures() { &looks[..] } else { &looks[..1] };
        let mut looked = Looked::new(disk, self.file_system.flushes_are_lies);
        let mut seen = run(&mut seat, &mut looked, looks)?.into_iter();
        let (tree, contradiction) = self::seen(seen.next());
        let contradiction = contradiction.filter(|_| !session.saw_failures());
        let tree = tree.map(|tree| self.file_system.conventions().in_terms_of_the_reference(tree));
        let has_given_up = matches!(seen.next(), Some(Err(Errno::EROFS)));
        seat.mounted = Some((session.id, disk.image().clone()));
        let complaint = self.put_back(seat, &session, KERNEL_BUG).or(contradiction);
        Ok((answer, Mounted { session: Arc::new(session), tree, complaint, has_given_up, is_gone: false }))
    }

    /// Gives a guest back, unless its kernel has complained: then it is not to be trusted. What is wrong with the
    /// kernel itself is a violation of `bug`.
    fn put_back(&self, mut seat: Seat, session: &Session, bug: Property) -> Option<Arc<Finding>> {
        let complaint = seat.guest.complaint();
        let counts = |complaint: &Complaint| !(complaint.is_about_the_disk && session.saw_failures());
        if let Some(complaint) = complaint.filter(counts) {
            let property = if complaint.is_about_the_disk { DAMAGE_REPORTED } else { bug };
            return Some(Arc::new(Finding { property, detail: complaint.text }));
        }
        self.pool.put(seat);
        None
    }
}

/// What an answer to [`Step::Observe`] shows, and what is wrong with it if it contradicts itself.
pub fn seen(answer: Option<Answer>) -> (Result<Tree, Errno>, Option<Arc<Finding>>) {
    match answer {
        Some(Ok(Got::Tree(tree))) => (Ok(tree), None),
        Some(Ok(Got::Said(detail))) => {
            (Err(Errno::EUCLEAN), Some(Arc::new(Finding { property: CONTRADICTS_ITSELF, detail })))
        }
        Some(Err(errno)) => (Err(errno), None),
        _ => (Err(Errno::EIO), None),
    }
}

/// What an unmount answered, and what was wrong with the kernel then.
pub(crate) type Ended = (Answer, Option<Arc<Finding>>);

/// Why a step could not be made.
pub(crate) enum Trouble {
    Guest(GuestError),
    /// No guest could be had.
    NotBooted(GuestError),
    /// What everything starts with cannot be mounted.
    NotMounted {
        errno: Errno,
        console: String,
    },
    /// A kernel that found itself wrong when it was tried out on a fresh disk.
    Complained(Complaint),
    Nondeterministic,
}

impl From<GuestError> for Trouble {
    fn from(error: GuestError) -> Self {
        Self::Guest(error)
    }
}

impl Trouble {
    /// Whether neither the kernel nor the file system has done anything wrong yet.
    pub fn is_of_the_machine(&self) -> bool {
        match self {
            Self::Guest(error) => !matches!(error, GuestError::Died { .. } | GuestError::Hung { .. }),
            Self::NotBooted(_) | Self::NotMounted { .. } => true,
            Self::Complained(_) | Self::Nondeterministic => false,
        }
    }

    /// Words that fit after "could not ".
    pub fn words(&self) -> String {
        match self {
            Self::Guest(error) | Self::NotBooted(error) => error.to_string(),
            Self::NotMounted { errno, console } => {
                let said = if console.is_empty() { "nothing about it" } else { console };
                format!("mount a fresh file system: {errno} ({}); the kernel says {said}", errno.meaning())
            }
            Self::Complained(complaint) => format!("trust the kernel: {}", complaint.text),
            Self::Nondeterministic => "do the same twice".to_owned(),
        }
    }

    pub fn finding(self) -> Arc<Finding> {
        let (property, detail) = match self {
            Self::Guest(error @ GuestError::Died { .. }) => (KERNEL_BUG, error.to_string()),
            Self::Guest(error @ GuestError::GivenUp) => (GIVEN_UP, error.to_string()),
            Self::Guest(error @ GuestError::Hung { .. }) => (KERNEL_HANGS, error.to_string()),
            trouble @ (Self::Guest(_) | Self::NotBooted(_) | Self::NotMounted { .. }) => {
                return of_the_machine(&trouble.words());
            }
            Self::Complained(complaint) => (KERNEL_BUG, format!("on a fresh disk already: {}", complaint.text)),
            Self::Nondeterministic => {
                (NONDETERMINISTIC, "the same ops on the same image left other bytes on the disk".to_owned())
            }
        };
        Arc::new(Finding { property, detail })
    }
}

/// What cannot be blamed on a file system: words that fit after "could not ".
pub(crate) fn of_the_machine(what: &dyn Display) -> Arc<Finding> {
    let detail = format!("the machine is at fault, not the file system: could not {what}");
    Arc::new(Finding { property: UNAVAILABLE, detail })
}

/// One step, and what came of it.
fn one(seat: &mut Seat, storage: &mut dyn Storage, step: &Step) -> Result<Answer, GuestError> {
    Ok(run(seat, storage, std::slice::from_ref(step))?.pop().unwrap_or(Err(Errno::EIO)))
}

pub(crate) fn run(seat: &mut Seat, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, GuestError> {
    seat.guest.run(storage, batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complaint;

    #[test]
    fn what_contradicts_itself_is_told_as_that() {
        let words = || "readdir says that /a is a file, stat says that it is a directory".to_owned();
        let (tree, contradiction) = seen(Some(Ok(Got::Said(words()))));
        assert_eq!(tree.err(), Some(Errno::EUCLEAN));
        let contradiction = contradiction.unwrap();
        assert_eq!((contradiction.property.name, contradiction.detail.clone()), ("contradicts-itself", words()));
        let (tree, contradiction) = seen(Some(Err(Errno::EISDIR)));
        assert_eq!((tree.err(), contradiction), (Some(Errno::EISDIR), None));
    }

    #[test]
    fn what_went_wrong_with_a_guest_decides_who_is_accused() {
        let console = || String::from("the last words");
        let cases = [
            (Trouble::Guest(GuestError::Died { console: console() }), "kernel-bug"),
            (Trouble::Guest(GuestError::Killed), "guest-unavailable"),
            (Trouble::Guest(GuestError::Hung { console: console() }), "kernel-hangs"),
            (Trouble::Guest(GuestError::GivenUp), "guest-given-up"),
            (Trouble::Guest(GuestError::Start(std::io::ErrorKind::NotFound.into())), "guest-unavailable"),
            (Trouble::NotBooted(GuestError::Died { console: console() }), "guest-unavailable"),
            (Trouble::NotMounted { errno: Errno::EINVAL, console: console() }, "guest-unavailable"),
            (Trouble::Complained(complaint("WARNING: at fs/inode.c").unwrap()), "kernel-bug"),
            (Trouble::Nondeterministic, "guest-nondeterministic"),
        ];
        for (trouble, expected) in cases {
            assert_eq!(trouble.finding().property.name, expected);
        }
    }
}
