//! A file system on disks of ours as a target.
//!
//! What the search keeps of a mounted file system is a [`Session`]: what was mounted and what was done since. An op
//! brings a worker into that session, unless one is there already, and goes on live: its requests go to the disk of the
//! state under check.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use check::{Finding, Promise, Repeats, Target, Task, View};
use disk::{Disk, Image};
use explore::{Property, Stop};
use posix::{
    FILE_BYTES_MAX,
    message::{Got, Step},
};
use vfs::{
    Conventions, Errno, Op, Outcome, Tree,
    contract::Zeros,
    generate::{ObjectBounds, OpSet, object_ops},
    open::OpenFiles,
};

use crate::{
    MountedBy, Subject,
    machine::SILENCE_MAX,
    place::Start,
    pool::Pool,
    runner::{HANGS, Runner, Trouble, UNAVAILABLE, of_the_machine},
    session::Session,
};
use guest::{
    GIVEN_UP, Heeded, Live,
    fsck::{self, Checked, Verdict},
};

/// fsck finds something wrong with what was recovered, or cannot repair what it is there to repair.
const FSCK_NOT_CLEAN: Property = Property::critical("fsck-not-clean");

/// A file system on this machine.
#[derive(Debug)]
pub struct HostTarget {
    subject: Subject,
    /// How far the workload goes if the user asks for nothing, and if the user asks for ops.
    usual: ObjectBounds,
    all: ObjectBounds,
    silence_max: Duration,
    ground: OnceLock<Result<Ground, String>>,
}

/// What a target needs of this machine.
#[derive(Debug)]
struct Ground {
    runner: Runner,
    fresh: Image,
}

/// A mounted file system.
#[derive(Clone, Debug)]
pub struct Mounted {
    pub(crate) session: Arc<Session>,
    /// What a user sees.
    pub(crate) tree: Result<Tree, Errno>,
    /// What was wrong in the last op, if anything was.
    pub(crate) complaint: Option<Arc<Finding>>,
    /// Whether it could be written to when it was mounted, and cannot any more.
    pub(crate) has_given_up: bool,
    /// Whether nothing is mounted, because that failed with a complaint or because the worker is gone. The complaint
    /// stays then, whatever is asked for.
    pub(crate) is_gone: bool,
}

impl HostTarget {
    /// The file system on this machine.
    pub fn new(subject: Subject) -> Self {
        let all = subject.file_system.bounds();
        let usual = ObjectBounds { ops: all.ops.intersection(OpSet::DEFAULT), ..all.clone() };
        Self { subject, usual, all, silence_max: SILENCE_MAX, ground: OnceLock::new() }
    }

    /// The same, where a file system hangs that neither asks anything of its disk nor answers for so long.
    #[must_use]
    pub fn hanging_after(self, silence: Duration) -> Self {
        Self { silence_max: silence, ..self }
    }

    fn ground(&self) -> Result<&Ground, String> {
        self.ground.get_or_init(|| self.prepare()).as_ref().map_err(Clone::clone)
    }

    fn prepare(&self) -> Result<Ground, String> {
        let subject = self.subject.clone();
        let instead = subject.instead();
        if !matches!(subject.mounted_by, MountedBy::Guest(_))
            && let Some(missing) = missing_for_any_mount()
        {
            return Err(format!("{missing}{instead}"));
        }
        if let Some(missing) = subject.missing() {
            return Err(missing);
        }
        let fresh = fsck::make(&subject.file_system).map_err(|error| format!("make a file system: {error}"))?;
        let (sectors, mounted_by) = (fresh.geometry().blocks.into(), subject.mounted_by.clone());
        let start = Start { sectors, mounted_by, heeded: Heeded::default() };
        let pool = Pool::new(start, self.silence_max);
        let runner = Runner { pool, subject };
        runner.try_command(&fresh)?;
        let fresh = runner.empty_seat().and_then(|seat| {
            runner.pool.put(seat);
            if runner.subject.is_busy_at_first() { runner.broken_in(fresh) } else { Ok(fresh) }
        });
        let fresh = fresh.map_err(|trouble| format!("{}{instead}", trouble.words()))?;
        Ok(Ground { runner, fresh })
    }

    /// Workers and a fresh image.
    ///
    /// # Panics
    /// There are none on this machine, and nobody has asked [`Target::ready`].
    fn prepared(&self) -> &Ground {
        self.ground().unwrap_or_else(|error| panic!("could not {error}"))
    }

    /// What fsck says of a disk that was recovered, by a program if it takes one, and unmounted. It must have nothing
    /// to say.
    fn check_recovered(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let not_repaired = self.fsck(disk)?;
        if !not_repaired.is_empty() {
            return Ok(not_repaired);
        }
        let mut mounted = self.mount(disk)?;
        let unmounted = self.unmount(&mut mounted, disk);
        if let Some(complaint) = self.complaint(&mounted) {
            return Ok(vec![complaint]);
        }
        unmounted?;
        Ok(judged(fsck::check(&self.subject.file_system, disk), |verdict| verdict == Verdict::Clean))
    }
}

