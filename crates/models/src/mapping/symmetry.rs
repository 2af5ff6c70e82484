//! Which states of a file-mapping model are the same state.
//!
//! Nothing in a model depends on which of two blank blocks it takes, on which file is which (beyond which inodes
//! share a block), on which of two tasks is which, or on what data is, beyond whether it is what was last written.
//! So files are ordered by what they look like, blocks are numbered in the order in which a walk from the files meets
//! them, data is numbered in the order in which the trees mention it, and data that no tree mentions is all alike.
//!
//! A numbering that fails to bring two equivalent states together costs time, never soundness: the bytes always
//! describe a state that differs from the real one by a renaming only.

use check::{Target, Task, View};
use disk::{Block, CrashMode, Disk, EntryKind, Image};
use smallvec::SmallVec;
use vfs::{NodeKind, Tree};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    FileMapping,
    content::{self, FILL_MIN},
    layout::{Layout, NOWHERE, Notes, Place},
};

/// Everything on or on its way to the medium that a crash may show.
struct Versions<'a> {
    images: SmallVec<[&'a Image; 2]>,
    /// Pending writes.
    writes: SmallVec<[PendingWrite<'a>; 8]>,
}

/// Where a pending write goes, what it writes, and the op that made it.
type PendingWrite<'a> = (Block, &'a [u8], Option<disk::OpIndex>);

impl<'a> Versions<'a> {
    fn of(disk: &'a Disk, crash: CrashMode) -> Self {
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
                        EntryKind::Write { block, data } => Some((*block, &**data, entry.op)),
                        _ => None,
                    }));
                }
            }
        }
        Self { images, writes }
    }

    /// Whether a file is being deleted and its blocks are free already, with its inode still there. Should the power be
    /// cut now, that is a lost block, whatever its data; and if not, nobody will read it again.
    fn has_no_future(&self, file: u8, tasks: &[&Task]) -> bool {
        let freed = |task: &&Task| Notes::of(task).file == file && Notes::of(task).has_freed();
        self.writes.is_empty() && self.images.len() == 1 && tasks.iter().any(freed)
    }

    /// What each version has at a place.
    fn at(&self, place: Place) -> impl Iterator<Item = &[u8]> {
        let images = self.images.iter().map(move |image| place.of(image));
        images.chain(self.writes.iter().filter_map(move |(first, data, _)| place.in_write(*first, data)))
    }
}

/// What can be seen of one file.
struct Looks {
    /// Equal for files that look alike.
    hash: u64,
    /// Whether a block of it holds data of another file.
    foreign: bool,
    /// The blocks that it leads to, one bit each.
    reach: u16,
}

/// Every order of `items`, which are sorted by `key`, that keeps them sorted.
fn tied_orders<T: Clone, K: PartialEq>(items: &[T], key: impl Fn(&T) -> K + Copy) -> Vec<SmallVec<[T; 8]>>
where
    [T; 8]: smallvec::Array<Item = T>,
{
    let Some(first) = items.first() else { return vec![SmallVec::new()] };
    let tied = items.iter().take_while(|item| key(item) == key(first)).count();
    let mut orders = Vec::new();
    for at in 0..tied {
        let mut rest = items.to_vec();
        let chosen = rest.remove(at);
        for tail in tied_orders(&rest, key) {
            orders.push(std::iter::once(chosen.clone()).chain(tail).collect());
        }
    }
    orders
}

/// New numbers for blocks.
struct Numbering {
    of: [u8; 16],
    order: SmallVec<[u8; 16]>,
    blocks: u8,
}

impl Numbering {
    fn new(blocks: u8) -> Self {
        Self { of: [NOWHERE; 16], order: SmallVec::new(), blocks }
    }

    /// The new number of what a pointer leads to; numbers it if it is new.
    fn number(&mut self, pointer: u8) -> u8 {
        if pointer >= self.blocks {
            return NOWHERE;
        }
        let number = &mut self.of[usize::from(pointer)];
        if *number == NOWHERE {
            *number = u8::try_from(self.order.len()).expect("at most sixteen");
            self.order.push(pointer);
        }
        *number
    }

