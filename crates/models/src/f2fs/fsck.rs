//! The metadata properties and the offline check.
//!
//! One walk from the root marks every node and block that it meets; then the marks are compared with the NAT and the
//! SIT. The same walk checks a mounted file system and, before a mount, the state of the newest checkpoint, which is
//! then repaired: names and addresses that lead nowhere go, and the NAT and the SIT become what the walk found.

use check::Finding;
use disk::Disk;
use explore::Property;
use smallvec::SmallVec;
use vfs::Errno;

use super::{
    F2fs, Memory,
    codec::{self, Nid, Node, Role, Summary},
    dentry::{self, Dentries},
    layout::{Addr, NIDS, Spot},
    log::{Fs, read_block},
    memory::{SEGMENTS, bits},
};

/// A number that the NAT holds and no file uses.
pub const DEAD_NID: Property = Property::not_critical("dead-nid");
/// A number that a file uses and the NAT does not hold.
pub const LOST_NID: Property = Property::critical("lost-nid");
/// A number that is used twice.
pub const DOUBLE_NID: Property = Property::critical("double-nid");
/// A block that the SIT calls valid and nobody uses.
pub const DEAD_BLOCK: Property = Property::not_critical("dead-block");
/// A block that a file uses and the SIT calls free, so that it may be overwritten.
pub const LOST_BLOCK: Property = Property::critical("lost-block");
/// A block that is used twice.
pub const DOUBLE_BLOCK: Property = Property::critical("double-block");
/// The NAT says that a node lies in a block that the SIT calls free.
pub const SIT_MISMATCH: Property = Property::critical("sit-mismatch");
/// What should be a node, or names, is something else.
pub const BAD_NODE: Property = Property::critical("bad-node");
/// The summary of a segment says something else about a valid block than the block's owner does.
pub const SSA_MISMATCH: Property = Property::not_critical("ssa-mismatch");

/// An address or a name that leads nowhere, to be taken away.
#[derive(Clone, Copy)]
enum Wrong {
    Addr { nid: Nid, at: usize },
    Names { dir: Nid, at: usize },
    Child { nid: Nid, which: usize },
    Name { dir: Nid, at: usize, slot: usize },
}

struct Walk<'a> {
    f2fs: &'a F2fs,
    memory: &'a Memory,
    disk: &'a Disk,
    /// Nodes that are used.
    nids: u16,
    /// Those of them that are not what they should be.
    bad: u16,
    /// Blocks that are used, by segment.
    blocks: [u16; SEGMENTS],
    /// Those of them that hold nodes.
    node_blocks: [u16; SEGMENTS],
    findings: Vec<Finding>,
    wrong: SmallVec<[Wrong; 4]>,
}

