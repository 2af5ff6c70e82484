//! The object-based generator: every valid op on every object that exists, and new objects up to the bounds.
//!
//! An object is a node, not a name: what changes a file's contents or attributes is proposed once, by the file's
//! first name, however many names it has; what changes names is proposed for each name. Ops are those that root may do.
//! Left out are ops that change nothing: a rename onto itself, the size or mode that a file already has.
//!
//! **Fills.** A write stores the smallest byte value that occurs in no file yet. A file system treats all contents
//! alike (data independence), so which bytes are written is of no matter as long as two writes can be told apart: a
//! fresh value makes every lost, stale or misplaced block visible, and the smallest one keeps the number of
//! different states finite.

use std::{collections::BTreeSet, num::NonZeroU64, sync::Arc};

use super::{OpSet, relocate};
use crate::{
    Data, Entries, Fallocate, Fd, File, Node, NodeKind, Op, OpKind, OpenFlags, Path, Rename, Tree, WriteAt, WriteVia,
    open::{OpenFile, OpenFiles},
    shape::names_said,
};

const FILE_MODES: [u32; 2] = [0o644, 0o600];
const DIR_MODES: [u32; 2] = [0o755, 0o700];
/// `chown` moves a file between root and this user.
const OTHER_UID: u32 = 1;
const XATTR_NAME: &str = "user.a";
const XATTR_LEN: u64 = 4;

/// Where writes are proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePlaces {
    /// One block at every multiple of the block size, holes included, and at the end of a file that ends within one.
    Blocks,
    /// One block at the end.
    End,
}

/// How far the object-based generator goes.
#[derive(Clone, Debug)]
pub struct ObjectBounds {
    /// The kinds of ops.
    pub ops: OpSet,
    /// Names of files and symlinks, in all directories together.
    pub files_max: usize,
    /// Directories, without the root.
    pub dirs_max: usize,
    /// Components of a path.
    pub depth_max: usize,
    /// Bytes in a file.
    pub size_max: u64,
    /// Bytes in a write; sizes and offsets are multiples of it, but for a truncation to half of it and what follows.
    /// Direct writes need a multiple of the target's sector size, and collapsing and inserting ranges one of its block
    /// size, or they fail.
    pub block: NonZeroU64,
    /// Names for new objects; a directory takes the first that is free in it, and those that a symlink says.
    pub names: Vec<Arc<str>>,
    /// Slots for open files.
    pub slots_max: u8,
    /// The ways in which files are opened.
    pub open_flags: Vec<OpenFlags>,
    /// Where writes go.
    pub write_places: WritePlaces,
    /// The ways that writes take.
    pub write_via: Vec<WriteVia>,
    /// The modes of `fallocate`.
    pub fallocate: Vec<Fallocate>,
    /// The modes of `rename`.
    pub rename: Vec<Rename>,
}

impl Default for ObjectBounds {
    fn default() -> Self {
        Self {
            ops: OpSet::DEFAULT,
            files_max: 2,
            dirs_max: 1,
            depth_max: 2,
            size_max: 8192,
            block: NonZeroU64::new(4096).unwrap_or(NonZeroU64::MIN),
            names: ["a", "b", "c", "d"].map(Arc::from).to_vec(),
            slots_max: 1,
            open_flags: vec![OpenFlags::RDWR],
            write_places: WritePlaces::Blocks,
            write_via: vec![WriteVia::Buffered],
            fallocate: Fallocate::ALL.to_vec(),
            rename: vec![Rename::Replace],
        }
    }
}

impl ObjectBounds {
    /// The same with at least so many names: if there are fewer, the shortest that are made of letters join them.
    #[must_use]
    pub fn with_names(mut self, names_min: usize) -> Self {
        let letters = || (b'a'..=b'z').map(char::from);
        let pairs = letters().flat_map(|first| letters().map(move |second| format!("{first}{second}")));
        for name in letters().map(String::from).chain(pairs) {
            if self.names.len() >= names_min {
                break;
            }
            if !self.names.iter().any(|known| **known == *name) {
                self.names.push(name.into());
            }
        }
        self
    }
}

