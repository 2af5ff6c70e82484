//! Which states of a file-mapping model are the same state.
//!
//! Nothing in a model depends on which of two blank blocks it takes, on which file is which (beyond which inodes
//! share a block), on which of two tasks is which, or on what data is, beyond whether it is what was last written.
//! So a state is described in names that follow from an order of its files: blocks are numbered in the order in which
//! a walk from the files meets them, data in the order in which the trees mention it, and data that no tree mentions
//! is all alike. The canonical form is the least description in any order that what the files and blocks look like
//! leaves open: equivalent states have the same looks, so they have the same descriptions to choose from.
//!
//! The bytes describe the state up to a renaming in any case. Were a look not the same in equivalent states, that
//! would cost time and make counts depend on the search, but hide nothing.

mod describe;
mod names;
mod order;
mod rest;
mod scene;

use check::View;
use disk::{CrashMode, Disk, Image};

use self::{
    names::{Names, block_registers},
    scene::{Scene, Versions},
};
use super::{
    FileMapping,
    layout::{Layout, Place},
};

impl<L: Layout> FileMapping<L> {
    /// See [`check::Target::canonical`].
    pub(super) fn canonical_bytes(&self, view: &View<'_, Self>, bytes: &mut Vec<u8>) {
        let scene = Scene::of(view, &self.layout);
        let mut least = Least::new(bytes);
        for files in self.file_orders(&scene, least.bytes) {
            let names = self.names(&scene, &files);
            self.describe_with_rest(&scene, names, &mut least);
        }
    }

    /// Blocks that something on the disk or on its way there tells apart from blank ones, one bit each.
    pub(super) fn marked_blocks(&self, disk: &Disk) -> u16 {
        let versions = Versions::of(disk, CrashMode::Subsets);
        let images = [disk.image()];
        let mut marked = 0;
        let mut mark = |pointers: &[u8]| {
            for pointer in pointers.iter().filter(|pointer| **pointer < self.variant.blocks) {
                marked |= 1 << pointer;
            }
        };
        let places = (0..self.variant.files).map(|file| {
            let place = self.layout.inode_place(file);
            Place { offset: place.offset + 1, len: place.len - 1, ..place }
        });
        for place in places.chain((0..self.variant.blocks).map(|block| self.layout.link_place(block))) {
            versions.at(place).chain(images.iter().map(|image| place.of(image))).for_each(&mut mark);
        }
        let is_doubtful = images.into_iter().chain([disk.log().base()]).any(|image| self.may_be_deleting(image));
        for block in 0..self.variant.blocks {
            let now = self.layout.is_allocated(disk.image(), block);
            if is_doubtful || now || !self.is_free_everywhere(&versions, block) {
                marked |= 1 << block;
            }
        }
        marked
    }

    /// Whether every version calls a block free.
    fn is_free_everywhere(&self, versions: &Versions<'_>, block: u8) -> bool {
        versions.images.iter().all(|image| !self.layout.is_allocated(image, block))
            && versions.writes_to(self.layout.table().start).all(|table| self.layout.is_free(table, block))
    }

    /// Whether a file may be being deleted, with its blocks free already. One of these that the file no longer leads to
    /// still differs from a blank block: should a later write bring the chain back, the file's data would be found.
    fn may_be_deleting(&self, image: &Image) -> bool {
        let mut seen = 0u16;
        (0..self.variant.files).any(|file| {
            let inode = self.layout.inode_place(file).of(image);
            let mut pointers = inode[1..].iter().filter(|pointer| **pointer < self.variant.blocks);
            pointers.any(|pointer| {
                let is_shared = seen & 1 << pointer != 0;
                seen |= 1 << pointer;
                is_shared || inode[0] > 0 && !self.layout.is_allocated(image, *pointer)
            })
        })
    }

    /// Names for these files and all that they lead to.
    fn names<'a>(&self, scene: &'a Scene<'_>, files: &'a [u8]) -> Names<'a> {
        let mut names = Names::of(scene, files, self.variant.blocks);
        for file in files {
            let from = names.blocks.order.len();
            for inode in scene.versions.at(self.layout.inode_place(*file)) {
                inode[1..].iter().for_each(|pointer| names.blocks.meet(*pointer));
            }
            self.follow(scene, from, &mut names);
        }
        let from = names.blocks.order.len();
        for task in &names.tasks {
            block_registers(task).for_each(|block| names.blocks.meet(block));
        }
        self.follow(scene, from, &mut names);
        names
    }

    /// Goes on from the blocks that were numbered as `from` or later to those that they point to.
    fn follow(&self, scene: &Scene<'_>, mut from: usize, names: &mut Names<'_>) {
        while let Some(block) = names.blocks.order.get(from).copied() {
            from += 1;
            for links in scene.versions.at(self.layout.link_place(block)) {
                links.iter().for_each(|pointer| names.blocks.meet(*pointer));
            }
        }
    }
}

/// The least of several descriptions, at the end of some bytes.
struct Least<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Least<'a> {
    fn new(bytes: &'a mut Vec<u8>) -> Self {
        let start = bytes.len();
        Self { bytes, start }
    }

    /// One more to choose from.
    fn offer(&mut self, describe: impl FnOnce(&mut Vec<u8>)) {
        let end = self.bytes.len();
        describe(self.bytes);
        let (least, offered) = self.bytes[self.start..].split_at(end - self.start);
        if least.is_empty() {
            return;
        }
        if offered < least {
            self.bytes.drain(self.start..end);
        } else {
            self.bytes.truncate(end);
        }
    }
}
