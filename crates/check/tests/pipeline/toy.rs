//! A file system so small that each part of it can be given as a function.
//!
//! A file is a block: it exists if the block does not begin with a zero, and it is always empty. A few more blocks are
//! free for notes. What an op or a recovery does with them is what a test is about, so a test says just that:
//! `Toy { fsck: ..., ..Toy::RIGHT }`.

use std::{collections::BTreeMap, sync::Arc};

use check::{Finding, Promise, Repeats, Target, Task, View};
use disk::{Block, BlockSize, Disk, Geometry, Image, IoError};
use explore::Property;
use vfs::{Errno, Node, NodeId, NodeKind, Op, Outcome, Path, Tree, Value, contract::Contract};

pub const BAD: Property = Property::critical("bad");
pub const NOISE: Property = Property::not_critical("noise");

/// The files, in the order in which they are made.
pub const A: Block = Block(0);
pub const B: Block = Block(1);
/// For notes of any kind.
pub const NOTE: Block = Block(2);
pub const SECOND_NOTE: Block = Block(3);
const BLOCKS: u32 = 4;

type Checked = Result<Vec<Finding>, Errno>;

/// What each part does.
#[derive(Clone, Copy)]
pub struct Toy {
    pub mkfs: fn() -> Image,
    pub mount: fn(&mut Disk) -> Result<(), Errno>,
    pub unmount: fn(&mut Disk) -> Result<(), IoError>,
    pub create: fn(&mut Disk, Block) -> Result<(), IoError>,
    pub fsck: fn(&mut Disk) -> Checked,
    pub full_fsck: Option<fn(&mut Disk) -> Checked>,
    pub invariants: fn(&Disk) -> Vec<Finding>,
    pub uses_fua: bool,
    pub repeats: Repeats,
    /// Whether the workload makes files in any order, or the first one first.
    pub any_order: bool,
    /// Whether the workload has remounts too.
    pub remounts: bool,
}

impl Toy {
    pub const RIGHT: Self = Self {
        mkfs: || Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: BLOCKS }),
        mount: |_| Ok(()),
        unmount: Disk::flush,
        create: |disk, file| set(disk, file, 1),
        fsck: |_| Ok(Vec::new()),
        full_fsck: None,
        invariants: |_| Vec::new(),
        uses_fua: true,
        repeats: Repeats::Exactly,
        any_order: false,
        remounts: false,
    };
}

pub fn get(disk: &Disk, block: Block) -> u8 {
    disk.block(block)[0]
}

pub fn set(disk: &mut Disk, block: Block, value: u8) -> Result<(), IoError> {
    disk.write(block, &[value; 4])
}

/// As [`set`] in a recovery, which reports a failed request as an error of its own.
pub fn put(disk: &mut Disk, block: Block, value: u8) -> Result<(), Errno> {
    set(disk, block, value).map_err(|_| Errno::EIO)
}

/// A finding if something is wrong.
pub fn found_if(wrong: bool, property: Property, detail: &str) -> Vec<Finding> {
    wrong.then(|| Finding { property, detail: detail.to_owned() }).into_iter().collect()
}

/// A tree of empty files with these names.
pub fn tree_of(names: impl IntoIterator<Item = &'static str>) -> Tree {
    let node = |kind, mode, nlink| Arc::new(Node { kind, mode, uid: 0, gid: 0, nlink, xattrs: BTreeMap::new() });
    let names: BTreeMap<Arc<str>, NodeId> = names.into_iter().map(Arc::from).zip((1..).map(NodeId)).collect();
    let mut nodes: BTreeMap<_, _> =
        names.values().map(|id| (*id, node(NodeKind::File([].as_slice().into()), 0o644, 1))).collect();
    nodes.insert(NodeId(0), node(NodeKind::Dir(names.into()), 0o755, 2));
    Tree { root: NodeId(0), nodes: Arc::new(nodes) }
}

pub fn create(name: &str) -> Op {
    Op::Create { path: Path::root().join(name), mode: 0o644 }
}

impl Target for Toy {
    type Mounted = ();

    fn mkfs(&self) -> Image {
        (self.mkfs)()
    }

    fn mount(&self, disk: &mut Disk) -> Result<(), Errno> {
        (self.mount)(disk)
    }

    fn unmount(&self, (): &mut (), disk: &mut Disk) -> Result<(), Errno> {
        (self.unmount)(disk).map_err(|_| Errno::EIO)
    }

    fn step(&self, (): &mut (), disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let file = if task.op == create("a") { A } else { B };
        let done = if get(disk, file) == 0 {
            (self.create)(disk, file).map(|()| Value::Done).map_err(|_| Errno::EIO)
        } else {
            Err(Errno::EEXIST)
        };
        Some(done)
    }

    fn observe(&self, (): &(), disk: &Disk) -> Result<Tree, Errno> {
        Ok(tree_of([("a", A), ("b", B)].into_iter().filter(|(_, file)| get(disk, *file) != 0).map(|(name, _)| name)))
    }

    fn encode(&self, (): &(), _: &mut Vec<u8>) {}

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Mountable, write_through: true, ..Promise::default() }
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let absent = [("a", A), ("b", B)].into_iter().filter(|(_, file)| get(view.disk, *file) == 0);
        ops.extend(absent.map(|(name, _)| create(name)).take(if self.any_order { 2 } else { 1 }));
        ops.extend(self.remounts.then_some(Op::Remount));
    }

    fn fsck(&self, disk: &mut Disk) -> Checked {
        (self.fsck)(disk)
    }

    fn full_fsck(&self, disk: &mut Disk) -> Option<Checked> {
        self.full_fsck.map(|check| check(disk))
    }

    /// A remount comes by itself.
    fn probe(&self, _: &Tree) -> Vec<Vec<Op>> {
        vec![Vec::new()]
    }

    fn invariants(&self, (): &(), disk: &Disk) -> Vec<Finding> {
        (self.invariants)(disk)
    }

    fn block_name(&self, block: Block) -> String {
        ["file a", "file b", "note", "second note"][block.0 as usize].to_owned()
    }

    fn uses_fua(&self) -> bool {
        self.uses_fua
    }

    fn repeats(&self) -> Repeats {
        self.repeats
    }
}
