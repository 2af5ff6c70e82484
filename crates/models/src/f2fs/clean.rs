//! Room: whether there is enough for an op, and how to make more.
//!
//! An op begins only if there is room for everything that it and a checkpoint after it can write, so that nothing
//! can fail half-way. Afterwards room is made for the next one: a checkpoint frees the segments that have died; if none
//! has, the segment with the fewest valid blocks is emptied first.

use vfs::Errno;

use super::{
    F2fs, Memory,
    codec::{self, Nid, Summary},
    layout::Spot,
    log::{Fs, Run, Stream, read_block},
    memory::bits,
    variant::Heads,
};

/// Nodes that one op can dirty: two directories and an inode, or an inode and three direct nodes.
const OP_NODES: u32 = 4;
/// Dentry blocks that one op can write.
const OP_DENTRIES: u32 = 2;
/// Segments that are emptied after one op at most. If the next op still finds no room, the disk is full.
const ROUNDS_MAX: u32 = 4;

/// Which part of the last segments an op may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It must leave what cleaning needs.
    Ordinary,
    /// It gives something back, so it may take from what is held back.
    Releasing,
}

impl F2fs {
    /// Segments that cleaning needs while it empties one and writes a checkpoint.
    fn held_back(&self) -> u32 {
        if self.variant.heads == Heads::Two { 2 } else { 3 }
    }

    /// Segments that the logs may open for an op with so many blocks and for a checkpoint after it.
    fn needed(&self, memory: &Memory, data: u32, dentries: u32) -> u32 {
        let blocks = u32::from(self.layout.segment_blocks());
        let nodes = (memory.dirty_nodes.count_ones() + OP_NODES).div_ceil(blocks);
        match self.variant.heads {
            Heads::Two => (data + dentries).div_ceil(blocks) + nodes,
            Heads::Four | Heads::Five => data.div_ceil(blocks) + dentries.div_ceil(blocks) + nodes + 1,
        }
    }

    /// Whether an op may begin.
    pub(super) fn admit(&self, memory: &Memory, data: u32, dentries: u32, room: Room) -> Result<(), Errno> {
        let spare = if room == Room::Ordinary { self.held_back() } else { 1 };
        let enough = memory.free.count_ones() >= self.needed(memory, data, dentries) + spare;
        if enough { Ok(()) } else { Err(Errno::ENOSPC) }
    }

    /// The segment that is cheapest to empty.
    fn victim(&self, memory: &Memory) -> Option<u8> {
        let dirty = (0..self.layout.segments).filter(|segment| {
            let map = memory.sit[usize::from(*segment)];
            map != 0 && map != self.layout.full() && !self.is_current(memory, *segment)
        });
        dirty.min_by_key(|segment| memory.sit[usize::from(*segment)].count_ones())
    }
}

impl Fs<'_> {
    /// Makes room for the next op. That it cannot is no failure of the op that is done.
    pub fn balance(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let data = u32::from(self.f2fs.variant.write_blocks);
            if self.f2fs.admit(self.memory, data, OP_DENTRIES, Room::Ordinary).is_ok() {
                return;
            }
            let mut memory = self.memory.clone();
            let mut round = Fs { f2fs: self.f2fs, memory: &mut memory, disk: self.disk };
            if round.make_room().is_err() {
                return;
            }
            *self.memory = memory;
        }
    }

    fn make_room(&mut self) -> Result<(), Errno> {
        if self.memory.prefree == 0 {
            let victim = self.f2fs.victim(self.memory).ok_or(Errno::ENOSPC)?;
            self.empty(victim)?;
        }
        self.checkpoint()
    }

    /// Moves the valid blocks of a segment away, as its summary says what they are. Nodes move with the checkpoint.
    fn empty(&mut self, victim: u8) -> Result<(), Errno> {
        let summaries = codec::summaries(read_block(self.disk, self.f2fs.layout.summary_block(victim))?);
        let mut run = Run::default();
        for offset in bits(self.memory.sit[usize::from(victim)].into()) {
            let addr = self.f2fs.layout.addr(Spot { segment: victim, offset });
            let Summary { nid, at } = summaries[usize::from(offset)];
            if !nid.exists() {
                continue;
            }
            if at == Summary::NODE {
                if self.memory.nat[nid.index()] == addr {
                    self.memory.dirty_nodes |= nid.bit();
                }
            } else if self.memory.node(nid).index.get(usize::from(at)) == Some(&addr) {
                self.move_block(nid, at, &mut run)?;
            }
        }
        run.end(self.disk)
    }

    fn move_block(&mut self, nid: Nid, at: u8, run: &mut Run) -> Result<(), Errno> {
        let old = self.memory.node(nid).index[usize::from(at)];
        let content = *read_block(self.disk, old.block())?;
        let new = self.take(Stream::Moved, Summary { nid, at })?;
        run.put(self.disk, new.block(), &content)?;
        self.memory.node_mut(nid).index[usize::from(at)] = new;
        self.kill(old);
        Ok(())
    }
}
