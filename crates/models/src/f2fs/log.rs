//! The logs: every block of the main area is written once, behind the last one of its log, until its segment has been
//! freed by a checkpoint.

use disk::{Block, Disk};
use smallvec::SmallVec;
use vfs::Errno;

use super::{
    F2fs, Memory,
    codec::{self, Bytes, Footer, Nid, Role, Summary},
    layout::{Addr, Spot},
    memory::Log,
    variant::{Flaw, Heads},
};

/// A mounted file system at work.
pub(super) struct Fs<'a> {
    pub f2fs: &'a F2fs,
    pub memory: &'a mut Memory,
    pub disk: &'a mut Disk,
}

/// What a block holds, which decides about its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    DirNode,
    FileNode,
    Dentries,
    Data,
    Moved,
}

pub(super) fn io(error: disk::IoError) -> Errno {
    if error == disk::IoError::Memory { Errno::ENOMEM } else { Errno::EIO }
}

/// One block.
pub(super) fn read_block(disk: &Disk, block: Block) -> Result<&Bytes, Errno> {
    disk.try_block(block).map_err(io)?.try_into().map_err(|_| Errno::EIO)
}

/// Blocks that are written together if they lie in a row.
#[derive(Default)]
pub(super) struct Run {
    first: u32,
    bytes: SmallVec<[u8; 256]>,
}

impl Run {
    pub fn put(&mut self, disk: &mut Disk, block: Block, content: &Bytes) -> Result<(), Errno> {
        let blocks = u32::try_from(self.bytes.len() / content.len()).unwrap_or(u32::MAX);
        if blocks > 0 && self.first + blocks != block.0 {
            self.end(disk)?;
        }
        if self.bytes.is_empty() {
            self.first = block.0;
        }
        self.bytes.extend_from_slice(content);
        Ok(())
    }

    pub fn end(&mut self, disk: &mut Disk) -> Result<(), Errno> {
        if !self.bytes.is_empty() {
            disk.write(Block(self.first), &self.bytes).map_err(io)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

impl F2fs {
    /// Which log a stream goes to.
    pub(super) fn log_of(&self, stream: Stream) -> usize {
        match (self.variant.heads, stream) {
            (Heads::Two, Stream::DirNode | Stream::FileNode) => 0,
            (Heads::Two, _) => 1,
            (Heads::Four, Stream::Moved) => 3,
            (_, stream) => stream as usize,
        }
    }

    pub(super) fn logs(&self) -> usize {
        match self.variant.heads {
            Heads::Two => 2,
            Heads::Four => 4,
            Heads::Five => 5,
        }
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.variant.flaws.has(flaw)
    }

    /// Whether a log writes this segment.
    pub(super) fn is_current(&self, memory: &Memory, segment: u8) -> bool {
        memory.logs[..self.logs()].iter().any(|log| log.segment == segment)
    }
}

impl Fs<'_> {
    /// Memory for a page or an entry of the cache, which may not be there.
    pub fn allocate(&self) -> Result<(), Errno> {
        self.disk.allocate().map_err(io)
    }

    /// Takes the next block of a log. The caller writes it.
    pub fn take(&mut self, stream: Stream, summary: Summary) -> Result<Addr, Errno> {
        let number = self.f2fs.log_of(stream);
        let log = &mut self.memory.logs[number];
        let spot = Spot { segment: log.segment, offset: log.next };
        log.next += 1;
        let full = log.next == self.f2fs.layout.segment_blocks();
        self.memory.summaries[number][usize::from(spot.offset)] = summary;
        self.memory.set_valid(spot, true);
        self.memory.unflushed = true;
        if full {
            self.close(number)?;
        }
        Ok(self.f2fs.layout.addr(spot))
    }

    /// Goes on with another segment.
    pub fn close(&mut self, log: usize) -> Result<(), Errno> {
        let full = self.memory.logs[log].segment;
        self.open(log)?;
        let summaries = std::mem::take(&mut self.memory.summaries[log]);
        if !self.f2fs.has(Flaw::SummaryForgotten) {
            let block = self.f2fs.layout.summary_block(full);
            self.disk.write(block, &codec::encode_summaries(&summaries)).map_err(io)?;
        }
        if self.memory.sit[usize::from(full)] == 0 {
            self.died(full);
        }
        Ok(())
    }

    /// Gives a log the first free segment.
    pub fn open(&mut self, log: usize) -> Result<(), Errno> {
        let segment = self.memory.free.trailing_zeros().to_le_bytes()[0];
        if self.memory.free == 0 {
            return Err(Errno::ENOSPC);
        }
        self.memory.free &= !(1 << segment);
        self.memory.logs[log] = Log { segment, next: 0 };
        Ok(())
    }

    /// A block is no longer used.
    pub fn kill(&mut self, addr: Addr) {
        let Some(spot) = self.f2fs.layout.spot(addr) else { return };
        self.memory.set_valid(spot, false);
        if self.memory.sit[usize::from(spot.segment)] == 0 && !self.f2fs.is_current(self.memory, spot.segment) {
            self.died(spot.segment);
        }
    }

    /// A segment has no valid block left. The last checkpoint may need what lies in it, so it is free after the next.
    fn died(&mut self, segment: u8) {
        if self.f2fs.has(Flaw::ReuseImmediate) {
            self.memory.free |= 1 << segment;
        } else {
            self.memory.prefree |= 1 << segment;
        }
    }

    /// Writes a node behind its log. The first time, the cache of the NAT needs an entry for it.
    pub fn write_node(&mut self, nid: Nid, fsync: bool, run: &mut Run) -> Result<(), Errno> {
        let node = *self.memory.node(nid);
        let stream = if node.role == Role::Dir { Stream::DirNode } else { Stream::FileNode };
        if self.memory.nat[nid.index()] == Addr::NONE {
            self.allocate()?;
        }
        let addr = self.take(stream, Summary { nid, at: Summary::NODE })?;
        let old = std::mem::replace(&mut self.memory.nat[nid.index()], addr);
        if old != Addr::NONE {
            self.kill(old);
        }
        self.memory.dirty_nat |= nid.bit();
        self.memory.dirty_nodes &= !nid.bit();
        let footer = Footer {
            nid,
            ino: if node.role == Role::Direct { node.owner } else { nid },
            version: self.memory.version,
            fsync,
            next_segment: self.memory.logs[self.f2fs.log_of(stream)].segment,
        };
        run.put(self.disk, addr.block(), &codec::encode_node(&node, footer))
    }

    pub fn flush(&mut self) -> Result<(), Errno> {
        self.disk.flush().map_err(io)?;
        self.memory.unflushed = false;
        Ok(())
    }
}
