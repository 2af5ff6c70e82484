//! `fsync` without a checkpoint, and the mount that makes up for it.
//!
//! `fsync` writes the nodes of one file behind the log of nodes of files, the inode last and with a mark. A mount
//! follows that log from where the checkpoint left it for as long as the blocks carry the checkpoint's version, takes
//! over the nodes of every file up to its last mark, gives the files that the checkpoint does not know their names
//! back, and writes a checkpoint. Its new version is what keeps the next mount from reading blocks of an earlier life.
//! Until then that log must stay as it is, the hole at its end included: a mount that is cut short is followed by one
//! that must find the same.

use disk::Disk;
use smallvec::SmallVec;
use vfs::Errno;

use super::{
    F2fs, Memory,
    clean::Room,
    codec::{self, CHILDREN, Footer, Nid, Node, Role},
    layout::{Addr, NIDS, Spot},
    log::{Fs, Run, Stream, io, read_block},
    memory::Log,
    variant::{Flaw, Fsync},
};

/// A node block that was found behind the checkpoint.
#[derive(Clone, Copy)]
struct Link {
    addr: Addr,
    node: Node,
    footer: Footer,
}

type Chain = SmallVec<[Link; 4]>;

/// What a mount finds in the log of nodes of files.
struct Followed {
    chain: Chain,
    /// The segments that it looked at, one bit each.
    segments: u64,
}

impl Fs<'_> {
    pub fn fsync(&mut self, ino: Nid) -> Result<(), Errno> {
        if self.needs_checkpoint(ino) {
            return self.sync();
        }
        let inode = *self.memory.node(ino);
        let is_dirty = |nid: &Nid| nid.exists() && self.memory.dirty_nodes & nid.bit() != 0;
        let direct: SmallVec<[Nid; CHILDREN]> = inode.children.into_iter().filter(is_dirty).collect();
        if direct.is_empty() && !is_dirty(&ino) {
            return Ok(());
        }
        // A node must not be found by a mount before the data is that it points to.
        if self.memory.unflushed && !self.f2fs.has(Flaw::FsyncUnordered) {
            self.flush()?;
        }
        let mut run = Run::default();
        for nid in direct {
            self.write_node(nid, false, &mut run)?;
        }
        run.end(self.disk)?;
        self.write_node(ino, true, &mut run)?;
        run.end(self.disk)?;
        self.flush()
    }

    /// Makes everything durable, if anything is not.
    pub fn sync(&mut self) -> Result<(), Errno> {
        if self.memory.is_clean() { Ok(()) } else { self.checkpoint() }
    }

    /// Whether a mount could not make up for a missing checkpoint: what it replays is files in directories that were
    /// there, under the names that they had.
    fn needs_checkpoint(&self, ino: Nid) -> bool {
        let node = self.memory.node(ino);
        let flaw = |flaw| self.f2fs.has(flaw);
        let parent_known = self.memory.checkpointed & node.owner.bit() != 0 || flaw(Flaw::ParentForgotten);
        self.f2fs.variant.fsync == Fsync::Checkpoint
            || node.role != Role::File
            || !parent_known
            || self.memory.renamed && !flaw(Flaw::RenameForgotten)
            || self.f2fs.admit(self.memory, 0, 1, Room::Ordinary).is_err()
    }

    /// Brings back what was made durable by `fsync` after the checkpoint that was loaded.
    pub fn roll_forward(&mut self) -> Result<(), Errno> {
        let Followed { chain, segments } = self.f2fs.follow(self.memory, self.disk)?;
        if chain.is_empty() && self.f2fs.has(Flaw::StaleChain) {
            return Ok(());
        }
        chain.iter().for_each(|link| self.adopt(link));
        let checkpointed = self.memory.checkpointed;
        let is_nameless = |link: &&Link| link.node.role == Role::File && checkpointed & link.footer.nid.bit() == 0;
        self.find_free_beside(segments);
        self.restart_logs(&chain)?;
        if chain.iter().any(|link| is_nameless(&link)) {
            self.leave_followed_log()?;
        }
        for link in chain.iter().filter(is_nameless) {
            self.give_name(link)?;
        }
        self.checkpoint()?;
        self.discard()
    }

    /// Takes over a node with its blocks.
    fn adopt(&mut self, link: &Link) {
        let nid = link.footer.nid;
        let old = std::mem::replace(&mut self.memory.nodes[nid.index()], link.node);
        let old_addr = std::mem::replace(&mut self.memory.nat[nid.index()], link.addr);
        self.memory.dirty_nat |= nid.bit();
        old.index.into_iter().chain([old_addr]).for_each(|addr| self.set_valid(addr, false));
        link.node.index.into_iter().chain([link.addr]).for_each(|addr| self.set_valid(addr, true));
        for child in old.children.into_iter().filter(|child| !link.node.children.contains(child)) {
            if self.memory.is(child, Role::Direct) {
                self.drop_direct(child);
            }
        }
    }

    fn drop_direct(&mut self, nid: Nid) {
        let node = std::mem::take(&mut self.memory.nodes[nid.index()]);
        let addr = std::mem::take(&mut self.memory.nat[nid.index()]);
        self.memory.dirty_nat |= nid.bit();
        node.index.into_iter().chain([addr]).for_each(|addr| self.set_valid(addr, false));
    }

    fn set_valid(&mut self, addr: Addr, valid: bool) {
        if let Some(spot) = self.f2fs.layout.spot(addr) {
            self.memory.set_valid(spot, valid);
        }
    }

    /// What has no valid block may be written, unless a power cut before the next checkpoint goes back to it: to what
    /// the last checkpoint has in use, or to the log that was followed.
    fn find_free_beside(&mut self, followed: u64) {
        let needed = !self.memory.free | followed;
        self.f2fs.find_free(self.memory);
        self.memory.prefree = self.memory.free & needed;
        self.memory.free &= !needed;
    }

    /// Names change directories, whose nodes may go to the log that was followed: it goes on in another segment. (F2FS
    /// opens new segments in its recovery as well.)
    fn leave_followed_log(&mut self) -> Result<(), Errno> {
        let log = self.f2fs.log_of(Stream::FileNode);
        if self.f2fs.log_of(Stream::DirNode) == log { self.close(log) } else { Ok(()) }
    }

    /// Lets the logs go on behind what was found, and writes the summaries of segments that no log writes any more.
    fn restart_logs(&mut self, chain: &Chain) -> Result<(), Errno> {
        let f2fs = self.f2fs;
        let live =
            |memory: &Memory| (0..NIDS).fold(0, |live, nid| live | u16::from(memory.nat[nid] != Addr::NONE) << nid);
        self.memory.free_nids = !live(self.memory) & u16::MAX << 1;
        f2fs.summarise_current(self.memory);
        for number in 0..f2fs.logs() {
            let Log { segment, next } = self.memory.logs[number];
            let used = 16 - self.memory.sit[usize::from(segment)].leading_zeros();
            let next = next.max(used.to_le_bytes()[0]);
            self.memory.logs[number].next = next;
            if next >= f2fs.layout.segment_blocks() {
                self.close(number)?;
            }
        }
        let found = chain.iter().flat_map(|link| link.node.index.into_iter().chain([link.addr]));
        let segments = found.filter_map(|addr| f2fs.layout.spot(addr)).fold(0_u64, |all, spot| all | 1 << spot.segment);
        for segment in super::memory::bits(segments).filter(|segment| !f2fs.is_current(self.memory, *segment)) {
            let summaries = codec::encode_summaries(&f2fs.summarise(self.memory, segment));
            self.disk.write(f2fs.layout.summary_block(segment), &summaries).map_err(io)?;
        }
        Ok(())
    }

    /// A file that the checkpoint does not know has no name in its directory yet. What had the name goes.
    fn give_name(&mut self, link: &Link) -> Result<(), Errno> {
        let (dir, name, nid) = (link.node.owner, link.node.name, link.footer.nid);
        let found = self.memory.look_up(self.disk, dir, name.bytes())?;
        match found {
            None => self.add_name(dir, name.bytes(), nid),
            Some(found) if found.nid == nid => Ok(()),
            Some(found) => {
                self.redirect_name(dir, name.bytes(), nid)?;
                self.remove_tree(found.nid)
            }
        }
    }

    /// Removes a node and, if it is a directory, all below it: the checkpoint still has what was removed since.
    fn remove_tree(&mut self, top: Nid) -> Result<(), Errno> {
        let mut waiting: SmallVec<[Nid; 8]> = SmallVec::from_slice(&[top]);
        while let Some(nid) = waiting.pop() {
            if self.memory.is(nid, Role::Dir) {
                self.memory.each_name(self.disk, nid, |_, dentry| waiting.push(dentry.nid))?;
            }
            if nid != Nid::ROOT {
                self.release_node(nid);
            }
        }
        Ok(())
    }
}

