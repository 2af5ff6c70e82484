//! The two minimal file systems of the MC3 study (chapter 4): nothing but the mapping from files to blocks.
//!
//! A disk of blocks of four bytes holds a few files with fixed names. **link** chains the blocks of a file through an
//! allocation table, as FAT does; **index** lists them in the inode and in one indirect block, as ext2 does. What
//! differs between the two is their [`Layout`]; everything else is here: the ops, the offline check, the symmetries.
//!
//! What is left open on purpose: an allocation may take any free block. A variant that passes is right with every
//! allocation policy.

mod content;
mod fsck;
mod index;
mod layout;
mod link;
mod symmetry;

use std::num::NonZeroU64;

use check::{Checkable, Finding, Promise, Target, Task, View};
use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image};
use vfs::{
    Data, Errno, File, Op, OpKind, Outcome, Path, Tree, Value, WriteAt, WriteVia,
    contract::{Contract, Zeros},
    generate::{ObjectBounds, OpSet, WritePlaces},
};

use self::{content::FILL_MIN, layout::Kind};
pub use self::{
    fsck::{DEAD_BLOCK, DOUBLE_POINTER, LEAKED_BLOCK, LOST_BLOCK},
    index::Index,
    layout::{BLOCK_BYTES, Layout, Request},
    link::Link,
};

/// In which order an op writes, and whether it flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The inode before the allocation, the data last, and no flush at all.
    Naive,
    /// As naive, with one flush at the end of each op.
    Cached,
    /// What is pointed to before what points to it; a pointer is cleared before what it pointed to is reused.
    Ordered,
    /// As ordered, with a flush wherever the order matters and at the end: safe on a disk that reorders.
    Barrier,
}

/// A variant of a file-mapping model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The order of writes.
    pub writes: Writes,
    /// How many ops are under way at the same time.
    pub threads: usize,
    /// How many files there can be.
    pub files: u8,
    /// How many data blocks there are.
    pub blocks: u8,
    /// How many writes the disk's volatile cache holds back; `None`: any number.
    pub cache: Option<usize>,
    /// Whether states that differ only in which blocks and files are which are one state.
    pub symmetry: bool,
}

/// The most files and blocks: a set of either fits into 16 bits, and a block number is never mistaken for data.
pub const FILES_MAX: u8 = 8;
/// See [`FILES_MAX`].
pub const BLOCKS_MAX: u8 = 16;

impl Variant {
    /// The geometry of the study.
    pub fn study(writes: Writes, threads: usize) -> Self {
        Self { writes, threads, files: 4, blocks: 11, cache: Self::cache_default(writes), symmetry: true }
    }

    /// A variant that never flushes would leave ever more pending. The disk's cache then holds two writes, which is
    /// enough to reorder any two that follow each other, and keeps the space finite.
    pub fn cache_default(writes: Writes) -> Option<usize> {
        matches!(writes, Writes::Naive | Writes::Ordered).then_some(2)
    }
}

/// A file-mapping model.
#[derive(Clone, Copy, Debug)]
pub struct FileMapping<L> {
    variant: Variant,
    layout: L,
}

/// Blocks that ops under way have allocated and not yet written into the allocation table: one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserved(pub u16);

/// `model:link` as a target. Made here, so that its checker is compiled once for all who use it.
pub fn link(variant: Variant) -> Box<dyn Checkable> {
    Box::new(FileMapping::<Link>::new(variant))
}

/// `model:index` as a target; see [`link`](fn@link).
pub fn index(variant: Variant) -> Box<dyn Checkable> {
    Box::new(FileMapping::<Index>::new(variant))
}

impl<L: Layout> FileMapping<L> {
    /// A model of this layout.
    pub fn new(variant: Variant) -> Self {
        Self { variant, layout: L::new(variant.files, variant.blocks) }
    }

    /// Which variant it is.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// The file that a path names.
    fn file(&self, path: &Path) -> Option<u8> {
        let number: u8 = path.as_str().strip_prefix("/f")?.parse().ok()?;
        (number < self.variant.files).then_some(number)
    }

