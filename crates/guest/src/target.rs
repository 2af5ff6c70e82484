//! A file system of a guest kernel as a target.
//!
//! What the search keeps of a mounted file system is a [`Session`]: what was mounted and what was done since. An op
//! brings a guest into that session, unless one is there already, and goes on live: its requests go to the disk of the
//! state under check.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use check::{Finding, Promise, Target, Task, View};
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
    FileSystem, Kernel,
    fsck::{self, Checked, Verdict},
    pool::Pool,
    runner::{DAMAGE_REPORTED, GIVEN_UP, KERNEL_HANGS, Runner, Trouble, UNAVAILABLE, of_the_machine},
    session::{Failed, Session},
    watch::watched,
};

/// fsck finds something wrong with what the kernel has recovered or unmounted, or cannot repair what it is there to
/// repair.
const FSCK_NOT_CLEAN: Property = Property::critical("fsck-not-clean");

/// Beyond so many clean disks (a few dozen bytes each), fsck looks at new ones each time.
const CLEAN_MAX: usize = 1 << 20;

/// A file system in guests.
#[derive(Debug)]
pub struct GuestTarget {
    file_system: FileSystem,
    /// The name of the kernel.
    kernel: String,
    /// How far the workload goes if the user asks for nothing, and if the user asks for ops.
    usual: ObjectBounds,
    all: ObjectBounds,
    /// Disks that fsck has found clean, by their content: many recoveries leave the same.
    clean: Mutex<HashSet<u128>>,
    ground: OnceLock<Result<Ground, NotHere>>,
}

/// What a target needs of this machine.
#[derive(Debug)]
struct Ground {
    runner: Runner,
    fresh: Image,
}

/// Why a target cannot be checked on this machine, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotHere(String);

impl NotHere {
    /// In one line: of what a kernel has printed, the end.
    fn because(trouble: &Trouble) -> Self {
        const LINES_MAX: usize = 6;
        let words = trouble.words();
        let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let (first, rest) = lines.split_at(lines.len().min(1));
        Self([first, &rest[rest.len().saturating_sub(LINES_MAX)..]].concat().join("; "))
    }
}

/// A mounted file system.
#[derive(Clone, Debug)]
pub struct Mounted {
    pub(crate) session: Arc<Session>,
    /// What a user sees.
    pub(crate) tree: Result<Tree, Errno>,
    /// What was wrong with the kernel in the last op, if anything was.
    pub(crate) complaint: Option<Arc<Finding>>,
    /// Whether it could be written to when it was mounted, and cannot any more.
    pub(crate) has_given_up: bool,
    /// Whether nothing is mounted, because that failed with a complaint or because the guest is gone. The complaint
    /// stays then, whatever is asked for.
    pub(crate) is_gone: bool,
}

impl GuestTarget {
    /// The file system in guests of the kernel of this name, see [`Kernel::built`].
    pub fn new(file_system: FileSystem, kernel: &str) -> Self {
        let all = file_system.bounds();
        let usual = ObjectBounds { ops: all.ops.intersection(OpSet::DEFAULT), ..all.clone() };
        Self { file_system, kernel: kernel.to_owned(), usual, all, clean: Mutex::default(), ground: OnceLock::new() }
    }

    fn ground(&self) -> Result<&Ground, NotHere> {
        self.ground.get_or_init(|| self.prepare()).as_ref().map_err(Clone::clone)
    }

    fn prepare(&self) -> Result<Ground, NotHere> {
        if let Some(missing) = self.file_system.missing_program() {
            return Err(NotHere(missing));
        }
        let kernel = Kernel::built(&self.kernel).map_err(|error| NotHere(error.to_string()))?;
        if let Some(missing) = kernel.lacks(self.file_system.name()) {
            return Err(NotHere(missing));
        }
        let fresh = fsck::make(&self.file_system);
        let fresh = fresh.map_err(|error| NotHere(format!("make a file system: {error}")))?;
        let pool = Pool::new(kernel, fresh.geometry().blocks.into());
        let mut runner = Runner { pool, file_system: self.file_system.clone(), fresh };
        if self.file_system.is_made_by_mounting() {
            runner.fresh = runner.mounted_first().map_err(|trouble| NotHere::because(&trouble))?;
        }
        match runner.empty_seat() {
            Ok(seat) => runner.pool.put(seat),
            Err(trouble) if trouble.is_of_the_machine() => return Err(NotHere::because(&trouble)),
            // A kernel that is wrong is what a check is there to find.
            Err(_) => {}
        }
        let fresh = runner.fresh.clone();
        Ok(Ground { runner, fresh })
    }

    /// Guests and a fresh image.
    ///
    /// # Panics
    /// There are none on this machine, and nobody has asked [`Target::ready`].
    fn prepared(&self) -> &Ground {
        self.ground().unwrap_or_else(|error| panic!("could not {error}"))
    }

