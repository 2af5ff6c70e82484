//! A state as bytes, in names that are given. What the names leave out, the description leaves out.

use std::cmp::Ordering;

use check::Task;
use disk::Image;
use smallvec::SmallVec;

use super::{
    names::{Names, block_registers},
    scene::{Scene, Versions, Write, block_data},
};
use crate::mapping::{
    FileMapping,
    layout::{Layout, NOWHERE, Notes},
};

/// What is said of one thing.
pub(super) type Said = SmallVec<[u8; 32]>;

/// What a description of a write begins with: a table; otherwise the rank of a file, from 1; or data.
const TABLE: u8 = 0;
const DATA: u8 = NOWHERE;

impl<L: Layout> FileMapping<L> {
    /// Appends the description.
    pub(super) fn describe(&self, scene: &Scene<'_>, names: &Names<'_>, bytes: &mut Vec<u8>) {
        for image in &scene.versions.images {
            for file in names.files {
                describe_inode(self.layout.inode_place(*file).of(image), names, bytes);
            }
            names.blocks.order.iter().for_each(|block| self.describe_block(image, *block, names, bytes));
        }
        self.describe_writes(scene, names, bytes);
        for tree in scene.trees() {
            names.files.iter().for_each(|file| describe_contents(tree[usize::from(*file)], names, bytes));
        }
        bytes.push(u8::try_from(scene.trees().len()).unwrap_or(u8::MAX));
        names.tasks.iter().for_each(|task| describe_task(task, names, bytes));
    }

    fn describe_block(&self, image: &Image, block: u8, names: &Names<'_>, bytes: &mut impl Extend<u8>) {
        let links = self.layout.link_place(block).of(image);
        bytes.extend([u8::from(self.layout.is_allocated(image, block))]);
        bytes.extend(links.iter().map(|pointer| names.blocks.get(*pointer)));
        bytes.extend([names.data.get(self.layout.data_place(block).of(image)[0])]);
    }

    fn describe_writes(&self, scene: &Scene<'_>, names: &Names<'_>, bytes: &mut Vec<u8>) {
        let mut writes: SmallVec<[Said; 8]> = SmallVec::new();
        for write in &scene.versions.writes {
            let mut said = Said::new();
            self.describe_write(write, names, &mut said);
            // A limited cache gives its writes up in order, so that there even one that is left out counts.
            if !said.is_empty() || self.variant.cache.is_some() {
                said.push(scene.op_rank(write, names.files));
                writes.push(said);
            }
        }
        if self.variant.cache.is_none() {
            // Only the order of writes to the same place matters, which a stable sort keeps.
            writes.sort_by_key(|said| (said[0], if said[0] == DATA { said[1] } else { 0 }));
        }
        for said in writes {
            bytes.push(u8::try_from(said.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(&said);
        }
    }

    fn describe_write(&self, write: &Write<'_>, names: &Names<'_>, said: &mut Said) {
        match write.first.0.cmp(&self.layout.table().start) {
            Ordering::Less => {
                for (rank, file) in (1..).zip(names.files) {
                    if let Some(inode) = self.layout.inode_place(*file).in_write(write.first, write.data) {
                        said.push(rank);
                        describe_inode(inode, names, said);
                    }
                }
            }
            Ordering::Equal => {
                said.push(TABLE);
                names.blocks.order.iter().for_each(|block| self.describe_entry(write, *block, names, said));
            }
            Ordering::Greater => {
                let written = (0..).zip(&names.blocks.order).find(|(_, block)| self.is_data_of(write, **block));
                if let Some((number, _)) = written {
                    said.extend([DATA, number]);
                    describe_data(write, names, said);
                }
            }
        }
    }

    /// What a written table says of a block.
    fn describe_entry(&self, write: &Write<'_>, block: u8, names: &Names<'_>, said: &mut Said) {
        said.push(u8::from(self.layout.is_free(write.data, block)));
        let links = self.layout.link_place(block).in_write(write.first, write.data);
        said.extend(links.into_iter().flatten().map(|pointer| names.blocks.get(*pointer)));
    }

    fn is_data_of(&self, write: &Write<'_>, block: u8) -> bool {
        self.layout.data_block(block) == write.first
    }

    /// All that a description says of a block, but for its number.
    pub(super) fn describe_alone(&self, scene: &Scene<'_>, names: &Names<'_>, block: u8) -> Said {
        let mut said = Said::new();
        let Versions { images, writes } = &scene.versions;
        images.iter().for_each(|image| self.describe_block(image, block, names, &mut said));
        let tables = writes.iter().filter(|write| write.first.0 == self.layout.table().start);
        tables.for_each(|write| self.describe_entry(write, block, names, &mut said));
        for (position, write) in (0..).zip(writes).filter(|(_, write)| self.is_data_of(write, block)) {
            said.push(if self.variant.cache.is_some() { position } else { 0 });
            describe_data(write, names, &mut said);
            said.push(scene.op_rank(write, names.files));
        }
        said
    }
}

fn describe_inode(inode: &[u8], names: &Names<'_>, bytes: &mut impl Extend<u8>) {
    bytes.extend([inode[0]]);
    bytes.extend(inode[1..].iter().map(|pointer| names.blocks.get(*pointer)));
}

fn describe_data(write: &Write<'_>, names: &Names<'_>, said: &mut Said) {
    said.push(names.data.get(write.data[0]));
    said.extend(write.data.iter().map(|pointer| names.blocks.get(*pointer)));
}

fn describe_contents(contents: Option<&[u8]>, names: &Names<'_>, bytes: &mut Vec<u8>) {
    match contents {
        None => bytes.push(NOWHERE),
        Some(contents) => {
            bytes.push(u8::try_from(contents.len()).unwrap_or(NOWHERE));
            bytes.extend(block_data(contents).map(|fill| names.data.get(fill)));
        }
    }
}

fn describe_task(task: &Task, names: &Names<'_>, bytes: &mut Vec<u8>) {
    let notes = Notes::of(task);
    bytes.extend([task.pc, notes.kind, names.rank(notes.file), notes.len, names.data.get(notes.fill)]);
    bytes.extend(block_registers(task).map(|block| names.blocks.get(block)));
}
