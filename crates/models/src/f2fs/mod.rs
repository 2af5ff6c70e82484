//! A log-structured file system after F2FS, scaled down until a few ops reach every corner of it.
//!
//! Nothing in the main area is overwritten: a block that changes goes behind one of several logs. Nodes (inodes and
//! blocks of more addresses) have numbers, and the NAT says where each lies, so that a moved node changes no other. The
//! SIT says which blocks of each segment are valid, the SSA whose they are. A checkpoint makes all of it durable at
//! once ([`checkpoint`]); `fsync` of a file writes its nodes only, and a mount replays them ([`recover`]). A segment
//! without valid blocks is written again after the next checkpoint; segments with few are emptied ([`clean`]).
//!
//! Data and dentry blocks are written by the op that makes them, nodes stay in memory until an `fsync` or a checkpoint.

mod checkpoint;
mod clean;
mod codec;
mod dentry;
mod dir;
mod discard;
mod file;
mod fsck;
mod layout;
mod log;
mod memory;
mod recover;
mod variant;

use std::num::NonZeroU64;

use check::{Checkable, Finding, Promise};
use disk::{Block, Disk, Image};
use vfs::{
    Data, Errno, OpKind,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet},
};

use self::{
    codec::{NAME_MAX, Nid, Node, Role},
    dir::nid,
    file::FILE_BYTES,
    layout::{BLOCK, Layout},
    log::Fs,
};
pub use self::{
    fsck::{
        BAD_NODE, DEAD_BLOCK, DEAD_NID, DOUBLE_BLOCK, DOUBLE_NID, LOST_BLOCK, LOST_NID, SIT_MISMATCH, SSA_MISMATCH,
    },
    memory::Memory,
    variant::{Flaw, Flaws, Fsync, Heads, Variant},
};
use crate::nodes::{Ino, Kind, Name, NodeTarget, Nodes, Renaming, Stat};

/// The file system.
#[derive(Clone, Debug)]
pub struct F2fs {
    variant: Variant,
    layout: Layout,
}

impl F2fs {
    /// The model as a target. Made here, so that its checker is compiled once for all who use it.
    pub fn target(variant: Variant) -> Box<dyn Checkable> {
        Box::new(NodeTarget::new(Self::new(variant)))
    }

    /// The file system of this variant. Sizes that it cannot have become the nearest that it can.
    pub fn new(variant: Variant) -> Self {
        let journal = variant.journal.min(Variant::JOURNAL_MAX);
        let write_blocks = variant.write_blocks.clamp(1, Variant::WRITE_BLOCKS_MAX);
        let variant = Variant { journal, write_blocks, ..variant };
        Self { variant, layout: Layout::new(variant) }
    }

    fn at_work<'a>(&'a self, memory: &'a mut Memory, disk: &'a mut Disk) -> Fs<'a> {
        Fs { f2fs: self, memory, disk }
    }

    /// Does an op and makes room for the next.
    fn change(
        &self,
        memory: &mut Memory,
        disk: &mut Disk,
        op: impl FnOnce(&mut Fs<'_>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut fs = self.at_work(memory, disk);
        op(&mut fs)?;
        fs.balance();
        Ok(())
    }

    /// Brings the tree of a fresh file system to the disk: the root and nothing else.
    fn format(&self, disk: &mut Disk) -> Result<(), Errno> {
        let mut memory = Memory::blank(&self.layout);
        let mut fs = self.at_work(&mut memory, disk);
        for log in 0..self.logs() {
            fs.open(log)?;
        }
        fs.new_node(Node { role: Role::Dir, owner: Nid::ROOT, ..Node::default() })?;
        fs.checkpoint()
    }
}

impl Nodes for F2fs {
    type Memory = Memory;

    fn root(&self) -> Ino {
        Ino(Nid::ROOT.0.into())
    }

