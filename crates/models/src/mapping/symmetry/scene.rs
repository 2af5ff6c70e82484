//! What there is to describe: everything of a state that decides its future, collected once.

use check::{Target, Task, View};
use disk::{Block, CrashMode, Disk, EntryKind, Image, OpIndex};
use smallvec::SmallVec;
use vfs::{NodeKind, Tree};

use crate::mapping::{
    content::{self, FILL_MIN},
    layout::{BLOCK_BYTES, Layout, NOWHERE, Notes, Place},
};

/// A pending write.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub first: Block,
    pub data: &'a [u8],
    op: Option<OpIndex>,
}

/// Everything on or on its way to the medium that a crash may show.
pub(super) struct Versions<'a> {
    pub images: SmallVec<[&'a Image; 2]>,
    /// Oldest first.
    pub writes: SmallVec<[Write<'a>; 8]>,
}

impl<'a> Versions<'a> {
    pub fn of(disk: &'a Disk, crash: CrashMode) -> Self {
        let log = disk.log();
        let mut images: SmallVec<[&Image; 2]> = SmallVec::new();
        let mut writes = SmallVec::new();
        images.push(disk.image());
        if log.entries().next().is_some() {
            match crash {
                CrashMode::Off | CrashMode::Prefix => {}
                CrashMode::Flushed if log.cache().is_none() => images.push(log.base()),
                CrashMode::Flushed | CrashMode::Subsets | CrashMode::Torn => {
                    // What a reader sees follows from the base and the writes.
                    images[0] = log.base();
                    writes.extend(log.entries().filter_map(|(_, entry)| match &entry.kind {
                        EntryKind::Write { block, data } => Some(Write { first: *block, data, op: entry.op }),
                        _ => None,
                    }));
                }
            }
        }
        Self { images, writes }
    }

    /// What each version has at a place.
    pub fn at(&self, place: Place) -> impl Iterator<Item = &[u8]> {
        let images = self.images.iter().map(move |image| place.of(image));
        images.chain(self.writes.iter().filter_map(move |write| place.in_write(write.first, write.data)))
    }

    /// The pending writes that start at this block.
    pub fn writes_to(&self, first: u32) -> impl Iterator<Item = &[u8]> {
        self.writes.iter().filter(move |write| write.first.0 == first).map(|write| write.data)
    }
}

/// A state, seen as the canonical form needs it.
pub(super) struct Scene<'a> {
    pub versions: Versions<'a>,
    pub tasks: &'a [Task],
    returned: &'a [OpIndex],
    /// The files without a future, one bit each.
    passing: u16,
    /// What each file contains in each tree, tree by tree.
    contents: SmallVec<[Option<&'a [u8]>; 32]>,
    files: usize,
}

impl<'a> Scene<'a> {
    pub fn of<T: Target>(view: &View<'a, T>, layout: &impl Layout) -> Self {
        let files = 0..layout.files();
        let contents = view.trees.iter().flat_map(|tree| files.clone().map(|file| contents(tree, file))).collect();
        let mut scene = Self {
            versions: Versions::of(view.disk, view.crash),
            tasks: view.tasks,
            returned: view.returned,
            passing: 0,
            contents,
            files: usize::from(layout.files()),
        };
        let forgets = matches!(view.crash, CrashMode::Off | CrashMode::Prefix);
        for file in view.tasks.iter().map(Notes::of).filter(|notes| notes.has_freed()).map(|notes| notes.file) {
            let mut inodes = scene.versions.at(layout.inode_place(file));
            if forgets || inodes.all(|inode| inode[1..].iter().all(|pointer| *pointer == NOWHERE)) {
                scene.passing |= 1 << file;
            }
        }
        scene
    }

    /// The trees that a crash may go back to, oldest first: what each file contains.
    pub fn trees(&self) -> impl ExactSizeIterator<Item = &[Option<&'a [u8]>]> {
        self.contents.chunks(self.files)
    }

    /// The op under way on a file. There is one at most: it holds the file's lock.
    pub fn task_on(&self, file: u8) -> Option<&'a Task> {
        self.tasks.iter().find(|task| Notes::of(task).file == file)
    }

    /// Whether nobody will ever find again what a file contains: it is being deleted, its blocks are free already, and
    /// no version has its inode. If crash states are judged once and then forgotten, the inode may still be there: with
    /// it, a crash makes its blocks lost blocks, whatever their data.
    pub fn has_no_future(&self, file: u8) -> bool {
        self.passing & 1 << file != 0
    }

    /// The data that a file has in any tree, unless it has no future, and the data that an op is about to append to it.
    pub fn data_of(&self, file: u8) -> impl Iterator<Item = u8> {
        let trees = self.trees().filter(move |_| !self.has_no_future(file));
        let in_trees = trees.filter_map(move |tree| tree[usize::from(file)]).flat_map(block_data);
        let fills = in_trees.chain(self.task_on(file).map(|task| Notes::of(task).fill));
        fills.filter(|fill| (FILL_MIN..NOWHERE).contains(fill))
    }

    /// Which op a write belongs to: one that has returned, or one under way on one of these files.
    pub fn op_rank(&self, write: &Write<'_>, files: &[u8]) -> u8 {
        let returned = self.returned.iter().position(|returned| Some(*returned) == write.op);
        let under_way = || {
            let task = self.tasks.iter().find(|task| Some(task.index) == write.op)?;
            Some(0x80 + files.iter().position(|file| *file == Notes::of(task).file)?)
        };
        returned.or_else(under_way).and_then(|rank| u8::try_from(rank).ok()).unwrap_or(NOWHERE)
    }
}

/// One byte for each block of a file: all bytes of a block of data are the same.
pub(super) fn block_data(contents: &[u8]) -> impl Iterator<Item = u8> {
    contents.iter().step_by(BLOCK_BYTES).copied()
}

fn contents(tree: &Tree, file: u8) -> Option<&[u8]> {
    let NodeKind::Dir(names) = &tree.node(tree.root)?.kind else { return None };
    content::bytes(tree, *names.get(&content::name(file))?)
}