impl Walk<'_> {
    fn find(&mut self, property: Property, detail: String) {
        self.findings.push(Finding { property, detail });
    }

    /// Marks a block; `false` if it cannot be used.
    fn use_block(&mut self, nid: Nid, addr: Addr, is_node: bool) -> bool {
        let Some(spot) = self.f2fs.layout.spot(addr) else {
            self.find(BAD_NODE, format!("node {} uses block {}, which is not in the main area", nid.0, addr.0));
            return false;
        };
        let (segment, bit) = (usize::from(spot.segment), 1 << spot.offset);
        if self.blocks[segment] & bit != 0 {
            let name = self.f2fs.layout.name(addr.block());
            self.find(DOUBLE_BLOCK, format!("node {} uses {name}, which is used already", nid.0));
            return false;
        }
        self.blocks[segment] |= bit;
        if is_node {
            self.node_blocks[segment] |= bit;
        }
        true
    }

    /// Marks a node; `None` if it cannot be used. A node that was never written has no block.
    fn use_node(&mut self, nid: Nid, roles: &[Role]) -> Option<Node> {
        let memory = self.memory;
        let addr = memory.nat[nid.index()];
        if self.nids & nid.bit() != 0 {
            self.find(DOUBLE_NID, format!("node {} is used twice", nid.0));
            return None;
        }
        if addr == Addr::NONE && memory.node(nid).role == Role::Free {
            self.find(LOST_NID, format!("node {} is used, but the NAT does not know it", nid.0));
            return None;
        }
        self.nids |= nid.bit();
        if !roles.contains(&memory.node(nid).role) {
            let name = self.f2fs.layout.name(addr.block());
            self.find(BAD_NODE, format!("{name} should hold node {}, but does not", nid.0));
            self.bad |= nid.bit();
            return None;
        }
        if addr != Addr::NONE && !self.use_block(nid, addr, true) {
            self.bad |= nid.bit();
            return None;
        }
        Some(*memory.node(nid))
    }

    fn use_index(&mut self, nid: Nid, node: &Node) {
        for (at, addr) in node.index.iter().enumerate().filter(|(_, addr)| **addr != Addr::NONE) {
            if !self.use_block(nid, *addr, false) {
                self.wrong.push(Wrong::Addr { nid, at });
            }
        }
    }

    fn use_file(&mut self, nid: Nid, node: &Node) {
        self.use_index(nid, node);
        for (which, child) in node.children.into_iter().enumerate().filter(|(_, child)| *child != Nid::NONE) {
            match self.use_node(child, &[Role::Direct]) {
                Some(direct) => self.use_index(child, &direct),
                None => self.wrong.push(Wrong::Child { nid, which }),
            }
        }
    }

    fn tree(&mut self) {
        let mut waiting: SmallVec<[Nid; NIDS]> = SmallVec::new();
        match self.use_node(Nid::ROOT, &[Role::Dir]) {
            Some(root) => {
                self.use_index(Nid::ROOT, &root);
                waiting.push(Nid::ROOT);
            }
            None => self.find(LOST_NID, "there is no root".to_owned()),
        }
        while let Some(dir) = waiting.pop() {
            for at in 0..codec::INDEX {
                self.names(dir, at, &mut waiting);
            }
        }
    }

    /// Follows the names of one dentry block.
    fn names(&mut self, dir: Nid, at: usize, waiting: &mut SmallVec<[Nid; NIDS]>) {
        let addr = self.memory.node(dir).index[at];
        if addr == Addr::NONE || self.f2fs.layout.spot(addr).is_none() {
            return;
        }
        let Ok(block) = read_block(self.disk, addr.block()) else { return };
        let mut names: SmallVec<[(usize, Nid); codec::SLOTS]> = SmallVec::new();
        if dentry::each(block, &mut |dentry| names.push((dentry.slot, dentry.nid))).is_err() {
            let name = self.f2fs.layout.name(addr.block());
            self.find(BAD_NODE, format!("{name} should hold names of directory {}, but does not", dir.0));
            self.wrong.push(Wrong::Names { dir, at });
            return;
        }
        for (slot, nid) in names {
            match self.use_node(nid, &[Role::File, Role::Dir]) {
                Some(node) if node.role == Role::Dir => {
                    self.use_index(nid, &node);
                    waiting.push(nid);
                }
                Some(node) => self.use_file(nid, &node),
                None => self.wrong.push(Wrong::Name { dir, at, slot }),
            }
        }
    }

    /// Compares the marks with the NAT and the SIT.
    fn tables(&mut self) {
        for nid in (1..).map(Nid).take(NIDS - 1) {
            let known = self.memory.nat[nid.index()] != Addr::NONE || self.memory.node(nid).role != Role::Free;
            if known && self.nids & nid.bit() == 0 {
                self.find(DEAD_NID, format!("the NAT holds node {}, which nothing uses", nid.0));
            }
        }
        if self.blocks == self.memory.sit {
            return;
        }
        for segment in 0..self.f2fs.layout.segments {
            let number = usize::from(segment);
            let (used, valid) = (self.blocks[number], self.memory.sit[number]);
            for offset in bits((used ^ valid).into()) {
                let name = self.f2fs.layout.name(self.f2fs.layout.addr(Spot { segment, offset }).block());
                if valid >> offset & 1 != 0 {
                    self.find(DEAD_BLOCK, format!("{name} is valid, but nothing uses it"));
                } else if self.node_blocks[number] >> offset & 1 != 0 {
                    self.find(SIT_MISMATCH, format!("{name} holds a node, but is free"));
                } else {
                    self.find(LOST_BLOCK, format!("{name} is used, but free"));
                }
            }
        }
    }

    /// Compares the summaries of full segments with the owners of their blocks.
    fn summaries(&mut self) -> Result<(), Errno> {
        let f2fs = self.f2fs;
        for segment in 0..f2fs.layout.segments {
            let valid = self.memory.sit[usize::from(segment)];
            if valid == 0 || f2fs.is_current(self.memory, segment) {
                continue;
            }
            let said = codec::summaries(read_block(self.disk, f2fs.layout.summary_block(segment))?);
            let owners = f2fs.summarise(self.memory, segment);
            for offset in bits(valid.into()).map(usize::from) {
                if said[offset] != owners[offset] && owners[offset] != Summary::default() {
                    let owner = owners[offset].nid.0;
                    let detail =
                        format!("segment {segment} block {offset} belongs to node {owner}, its summary says otherwise");
                    self.find(SSA_MISMATCH, detail);
                }
            }
        }
        Ok(())
    }
}

