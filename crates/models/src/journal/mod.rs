//! A journaling file system after ext3: bitmaps, inodes, directories, and a log through which metadata goes home.
//!
//! Ops change blocks in memory only: they join the running transaction (`change`, `names`). `fsync` and `sync` commit
//! it to the log (`commit`); when the log is low on space, the oldest transactions are written to their home locations
//! and the tail moves on. A mount after a crash replays what is complete in the log (`replay`). The offline check does
//! the same and no more (fast), or also checks and repairs everything (full, `fsck`).
//!
//! What the right variant promises, on a disk that reorders and tears: in every mode, names, sizes and all other
//! metadata are those of one moment (`ordered`), because every op is in one transaction and transactions commit in
//! order. With `data=journal` the contents are too (`prefix`). With `data=ordered` every byte of a file was written to
//! it, never a zero that was not. With `data=writeback` bytes may be found as zeros that were written and not synced.

mod change;
mod commit;
mod flaw;
mod fsck;
mod layout;
mod memory;
mod names;
mod record;
mod repair;
mod replay;
mod volume;
mod words;

use std::{num::NonZeroU64, sync::Arc};

use check::{Checkable, Finding, Promise};
use disk::{Block, Disk, Image, IoError};
use vfs::{
    Data, Errno, OpKind,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet},
};

use self::{
    change::Change,
    commit::Wanted,
    layout::{NAME_BYTES_MAX, ROOT, SUPER, Super},
    record::{REVOKES_MAX, TAGS_MAX},
    volume::{Volume, read_block},
};
pub use self::{
    flaw::Flaw,
    fsck::{
        BAD_ENTRY, BAD_INODE, BAD_POINTER, DANGLING_NAME, DOUBLE_BLOCK, DOUBLE_NAME, FREE_BLOCK_IN_USE,
        FREE_INODE_IN_USE, LEAKED_BLOCK, LEAKED_INODE, REPAIRED, WRONG_LINKS,
    },
    layout::{BLOCK_BYTES, Layout},
    memory::Memory,
    record::TRANSACTION_BLOCKS_MAX,
};
use crate::nodes::{Ino, Kind, Name, NodeTarget, Nodes, Renaming, Stat, io};

/// How file data goes to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataMode {
    /// Home, before the transaction that refers to it commits.
    Ordered,
    /// Home, when it is synced. Blocks that are new to a file are cleared before the commit.
    Writeback,
    /// Through the journal, like metadata.
    Journal,
}

/// What runs between a crash and the next mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsckMode {
    /// Nothing: the mount replays the journal.
    Off,
    /// A replay of the journal.
    Fast,
    /// A replay, then a check of everything, and repairs.
    Full,
}

/// The most blocks of the data area and of the log: block numbers are one byte.
pub const BLOCKS_MAX: u8 = 64;

/// A variant of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// How file data goes to the disk.
    pub data: DataMode,
    /// What runs after a crash.
    pub fsck: FsckMode,
    /// The sizes of log and data area.
    pub layout: Layout,
    /// What is wrong with it, if anything.
    pub flaw: Option<Flaw>,
}

impl Default for Variant {
    fn default() -> Self {
        Self { data: DataMode::Ordered, fsck: FsckMode::Off, layout: Layout { log: 32, data: 8 }, flaw: None }
    }
}

impl Variant {
    /// The right variant that keeps data as this flaw needs it, with a log or a disk so small that the flaw shows soon.
    pub fn fitting(flaw: Option<Flaw>) -> Self {
        let right = Self::default();
        let tiny = Layout { data: 2, ..right.layout };
        match flaw {
            Some(Flaw::StaleData) => Self { data: DataMode::Writeback, layout: tiny, ..right },
            Some(Flaw::RevokeIgnored | Flaw::RevokeUnwritten) => Self { layout: tiny, ..right },
            Some(Flaw::ReuseBeforeCommit) => Self { layout: Layout { log: 24, data: 3 }, ..right },
            Some(Flaw::UnescapeWrongBlock) => Self { data: DataMode::Journal, ..right },
            Some(
                Flaw::TailBeforeCheckpoint
                | Flaw::ReuseBeforeSuperblock
                | Flaw::CheckpointLost
                | Flaw::CheckpointMisdirected,
            ) => Self { layout: Layout { log: TRANSACTION_BLOCKS_MAX, ..right.layout }, ..right },
            _ => right,
        }
    }
}

