//! What a mount gives back to the disk: blocks that the checkpoint does not need.
//!
//! File systems for flash tell their disk what they no longer need. Here it also makes mounts alike: what an
//! interrupted life left behind decides nothing, and once it is gone, two states that differed in nothing else are one
//! state.

use disk::Block;
use vfs::Errno;

use super::{
    layout::{Layout, NIDS, Spot, TABLE_ENTRIES},
    log::{Fs, io},
    memory::bits,
};

/// Blocks of free segments that are discarded. Logs take free segments in order, so what was written before a crash
/// lies in the first; more would make every mount dearer.
const FREE_BLOCKS: u8 = 32;

/// Unneeded blocks that are given up together if they lie in a row.
#[derive(Default)]
struct Span {
    first: u32,
    count: u32,
}

impl Fs<'_> {
    /// Discards the older checkpoint with its copies of tables, dead blocks, and segments that may have been begun.
    pub fn discard(&mut self) -> Result<(), Errno> {
        let layout = &self.f2fs.layout;
        let mut span = Span::default();
        let older = Layout::pack(self.memory.pack ^ 1).0;
        for part in 0..4 {
            self.give_up(Block(older + part), &mut span)?;
        }
        for index in 0..layout.sit_blocks() {
            let unused = self.memory.sit_versions >> index & 1 == 0;
            self.give_up(layout.sit_block(index, unused), &mut span)?;
        }
        for index in 0..NIDS.to_le_bytes()[0] / TABLE_ENTRIES {
            let unused = self.memory.nat_versions >> index & 1 == 0;
            self.give_up(layout.nat_block(index, unused), &mut span)?;
        }
        let used = (0..layout.segments).filter(|segment| self.memory.free >> segment & 1 == 0);
        let used = used.fold(0, |used, segment| used | 1_u64 << segment);
        let begun = bits(self.memory.free).take(usize::from(FREE_BLOCKS / layout.segment_blocks()));
        let begun = begun.fold(0, |begun, segment| begun | 1_u64 << segment);
        for segment in bits(begun) {
            self.give_up(layout.summary_block(segment), &mut span)?;
        }
        for segment in bits(used | begun) {
            for offset in bits((layout.full() & !self.memory.sit[usize::from(segment)]).into()) {
                self.give_up(layout.addr(Spot { segment, offset }).block(), &mut span)?;
            }
        }
        self.end(&mut span)
    }

    fn give_up(&mut self, block: Block, span: &mut Span) -> Result<(), Errno> {
        if span.count > 0 && span.first + span.count != block.0 {
            self.end(span)?;
        }
        if span.count == 0 {
            span.first = block.0;
        }
        span.count += 1;
        Ok(())
    }

    /// One span after the other, so that a power cut in between has few ways to go.
    fn end(&mut self, span: &mut Span) -> Result<(), Errno> {
        self.disk.discard(Block(span.first), span.count).map_err(io)?;
        span.count = 0;
        self.flush()
    }
}
