//! What can be chosen about the model: its size, how it logs, what `fsync` does, and which rules it breaks.

/// A rule that a wrong variant breaks, each taken from the history of F2FS or from what was published about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A segment whose last block died may be written again before the next checkpoint, although the last checkpoint
    /// still needs it (found by model checking of an F2FS model, with a free list that was last in, first out).
    ReuseImmediate,
    /// SIT and NAT blocks have one copy that is updated in place: what overflows the journals gets there before the
    /// checkpoint that belongs to it (published with the same model, as the experiment without version bitmaps).
    VersionsOff,
    /// A checkpoint has no flush before its last block (`nobarrier`): the disk may write that block first.
    BarrierOff,
    /// A mount believes the first block of a checkpoint pack without comparing its version with the last block's.
    FooterUnchecked,
    /// `fsync` writes the node block while the data may still be in the disk's cache, as F2FS does when it waits for
    /// completions only.
    FsyncUnordered,
    /// `fsync` after a rename is content with roll-forward, and the file comes back below the old directory
    /// (`CrashMonkey`'s bug 10 of F2FS; fstests generic/342).
    RenameForgotten,
    /// `fsync` of a file in a directory that no checkpoint knows is content with roll-forward, which then finds no
    /// directory for it (the reason why F2FS asks whether the parent was checkpointed).
    ParentForgotten,
    /// The number of a removed node is given out again before the next checkpoint, so that roll-forward takes the new
    /// file for the old one (the reason why F2FS frees node numbers in a checkpoint only).
    NidImmediate,
    /// A mount that recovers nothing keeps the version of its checkpoint, so that node blocks that an earlier mount
    /// left in the log pass for new ones (why F2FS put a checksum beside the version in the footers of node blocks).
    StaleChain,
    /// The summary of a segment is not written when the segment is full, so cleaning goes by an old one.
    SummaryForgotten,
    /// A truncation that gets no memory gives up and reports success, as in the years in which F2FS's function for it
    /// returned nothing.
    MemoryUnchecked,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ReuseImmediate,
        Self::VersionsOff,
        Self::BarrierOff,
        Self::FooterUnchecked,
        Self::FsyncUnordered,
        Self::RenameForgotten,
        Self::ParentForgotten,
        Self::NidImmediate,
        Self::StaleChain,
        Self::SummaryForgotten,
        Self::MemoryUnchecked,
    ];
}

/// A set of flaws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flaws(u16);

impl Flaws {
    /// These and one more.
    #[must_use]
    pub const fn with(self, flaw: Flaw) -> Self {
        Self(self.0 | 1 << flaw as u16)
    }

    /// Whether it is among them.
    pub const fn has(self, flaw: Flaw) -> bool {
        self.0 & 1 << flaw as u16 != 0
    }
}

/// What `fsync` of a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// It writes the file's node blocks with a mark, and a mount replays them; a checkpoint only where that would not
    /// do.
    RollForward,
    /// It writes a checkpoint.
    Checkpoint,
}

/// How many logs are written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// Nodes; data.
    Two,
    /// Nodes of directories; nodes of files; entries of directories; data of files.
    Four,
    /// As four, and one for data that cleaning moves.
    Five,
}

/// One file system of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Segments of the main area: [`Variant::SEGMENTS_MIN`] to [`Variant::SEGMENTS_MAX`].
    pub segments: u8,
    /// Blocks of a segment: 4, 8 or 16.
    pub segment_blocks: u8,
    /// How many logs there are.
    pub heads: Heads,
    /// Entries that each of the two journals of a checkpoint holds: at most [`Variant::JOURNAL_MAX`].
    pub journal: u8,
    /// Blocks that one write of the workload covers: 1 to [`Variant::WRITE_BLOCKS_MAX`].
    pub write_blocks: u8,
    /// What `fsync` does.
    pub fsync: Fsync,
    /// What is wrong with it.
    pub flaws: Flaws,
}

impl Variant {
    /// Fewer leave no room beside the logs and what cleaning holds back.
    pub const SEGMENTS_MIN: u8 = 12;
    /// One bit each in a word of 64.
    pub const SEGMENTS_MAX: u8 = 64;
    /// What fits into one block of a checkpoint pack.
    pub const JOURNAL_MAX: u8 = 8;
    /// A file has no more blocks.
    pub const WRITE_BLOCKS_MAX: u8 = 37;

    /// A file system in which segments fill up, die and are cleaned within a few ops.
    pub fn small() -> Self {
        Self { segments: 14, segment_blocks: 4, heads: Heads::Four, journal: 2, write_blocks: 4, ..Self::default() }
    }

    /// The same, wrong in one more way.
    #[must_use]
    pub fn with(self, flaw: Flaw) -> Self {
        Self { flaws: self.flaws.with(flaw), ..self }
    }
}

impl Default for Variant {
    /// The geometry of the published evaluation.
    fn default() -> Self {
        Self {
            segments: 60,
            segment_blocks: 16,
            heads: Heads::Five,
            journal: Self::JOURNAL_MAX,
            write_blocks: 17,
            fsync: Fsync::RollForward,
            flaws: Flaws::default(),
        }
    }
}
