//! The seam behind which every file system stands.

use disk::{Block, CrashMode, Disk, Image, OpIndex};
use explore::{Property, Severity, Stop};
use vfs::{
    Conventions, Errno, Op, Outcome, Tree,
    contract::Contract,
    contract::Zeros,
    generate::{ObjectBounds, OpSet},
};

use crate::{probe, workload::Workload};

/// A file system under check.
///
/// A target is deterministic: everything it does follows from the disk, from what it keeps in memory and from the
/// op. It reads and writes its disk only through [`Disk`], which logs what it was asked; memory is what a crash loses.
/// An op that fails has changed nothing that a user can see.
pub trait Target: Send + Sync {
    /// What a mounted file system keeps in memory.
    type Mounted: Clone + Send + Sync + 'static;

    /// Whether it can be checked on this machine; if not, why, and what to do about it: words that fit after "could
    /// not ". Asked once before anything else is.
    ///
    /// # Errors
    /// Something is missing.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Which kernel it is a part of, if it is not a part of this program: two results are comparable if that is the
    /// same. Asked after [`Target::ready`].
    fn kernel(&self) -> Option<String> {
        None
    }

    /// A freshly made file system.
    fn mkfs(&self) -> Image;

    /// Mounts, and does whatever the file system does by itself to recover from a crash.
    ///
    /// # Errors
    /// The file system cannot be mounted.
    fn mount(&self, disk: &mut Disk) -> Result<Self::Mounted, Errno>;

    /// The memory of a recovery on another crash image, one that agrees with the image of that recovery on everything
    /// that recovery has read. Only a target whose memory holds on to the image has something to do here.
    fn recovered_from(&self, mounted: &Self::Mounted, crashed: &Image) -> Self::Mounted {
        let _ = crashed;
        mounted.clone()
    }

    /// Unmounts: what was kept back in memory goes to the disk, and all of it becomes durable. A mount must then
    /// find the same tree.
    ///
    /// # Errors
    /// Something could not be written.
    fn unmount(&self, mounted: &mut Self::Mounted, disk: &mut Disk) -> Result<(), Errno> {
        let _ = mounted;
        disk.flush().map_err(|_| Errno::EIO)
    }

    /// Goes on with an op up to its next disk request, or further, or to its end; `Some` is its outcome. Most file
    /// systems do a whole op at once. One that is to be checked under concurrency stops after each request, and keeps
    /// what it needs to go on in the task's registers. `Op::Remount` never comes here: it is `unmount` and `mount`.
    fn step(&self, mounted: &mut Self::Mounted, disk: &mut Disk, task: &mut Task) -> Option<Outcome>;

    /// What a user sees now.
    ///
    /// # Errors
    /// The file system cannot be read.
    fn observe(&self, mounted: &Self::Mounted, disk: &Disk) -> Result<Tree, Errno>;

    /// What the file system, or what runs it, has reported to be wrong in the last op or in the mount: a panic, a
    /// warning. It says more than the outcome of that op, and takes its place.
    fn complaint(&self, mounted: &Self::Mounted) -> Option<Finding> {
        let _ = mounted;
        None
    }

    /// What is reported to be wrong if it is unmounted now: something that was not given back shows at no other time.
    /// It stays as it is, so that a copy must be unmounted.
    fn complaint_at_unmount(&self, mounted: &Self::Mounted, disk: &Disk) -> Option<Finding> {
        let _ = (mounted, disk);
        None
    }

    /// Appends the bytes of the memory that decide the future, besides the disk and the tree.
    fn encode(&self, mounted: &Self::Mounted, bytes: &mut Vec<u8>);

    /// What it promises to leave after a crash.
    fn promise(&self) -> Promise;