    /// What fsck says of a disk that was recovered, by a program if it takes one, and that the kernel has left. It must
    /// have nothing to say.
    fn check_after_the_kernel(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let not_repaired = self.fsck(disk)?;
        if !not_repaired.is_empty() {
            return Ok(not_repaired);
        }
        let mut mounted = self.mount(disk)?;
        let ended = self.end(&mut mounted, disk);
        if let Some(complaint) = self.complaint(&mounted) {
            return Ok(vec![complaint]);
        }
        ended?;
        Ok(self.looked_at(disk))
    }

    /// Unmounts, with a look at the kernel and none at the disk.
    fn end(&self, mounted: &mut Mounted, disk: &mut Disk) -> Result<(), Errno> {
        if mounted.is_gone {
            return Err(Errno::EIO);
        }
        let runner = &self.prepared().runner;
        let seat = runner.seat_in(&mounted.session, disk.image());
        match seat.and_then(|seat| runner.end_live(seat, disk, &mounted.session)) {
            Ok(((answer, complaint), failed)) => {
                // What failed just now explains what is said of the disk.
                let counts = |finding: &Arc<Finding>| failed.is_none() || finding.property != DAMAGE_REPORTED;
                mounted.complaint = complaint.filter(counts);
                answer.map(|_| ())
            }
            Err(trouble) => {
                *mounted = Mounted::lost(Arc::clone(&mounted.session), trouble);
                Err(Errno::EIO)
            }
        }
    }

    /// What fsck says of a disk of which it must have nothing to say.
    fn looked_at(&self, disk: &Disk) -> Vec<Finding> {
        let clean = || self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        let content = disk.everything().hash();
        if clean().contains(&content) {
            return Vec::new();
        }
        let findings = judged(fsck::check(&self.file_system, disk), |verdict| verdict == Verdict::Clean);
        let mut clean = clean();
        if findings.is_empty() && clean.len() < CLEAN_MAX {
            clean.insert(content);
        }
        findings
    }

    /// What fsck finds wrong with a disk that was unmounted, if nothing had failed before.
    fn wrong_with(&self, left: &Disk, session: &Session) -> Option<Finding> {
        if !self.file_system.is_left_clean() || session.saw_failures() || left.met_faults() {
            return None;
        }
        self.looked_at(left).pop()
    }
}

/// What a program came to. One that could not be run says nothing of the file system.
fn judged(checked: io::Result<Checked>, is_well: impl FnOnce(Verdict) -> bool) -> Vec<Finding> {
    match checked {
        Ok(Checked { verdict, .. }) if is_well(verdict) => Vec::new(),
        Ok(Checked { said, .. }) => vec![Finding { property: FSCK_NOT_CLEAN, detail: said }],
        Err(error) => vec![Finding::clone(&of_the_machine(&format!("run fsck: {error}")))],
    }
}

impl Mounted {
    /// Nothing is mounted, because the guest is gone.
    fn lost(session: Arc<Session>, trouble: Trouble) -> Self {
        let complaint = Some(trouble.finding());
        Self { session, tree: Err(Errno::EIO), complaint, has_given_up: false, is_gone: true }
    }
}

impl Target for GuestTarget {
    type Mounted = Mounted;

    fn ready(&self) -> Result<(), String> {
        self.ground().map(|_| ()).map_err(|error| error.to_string())
    }

    fn kernel(&self) -> Option<String> {
        self.ground().ok().map(|ground| ground.runner.pool.kernel().identity())
    }

    fn mkfs(&self) -> Image {
        self.prepared().fresh.clone()
    }

    /// A guest that is lost on the way is no errno: what is mounted then is nothing, with a complaint.
    fn mount(&self, disk: &mut Disk) -> Result<Mounted, Errno> {
        let runner = &self.prepared().runner;
        let base = disk.image().clone();
        let is_excused = self.awaits_fsck(disk);
        let begin = |failed| {
            let session = Session::begin(base.clone(), failed);
            if is_excused { session.excused() } else { session }
        };
        let step = watched(runner.mount_step(), disk);
        let seat = if matches!(step, Step::Try { .. }) { runner.fresh_seat() } else { runner.empty_seat() };
        let mounted = seat.and_then(|seat| runner.run_and_look(seat, disk, &step, begin));
        match mounted {
            Ok((Ok(_), mounted)) => Ok(mounted),
            Ok((Err(_), mounted)) if mounted.complaint.is_some() => Ok(mounted),
            Ok((Err(errno), _)) => Err(errno),
            Err(trouble) => Ok(Mounted::lost(Arc::new(begin(Failed::default())), trouble)),
        }
    }