/// Every op that the bounds allow and that succeeds on a file system with this tree and these open files.
pub fn object_ops(tree: &Tree, open: &OpenFiles, bounds: &ObjectBounds) -> Vec<Op> {
    let mut generator = Generator::new(tree, open, bounds);
    for index in 0..generator.names.len() {
        generator.node_ops(index);
        generator.name_ops(index);
    }
    for (fd, file) in open {
        generator.slot_ops(*fd, *file);
    }
    for op in [Op::Sync, Op::Syncfs, Op::Remount, Op::Crash] {
        generator.propose(op);
    }
    generator.ops
}

/// One name, with what it leads to.
pub(super) struct Named<'a> {
    pub(super) path: Path,
    pub(super) node: &'a Node,
    /// Components of its path.
    pub(super) depth: usize,
    /// Whether it is the first name of its node.
    first: bool,
    /// For a directory: the paths at which something new may stand.
    pub(super) vacancies: Vec<Path>,
    /// For a directory: the free names that no symlink says.
    free: Vec<Arc<str>>,
}

/// What an open file allows.
#[derive(Clone, Copy)]
struct Access {
    reads: bool,
    writes: bool,
    appends: bool,
}

pub(super) struct Generator<'a> {
    tree: &'a Tree,
    open: &'a OpenFiles,
    pub(super) bounds: &'a ObjectBounds,
    pub(super) names: Vec<Named<'a>>,
    file_names: usize,
    dirs: usize,
    data_fill: u8,
    xattr_fill: u8,
    ops: Vec<Op>,
}

impl<'a> Generator<'a> {
    fn new(tree: &'a Tree, open: &'a OpenFiles, bounds: &'a ObjectBounds) -> Self {
        let names = names(tree, bounds);
        let contents = tree.nodes.values().filter_map(|node| match &node.kind {
            NodeKind::File(bytes) if bounds.ops.contains(OpKind::Write) => Some(&**bytes),
            _ => None,
        });
        let values = tree.nodes.values().flat_map(|node| node.xattrs.values().map(|value| &**value));
        Self {
            data_fill: fresh_fill(contents),
            xattr_fill: fresh_fill(values),
            file_names: names.iter().filter(|named| !named.node.is_dir()).count(),
            dirs: names.iter().filter(|named| named.node.is_dir() && named.depth > 0).count(),
            ops: Vec::new(),
            tree,
            open,
            bounds,
            names,
        }
    }

    pub(super) fn propose(&mut self, op: Op) {
        if self.bounds.ops.contains(op.kind()) {
            self.ops.push(op);
        }
    }

    pub(super) fn room_for_file(&self) -> bool {
        self.file_names < self.bounds.files_max
    }

    /// What is done to the node rather than to a name of it.
    fn node_ops(&mut self, index: usize) {
        let named = &self.names[index];
        let (path, node) = (named.path.clone(), named.node);
        if !named.first {
            return;
        }
        match &node.kind {
            NodeKind::File(bytes) => {
                let access = Access { reads: true, writes: true, appends: false };
                self.open_ops(&path, false);
                self.content_ops(&File::Path(path.clone()), bytes.len() as u64, access);
                self.attribute_ops(&path, node, FILE_MODES);
            }
            NodeKind::Dir(_) => {
                self.open_ops(&path, true);
                self.new_object_ops(index);
                self.attribute_ops(&path, node, DIR_MODES);
                self.propose(Op::Fsync { file: File::Path(path) });
            }
            NodeKind::Symlink(_) | NodeKind::Special(_) => {}
        }
    }

    fn new_object_ops(&mut self, index: usize) {
        for path in self.names[index].vacancies.clone() {
            if self.room_for_file() {
                self.propose(Op::Create { path: path.clone(), mode: FILE_MODES[0] });
                self.symlink_ops(index, &path);
                let flags = self.bounds.open_flags.iter().filter(|flags| flags.contains(OpenFlags::CREAT));
                if let Some(fd) = self.free_slot() {
                    for flags in flags.filter(|flags| !flags.contains(OpenFlags::DIRECTORY)) {
                        self.propose(Op::Open { path: path.clone(), flags: *flags, mode: FILE_MODES[0], fd });
                    }
                }
            }
            if self.dirs < self.bounds.dirs_max {
                self.propose(Op::Mkdir { path, mode: DIR_MODES[0] });
            }
        }
    }