/// The file system.
#[derive(Clone, Copy, Debug)]
pub struct Journal {
    variant: Variant,
}

impl Journal {
    /// The model as a target. Made here, so that its checker is compiled once for all who use it.
    /// `None` if a size is out of range.
    pub fn target(variant: Variant) -> Option<Box<dyn Checkable>> {
        Some(Box::new(NodeTarget::new(Self::new(variant)?)))
    }

    /// The file system in this variant; `None` if the log is too short for a transaction or a part is too large.
    pub fn new(variant: Variant) -> Option<Self> {
        let Layout { log, data } = variant.layout;
        let fits = (TRANSACTION_BLOCKS_MAX..=BLOCKS_MAX).contains(&log) && (1..=BLOCKS_MAX).contains(&data);
        fits.then_some(Self { variant })
    }

    fn is(self, flaw: Flaw) -> bool {
        self.variant.flaw == Some(flaw)
    }

    fn volume<'a>(self, memory: &'a Memory, disk: &'a Disk) -> Volume<'a> {
        Volume { variant: self.variant, memory, disk }
    }

    /// Does an op as part of the running transaction. If that has no room for it, or the blocks that it needs are only
    /// free from the next commit on, there is a commit first; but only if the op can be done after it.
    fn change(
        self,
        memory: &mut Memory,
        disk: &mut Disk,
        op: impl Fn(&mut Change<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        // The handle, and the transaction if none is running.
        disk.allocate().map_err(io)?;
        let attempt = |memory: &Memory, disk: &Disk| {
            let mut next = memory.clone();
            op(&mut Change { variant: self.variant, memory: &mut next, disk })?;
            let fits = next.running.len() <= TAGS_MAX && next.revoked.len() <= REVOKES_MAX;
            if fits { Ok(next) } else { Err(Errno::ENOSPC) }
        };
        match attempt(memory, disk) {
            Ok(next) => *memory = next,
            Err(Errno::ENOSPC) if memory.is_running() => {
                let mut after_commit = memory.clone();
                after_commit.turn_over();
                let next = attempt(&after_commit, disk)?;
                let unwritten = memory.dirty.clone();
                self.commit(memory, disk, Wanted::Nothing)?;
                // From here on nothing fails, since the commit cannot be undone.
                (memory.running, memory.revoked) = (next.running, next.revoked);
                let written = |block| unwritten.get(block).is_some() && memory.dirty.get(block).is_none();
                let mut dirty = next.dirty;
                dirty.retain(|block, page| !(written(block) && same_content(unwritten.get(block), page)));
                memory.dirty = dirty;
            }
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    fn read_super(self, disk: &Disk) -> Result<Super, Errno> {
        Super::decode(&read_block(disk, SUPER)?, self.variant.layout).ok_or(Errno::EUCLEAN)
    }

    /// Says in the superblock whether the journal may be left alone. What made it so must be durable before.
    fn mark(self, disk: &mut Disk, clean: bool) -> Result<(), IoError> {
        disk.write(SUPER, &Super { clean }.encode(self.variant.layout))?;
        disk.flush()
    }
}

fn same_content(earlier: Option<&memory::Page>, page: &memory::Page) -> bool {
    earlier.is_some_and(|earlier| earlier.content == page.content)
}

impl Nodes for Journal {
    type Memory = Memory;

    fn root(&self) -> Ino {
        ROOT
    }

    fn mkfs(&self) -> Image {
        self.variant.layout.format()
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        if self.read_super(disk)?.clean {
            let start = self.journal_super(disk)?;
            self.mark(disk, false).map_err(io)?;
            Ok(Memory::new(start))
        } else {
            self.replay(disk, FsckMode::Off).map(Memory::new)
        }
    }

    fn unmount(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        if self.is(Flaw::CleanTooEarly) {
            self.mark(disk, true).map_err(io)?;
        }
        let mut synced = memory.clone();
        self.sync(&mut synced, disk)?;
        *memory = synced;
        memory.leaving = true;
        self.checkpoint(memory, disk, self.variant.layout.log).map_err(io)?;
        if self.is(Flaw::CleanTooEarly) { Ok(()) } else { self.mark(disk, true).map_err(io) }
    }

    fn stat(&self, memory: &Memory, disk: &Disk, ino: Ino) -> Result<Stat, Errno> {
        let inode = self.volume(memory, disk).inode(ino)?;
        Ok(Stat { kind: inode.kind, size: u64::from(inode.size), links: u32::from(inode.links) })
    }

    fn entries(&self, memory: &Memory, disk: &Disk, dir: Ino, visit: &mut dyn FnMut(&str, Ino)) -> Result<(), Errno> {
        self.volume(memory, disk).entries(dir, visit)
    }

    fn read(&self, memory: &Memory, disk: &Disk, ino: Ino) -> Result<Vec<u8>, Errno> {
        self.volume(memory, disk).read(ino)
    }

    fn make(&self, memory: &mut Memory, disk: &mut Disk, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.make(at, kind))
    }

    fn remove(&self, memory: &mut Memory, disk: &mut Disk, at: Name<'_>, ino: Ino) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.remove(at, ino))
    }

    fn rename(&self, memory: &mut Memory, disk: &mut Disk, rename: Renaming<'_>) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.rename(rename))
    }

    fn link(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, to: Name<'_>) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.link(ino, to))
    }

    fn exchange(&self, memory: &mut Memory, disk: &mut Disk, names: [(Name<'_>, Ino); 2]) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.exchange(names))
    }

    fn write(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, offset: u64, data: Data) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.write(ino, offset, data))
    }

    fn truncate(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, size: u64) -> Result<(), Errno> {
        self.change(memory, disk, |change| change.truncate(ino, size))?;
        if self.is(Flaw::TruncateFailsLate) { disk.allocate().map_err(io) } else { Ok(()) }
    }

    fn undo(&self, memory: &mut Memory, before: Memory, errno: Errno) {
        // Nothing but such a truncate changes what a user sees before it finds no memory.
        if errno != Errno::ENOMEM || !self.is(Flaw::TruncateFailsLate) {
            *memory = before;
        }
    }

    fn fsync(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino) -> Result<(), Errno> {
        self.commit(memory, disk, Wanted::File(ino))
    }

    fn sync(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        self.commit(memory, disk, Wanted::Everything)
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        if self.variant.fsck == FsckMode::Off { Ok(Vec::new()) } else { self.check_offline(disk, self.variant.fsck) }
    }

    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        (self.variant.fsck != FsckMode::Full).then(|| self.check_offline(disk, FsckMode::Full))
    }

    fn invariants(&self, memory: &Memory, disk: &Disk) -> Vec<Finding> {
        fsck::check(&self.volume(memory, disk))
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        memory.encode(bytes);
    }

    fn promise(&self) -> Promise {
        let (contract, zeros) = match self.variant.data {
            DataMode::Ordered => (Contract::Ordered, Zeros::Forbidden),
            DataMode::Writeback => (Contract::Ordered, Zeros::Allowed),
            DataMode::Journal => (Contract::Prefix, Zeros::Forbidden),
        };
        Promise { contract, synchronous: false, zeros, write_through: false }
    }

    fn uses_fua(&self) -> bool {
        !self.is(Flaw::FuaUndeclared)
    }

    fn bounds(&self) -> ObjectBounds {
        ObjectBounds {
            ops: OpSet::DEFAULT.union(OpSet::of(&[OpKind::Remount])),
            files_max: 2,
            dirs_max: 1,
            depth_max: 2,
            size_max: 2 * BLOCK_BYTES as u64,
            block: NonZeroU64::new(BLOCK_BYTES as u64).unwrap_or(NonZeroU64::MIN),
            names: ["a", "b", "c"].map(Arc::from).to_vec(),
            ..ObjectBounds::default()
        }
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn block_name(&self, block: Block) -> String {
        self.variant.layout.block_name(block)
    }

    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        self.variant.layout.block_content(block, content)
    }

    fn written(&self, disk: &Image, block: Block, content: &[u8]) -> Option<String> {
        self.variant.layout.written(disk, block, content)
    }
}