    /// Numbers a block if it is new.
    fn meet(&mut self, pointer: u8) {
        self.number(pointer);
    }

    /// The new number of what a pointer leads to, if it has one.
    fn get(&self, pointer: u8) -> u8 {
        if pointer < self.blocks { self.of[usize::from(pointer)] } else { NOWHERE }
    }
}

/// What data means: which byte of which file of which tree it is, by a number; `NOWHERE` if it is none of these.
struct Meanings([u8; 256]);

impl Meanings {
    /// Numbers the data of the trees and of the ops under way, files in this order. Data of a file without a future
    /// has no meaning.
    fn new(trees: &[&Tree], files: &[u8], tasks: &[&Task], versions: &Versions<'_>) -> Self {
        let mut meanings = Self([NOWHERE; 256]);
        let mut next = FILL_MIN;
        for tree in trees {
            for file in files.iter().filter(|file| !versions.has_no_future(**file, tasks)) {
                let content = contents(tree, *file).unwrap_or_default();
                content.iter().for_each(|byte| meanings.number(*byte, &mut next));
            }
        }
        tasks.iter().for_each(|task| meanings.number(Notes::of(task).fill, &mut next));
        meanings
    }

    fn number(&mut self, fill: u8, next: &mut u8) {
        if fill >= FILL_MIN && fill != NOWHERE && self.0[usize::from(fill)] == NOWHERE {
            self.0[usize::from(fill)] = *next;
            *next += 1;
        }
    }

    fn of(&self, fill: u8) -> u8 {
        self.0[usize::from(fill)]
    }
}

fn contents(tree: &Tree, file: u8) -> Option<&[u8]> {
    let NodeKind::Dir(names) = &tree.node(tree.root)?.kind else { return None };
    content::bytes(tree, *names.get(&content::name(file))?)
}

