//! New names for what has no name of its own: blocks and data are numbered in the order in which they are met.

use check::Task;
use smallvec::SmallVec;

use super::scene::Scene;
use crate::mapping::{
    content::FILL_MIN,
    layout::{NOWHERE, Notes},
};

/// How a description calls files, ops, blocks and data. What has no name is left out of it.
#[derive(Clone)]
pub(super) struct Names<'a> {
    /// The files that are described, by rank.
    pub files: &'a [u8],
    /// The ops under way on them, in the same order.
    pub tasks: SmallVec<[&'a Task; 2]>,
    pub blocks: Numbering,
    pub data: Meanings,
}

impl<'a> Names<'a> {
    /// The names that follow from the order of the files alone: no block has one yet.
    pub fn of(scene: &'a Scene<'_>, files: &'a [u8], blocks: u8) -> Self {
        let tasks = files.iter().filter_map(|file| scene.task_on(*file)).collect();
        Self { files, tasks, blocks: Numbering::new(blocks), data: Meanings::of(scene, files) }
    }

    /// The rank of a file.
    pub fn rank(&self, file: u8) -> u8 {
        let rank = self.files.iter().position(|named| *named == file);
        rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(NOWHERE)
    }
}

/// New numbers for blocks.
#[derive(Clone)]
pub(super) struct Numbering {
    of: [u8; 16],
    /// The blocks that have a number, lowest first.
    pub order: SmallVec<[u8; 16]>,
    blocks: u8,
}

impl Numbering {
    fn new(blocks: u8) -> Self {
        Self { of: [NOWHERE; 16], order: SmallVec::new(), blocks }
    }

    /// Numbers what a pointer leads to, if it leads to a block that is new.
    pub fn meet(&mut self, pointer: u8) {
        if self.lacks(pointer) {
            self.of[usize::from(pointer)] = u8::try_from(self.order.len()).expect("at most sixteen");
            self.order.push(pointer);
        }
    }

    /// The number of what a pointer leads to, if it has one.
    pub fn get(&self, pointer: u8) -> u8 {
        if pointer < self.blocks { self.of[usize::from(pointer)] } else { NOWHERE }
    }

    /// Whether a pointer leads to a block without a number.
    pub fn lacks(&self, pointer: u8) -> bool {
        pointer < self.blocks && self.of[usize::from(pointer)] == NOWHERE
    }

    /// The blocks without a number.
    pub fn rest(&self) -> impl Iterator<Item = u8> {
        (0..self.blocks).filter(|block| self.lacks(*block))
    }

    /// The blocks with a number, one bit each.
    pub fn met(&self) -> u16 {
        self.order.iter().fold(0, |bits, block| bits | 1 << block)
    }
}

/// What data means: which block of which file of which tree, or of which op under way, it is, by a number; `NOWHERE` if
/// it is none of these.
#[derive(Clone)]
pub(super) struct Meanings([u8; 256]);

impl Meanings {
    fn of(scene: &Scene<'_>, files: &[u8]) -> Self {
        let mut meanings = [NOWHERE; 256];
        let mut next = FILL_MIN;
        for fill in files.iter().flat_map(|file| scene.data_of(*file)) {
            let meaning = &mut meanings[usize::from(fill)];
            if *meaning == NOWHERE {
                *meaning = next;
                next += 1;
            }
        }
        Self(meanings)
    }

    pub fn get(&self, fill: u8) -> u8 {
        self.0[usize::from(fill)]
    }
}

/// The registers of an op that hold block numbers.
pub(super) fn block_registers(task: &Task) -> impl Iterator<Item = u8> {
    let notes = Notes::of(task);
    [notes.fresh, notes.fresh_indirect, notes.first, notes.indirect, notes.second].into_iter().chain(notes.listed)
}
