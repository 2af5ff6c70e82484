//! The ways in which the file system can be built, right or wrong.

/// How a commit makes sure that a superblock never leads to a tree that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The trees are flushed before the superblock is written.
    Barrier,
    /// Trees and superblock are flushed together. A mount verifies everything that the newest superblock leads to, and
    /// goes back to the other one if something is not there.
    Verify,
}

/// What is wrong, if anything. Names of btrfs bugs are the numbers of fstests or of the `CrashMonkey` study; a flaw
/// without a source is of a class that is easy to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The superblock is written before the trees are flushed. On several devices, btrfs did not wait for all barriers
    /// before the commit block until 2011 (Recon).
    NoBarrier,
    /// The superblock is written without waiting until it is durable, so that sync returns too early.
    SuperNotFlushed,
    /// A changed node is written to the block that the committed tree has it in: a copy on write that was not taken to
    /// be needed.
    Overwrite,
    /// A block that the transaction freed is given out again in the same transaction, though a crash may need it.
    ReuseFreed,
    /// A mount takes the superblock with the highest number, right or not; half of it may be old.
    SuperUnchecked,
    /// A node is taken for the child even if it is of another generation: the write of the right one was lost and an
    /// older node is still in its place.
    GenerationUnchecked,
    /// Data is not verified before a tree that refers to it is used.
    DataUnchecked,
    /// A mount goes on with the generation that a crash interrupted, and takes nodes that the crash left for its own.
    /// (Found here, in the first version of this model.)
    GenerationReused,
    /// A commit leaves the log in the superblock, so that the next mount replays what is long out of date.
    StaleLog,
    /// The log holds one name of a file that has several (bugs 5 and 7: fsync of a file with two links).
    LogOneName,
    /// A file that was renamed is logged with its new name, but its old one stays (generic/321).
    LogForgetsRename,
    /// A file that lost one of its names is logged, but the name stays (generic/039, 106 and 107).
    LogForgetsUnlink,
    /// A file is logged in a directory that was renamed, and is found under the directory's old name (bug 4).
    LogForgetsRenamedParent,
    /// A file is logged under a name that another file had, which is lost if it had moved (generic/342).
    LogForgetsTakenName,
    /// fsync of a directory does nothing if the log already has it as the parent of a file (bug 6).
    LogSkipsLoggedDir,
    /// An op that runs out of memory on its way leaves what it did so far in memory: an abort that does not reverse
    /// everything, as in JFS (found by `FiSC`), where the next commit then wrote it to the disk.
    AbortKeepsChanges,
    /// What chmod changed is not logged; of the class of fstests generic/066, where fsync brings a removed extended
    /// attribute back.
    LogForgetsMode,
    /// A mount replays the log in memory and lets go of it on the disk before the next commit: a power cut in between
    /// loses what was fsynced. The order is that of the journals that `FiSC` found cleared too early.
    ReplayNotCommitted,
    /// A mount does not count the blocks of the log as used before it replays it, and the commit that ends the replay
    /// writes a node over data that the log leads to.
    ReplayForgetsBlocks,
    /// A mount holds all free blocks back while it replays the log, so that nothing can come between, and does not give
    /// them back: the disk is full until it is unmounted. Room that is reserved and never released is what most reports
    /// of btrfs without space came from.
    ReplayKeepsRoom,
    /// What lies beyond the end of a file that became shorter is left in its last block, and seen when the file grows
    /// again (of the class of the stale holes of JFFS2).
    TailKept,
    /// An unmount writes nothing.
    UnmountForgets,
}

impl Flaw {
    /// Every flaw with its name on the command line.
    pub const ALL: [(&'static str, Self); 22] = [
        ("no-barrier", Self::NoBarrier),
        ("super-not-flushed", Self::SuperNotFlushed),
        ("overwrite", Self::Overwrite),
        ("reuse-freed", Self::ReuseFreed),
        ("super-unchecked", Self::SuperUnchecked),
        ("generation-unchecked", Self::GenerationUnchecked),
        ("data-unchecked", Self::DataUnchecked),
        ("generation-reused", Self::GenerationReused),
        ("stale-log", Self::StaleLog),
        ("log-one-name", Self::LogOneName),
        ("log-forgets-rename", Self::LogForgetsRename),
        ("log-forgets-unlink", Self::LogForgetsUnlink),
        ("log-forgets-renamed-parent", Self::LogForgetsRenamedParent),
        ("log-forgets-taken-name", Self::LogForgetsTakenName),
        ("log-skips-logged-dir", Self::LogSkipsLoggedDir),
        ("abort-keeps-changes", Self::AbortKeepsChanges),
        ("log-forgets-mode", Self::LogForgetsMode),
        ("replay-not-committed", Self::ReplayNotCommitted),
        ("replay-forgets-blocks", Self::ReplayForgetsBlocks),
        ("replay-keeps-room", Self::ReplayKeepsRoom),
        ("tail-kept", Self::TailKept),
        ("unmount-forgets", Self::UnmountForgets),
    ];

    /// Whether it is a flaw of the log, and of no matter without one.
    pub fn needs_log(self) -> bool {
        matches!(
            self,
            Self::StaleLog
                | Self::LogOneName
                | Self::LogForgetsRename
                | Self::LogForgetsUnlink
                | Self::LogForgetsRenamedParent
                | Self::LogForgetsTakenName
                | Self::LogSkipsLoggedDir
                | Self::LogForgetsMode
                | Self::ReplayNotCommitted
                | Self::ReplayForgetsBlocks
                | Self::ReplayKeepsRoom
        )
    }

    /// The kind of commit that the flaw is of matter for.
    pub fn commit(self) -> Commit {
        match self {
            Self::GenerationUnchecked | Self::DataUnchecked | Self::GenerationReused => Commit::Verify,
            _ => Commit::Barrier,
        }
    }
}

/// A variant of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Whether fsync writes a log, or commits everything.
    pub log: bool,
    /// How a commit is made safe.
    pub commit: Commit,
    /// What is wrong with it.
    pub flaw: Option<Flaw>,
    /// The blocks of the disk, from [`Variant::BLOCKS_MIN`] to [`super::BLOCKS_MAX`].
    pub blocks: u32,
}

impl Variant {
    /// The smallest disk: superblocks, trees, and room for the trees of a second generation.
    pub const BLOCKS_MIN: u32 = 16;
    /// Enough for a few files and directories in two generations, and for logs in between.
    pub const BLOCKS_DEFAULT: u32 = 32;

    /// The right one.
    pub fn right(log: bool, commit: Commit) -> Self {
        Self { log, commit, flaw: None, blocks: Self::BLOCKS_DEFAULT }
    }

    /// A wrong one, such that the flaw is of matter.
    pub fn wrong(flaw: Flaw) -> Self {
        Self { flaw: Some(flaw), ..Self::right(flaw.needs_log(), flaw.commit()) }
    }

    pub(super) fn is(self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