    /// Symlinks to everything in the same directory, and one to a name that is still free.
    fn symlink_ops(&mut self, index: usize, path: &Path) {
        let Named { path: dir, node, free, .. } = &self.names[index];
        let dangling = free.iter().find(|name| dir.join(name) != *path);
        let targets = node.entries().into_iter().flat_map(|entries| entries.keys()).chain(dangling);
        for target in targets.cloned().collect::<Vec<_>>() {
            self.propose(Op::Symlink { target, path: path.clone() });
        }
    }

    fn open_ops(&mut self, path: &Path, is_dir: bool) {
        let Some(fd) = self.free_slot() else { return };
        for flags in &self.bounds.open_flags {
            let creates = flags.contains(OpenFlags::CREAT);
            let fits = if is_dir {
                !creates && !flags.writes() && !flags.contains(OpenFlags::TRUNC)
            } else {
                let exclusive = creates && flags.contains(OpenFlags::EXCL);
                !exclusive && !flags.contains(OpenFlags::DIRECTORY)
            };
            if fits {
                let mode = if creates { FILE_MODES[0] } else { 0 };
                self.propose(Op::Open { path: path.clone(), flags: *flags, mode, fd });
            }
        }
    }

    fn free_slot(&self) -> Option<Fd> {
        (0..self.bounds.slots_max).map(Fd).find(|fd| !self.open.contains_key(fd))
    }

    /// What is done to the bytes of a file of this size.
    fn content_ops(&mut self, file: &File, size: u64, access: Access) {
        let (block, size_max) = (self.bounds.block.get(), self.bounds.size_max);
        let file = || file.clone();
        if access.reads {
            self.propose(Op::Read { file: file(), offset: 0, len: size.max(block) });
        }
        if access.writes {
            self.write_ops(&file(), size, access);
            // Half a block: what is left behind the end of a file must never be seen when it grows again.
            let sizes = (0..=size_max / block).map(|blocks| blocks * block).chain(half(block));
            for size in sizes.filter(|new| *new != size && *new <= size_max) {
                self.propose(Op::Truncate { file: file(), size });
            }
            for how in &self.bounds.fallocate {
                for offset in (0..size_max / block).map(|index| index * block) {
                    if fallocate_succeeds(*how, offset, block, size, size_max) {
                        self.propose(Op::Fallocate { file: file(), how: *how, offset, len: block });
                    }
                }
            }
        }
        self.propose(Op::Fsync { file: file() });
        self.propose(Op::Fdatasync { file: file() });
        if access.reads && size > 0 {
            self.propose(Op::Msync { file: file(), offset: 0, len: size });
        }
    }

    fn write_ops(&mut self, file: &File, size: u64, access: Access) {
        let (block, size_max) = (self.bounds.block.get(), self.bounds.size_max);
        let data = Data { len: block, fill: self.data_fill };
        let places: Vec<WriteAt> = if access.appends || self.bounds.write_places == WritePlaces::End {
            (size + block <= size_max).then_some(WriteAt::End).into_iter().collect()
        } else {
            let blocks = (0..size_max / block).map(|index| WriteAt::Offset(index * block));
            let ends_within_a_block = !size.is_multiple_of(block) && size + block <= size_max;
            blocks.chain(ends_within_a_block.then_some(WriteAt::End)).collect()
        };
        for via in &self.bounds.write_via {
            // A shared mapping for writing needs a file that can be read too.
            if *via != WriteVia::Mmap || access.reads {
                // A direct write begins at a whole sector.
                let fits = |at: &&WriteAt| *via != WriteVia::Direct || access.appends || **at != WriteAt::End;
                for at in places.iter().filter(fits) {
                    self.propose(Op::Write { file: file.clone(), at: *at, data, via: *via });
                }
            }
        }
    }

    fn attribute_ops(&mut self, path: &Path, node: &Node, modes: [u32; 2]) {
        for mode in modes.into_iter().filter(|mode| *mode != node.mode) {
            self.propose(Op::Chmod { path: path.clone(), mode });
        }
        let uid = if node.uid == OTHER_UID { 0 } else { OTHER_UID };
        self.propose(Op::Chown { path: path.clone(), uid: Some(uid), gid: None });
        let value = Data { len: XATTR_LEN, fill: self.xattr_fill };
        self.propose(Op::Setxattr { path: path.clone(), name: XATTR_NAME.into(), value });
        for name in node.xattrs.keys() {
            self.propose(Op::Removexattr { path: path.clone(), name: name.clone() });
        }
    }

