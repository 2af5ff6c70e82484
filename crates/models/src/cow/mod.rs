//! A copy-on-write file system after btrfs: nothing that is committed is overwritten.
//!
//! Files are items in a B-tree; a second tree, the extent tree, says which blocks are in use. A commit writes what
//! changed to free blocks and then one of two superblocks, which leads to the new roots. With a log, fsync writes the
//! items of one file to a third tree, and the next mount puts them over what was committed.
//!
//! **What it promises.** Without a log every recovered tree is that of one moment, contents included (`prefix`). With
//! one, what was fsynced is there, and each op is there as a whole or not at all (`atomic`), but a file that was
//! fsynced may be newer than others. Both hold on a disk that reorders and tears: a node is one sector, a superblock is
//! two and has a checksum.

mod commit;
mod content;
mod invariants;
mod item;
mod layout;
mod log;
mod memory;
mod mount;
mod names;
mod space;
mod tree;
mod variant;

use std::num::NonZeroU64;

use check::{Checkable, Finding, Promise};
use disk::{Block, Disk, Image};
use vfs::{
    Data, Errno, OpKind,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet},
};

pub use self::{
    invariants::{DANGLING_NAME, LEAKED_BLOCK, MISCOUNTED_LINKS, NAMELESS_NODE, SHARED_BLOCK, UNALLOCATED_BLOCK},
    layout::BLOCK_BYTES,
    memory::Memory,
    space::BLOCKS_MAX,
    variant::{Commit, Flaw, Variant},
};
use self::{
    item::{ItemKind, NAME_BYTES_MAX},
    layout::{block_content, block_name},
};
use crate::nodes::{Ino, Kind, Name, NodeTarget, Nodes, Renaming, Stat};

/// The file system.
#[derive(Clone, Debug)]
pub struct Cow {
    variant: Variant,
}

impl Cow {
    /// The model as a target. Made here, so that its checker is compiled once for all who use it.
    pub fn target(variant: Variant) -> Box<dyn Checkable> {
        Box::new(NodeTarget::new(Self::new(variant)))
    }

    const ROOT: Ino = Ino(1);
    /// The blocks of the largest file.
    const FILE_BLOCKS_MAX: u32 = 8;

    /// The file system in one variant.
    pub fn new(variant: Variant) -> Self {
        let blocks = variant.blocks.clamp(Variant::BLOCKS_MIN, BLOCKS_MAX);
        Self { variant: Variant { blocks, ..variant } }
    }

    /// Which variant it is.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// An op that a commit would have no room for must fail while it can still be undone.
    fn ensure_room(&self, memory: &Memory) -> Result<(), Errno> {
        let has_room = self.commit_needs(memory, memory.items.clone())? <= memory.used.free(self.variant.blocks);
        if has_room && !memory.held { Ok(()) } else { Err(Errno::ENOSPC) }
    }
}

impl Nodes for Cow {
    type Memory = Memory;

    fn root(&self) -> Ino {
        Self::ROOT
    }

    fn mkfs(&self) -> Image {
        self.fresh()
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        self.open(disk)
    }

    fn stat(&self, memory: &Memory, _: &Disk, ino: Ino) -> Result<Stat, Errno> {
        let inode = memory.items.inode(ino).ok_or(Errno::EIO)?;
        Ok(Stat { kind: inode.kind, size: u64::from(inode.size), links: u32::from(inode.links) })
    }

    fn mode(&self, memory: &Memory, _: &Disk, ino: Ino, _: Kind) -> Result<u32, Errno> {
        memory.items.inode(ino).map(|inode| u32::from(inode.mode)).ok_or(Errno::EIO)
    }

    fn entries(&self, memory: &Memory, _: &Disk, dir: Ino, visit: &mut dyn FnMut(&str, Ino)) -> Result<(), Errno> {
        for entry in memory.items.of(dir, ItemKind::Entry) {
            visit(entry.key.name(&mut [0; NAME_BYTES_MAX]).ok_or(Errno::EIO)?, entry.child());
        }
        Ok(())
    }

    fn read(&self, memory: &Memory, disk: &Disk, ino: Ino) -> Result<Vec<u8>, Errno> {
        self.read_file(memory, disk, ino)
    }

    fn make(&self, memory: &mut Memory, disk: &mut Disk, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        Self::make_node(memory, disk, at, kind)?;
        self.ensure_room(memory)
    }

    fn remove(&self, memory: &mut Memory, _: &mut Disk, at: Name<'_>, ino: Ino) -> Result<(), Errno> {
        Self::remove_name(memory, at, ino)?;
        self.ensure_room(memory)
    }

    fn rename(&self, memory: &mut Memory, disk: &mut Disk, rename: Renaming<'_>) -> Result<(), Errno> {
        Self::move_name(memory, disk, rename)?;
        self.ensure_room(memory)
    }

    fn link(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, to: Name<'_>) -> Result<(), Errno> {
        Self::add_link(memory, disk, ino, to)?;
        self.ensure_room(memory)
    }

    fn chmod(&self, memory: &mut Memory, _: &mut Disk, ino: Ino, mode: u16) -> Result<(), Errno> {
        Self::set_mode(memory, ino, mode)?;
        self.ensure_room(memory)
    }

    fn write(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, offset: u64, data: Data) -> Result<(), Errno> {
        self.write_file(memory, disk, ino, offset, data)?;
        self.ensure_room(memory)
    }

    fn truncate(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, size: u64) -> Result<(), Errno> {
        self.resize_file(memory, disk, ino, size)?;
        self.ensure_room(memory)
    }

    fn fsync(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino) -> Result<(), Errno> {
        if self.variant.log { self.log_or_commit(memory, disk, ino) } else { self.commit(memory, disk) }
    }

    fn sync(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        self.commit(memory, disk)
    }

    fn unmount(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        if self.variant.is(Flaw::UnmountForgets) {
            return Ok(());
        }
        let before = memory.clone();
        self.sync(memory, disk).inspect_err(|errno| self.undo(memory, before, *errno))
    }

    fn undo(&self, memory: &mut Memory, before: Memory, errno: Errno) {
        if errno != Errno::ENOMEM || !self.variant.is(Flaw::AbortKeepsChanges) {
            // What is known of the superblocks is not undone: they are on the disk.
            let Memory { sequence, generation, failed, .. } = *memory;
            *memory = Memory { sequence, generation, failed, ..before };
        }
    }

    fn invariants(&self, memory: &Memory, _: &Disk) -> Vec<Finding> {
        Self::findings(memory)
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        memory.encode(bytes);
    }

    fn promise(&self) -> Promise {
        let contract = if self.variant.log { Contract::Atomic } else { Contract::Prefix };
        Promise { contract, synchronous: false, zeros: Zeros::Allowed, write_through: false }
    }

    fn bounds(&self) -> ObjectBounds {
        let block = NonZeroU64::new(BLOCK_BYTES as u64).unwrap_or(NonZeroU64::MIN);
        ObjectBounds { size_max: block.get(), block, ..ObjectBounds::default() }
    }

    fn ops(&self) -> OpSet {
        self.bounds().ops.union(OpSet::of(&[OpKind::Chmod]))
    }

    fn name_bytes_max(&self) -> usize {
        NAME_BYTES_MAX
    }

    fn block_name(&self, block: Block) -> String {
        block_name(block)
    }

    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        Some(block_content(block, content))
    }
}