    /// Appends the ops that may come next.
    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>);

    /// The kinds of ops that it has. One that it does not have fails with `EOPNOTSUPP`.
    fn ops(&self) -> OpSet {
        OpSet::ALL
    }

    /// The bytes of a small write, such as its workload makes.
    fn write_bytes(&self) -> u64 {
        4096
    }

    /// The bytes of the longest name, if that is fewer than Linux allows. A longer one fails with `ENAMETOOLONG`.
    fn name_bytes_max(&self) -> Option<usize> {
        None
    }

    /// The bytes that its files may have together. An op after which they would have more is not handed to it: it
    /// fails with `EOPNOTSUPP`.
    fn file_bytes_max(&self) -> u64 {
        u64::MAX
    }

    /// The bytes that each of its files may have, as long as there is room: `EFBIG` is no excuse for refusing them.
    fn file_bytes_granted(&self) -> u64 {
        0
    }

    /// The bytes of room that it has for whatever is asked of it since it was made, see `fullness.rs`: that it is full
    /// is no excuse until they are used up. None where other rules say whether it is.
    fn room_granted(&self) -> u64 {
        0
    }

    /// Whether [`Target::ops`] and [`Target::offers`] name all that it lacks. An op of a workload that fails with
    /// `EOPNOTSUPP` is then wrong, unless they say so; elsewhere the workload is left out.
    fn knows_what_it_lacks(&self) -> bool {
        false
    }

    /// What it shows in its own way. Trees that it is observed to have are in the terms of the reference already.
    fn conventions(&self) -> Conventions {
        Conventions::default()
    }

    /// How far a workload of it goes where it is one of several targets: at most the ops that it proposes if the user
    /// asks for all of them.
    fn bounds(&self) -> ObjectBounds {
        ObjectBounds { ops: self.ops(), ..ObjectBounds::default() }
    }

    /// Whether it has an op, of a kind that it has, with these arguments on a file system that looks like `tree`. One
    /// that it does not have fails with `EOPNOTSUPP`.
    fn offers(&self, op: &Op, tree: &Tree) -> bool {
        let _ = (op, tree);
        true
    }

    /// Checks the unmounted file system and repairs what it can. Runs before every mount that follows a crash. What
    /// it finds is reported; what it reports as critical it could not repair.
    ///
    /// # Errors
    /// The check itself failed.
    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let _ = disk;
        Ok(Vec::new())
    }

    /// Whether a finding is about the machine on which this runs, and not about the file system: nothing else is
    /// concluded from what follows then.
    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        let _ = finding;
        false
    }

    /// From now on, a wait that may be long is given up when somebody asks to stop. What is found then is a finding of
    /// the machine, of which [`Target::gave_up`] says that it is none at all.
    fn heed(&self, stop: &Stop) {
        let _ = stop;
    }

    /// Whether a finding of this property says only that a wait was given up.
    fn gave_up(&self, property: &str) -> bool {
        let _ = property;
        false
    }

    /// Whether a violation of this property shows only after a long wait, as a hang does: then it is seen again a few
    /// times and no more.
    fn takes_long_to_show(&self, property: &str) -> bool {
        let _ = property;
        false
    }

    /// The ops with which a recovered file system is tried, given what a user sees of it: lists that are each run on a
    /// copy of their own. Whatever the reference makes of them is right, so they may fail. A list without a remount is
    /// followed by one.
    ///
    /// What they do is remembered together with the recovery. So in recovery and in these ops, what a target does must
    /// follow from what it has read with the disk's reading methods.
    fn probe(&self, tree: &Tree) -> Vec<Vec<Op>> {
        vec![probe::usual_ops(tree, self.write_bytes())]
    }

    /// Checks the metadata of the mounted file system while no op is under way.
    fn invariants(&self, mounted: &Self::Mounted, disk: &Disk) -> Vec<Finding> {
        let _ = (mounted, disk);
        Vec::new()
    }

    /// In how many ways an op can go that has not begun, because the target leaves something open (say, which free
    /// block it takes). The task's `choice` says which.
    fn choices(&self, view: &View<'_, Self>, op: &Op) -> u32 {
        let _ = (view, op);
        1
    }

    /// Appends a representative of all states that a symmetry of the target makes equivalent; `false`: the target
    /// knows no symmetry and nothing was appended. It must cover everything in the view.
    fn canonical(&self, view: &View<'_, Self>, bytes: &mut Vec<u8>) -> bool {
        let _ = (view, bytes);
        false
    }

    /// What lies in a block, for people.
    fn block_name(&self, block: Block) -> String {
        format!("block {}", block.0)
    }

    /// What a block's content says, for people, where the target can tell.
    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        let _ = (block, content);
        None
    }

    /// What a write of a block says, for people, given what the disk shows before it: for blocks that say nothing by
    /// themselves, such as a copy in a journal.
    fn written(&self, disk: &Image, block: Block, content: &[u8]) -> Option<String> {
        let _ = disk;
        self.block_content(block, content)
    }

    /// How many pending writes its disk's volatile cache holds; `None`: any number.
    fn cache(&self) -> Option<usize> {
        None
    }

    /// Whether it ever makes a FUA write. One that never does can be searched with fewer states; one that says so and
    /// does it all the same is reported.
    fn uses_fua(&self) -> bool {
        true
    }

    /// Checks and repairs more thoroughly than recovery does, on a disk that was not recovered yet; `None` if it
    /// cannot. The tree must be the one that recovery gives, and nothing critical may be found.
    ///
    /// # Errors
    /// The check itself failed.
    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        let _ = disk;
        None
    }

    /// How closely the same done again repeats what was done first.
    fn repeats(&self) -> Repeats {
        Repeats::Exactly
    }

    /// Whether a request that failed may make it refuse everything until it is mounted again, as Linux file systems do:
    /// what that means for verdicts stands with the legal differences from the reference.
    fn may_shut_down(&self) -> bool {
        false
    }

    /// Whether it may have no room to take away or to change what is there, since it never overwrites: the new metadata
    /// needs room before the old is free. One that overwrites in place says no and is not excused.
    fn needs_room_to_free(&self) -> bool {
        true
    }

    /// Whether names, nodes and contents take their room from one supply, so that where much is left for one of them
    /// something is left for the others. One that says so must be as full as it says, see `fullness.rs`.
    fn has_one_supply(&self) -> bool {
        false
    }

    /// Whether it could be written to when it was mounted and cannot any more: it has shut itself down, perhaps in the
    /// middle of an op, and what it shows is not what lies on the disk. Asked of one that may shut down.
    fn has_given_up(&self, mounted: &Self::Mounted) -> bool {
        let _ = mounted;
        false
    }

    /// Whether writes are missing on this disk for which only [`Target::fsck`] makes up. Until it has run, which is
    /// after the next crash, what is mounted may be damaged.
    fn awaits_fsck(&self, disk: &Disk) -> bool {
        let _ = disk;
        false
    }

    /// How many ops are under way at the same time.
    fn tasks(&self) -> usize {
        1
    }
}