    /// What is done to the name.
    fn name_ops(&mut self, index: usize) {
        let named = &self.names[index];
        if named.depth == 0 {
            return;
        }
        let path = named.path.clone();
        match named.node.entries() {
            Some(entries) if entries.is_empty() => self.propose(Op::Rmdir { path }),
            Some(_) => {}
            None => self.propose(Op::Unlink { path }),
        }
        relocate::rename_ops(self, index);
        if named_first_of_file(&self.names[index]) {
            relocate::link_ops(self, index);
        }
    }

    fn slot_ops(&mut self, fd: Fd, OpenFile { node, flags }: OpenFile) {
        self.propose(Op::Close { fd });
        let access =
            Access { reads: flags.reads(), writes: flags.writes(), appends: flags.contains(OpenFlags::APPEND) };
        match self.tree.node(node).map(|node| &node.kind) {
            Some(NodeKind::File(bytes)) => self.content_ops(&File::Fd(fd), bytes.len() as u64, access),
            Some(NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_)) => {
                self.propose(Op::Fsync { file: File::Fd(fd) });
            }
            // Its size is not in the tree. The first block exists within any bounds, except through an append.
            None => {
                if access.writes && !access.appends {
                    let data = Data { len: self.bounds.block.get(), fill: self.data_fill };
                    let (file, at) = (File::Fd(fd), WriteAt::Offset(0));
                    self.propose(Op::Write { file, at, data, via: WriteVia::Buffered });
                }
                self.propose(Op::Fsync { file: File::Fd(fd) });
            }
        }
    }
}

fn named_first_of_file(named: &Named<'_>) -> bool {
    named.first && !named.node.is_dir()
}

/// Every name that leads somewhere, each directory before what is in it.
///
/// New objects take the first free name, since one is as good as another. But a name that some symlink says is not like
/// others: what is made there becomes the symlink's target. So each of these that is free is proposed as well.
fn names<'a>(tree: &'a Tree, bounds: &ObjectBounds) -> Vec<Named<'a>> {
    let said = names_said(tree);
    let mut seen = BTreeSet::new();
    let paths = tree.paths().into_iter();
    let named = paths.filter_map(|(path, id)| {
        let node = tree.node(id)?;
        let depth = path.as_str().split('/').filter(|component| !component.is_empty()).count();
        let entries = node.entries().filter(|_| depth < bounds.depth_max);
        let free = |entries: &'a Entries| bounds.names.iter().filter(|name| !entries.contains_key(name));
        let (special, free): (Vec<_>, Vec<_>) =
            entries.into_iter().flat_map(free).cloned().partition(|name| said.contains(name));
        let vacancies = free.iter().take(1).chain(&special).map(|name| path.join(name)).collect();
        Some(Named { path, node, depth, first: seen.insert(id), vacancies, free })
    });
    named.collect()
}

/// Half of so many bytes, if that is anything.
fn half(bytes: u64) -> Option<u64> {
    Some(bytes / 2).filter(|half| *half > 0)
}

/// The smallest value from 1 that occurs in none of these. With all 255 in use, writes are no longer distinct, and
/// 1 is as good as any.
fn fresh_fill<'a>(contents: impl Iterator<Item = &'a [u8]>) -> u8 {
    let mut used = [false; 256];
    for bytes in contents {
        for byte in bytes {
            used[usize::from(*byte)] = true;
        }
    }
    (1..=u8::MAX).find(|fill| !used[usize::from(*fill)]).unwrap_or(1)
}

/// Whether the mode works on this range, without making the file too large.
fn fallocate_succeeds(how: Fallocate, offset: u64, len: u64, size: u64, size_max: u64) -> bool {
    match how {
        Fallocate::Allocate
        | Fallocate::KeepSize
        | Fallocate::PunchHole
        | Fallocate::ZeroRange
        | Fallocate::ZeroRangeKeepSize => offset + len <= size_max,
        Fallocate::CollapseRange => offset + len < size,
        Fallocate::InsertRange => offset < size && size + len <= size_max,
    }
}