impl F2fs {
    /// The nodes that `fsync` made durable since the checkpoint, in the order in which they were written.
    fn follow(&self, memory: &Memory, disk: &Disk) -> Result<Followed, Errno> {
        let mut chain = Chain::new();
        let mut segments = 0;
        let mut marked = [0; NIDS];
        let log = memory.logs[self.log_of(Stream::FileNode)];
        let mut spot = Spot { segment: log.segment, offset: log.next };
        // No log is longer than the disk, whatever a damaged one says.
        while chain.len() < usize::from(self.layout.segments) * usize::from(self.layout.segment_blocks()) {
            segments |= 1 << spot.segment;
            let addr = self.layout.addr(spot);
            let found = codec::decode_node(read_block(disk, addr.block())?);
            let Some((node, footer)) = found.filter(|(_, footer)| footer.version == memory.version) else { break };
            chain.push(Link { addr, node, footer });
            if footer.fsync {
                marked[footer.ino.index()] = chain.len();
            }
            spot = if spot.offset + 1 < self.layout.segment_blocks() {
                Spot { offset: spot.offset + 1, ..spot }
            } else {
                Spot { segment: footer.next_segment, offset: 0 }
            };
            if spot.segment >= self.layout.segments {
                break;
            }
        }
        let mut number = 0;
        chain.retain(|link| {
            number += 1;
            number <= marked[link.footer.ino.index()]
        });
        let has_place: [bool; NIDS] = std::array::from_fn(|ino| {
            let inode = chain.iter().rfind(|link| link.footer.nid.index() == ino);
            inode.is_some_and(|link| link.node.role == Role::File && memory.is(link.node.owner, Role::Dir))
        });
        chain.retain(|link| has_place[link.footer.ino.index()]);
        Ok(Followed { chain, segments })
    }
}