/// What a program came to. One that could not be run, or was killed, says nothing of the file system.
fn judged(checked: io::Result<Checked>, is_well: impl FnOnce(Verdict) -> bool) -> Vec<Finding> {
    match checked {
        Ok(Checked { verdict, .. }) if is_well(verdict) => Vec::new(),
        Ok(Checked { said, .. }) => vec![Finding { property: FSCK_NOT_CLEAN, detail: said }],
        Err(error) => vec![of_the_machine(&format!("run fsck: {error}"))],
    }
}

/// What this machine lacks for any mount at all: words that fit after "could not ".
pub(crate) fn missing_for_any_mount() -> Option<String> {
    let wants = "mount a file system on this machine";
    if !rustix::process::geteuid().is_root() {
        return Some(format!("{wants}: that takes root"));
    }
    let missing = ["/dev/fuse", "/dev/loop-control"].into_iter().find(|path| !Path::new(path).exists());
    missing.map(|path| format!("{wants}: {path} is missing"))
}

impl Mounted {
    /// Nothing is mounted, because the worker is gone.
    fn lost(session: Arc<Session>, trouble: Trouble) -> Self {
        let complaint = Some(trouble.finding());
        Self { session, tree: Err(Errno::EIO), complaint, has_given_up: false, is_gone: true }
    }
}

impl Target for HostTarget {
    type Mounted = Mounted;

    fn ready(&self) -> Result<(), String> {
        self.ground().map(drop)
    }

    fn mkfs(&self) -> Image {
        self.prepared().fresh.clone()
    }

    /// A worker that is lost on the way is no errno: what is mounted then is nothing, with a complaint.
    fn mount(&self, disk: &mut Disk) -> Result<Mounted, Errno> {
        let runner = &self.prepared().runner;
        let base = disk.image().clone();
        let is_excused = self.awaits_fsck(disk);
        let begin = |failed, asked| {
            let session = Session::begin(base.clone(), failed, asked);
            if is_excused { session.excused() } else { session }
        };
        let mounted = runner.run_and_look(|_| runner.empty_seat(), disk, &runner.mount_step(), begin);
        match mounted {
            Ok((Ok(_), mounted)) => Ok(mounted),
            Ok((Err(_), mounted)) if mounted.complaint.is_some() => Ok(mounted),
            Ok((Err(errno), _)) => Err(errno),
            Err(trouble) => Ok(Mounted::lost(Arc::new(begin(Vec::new(), Vec::new())), trouble)),
        }
    }

    fn unmount(&self, mounted: &mut Mounted, disk: &mut Disk) -> Result<(), Errno> {
        if mounted.is_gone {
            return Err(Errno::EIO);
        }
        let runner = &self.prepared().runner;
        let unmounted = runner.seat_in(&mounted.session, disk).and_then(|mut seat| {
            let mut live = Live::new(disk, self.subject.file_system.flushes_are_lies);
            let answer = seat.place.run(&mut live, &[Step::Unmount])?.pop().unwrap_or(Err(Errno::EIO));
            seat.mounted = None;
            // One that cannot unmount is not used again: whatever is mounted there still is.
            if answer.is_ok() {
                let is_excused = mounted.session.saw_failures() || !live.failed.is_empty();
                mounted.complaint = runner.put_back(seat, is_excused);
            }
            Ok(answer)
        });
        match unmounted {
            Ok(answer) => answer.map(drop),
            Err(trouble) => {
                *mounted = Mounted::lost(Arc::clone(&mounted.session), trouble);
                Err(Errno::EIO)
            }
        }
    }

    fn step(&self, mounted: &mut Mounted, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        // Kernels say in many ways that a file system has no such thing.
        if !self.ops().contains(task.op.kind()) || !self.subject.file_system.offers(&task.op) {
            return Some(Err(Errno::EOPNOTSUPP));
        }
        if mounted.is_gone {
            return Some(Err(Errno::EIO));
        }
        let runner = &self.prepared().runner;
        let session = Arc::clone(&mounted.session);
        let after = |failed, asked| session.after(&task.op, failed, asked);
        let step = Step::Run(task.op.clone());
        let done = runner.run_and_look(|disk| runner.seat_in(&session, disk), disk, &step, after);
        Some(match done {
            Ok((answer, now)) => {
                *mounted = now;
                answer.and_then(|got| if let Got::Value(value) = got { Ok(value) } else { Err(Errno::EIO) })
            }
            Err(trouble) => {
                *mounted = Mounted::lost(session, trouble);
                Err(Errno::EIO)
            }
        })
    }