/// An op under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What was asked.
    pub op: Op,
    /// Which op it is, counted over the whole run.
    pub index: OpIndex,
    /// Which of its [`Target::choices`] it takes.
    pub choice: u32,
    /// How far it is; the target's own count, 0 at the beginning.
    pub pc: u8,
    /// The target's own notes, all zero at the beginning.
    pub registers: [u8; 12],
}

impl Task {
    /// Appends what tells it from other ops under way.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let text = self.op.to_string();
        bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(&self.choice.to_le_bytes());
        bytes.push(self.pc);
        bytes.extend_from_slice(&self.registers);
    }
}

/// What a target promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The strongest contract that it claims.
    pub contract: Contract,
    /// Whether each op is durable when it returns.
    pub synchronous: bool,
    /// Whether bytes that were never written may be found as zeros.
    pub zeros: Zeros,
    /// Whether what an op has written to the disk is all there is to the op: nothing is kept back in memory. What is
    /// durable then can no longer be undone, and the history before it is forgotten.
    pub write_through: bool,
}

impl Default for Promise {
    fn default() -> Self {
        Self { contract: Contract::Mountable, synchronous: false, zeros: Zeros::Allowed, write_through: false }
    }
}

/// How closely a target that does the same again, on the same disk, repeats what it did first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Request by request and byte by byte.
    Exactly,
    /// It asks for the same blocks between the same flushes, but not in the same order, nor with the same bytes: there
    /// are clocks and random numbers that are not ours. What recovery reads may differ in order, too, so that
    /// recoveries are remembered by whole images only.
    InShape,
}

/// Something that a check of the metadata found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What does not hold.
    pub property: Property,
    /// Where and how, for people.
    pub detail: String,
}

impl Finding {
    /// Whether it makes the state one from which the search does not go on.
    pub(crate) fn is_critical(&self) -> bool {
        self.property.severity == Severity::Critical
    }
}

/// A state as a target sees it when it is asked for ops, for choices and for symmetries.
pub struct View<'a, T: Target + ?Sized> {
    /// Its memory.
    pub mounted: &'a T::Mounted,
    /// Its disk, with what is pending.
    pub disk: &'a Disk,
    /// The ops under way.
    pub tasks: &'a [Task],
    /// The trees that a crash may go back to, oldest first; the last is what a user should see now.
    pub trees: &'a [&'a Tree],
    /// Which op made each of these trees but the first.
    pub returned: &'a [OpIndex],
    /// What the user asks of the workload.
    pub workload: &'a Workload,
    /// By which crash states this state must be told apart from others; `off` if none of those that are possible now
    /// will be asked for again.
    pub crash: CrashMode,
}

impl<T: Target + ?Sized> View<'_, T> {
    /// What a user should see now.
    ///
    /// # Panics
    /// The view was made without a tree, which the pipeline never does.
    pub fn tree(&self) -> &Tree {
        self.trees.last().expect("there is always a present")
    }
}