    /// Reads the op once, when it begins: what it is, and what it needs to remember.
    fn begin(&self, reserved: &mut Reserved, disk: &Disk, task: &mut Task) -> Result<(), Errno> {
        let (kind, path) = match &task.op {
            Op::Create { path, .. } => (Kind::Create, path),
            Op::Unlink { path } => (Kind::Delete, path),
            Op::Write { file: File::Path(path), at: WriteAt::End, data, .. } if data.len == BLOCK_BYTES as u64 => {
                (Kind::Append, path)
            }
            _ => return Err(Errno::EOPNOTSUPP),
        };
        // Its files have names of its own; others never exist.
        let nameless = if kind == Kind::Create { Errno::EOPNOTSUPP } else { Errno::ENOENT };
        let file = self.file(path).ok_or(nameless)?;
        let inode = self.layout.inode(disk, file);
        match (kind, inode) {
            (Kind::Create, Some(_)) => return Err(Errno::EEXIST),
            (Kind::Append | Kind::Delete, None) => return Err(Errno::ENOENT),
            _ => {}
        }
        let len = inode.map_or(0, |inode| inode.len);
        if kind == Kind::Append && len >= self.layout.file_blocks_max() {
            return Err(Errno::EFBIG);
        }
        let fresh = self.allocate(disk, *reserved, self.layout.blocks_needed(kind, len), task.choice)?;
        reserved.0 |= fresh.iter().fold(0, |bits, block| bits | 1 << block);
        let block = |at: usize| fresh.get(at).copied().unwrap_or(layout::NOWHERE);
        let [first, second, indirect] = inode.map_or([layout::NOWHERE; 3], |inode| inode.pointers);
        let last = if let Op::Write { data, .. } = &task.op { data.fill } else { second };
        let listed = match inode {
            Some(inode) if kind == Kind::Delete => self.layout.listed(disk, inode),
            _ => [layout::NOWHERE; 4],
        };
        task.registers[..8].copy_from_slice(&[kind as u8, file, len, block(0), block(1), first, indirect, last]);
        task.registers[8..].copy_from_slice(&listed);
        Ok(())
    }

    /// The blocks that an op takes. Which, is the op's choice: the ways that differ come first, then all others.
    fn allocate(&self, disk: &Disk, reserved: Reserved, count: usize, choice: u32) -> Result<Vec<u8>, Errno> {
        let ways = self.allocations(disk, reserved, count, self.variant.symmetry);
        if let Some(way) = ways.get(choice as usize) {
            return Ok(way.clone());
        }
        let mut others = self.allocations(disk, reserved, count, false).into_iter().filter(|way| !ways.contains(way));
        others.nth(choice as usize - ways.len()).ok_or(Errno::ENOSPC)
    }

    /// Every way to allocate `count` blocks, if asked only those that differ by more than a symmetry.
    fn allocations(&self, disk: &Disk, reserved: Reserved, count: usize, symmetry: bool) -> Vec<Vec<u8>> {
        if count == 0 {
            return vec![Vec::new()];
        }
        let mut ways = Vec::new();
        for first in self.candidates(disk, reserved, symmetry) {
            let taken = Reserved(reserved.0 | 1 << first);
            let rest = self.allocations(disk, taken, count - 1, symmetry);
            ways.extend(rest.into_iter().map(|rest| [vec![first], rest].concat()));
        }
        ways
    }

    /// The free blocks that an allocation may take. Blank blocks, which nothing on the disk tells apart, are
    /// represented by the first of them.
    fn candidates(&self, disk: &Disk, reserved: Reserved, symmetry: bool) -> Vec<u8> {
        let free = (0..self.variant.blocks)
            .filter(|block| reserved.0 & 1 << block == 0 && !self.layout.is_allocated(disk.image(), *block));
        if !symmetry {
            return free.collect();
        }
        let marked = self.marked_blocks(disk);
        let mut blank_seen = false;
        free.filter(|block| marked & 1 << block != 0 || !std::mem::replace(&mut blank_seen, true)).collect()
    }

    fn tree_of(&self, disk: &Disk) -> Tree {
        content::tree(&self.layout, self.variant.files, disk)
    }
}