    fn mkfs(&self) -> Image {
        let mut disk = Disk::new(Image::zeroed(self.layout.geometry()));
        self.format(&mut disk).expect("an empty disk of this size has room for a root");
        disk.image().clone()
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        let mut memory = self.load(disk)?;
        if !memory.is(Nid::ROOT, Role::Dir) {
            return Err(Errno::EIO);
        }
        let mut fs = self.at_work(&mut memory, disk);
        match self.variant.fsync {
            Fsync::RollForward => fs.roll_forward()?,
            Fsync::Checkpoint => fs.discard()?,
        }
        Ok(memory)
    }

    fn stat(&self, memory: &Memory, _: &Disk, ino: Ino) -> Result<Stat, Errno> {
        let node = memory.node(nid(ino));
        let kind = match node.role {
            Role::File => Kind::File,
            Role::Dir => Kind::Dir,
            Role::Free | Role::Direct => return Err(Errno::EIO),
        };
        Ok(Stat { kind, size: node.size.into(), links: 1 })
    }

    fn entries(&self, memory: &Memory, disk: &Disk, dir: Ino, visit: &mut dyn FnMut(&str, Ino)) -> Result<(), Errno> {
        memory.each_name(disk, nid(dir), |_, dentry| visit(dentry.name, Ino(dentry.nid.0.into())))
    }

    fn read(&self, memory: &Memory, disk: &Disk, ino: Ino) -> Result<Vec<u8>, Errno> {
        memory.content(disk, nid(ino))
    }

    fn make(&self, memory: &mut Memory, disk: &mut Disk, at: Name<'_>, kind: Kind) -> Result<(), Errno> {
        self.change(memory, disk, |fs| fs.make(at, kind))
    }

    fn remove(&self, memory: &mut Memory, disk: &mut Disk, at: Name<'_>, ino: Ino) -> Result<(), Errno> {
        self.change(memory, disk, |fs| fs.remove(at, nid(ino)))
    }

    fn rename(&self, memory: &mut Memory, disk: &mut Disk, rename: Renaming<'_>) -> Result<(), Errno> {
        self.change(memory, disk, |fs| fs.rename(rename))
    }

    fn write(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, offset: u64, data: Data) -> Result<(), Errno> {
        self.change(memory, disk, |fs| fs.write(nid(ino), offset, data))
    }

    fn truncate(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino, size: u64) -> Result<(), Errno> {
        self.change(memory, disk, |fs| fs.truncate(nid(ino), size))
    }

    fn fsync(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino) -> Result<(), Errno> {
        self.at_work(memory, disk).fsync(nid(ino))
    }

    fn sync(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        self.at_work(memory, disk).sync()
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        self.check_and_repair(disk)
    }

    fn invariants(&self, memory: &Memory, disk: &Disk) -> Vec<Finding> {
        self.check(memory, disk)
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&memory.hash(self.logs(), &self.layout).to_le_bytes());
    }

    fn promise(&self) -> Promise {
        // A checkpoint is the tree of one moment. What `fsync` adds to it is newer than the rest.
        let contract = match self.variant.fsync {
            Fsync::Checkpoint => Contract::Prefix,
            Fsync::RollForward => Contract::Atomic,
        };
        Promise { contract, synchronous: false, zeros: Zeros::Forbidden, write_through: false }
    }

    fn bounds(&self) -> ObjectBounds {
        let block =
            NonZeroU64::from(std::num::NonZeroU8::new(self.variant.write_blocks).unwrap_or(std::num::NonZeroU8::MIN));
        let block = block.saturating_mul(NonZeroU64::new(BLOCK as u64).unwrap_or(NonZeroU64::MIN));
        ObjectBounds {
            ops: OpSet::DEFAULT.without(OpSet::of(&[OpKind::Link])),
            size_max: FILE_BYTES.min(2 * block.get()),
            block,
            ..ObjectBounds::default()
        }
    }

    fn name_bytes_max(&self) -> usize {
        NAME_MAX
    }

    fn block_name(&self, block: Block) -> String {
        self.layout.name(block)
    }

    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        self.layout.content(block, content)
    }
}
