//! What a recovery read: the blocks whose initial content it saw, in the order in which it first saw them.
//!
//! A deterministic recovery is a function of these: two images that agree on them recover alike. A block that was
//! written or discarded before it was read tells nothing about the image, so it is left out. A reader that cannot be
//! watched counts as having read everything: the image as a whole is then the last thing that counts.

use std::cell::RefCell;

use smallvec::{SmallVec, smallvec};

use crate::{Block, Image, content_hash};

/// A block and what was found in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// The block.
    pub block: Block,
    /// The [`content_hash`] of its initial content.
    pub content: u128,
}

/// What stands in place of a block for a read of all of them; the content is then the hash of the initial image. No
/// disk has a block of this number.
pub const EVERYTHING: Block = Block(u32::MAX);

/// The first reads of initial content, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadSet(pub Vec<Read>);

/// Fills a read set. Reads go through a shared reference, so that a model can borrow blocks while it records.
#[derive(Clone, Debug)]
pub(crate) struct Recorder(RefCell<Recording>);

#[derive(Clone, Debug)]
struct Recording {
    reads: Vec<Read>,
    /// A bit for each block that was read or written.
    touched: SmallVec<[u64; 2]>,
    /// The hash of the image as it was at the beginning, until everything counts as read.
    unread: Option<u128>,
}

/// Room for the reads of a small recovery without growing.
const READS_EXPECTED: usize = 16;

impl Recorder {
    pub(crate) fn new(image: &Image) -> Self {
        let touched = smallvec![0; image.geometry().blocks.div_ceil(64) as usize];
        Self(RefCell::new(Recording { reads: Vec::with_capacity(READS_EXPECTED), touched, unread: Some(image.hash()) }))
    }

    pub(crate) fn read(&self, block: Block, content: &[u8]) {
        let recording = &mut *self.0.borrow_mut();
        if recording.unread.is_some() && touch(&mut recording.touched, block) {
            recording.reads.push(Read { block, content: content_hash(content) });
        }
    }

    pub(crate) fn read_everything(&self) {
        let recording = &mut *self.0.borrow_mut();
        recording.reads.extend(recording.unread.take().map(|content| Read { block: EVERYTHING, content }));
    }

    pub(crate) fn overwrite(&mut self, block: Block, count: u32) {
        let touched = &mut self.0.get_mut().touched;
        for block in block.0..block.0 + count {
            touch(touched, Block(block));
        }
    }

    pub(crate) fn finish(self) -> ReadSet {
        ReadSet(self.0.into_inner().reads)
    }
}

/// Marks a block; whether it was unmarked.
fn touch(touched: &mut [u64], block: Block) -> bool {
    let word = &mut touched[(block.0 / 64) as usize];
    let bit = 1 << (block.0 % 64);
    let first = *word & bit == 0;
    *word |= bit;
    first
}