impl<L: Layout> Target for FileMapping<L> {
    type Mounted = Reserved;

    fn mkfs(&self) -> Image {
        let block_size = BlockSize::MIN;
        let mut image = Image::zeroed(Geometry { block_size, blocks: self.layout.disk_blocks() });
        self.layout.format(&mut image);
        image
    }

    fn mount(&self, _: &mut Disk) -> Result<Reserved, Errno> {
        Ok(Reserved::default())
    }

    fn step(&self, reserved: &mut Reserved, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        if let Op::Read { file: File::Path(path), offset, len } = &task.op {
            return Some(self.read(disk, path, *offset, *len));
        }
        if task.pc == 0
            && let Err(errno) = self.begin(reserved, disk, task)
        {
            return Some(Err(errno));
        }
        let program = self.layout.program(self.variant.writes, task);
        if let Some(request) = program.get(usize::from(task.pc)) {
            if self.layout.perform(*request, disk, task).is_err() {
                return Some(Err(Errno::EIO));
            }
            if *request == Request::Free {
                // What the op remembers of the file's blocks is of no more use, and must not tell states apart.
                task.registers[5..].fill(layout::NOWHERE);
            }
            task.pc += 1;
        }
        if usize::from(task.pc) < program.len() {
            return None;
        }
        for block in &task.registers[3..5] {
            reserved.0 &= !1u16.checked_shl(u32::from(*block)).unwrap_or(0);
        }
        Some(Ok(match &task.op {
            Op::Write { data, .. } => Value::Count(data.len),
            _ => Value::Done,
        }))
    }

    fn observe(&self, _: &Reserved, disk: &Disk) -> Result<Tree, Errno> {
        Ok(self.tree_of(disk))
    }

    fn encode(&self, reserved: &Reserved, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&reserved.0.to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Mountable, synchronous: false, zeros: Zeros::Forbidden, write_through: true }
    }

    /// Create what does not exist; append to and delete what does. Reading is not an op of its own: every file is read
    /// and compared after each op.
    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let fill = self.fresh_fill(view);
        let tree = view.tree();
        for number in 0..self.variant.files {
            let path = file_path(number);
            match tree.lookup(&path).and_then(|id| content::file_len(tree, id)) {
                None => ops.push(Op::Create { path, mode: content::MODE }),
                Some(len) => {
                    if len < usize::from(self.layout.file_blocks_max()) * BLOCK_BYTES {
                        ops.push(append(&path, fill));
                    }
                    ops.push(Op::Unlink { path });
                }
            }
        }
    }

    fn ops(&self) -> OpSet {
        OpSet::of(&[OpKind::Create, OpKind::Write, OpKind::Unlink, OpKind::Read, OpKind::Remount])
    }

    fn bounds(&self) -> ObjectBounds {
        let block = NonZeroU64::new(BLOCK_BYTES as u64).expect("a block is not empty");
        ObjectBounds {
            ops: Target::ops(self),
            files_max: self.variant.files.into(),
            dirs_max: 0,
            depth_max: 1,
            size_max: u64::from(self.layout.file_blocks_max()) * block.get(),
            block,
            names: (0..self.variant.files).map(|number| format!("f{number}").into()).collect(),
            write_places: WritePlaces::End,
            ..ObjectBounds::default()
        }
    }

    /// A file is one of its own, and a write appends a whole block.
    fn offers(&self, op: &Op, _: &Tree) -> bool {
        let known = op.paths().iter().all(|path| self.file(path).is_some());
        let whole = match op {
            Op::Write { at, data, .. } => *at == WriteAt::End && data.len == BLOCK_BYTES as u64,
            _ => true,
        };
        known && whole && op.is_plain()
    }

    /// A file is created if it is not there, appended to and deleted: each file for itself, because which file is which
    /// must make no difference. Which free block is taken follows from the table alone, since the first way to allocate
    /// takes the first free ones.
    fn probe(&self, tree: &Tree) -> Vec<Vec<Op>> {
        let ops_on = |path: Path| {
            let create = Op::Create { path: path.clone(), mode: content::MODE };
            let create = tree.lookup(&path).is_none().then_some(create);
            create.into_iter().chain([append(&path, content::FILL_MAX), Op::Unlink { path }]).collect()
        };
        (0..self.variant.files).map(file_path).map(ops_on).collect()
    }

    fn choices(&self, view: &View<'_, Self>, op: &Op) -> u32 {
        let count = match op {
            Op::Create { .. } => self.layout.blocks_needed(Kind::Create, 0),
            Op::Write { file: File::Path(path), .. } => {
                let inode = self.file(path).and_then(|file| self.layout.inode(view.disk, file));
                self.layout.blocks_needed(Kind::Append, inode.map_or(0, |inode| inode.len))
            }
            _ => 0,
        };
        // A torn write of the table tells blocks apart that lie in different sectors of it: there, blank blocks differ.
        let symmetry = self.variant.symmetry && view.crash != CrashMode::Torn;
        let ways = self.allocations(view.disk, *view.mounted, count, symmetry).len();
        // An op that finds no block is tried once, and fails.
        u32::try_from(ways.max(1)).expect("a few blocks")
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        fsck::check_and_repair(&self.layout, disk).map_err(|_| Errno::EIO)
    }

    fn invariants(&self, _: &Reserved, disk: &Disk) -> Vec<Finding> {
        let mut findings = fsck::scan(&self.layout, disk).findings;
        // Where nothing else is wrong, fsck has freed what a crash left.
        if findings.iter().all(|finding| finding.property == DEAD_BLOCK) {
            findings.iter_mut().for_each(|finding| finding.property = LEAKED_BLOCK);
        }
        findings
    }

    fn canonical(&self, view: &View<'_, Self>, bytes: &mut Vec<u8>) -> bool {
        // See `choices`.
        if !self.variant.symmetry || view.crash == CrashMode::Torn {
            return false;
        }
        self.canonical_bytes(view, bytes);
        true
    }

    fn block_name(&self, block: Block) -> String {
        self.layout.block_name(block)
    }

    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        Some(self.layout.block_content(block, content))
    }

    fn cache(&self) -> Option<usize> {
        self.variant.cache
    }

    fn uses_fua(&self) -> bool {
        false
    }

    fn tasks(&self) -> usize {
        self.variant.threads
    }
}