    fn observe(&self, mounted: &Mounted, _: &Disk) -> Result<Tree, Errno> {
        mounted.tree.clone()
    }

    fn complaint(&self, mounted: &Mounted) -> Option<Finding> {
        mounted.complaint.as_deref().cloned()
    }

    /// All that led here since the mount. Two ways to the same tree and disk are two states: what a kernel keeps in
    /// memory may differ.
    fn encode(&self, mounted: &Mounted, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&mounted.session.id.0.to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise {
            contract: self.subject.file_system.contract(),
            synchronous: self.subject.file_system.is_synchronous(),
            zeros: Zeros::Allowed,
            write_through: false,
        }
    }

    fn ops(&self) -> OpSet {
        self.subject.file_system.ops()
    }

    fn bounds(&self) -> ObjectBounds {
        self.all.clone()
    }

    fn offers(&self, op: &Op, _: &Tree) -> bool {
        self.subject.file_system.offers(op)
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn file_bytes_granted(&self) -> u64 {
        self.subject.file_system.file_bytes_granted()
    }

    fn room_granted(&self) -> u64 {
        self.subject.file_system.room_granted()
    }

    fn knows_what_it_lacks(&self) -> bool {
        self.subject.file_system.is_known()
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let bounds = if view.workload.ops.is_some() { &self.all } else { &self.usual };
        ops.extend(object_ops(view.tree(), &OpenFiles::new(), &view.workload.within(bounds, self.ops())));
    }

    fn conventions(&self) -> Conventions {
        self.subject.file_system.conventions()
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        if !self.subject.file_system.recovers_by_fsck() {
            return Ok(Vec::new());
        }
        Ok(judged(fsck::repair(&self.subject.file_system, disk), |verdict| verdict != Verdict::Wrong))
    }

    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        [UNAVAILABLE, GIVEN_UP].contains(&finding.property)
    }

    /// A worker on this machine is waited for all the same.
    fn heed(&self, stop: &Stop) {
        if let Some(Ok(ground)) = self.ground.get() {
            ground.runner.pool.heed(stop);
        }
    }

    fn gave_up(&self, property: &str) -> bool {
        property == GIVEN_UP.name
    }

    fn takes_long_to_show(&self, property: &str) -> bool {
        property == HANGS.name
    }

    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        self.subject.file_system.is_checked().then(|| self.check_recovered(disk))
    }

    fn invariants(&self, mounted: &Mounted, _: &Disk) -> Vec<Finding> {
        self.complaint(mounted).into_iter().collect()
    }

    fn may_shut_down(&self) -> bool {
        true
    }

    fn has_given_up(&self, mounted: &Mounted) -> bool {
        mounted.has_given_up
    }

    /// Without a journal, only fsck recovers, and it does not run before every mount.
    fn awaits_fsck(&self, disk: &Disk) -> bool {
        disk.lacks_writes() && self.subject.file_system.recovers_by_fsck()
    }

    fn needs_room_to_free(&self) -> bool {
        !self.subject.file_system.overwrites_in_place()
    }

    fn has_one_supply(&self) -> bool {
        self.subject.file_system.has_one_supply()
    }

    /// A loop device makes a flush of every FUA write.
    fn uses_fua(&self) -> bool {
        false
    }

    /// Times and random numbers are the running kernel's own.
    fn repeats(&self) -> Repeats {
        Repeats::InShape
    }
}

#[cfg(test)]
mod tests {
    use guest::{FileSystemKind, Kernel};
    use rustix::process::{Signal, kill_process};

    use super::*;
    use crate::place::Place;

    #[test]
    fn nobody_waits_for_a_guest_with_clocks_of_its_own_who_was_asked_to_stop() {
        let mounted_by = MountedBy::Guest(Kernel::of_debian());
        let target = HostTarget::new(Subject { file_system: FileSystemKind::Ext4.usual(), mounted_by });
        if let Err(error) = target.ready() {
            assert!(std::env::var_os("CI").is_none(), "could not {error}");
            eprintln!("skipped: could not {error}");
            return;
        }
        let stop = Stop::default();
        target.heed(&stop);
        let runner = &target.prepared().runner;
        let seat = runner.empty_seat().unwrap();
        let Place::Guest(guest) = &seat.place else { panic!("it is a guest") };
        kill_process(guest.kernel_process().unwrap(), Signal::STOP).unwrap();
        runner.pool.put(seat);
        stop.stop();
        let mounted = target.mount(&mut Disk::new(target.mkfs())).unwrap();
        let complaint = target.complaint(&mounted).unwrap();
        assert!(target.gave_up(complaint.property.name) && target.is_of_the_machine(&complaint), "{complaint:?}");
    }
}