impl F2fs {
    fn walk<'a>(&'a self, memory: &'a Memory, disk: &'a Disk) -> Walk<'a> {
        let mut walk = Walk {
            f2fs: self,
            memory,
            disk,
            nids: 0,
            bad: 0,
            blocks: [0; SEGMENTS],
            node_blocks: [0; SEGMENTS],
            findings: Vec::new(),
            wrong: SmallVec::new(),
        };
        walk.tree();
        walk.tables();
        walk
    }

    /// Checks a mounted file system.
    pub(super) fn check(&self, memory: &Memory, disk: &Disk) -> Vec<Finding> {
        self.walk(memory, disk).findings
    }

    /// Checks the state of the newest checkpoint and repairs it.
    pub(super) fn check_and_repair(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let mut memory = self.load(disk)?;
        let mut walk = self.walk(&memory, disk);
        walk.summaries()?;
        let Walk { nids, bad, blocks, findings, wrong, .. } = walk;
        if findings.is_empty() || !memory.is(Nid::ROOT, Role::Dir) {
            return Ok(findings);
        }
        Fs { f2fs: self, memory: &mut memory, disk }.repair(nids & !bad, blocks, &wrong)?;
        Ok(findings)
    }
}

impl Fs<'_> {
    /// Makes the tables say what the walk found, takes away what leads nowhere, and writes a checkpoint.
    fn repair(&mut self, nids: u16, blocks: [u16; SEGMENTS], wrong: &[Wrong]) -> Result<(), Errno> {
        for nid in bits((!nids & u16::MAX << 1).into()).map(usize::from) {
            self.memory.nodes[nid] = Node::default();
            self.memory.nat[nid] = Addr::NONE;
            self.memory.dirty_nat |= 1 << nid;
        }
        self.memory.sit = blocks;
        self.memory.dirty_sit = u64::MAX >> (64 - u32::from(self.f2fs.layout.segments));
        for number in 0..self.f2fs.logs() {
            let log = &mut self.memory.logs[number];
            let used = 16 - self.memory.sit[usize::from(log.segment)].leading_zeros();
            log.next = log.next.max(used.to_le_bytes()[0]);
        }
        self.f2fs.find_free(self.memory);
        for number in 0..self.f2fs.logs() {
            if self.memory.logs[number].next >= self.f2fs.layout.segment_blocks() {
                self.close(number)?;
            }
        }
        for wrong in wrong {
            self.take_away(*wrong)?;
        }
        self.f2fs.summarise_current(self.memory);
        self.write_summaries()?;
        self.checkpoint()
    }

    fn take_away(&mut self, wrong: Wrong) -> Result<(), Errno> {
        match wrong {
            Wrong::Addr { nid, at } => self.memory.node_mut(nid).index[at] = Addr::NONE,
            Wrong::Names { dir, at } => self.put_dentries(dir, at, &Dentries::EMPTY)?,
            Wrong::Child { nid, which } => self.memory.node_mut(nid).children[which] = Nid::NONE,
            Wrong::Name { dir, at, slot } => {
                let addr = self.memory.node(dir).index[at];
                let mut dentries = Dentries(*read_block(self.disk, addr.block())?);
                dentries.remove(slot);
                self.put_dentries(dir, at, &dentries)?;
            }
        }
        Ok(())
    }

    /// Writes the summaries of all segments that have valid blocks and are not being written.
    fn write_summaries(&mut self) -> Result<(), Errno> {
        for segment in 0..self.f2fs.layout.segments {
            if self.memory.sit[usize::from(segment)] != 0 && !self.f2fs.is_current(self.memory, segment) {
                let summaries = codec::encode_summaries(&self.f2fs.summarise(self.memory, segment));
                self.disk.write(self.f2fs.layout.summary_block(segment), &summaries).map_err(super::log::io)?;
            }
        }
        Ok(())
    }
}