impl<L: Layout> FileMapping<L> {
    fn read(&self, disk: &Disk, path: &Path, offset: u64, len: u64) -> Outcome {
        let tree = self.tree_of(disk);
        let id = tree.lookup(path).ok_or(Errno::ENOENT)?;
        let bytes = content::bytes(&tree, id).ok_or(Errno::EISDIR)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)).min(bytes.len());
        Ok(Value::Bytes(bytes[start..end].to_vec()))
    }

    /// A value that nothing on the disk, in the trees or under way has. What a model does never depends on data, so
    /// one fresh value stands for all: old data that turns up in a file is seen, whatever it was.
    fn fresh_fill(&self, view: &View<'_, Self>) -> u8 {
        let mut used = [false; 256];
        let mut note = |bytes: &[u8]| bytes.iter().for_each(|byte| used[usize::from(*byte)] = true);
        for number in 0..self.layout.disk_blocks() {
            note(view.disk.image().block(Block(number)));
            note(view.disk.log().base().block(Block(number)));
        }
        for (_, entry) in view.disk.log().entries() {
            if let disk::EntryKind::Write { data, .. } = &entry.kind {
                note(data);
            }
        }
        for tree in view.trees {
            tree.nodes.values().filter_map(|node| content::of_node(node)).for_each(&mut note);
        }
        view.tasks.iter().for_each(|task| note(&task.registers[7..8]));
        (FILL_MIN..=content::FILL_MAX).find(|fill| !used[usize::from(*fill)]).unwrap_or(content::FILL_MAX)
    }
}

fn file_path(number: u8) -> Path {
    Path::new(&format!("/f{number}")).expect("it starts with a slash")
}

/// Adds one block to a file.
fn append(path: &Path, fill: u8) -> Op {
    let data = Data { len: BLOCK_BYTES as u64, fill };
    Op::Write { file: File::Path(path.clone()), at: WriteAt::End, data, via: WriteVia::Buffered }
}