impl<L: Layout> FileMapping<L> {
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
        for block in 0..self.variant.blocks {
            let states = versions.images.iter().chain(&images).map(|image| self.layout.is_allocated(image, block));
            let written = self.tables(&versions).map(|table| self.layout.is_free(table, block));
            if states.chain(written.map(|free| !free)).any(|allocated| allocated) {
                marked |= 1 << block;
            }
        }
        marked
    }

    /// The allocation tables among the pending writes.
    fn tables<'a>(&self, versions: &'a Versions<'_>) -> impl Iterator<Item = &'a [u8]> {
        let start = self.layout.table().start;
        versions.writes.iter().filter(move |(first, ..)| first.0 == start).map(|(_, data, _)| *data)
    }

    /// See [`check::Target::canonical`].
    pub(super) fn canonical_bytes(&self, view: &View<'_, Self>, bytes: &mut Vec<u8>) {
        let versions = Versions::of(view.disk, view.crash);
        let orders = self.file_orders(view, &versions);
        let start = bytes.len();
        for (number, files) in orders.iter().enumerate() {
            let from = bytes.len();
            self.describe(view, &versions, files, bytes);
            if number > 0 {
                // Keep the smaller of the two descriptions.
                let (best, this) = bytes[start..].split_at(from - start);
                if this < best {
                    bytes.drain(start..from);
                } else {
                    bytes.truncate(from);
                }
            }
        }
    }

    /// Describes the state with the files in this order.
    fn describe(&self, view: &View<'_, Self>, versions: &Versions<'_>, files: &[u8], bytes: &mut Vec<u8>) {
        let mut tasks: SmallVec<[&Task; 2]> = view.tasks.iter().collect();
        tasks.sort_by_key(|task| files.iter().position(|file| *file == Notes::of(task).file));
        let meanings = Meanings::new(view.trees, files, &tasks, versions);

        let mut numbering = Numbering::new(self.variant.blocks);
        for file in files {
            self.walk(versions, *file, &mut numbering, &mut |_| {}, &meanings);
        }
        for task in &tasks {
            block_registers(task).for_each(|block| numbering.meet(block));
        }
        self.follow(versions, 0, &mut numbering, &mut |_| {}, &meanings);
        let reached = numbering.order.len();
        self.number_the_rest(versions, &mut numbering, &meanings);
        let rest = numbering.order[reached..].iter().copied();
        let blank: SmallVec<[u8; 16]> = rest.filter(|block| self.is_free_everywhere(versions, *block)).collect();

        for image in &versions.images {
            self.emit_image(image, files, &numbering, &blank, &meanings, bytes);
        }
        self.emit_writes(view, versions, files, &numbering, &meanings, bytes);
        emit_trees(view.trees, files, &meanings, bytes);
        bytes.push(u8::try_from(view.trees.len()).unwrap_or(u8::MAX));
        for task in tasks {
            emit_task(task, files, &numbering, &meanings, bytes);
        }
    }

    /// The orders of the files by what they look like, those that share an inode block together. There are several
    /// only where files that look alike are entangled with others, so that it matters which of them comes first.
    fn file_orders(&self, view: &View<'_, Self>, versions: &Versions<'_>) -> Vec<SmallVec<[u8; 8]>> {
        let all: SmallVec<[u8; 8]> = (0..self.variant.files).collect();
        let tasks: SmallVec<[&Task; 2]> = view.tasks.iter().collect();
        let known = Meanings::new(view.trees, &all, &tasks, versions);
        let looks: SmallVec<[Looks; 8]> = all.iter().map(|file| self.looks(view, versions, *file, &known)).collect();
        let look = |file: &u8| looks[usize::from(*file)].hash;
        let entangled = |file: &u8| {
            let this = &looks[usize::from(*file)];
            this.foreign || all.iter().any(|other| other != file && looks[usize::from(*other)].reach & this.reach != 0)
        };
        let matters = all
            .iter()
            .any(|file| entangled(file) && all.iter().any(|other| other != file && look(other) == look(file)));

        let size = usize::from(self.layout.inodes_per_block());
        let mut groups: Vec<SmallVec<[u8; 8]>> = all.chunks(size).map(SmallVec::from_slice).collect();
        groups.iter_mut().for_each(|group| group.sort_by_key(look));
        // A last block that is not full stays last: it is told apart by what it lacks.
        let full = all.len() / size;
        let key = |group: &SmallVec<[u8; 8]>| group.iter().map(look).collect::<SmallVec<[u64; 2]>>();
        groups[..full].sort_by_key(key);
        if !matters {
            return vec![groups.into_iter().flatten().collect()];
        }
        let within = groups.iter().fold(vec![Vec::new()], |so_far: Vec<Vec<SmallVec<[u8; 8]>>>, group| {
            let ways = tied_orders(group, |file| look(file));
            so_far.iter().flat_map(|done| ways.iter().map(|way| [done.clone(), vec![way.clone()]].concat())).collect()
        });
        let ordered = within.into_iter().flat_map(|groups| {
            let (full, rest) = groups.split_at(full);
            let rest: SmallVec<[u8; 8]> = rest.iter().flatten().copied().collect();
            let orders = tied_orders(full, key).into_iter();
            orders.map(move |order| order.into_iter().flatten().chain(rest.clone()).collect()).collect::<Vec<_>>()
        });
        ordered.collect()
    }

    /// What a file looks like, independent of its number and of the numbers of its blocks.
    fn looks(&self, view: &View<'_, Self>, versions: &Versions<'_>, file: u8, known: &Meanings) -> Looks {
        let tasks: SmallVec<[&Task; 2]> = view.tasks.iter().filter(|task| Notes::of(task).file == file).collect();
        // Data of this file has a meaning of its own; all other data is alike.
        let meanings = Meanings::new(view.trees, &[file], &tasks, versions);
        let mut numbering = Numbering::new(self.variant.blocks);
        let mut seen: SmallVec<[u8; 128]> = SmallVec::new();
        self.walk(versions, file, &mut numbering, &mut |byte| seen.push(byte), &meanings);
        for task in &tasks {
            seen.extend([task.pc, Notes::of(task).kind, Notes::of(task).len]);
            block_registers(task).for_each(|block| seen.push(numbering.number(block)));
            self.follow(versions, 0, &mut numbering, &mut |byte| seen.push(byte), &meanings);
        }
        for tree in view.trees {
            let content = contents(tree, file);
            seen.push(content.map_or(NOWHERE, |content| u8::try_from(content.len()).unwrap_or(NOWHERE)));
        }
        let mut data = numbering.order.iter().flat_map(|block| versions.at(self.layout.data_place(*block)).flatten());
        Looks {
            hash: xxh3_64(&seen),
            foreign: data.any(|byte| known.of(*byte) != NOWHERE && meanings.of(*byte) == NOWHERE),
            reach: numbering.order.iter().fold(0, |bits, block| bits | 1 << block),
        }
    }

    /// Numbers the blocks of a file in the order in which they are met, and says what is met.
    fn walk(
        &self,
        versions: &Versions<'_>,
        file: u8,
        numbering: &mut Numbering,
        say: &mut dyn FnMut(u8),
        meanings: &Meanings,
    ) {
        let from = numbering.order.len();
        for inode in versions.at(self.layout.inode_place(file)) {
            say(inode[0]);
            inode[1..].iter().for_each(|pointer| say(numbering.number(*pointer)));
        }
        self.follow(versions, from, numbering, say, meanings);
    }

    /// Goes on from the blocks that were numbered as `from` or later to those that they point to.
    fn follow(
        &self,
        versions: &Versions<'_>,
        mut from: usize,
        numbering: &mut Numbering,
        say: &mut dyn FnMut(u8),
        meanings: &Meanings,
    ) {
        while let Some(block) = numbering.order.get(from).copied() {
            from += 1;
            for image in &versions.images {
                say(u8::from(self.layout.is_allocated(image, block)));
                self.layout.data_place(block).of(image).iter().for_each(|byte| say(meanings.of(*byte)));
            }
            for links in versions.at(self.layout.link_place(block)) {
                links.iter().for_each(|pointer| say(numbering.number(*pointer)));
            }
        }
    }

    /// Whether every version calls a block free. If nothing leads to it either, its data is junk: whoever is led to
    /// it next finds old data, which is as wrong as any other, until new data is written.
    fn is_free_everywhere(&self, versions: &Versions<'_>, block: u8) -> bool {
        versions.images.iter().all(|image| !self.layout.is_allocated(image, block))
            && self.tables(versions).all(|table| self.layout.is_free(table, block))
    }

    /// Blocks that no file or op leads to, by what can be seen of them.
    fn number_the_rest(&self, versions: &Versions<'_>, numbering: &mut Numbering, meanings: &Meanings) {
        let mut rest: SmallVec<[(SmallVec<[u8; 32]>, u8); 16]> = SmallVec::new();
        for block in (0..self.variant.blocks).filter(|block| numbering.get(*block) == NOWHERE) {
            let mut seen: SmallVec<[u8; 32]> = SmallVec::new();
            seen.extend(versions.images.iter().map(|image| u8::from(self.layout.is_allocated(image, block))));
            seen.extend(self.tables(versions).map(|table| u8::from(self.layout.is_free(table, block))));
            let links = versions.at(self.layout.link_place(block)).flatten();
            seen.extend(links.map(|pointer| numbering.get(*pointer)));
            if !self.is_free_everywhere(versions, block) {
                let data = versions.at(self.layout.data_place(block)).flatten();
                seen.extend(data.map(|byte| meanings.of(*byte)));
            }
            rest.push((seen, block));
        }
        rest.sort();
        rest.iter().for_each(|(_, block)| numbering.meet(*block));
    }

    fn emit_image(
        &self,
        image: &Image,
        files: &[u8],
        numbering: &Numbering,
        blank: &[u8],
        meanings: &Meanings,
        bytes: &mut Vec<u8>,
    ) {
        for file in files {
            emit_inode(self.layout.inode_place(*file).of(image), numbering, bytes);
        }
        for block in &numbering.order {
            let links = self.layout.link_place(*block).of(image);
            bytes.push(u8::from(self.layout.is_allocated(image, *block)));
            bytes.extend(links.iter().map(|pointer| numbering.get(*pointer)));
            let data = self.layout.data_place(*block).of(image)[0];
            bytes.push(if blank.contains(block) { NOWHERE } else { meanings.of(data) });
        }
    }

    fn emit_writes(
        &self,
        view: &View<'_, Self>,
        versions: &Versions<'_>,
        files: &[u8],
        numbering: &Numbering,
        meanings: &Meanings,
        bytes: &mut Vec<u8>,
    ) {
        let mut writes: SmallVec<[SmallVec<[u8; 32]>; 8]> = SmallVec::new();
        for (first, data, op) in &versions.writes {
            let mut said: SmallVec<[u8; 32]> = SmallVec::new();
            if *first == Block(self.layout.table().start) {
                said.push(0);
                for block in &numbering.order {
                    said.push(u8::from(self.layout.is_free(data, *block)));
                    let links = self.layout.link_place(*block).in_write(*first, data);
                    said.extend(links.into_iter().flatten().map(|pointer| numbering.get(*pointer)));
                }
            } else if first.0 < self.layout.table().start {
                for (rank, file) in (1..).zip(files) {
                    if let Some(inode) = self.layout.inode_place(*file).in_write(*first, data) {
                        let mut relabelled = Vec::new();
                        emit_inode(inode, numbering, &mut relabelled);
                        said.push(rank);
                        said.extend_from_slice(&relabelled);
                    }
                }
            } else {
                let block = (0..self.variant.blocks).find(|block| self.layout.data_block(*block) == *first);
                said.extend([NOWHERE, block.map_or(NOWHERE, |block| numbering.get(block)), meanings.of(data[0])]);
                said.extend(data.iter().map(|pointer| numbering.get(*pointer)));
            }
            said.push(op_rank(view, files, *op));
            writes.push(said);
        }
        if self.variant.cache.is_none() {
            // Without a limited cache only the order of writes to the same place matters, which a stable sort keeps.
            writes.sort_by_key(|said| (said[0], if said[0] == NOWHERE { said[1] } else { 0 }));
        }
        for said in writes {
            bytes.push(u8::try_from(said.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(&said);
        }
    }
}

/// Which op a write belongs to: one that has returned, or one under way.
fn op_rank<T: Target>(view: &View<'_, T>, files: &[u8], op: Option<disk::OpIndex>) -> u8 {
    let returned = view.returned.iter().position(|returned| Some(*returned) == op);
    let under_way = || {
        let task = view.tasks.iter().find(|task| Some(task.index) == op)?;
        Some(0x80 + files.iter().position(|file| *file == Notes::of(task).file)?)
    };
    returned.or_else(under_way).and_then(|rank| u8::try_from(rank).ok()).unwrap_or(NOWHERE)
}

fn emit_inode(inode: &[u8], numbering: &Numbering, bytes: &mut Vec<u8>) {
    bytes.push(inode[0]);
    bytes.extend(inode[1..].iter().map(|pointer| numbering.get(*pointer)));
}

fn emit_trees(trees: &[&Tree], files: &[u8], meanings: &Meanings, bytes: &mut Vec<u8>) {
    for tree in trees {
        for file in files {
            match contents(tree, *file) {
                None => bytes.push(NOWHERE),
                Some(content) => {
                    bytes.push(u8::try_from(content.len()).unwrap_or(NOWHERE));
                    bytes.extend(content.iter().step_by(super::BLOCK_BYTES).map(|byte| meanings.of(*byte)));
                }
            }
        }
    }
}

fn emit_task(task: &Task, files: &[u8], numbering: &Numbering, meanings: &Meanings, bytes: &mut Vec<u8>) {
    let notes = Notes::of(task);
    let file = files.iter().position(|file| *file == notes.file);
    let rank = file.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(NOWHERE);
    bytes.extend([task.pc, notes.kind, rank, notes.len, meanings.of(notes.fill)]);
    bytes.extend(block_registers(task).map(|block| numbering.get(block)));
}

/// The registers that hold block numbers.
fn block_registers(task: &Task) -> impl Iterator<Item = u8> {
    let notes = Notes::of(task);
    [notes.fresh, notes.fresh_indirect, notes.first, notes.indirect, notes.second].into_iter().chain(notes.listed)
}