    fn recovered_from(&self, mounted: &Mounted, crashed: &Image) -> Mounted {
        // fsck reads everything, so the images are the same; and what was mounted is what fsck has made of them.
        if self.file_system.recovers_by_fsck() {
            return mounted.clone();
        }
        Mounted { session: Arc::new(mounted.session.on(crashed.clone())), ..mounted.clone() }
    }

    fn unmount(&self, mounted: &mut Mounted, disk: &mut Disk) -> Result<(), Errno> {
        self.end(mounted, disk)?;
        if mounted.complaint.is_none() {
            mounted.complaint = self.wrong_with(disk, &mounted.session).map(Arc::new);
        }
        Ok(())
    }

    fn step(&self, mounted: &mut Mounted, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        // Kernels say in many ways that a file system has no such thing.
        if !self.ops().contains(task.op.kind()) || !self.file_system.offers(&task.op) {
            return Some(Err(Errno::EOPNOTSUPP));
        }
        if mounted.is_gone {
            return Some(Err(Errno::EIO));
        }
        let runner = &self.prepared().runner;
        let session = Arc::clone(&mounted.session);
        let after = |failed| session.after(&task.op, failed);
        let step = watched(Step::Run(task.op.clone()), disk);
        let done =
            runner.seat_in(&session, disk.image()).and_then(|seat| runner.run_and_look(seat, disk, &step, after));
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

    fn complaint_at_unmount(&self, mounted: &Mounted, disk: &Disk) -> Option<Finding> {
        if mounted.is_gone {
            return None;
        }
        let left = match self.prepared().runner.leave(&mounted.session, disk.image()) {
            Ok((left, None)) => left,
            Ok((_, Some(finding))) => return Some(Finding::clone(&finding)),
            Err(trouble) => return Some(Finding::clone(&trouble.finding())),
        };
        // Whether anything failed is known of the disk that was copied.
        if disk.met_faults() { None } else { self.wrong_with(&Disk::new(left), &mounted.session) }
    }

    /// All that led here since the mount. Two ways to the same tree and disk are two states: what a kernel keeps in
    /// memory may differ.
    fn encode(&self, mounted: &Mounted, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&mounted.session.id.0.to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise {
            contract: self.file_system.contract(),
            synchronous: self.file_system.is_synchronous(),
            zeros: Zeros::Allowed,
            write_through: false,
        }
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let bounds = if view.workload.ops.is_some() { &self.all } else { &self.usual };
        ops.extend(object_ops(view.tree(), &OpenFiles::new(), &view.workload.within(bounds, self.ops())));
    }

    fn ops(&self) -> OpSet {
        self.file_system.ops()
    }

    fn conventions(&self) -> Conventions {
        self.file_system.conventions()
    }

    fn bounds(&self) -> ObjectBounds {
        self.all.clone()
    }

    fn offers(&self, op: &Op, _: &Tree) -> bool {
        self.file_system.offers(op)
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX
    }

    fn file_bytes_granted(&self) -> u64 {
        self.file_system.file_bytes_granted()
    }

    fn room_granted(&self) -> u64 {
        self.file_system.room_granted()
    }

    fn knows_what_it_lacks(&self) -> bool {
        self.file_system.is_known()
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        if !self.file_system.recovers_by_fsck() {
            return Ok(Vec::new());
        }
        Ok(judged(fsck::repair(&self.file_system, disk), |verdict| verdict != Verdict::Wrong))
    }

    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        [UNAVAILABLE, GIVEN_UP].contains(&finding.property)
    }

    fn heed(&self, stop: &Stop) {
        if let Some(Ok(ground)) = self.ground.get() {
            ground.runner.pool.heeded.heed(stop);
        }
    }

    fn gave_up(&self, property: &str) -> bool {
        property == GIVEN_UP.name
    }

    fn takes_long_to_show(&self, property: &str) -> bool {
        property == KERNEL_HANGS.name
    }

    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        self.file_system.is_checked().then(|| self.check_after_the_kernel(disk))
    }

    fn invariants(&self, mounted: &Mounted, _: &Disk) -> Vec<Finding> {
        self.complaint(mounted).into_iter().collect()
    }

    fn may_shut_down(&self) -> bool {
        true
    }

    fn needs_room_to_free(&self) -> bool {
        !self.file_system.overwrites_in_place()
    }

    fn has_one_supply(&self) -> bool {
        self.file_system.has_one_supply()
    }

    fn has_given_up(&self, mounted: &Mounted) -> bool {
        mounted.has_given_up
    }

    /// Without a journal, only fsck recovers, and it does not run before every mount.
    fn awaits_fsck(&self, disk: &Disk) -> bool {
        disk.lacks_writes() && self.file_system.recovers_by_fsck()
    }

    /// The kernel makes a flush of every FUA write, because the disk says that it knows none.
    fn uses_fua(&self) -> bool {
        false
    }
}
