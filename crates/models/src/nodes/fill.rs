//! Which byte a write of the workload stores: one that no old data has, so that old data that turns up is seen.
//!
//! What a model does never depends on data, so one fresh value stands for all. Old data is in the files of every tree
//! that a crash may bring back, on the disk, under what is pending, and in what is pending itself. It is looked for in
//! whole words of one byte value: data of the workload comes in no smaller pieces, and a byte of metadata that happens
//! to have the value hides nothing. (To avoid those bytes as well would write other data after ops in another order,
//! and tell states apart that are the same.)

use check::{Target, View};
use disk::{Block, EntryKind, Image};
use vfs::{NodeKind, Op};

const WORD: usize = 8;
/// This many times a byte is a word of it.
const REPEAT: u64 = u64::from_le_bytes([1; WORD]);

/// The values that are in use.
struct Used([bool; 256]);

impl Used {
    fn note(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<WORD>();
        for word in words {
            let value = u64::from_le_bytes(*word);
            if value != 0 && value == u64::from(word[0]) * REPEAT {
                self.0[usize::from(word[0])] = true;
            }
        }
        rest.iter().for_each(|byte| self.0[usize::from(*byte)] = true);
    }

    fn note_blocks(&mut self, image: &Image, first: Block, count: u32) {
        (first.0..first.0 + count).for_each(|block| self.note(image.block(Block(block))));
    }

    /// The smallest value that is not in use.
    fn fresh(&self) -> Option<u8> {
        (1..=u8::MAX).find(|fill| !self.0[usize::from(*fill)])
    }
}

fn used<T: Target>(view: &View<'_, T>) -> Used {
    let mut used = Used([false; 256]);
    for node in view.trees.iter().flat_map(|tree| tree.nodes.values()) {
        if let NodeKind::File(bytes) = &node.kind {
            used.note(bytes);
        }
    }
    let (image, log) = (view.disk.image(), view.disk.log());
    let geometry = image.geometry();
    image.each_block(|block| used.note(block));
    for (_, entry) in log.entries() {
        if let EntryKind::Write { data, .. } | EntryKind::Fua { data, .. } = &entry.kind {
            used.note(data);
        }
        let (first, count) = entry.extent(geometry);
        used.note_blocks(log.base(), first, count);
    }
    used
}

/// Lets every write among the ops store a value that nothing in this state has. If there is none, what was proposed
/// stays, which is in no file at least.
pub(super) fn freshen<T: Target>(view: &View<'_, T>, ops: &mut [Op]) {
    let mut fresh = None;
    for op in ops {
        if let Op::Write { data, .. } = op {
            data.fill = fresh.get_or_insert_with(|| used(view).fresh()).unwrap_or(data.fill);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh_beside(bytes: &[u8]) -> Option<u8> {
        let mut used = Used([false; 256]);
        used.note(bytes);
        used.fresh()
    }

    #[test]
    fn words_of_one_value_are_data() {
        assert_eq!(fresh_beside(&[[1; 8], [2; 8], [4; 8]].concat()), Some(3));
        assert_eq!(fresh_beside(&[1, 1, 1, 1]), Some(2), "a block of less than a word");
    }

    #[test]
    fn other_words_are_none() {
        assert_eq!(fresh_beside(&[0; 16]), Some(1));
        assert_eq!(fresh_beside(&[1, 2, 3, 4, 5, 6, 7, 8]), Some(1));
    }

    #[test]
    fn a_disk_may_hold_every_value() {
        let all: Vec<u8> = (0..=u8::MAX).flat_map(|value| [value; 8]).collect();
        assert_eq!(fresh_beside(&all), None);
    }
}
