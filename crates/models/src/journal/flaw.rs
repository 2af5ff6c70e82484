//! The ways in which the file system can be wrong, each one line of code away from right.
//!
//! Where a source is named, it tells of the bug in a real file system: `FiSC` is the model checker that found it, Recon
//! the runtime checker whose authors list it. Where none is named, the flaw is of a class that is easy to write.

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The commit record is written without a flush between it and what it commits, which a disk may then reorder.
    NoBarrier,
    /// `data=ordered` that commits before the data is on its way, so that new files show zeros or old data.
    DataAfterCommit,
    /// `data=writeback` that does not clear new blocks: a file may show what they held before.
    StaleData,
    /// The tail moves on in the journal superblock before the checkpoint is flushed.
    TailBeforeCheckpoint,
    /// Log space is used again before the journal superblock that gave it up is flushed: jbd2 until 2012 (Recon).
    ReuseBeforeSuperblock,
    /// A checkpoint forgets one block: a lost write (Recon).
    CheckpointLost,
    /// A checkpoint writes one block to the place next to its own: a misdirected write (Recon).
    CheckpointMisdirected,
    /// The block bitmap is written home without the journal, as an ext4 of 2012 did with the inode bitmap (Recon).
    BitmapUnjournaled,
    /// A block that was freed in the running transaction is given out again before its commit: a crash then gives it
    /// back to its old owner, with new content.
    ReuseBeforeCommit,
    /// Freed metadata is not revoked: replay brings it back over data that was put there since, which is why ext3 has
    /// revoke records (Recon).
    RevokeUnwritten,
    /// Replay does not look at revoke records; the same damage, by the other half.
    RevokeIgnored,
    /// Replay puts the magic number back into the journal's copy, after that was copied home: unescaping the wrong
    /// buffer, as in the recovery of ext3 until 2008 (Recon).
    UnescapeWrongBlock,
    /// Replay clears the journal before what it replayed is flushed: e2fsck 1.34, found by `FiSC`. It shows only when
    /// recovery is cut short.
    ReplayClearsFirst,
    /// A transaction goes out as one request, with sequence numbers in its first and last block only: JFS, found by
    /// `FiSC`. It shows only when the disk tears writes.
    FirstAndLastSequence,
    /// An unmount, or a check, marks the superblock clean before it has done its work: JFS and ext3, found by `FiSC`.
    CleanTooEarly,
    /// A directory block that there is no memory for is passed over when a name is looked up, and the name taken for
    /// absent: ext2, found by `FiSC`. It shows only when allocations fail.
    LookupSkipsBlock,
    /// The full check does not bring inodes home from the log, in the belief that it will rebuild them, and then clears
    /// the names that lead to none: JFS and its inode map, found by `FiSC`. It shows only beside the fast one.
    FsckSkipsInodes,
    /// Replay takes for granted that the log has something to replay, and panics if the power is cut before the first
    /// commit: recovery code that was only ever tried on what needs recovery.
    ReplayExpectsWork,
    /// Replay starts the next transactions at a number that it takes from outside the disk, as from a clock or from
    /// memory that nobody initialised. The same disk then recovers in different ways.
    ReplayUsesClock,
    /// An op panics when there is no memory for a block of its transaction: most of the twelve kernel crashes that
    /// `FiSC` found were allocations whose failure nobody looked at.
    PanicsWithoutMemory,
    /// The model says that it makes no FUA writes, and the commit record is one. No flaw of a file system but of what
    /// is said about it: a search that believed it would leave out states.
    FuaUndeclared,
    /// A truncate that would make a file larger is refused, as a file system without holes might do it. Nothing is
    /// wrong on the disk: it is the outcome that POSIX does not have.
    GrowRefused,
    /// The same with another word: the file would be too large, it says, and it would not.
    GrowTooLarge,
    /// A truncate that finds no memory for what follows from the new size says so, and leaves the size set: ext4, xfs
    /// and btrfs. It shows only when allocations fail.
    TruncateFailsLate,
}

impl Flaw {
    /// Every flaw.
    pub const ALL: [Self; 24] = [
        Self::NoBarrier,
        Self::DataAfterCommit,
        Self::StaleData,
        Self::TailBeforeCheckpoint,
        Self::ReuseBeforeSuperblock,
        Self::CheckpointLost,
        Self::CheckpointMisdirected,
        Self::BitmapUnjournaled,
        Self::ReuseBeforeCommit,
        Self::RevokeUnwritten,
        Self::RevokeIgnored,
        Self::UnescapeWrongBlock,
        Self::ReplayClearsFirst,
        Self::FirstAndLastSequence,
        Self::CleanTooEarly,
        Self::LookupSkipsBlock,
        Self::FsckSkipsInodes,
        Self::ReplayExpectsWork,
        Self::ReplayUsesClock,
        Self::PanicsWithoutMemory,
        Self::FuaUndeclared,
        Self::GrowRefused,
        Self::GrowTooLarge,
        Self::TruncateFailsLate,
    ];

    /// Its name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoBarrier => "no-barrier",
            Self::DataAfterCommit => "data-after-commit",
            Self::StaleData => "stale-data",
            Self::TailBeforeCheckpoint => "tail-before-checkpoint",
            Self::ReuseBeforeSuperblock => "reuse-before-superblock",
            Self::CheckpointLost => "checkpoint-lost",
            Self::CheckpointMisdirected => "checkpoint-misdirected",
            Self::BitmapUnjournaled => "bitmap-unjournaled",
            Self::ReuseBeforeCommit => "reuse-before-commit",
            Self::RevokeUnwritten => "revoke-unwritten",
            Self::RevokeIgnored => "revoke-ignored",
            Self::UnescapeWrongBlock => "unescape-wrong-block",
            Self::ReplayClearsFirst => "replay-clears-first",
            Self::FirstAndLastSequence => "first-and-last-sequence",
            Self::CleanTooEarly => "clean-too-early",
            Self::LookupSkipsBlock => "lookup-skips-block",
            Self::FsckSkipsInodes => "fsck-skips-inodes",
            Self::ReplayExpectsWork => "replay-expects-work",
            Self::ReplayUsesClock => "replay-uses-clock",
            Self::PanicsWithoutMemory => "panics-without-memory",
            Self::FuaUndeclared => "fua-undeclared",
            Self::GrowRefused => "grow-refused",
            Self::GrowTooLarge => "grow-too-large",
            Self::TruncateFailsLate => "truncate-fails-late",
        }
    }
}
