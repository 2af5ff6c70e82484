//! A file system of two files that writes all it has with every op, and can be wrong in one way.
//!
//! A record is two halves of eight bytes: a header (generation, the two lengths, a checksum) and the data. There are
//! two ways to keep it. *One block*: the record is one block, rewritten in place, so that a power cut leaves one
//! version
//! or another; `fsync` and `sync` flush. *Two slots*: a half is a block, and records go to two slots in turn, each
//! followed by a flush, so that the other slot is good while one is being written; every op is durable when it returns.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use check::{Finding, Promise, Target, Task, View};
use disk::{Block, BlockSize, Disk, Geometry, Image, IoError};
use explore::Property;
use vfs::{
    Data, Errno, File, Node, NodeId, NodeKind, Op, Outcome, Path, Tree, Value, WriteAt, WriteVia, contract::Contract,
};

pub const FILE_COUNT: Property = Property::not_critical("file-count");

const NAMES: [&str; 2] = ["a", "b"];
/// The longest file that the workload makes; a record has room for this.
const LEN_MAX: usize = 2;
const HALF: usize = 8;
const ABSENT: u8 = 0xff;
/// What a fresh disk has where no data is.
const JUNK: u8 = 0xee;
/// Generations are told apart from their neighbours, which is all that is needed, and keeps the space finite.
const GENERATIONS: u8 = 4;

/// How the record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    OneBlock,
    TwoSlots,
}

/// The one thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// A write says that it wrote nothing.
    ShortCount,
    /// `unlink` returns and does nothing.
    UnlinkDoesNothing,
    /// A write stores another byte.
    WrongByte,
    /// Two slots: the checksum is not looked at, and header and data are two writes.
    Unchecked,
    /// Two slots: mount gives up if it finds a broken slot.
    GivesUp,
    /// Two slots: recovery leaves a broken slot as it is. The next torn write can complete its older half, and a record
    /// that was given up is back.
    LeavesHalves,
    /// Two slots: nothing is flushed.
    NoFlush,
    /// One block: `sync` does not flush.
    SyncDoesNothing,
    /// One block: `fsync` does not flush.
    FsyncDoesNothing,
    /// `unlink` does not count.
    Miscounts,
    /// The second byte of a file is more than it can take.
    Panics,
    /// Recovery begins with one block or with another.
    Moody,
    /// After a recovery, `create` fails.
    Tired,
    /// After a recovery, `create` finds no room.
    Full,
    /// There is never room for a second file. Nothing is wrong with that.
    Small,
    /// `sync` finds no room.
    SyncNeedsRoom,
    /// After a recovery, no op works that finds a certain number in the block of noise.
    Superstitious,
    /// After a recovery, `unmount` leaves an empty file system.
    Forgetful,
    /// What recovery notes is different each time.
    Fickle,
}

/// The file system.
pub struct Store {
    pub kind: Kind,
    pub flaw: Flaw,
    /// Whether each op also writes a block that says nothing, but is different each time.
    pub writes_noise: bool,
    /// Whether recovery reads it.
    pub reads_noise: bool,
    /// How often a mood was asked for.
    pub moods: AtomicU8,
}

/// What it keeps in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    files: [Option<Vec<u8>>; 2],
    generation: u8,
    count: usize,
    tired: bool,
}

impl Store {
    pub fn new(kind: Kind, flaw: Flaw) -> Self {
        Self { kind, flaw, writes_noise: false, reads_noise: false, moods: AtomicU8::new(0) }
    }

    /// Something else each time.
    fn mood(&self) -> u8 {
        self.moods.fetch_add(1, Ordering::Relaxed)
    }

    fn half_blocks(&self) -> u32 {
        if self.kind == Kind::OneBlock { 1 } else { 4 }
    }

    /// A block that every op overwrites with something else.
    fn noise(&self) -> Block {
        Block(self.half_blocks())
    }

    /// A block in which recovery notes that it ran.
    fn note(&self) -> Block {
        Block(self.half_blocks() + 1)
    }

    fn block_bytes(&self) -> usize {
        if self.kind == Kind::OneBlock { 2 * HALF } else { HALF }
    }

    fn filled(&self, byte: u8) -> Vec<u8> {
        vec![byte; self.block_bytes()]
    }

    /// Where the record of a generation goes.
    fn slot(&self, generation: u8) -> Block {
        Block(if self.kind == Kind::OneBlock { 0 } else { u32::from(generation % 2) * 2 })
    }

    fn record(memory: &Memory) -> [u8; 2 * HALF] {
        let mut record = [JUNK; 2 * HALF];
        record[0] = memory.generation;
        for (number, file) in memory.files.iter().enumerate() {
            record[1 + number] = file.as_ref().map_or(ABSENT, |bytes| u8::try_from(bytes.len()).expect("two at most"));
            let bytes = file.as_deref().unwrap_or_default();
            record[HALF + number * LEN_MAX..][..bytes.len()].copy_from_slice(bytes);
        }
        let sum = checksum(&record).to_le_bytes();
        record[4..HALF].copy_from_slice(&sum);
        record
    }

    /// Reads a record; `None` if it is broken.
    fn load(&self, disk: &Disk, slot: Block) -> Result<Option<Memory>, IoError> {
        let mut record = [0; 2 * HALF];
        disk.read(slot, &mut record)?;
        if self.flaw != Flaw::Unchecked && record[4..HALF] != checksum(&record).to_le_bytes() {
            return Ok(None);
        }
        let file = |number: usize| {
            let len = usize::from(record[1 + number]);
            (len <= LEN_MAX).then(|| record[HALF + number * LEN_MAX..][..len].to_vec())
        };
        let files = [file(0), file(1)];
        let count = files.iter().flatten().count();
        Ok(Some(Memory { files, generation: record[0] % GENERATIONS, count, tired: false }))
    }

    fn load_newest(&self, disk: &Disk) -> Result<Memory, Errno> {
        let load = |slot| self.load(disk, slot).map_err(|_| Errno::EIO);
        if self.kind == Kind::OneBlock {
            return load(Block(0))?.ok_or(Errno::EIO);
        }
        let slots = [load(Block(0))?, load(Block(2))?];
        if self.flaw == Flaw::GivesUp && slots.iter().any(Option::is_none) {
            return Err(Errno::EIO);
        }
        match slots {
            [Some(even), Some(odd)] if (even.generation + 1) % GENERATIONS == odd.generation => Ok(odd),
            [Some(newest), _] | [None, Some(newest)] => Ok(newest),
            [None, None] => Err(Errno::EIO),
        }
    }

    /// Clears a broken slot.
    fn recover(&self, disk: &mut Disk) -> Result<(), IoError> {
        match self.flaw {
            Flaw::Moody if self.mood().is_multiple_of(3) => disk.read(self.noise(), &mut self.filled(0))?,
            Flaw::Tired | Flaw::Full | Flaw::Forgetful | Flaw::Superstitious => {
                disk.write(self.note(), &self.filled(1))?;
            }
            Flaw::Fickle => disk.write(self.note(), &self.filled(self.mood()))?,
            _ => {}
        }
        if self.kind == Kind::OneBlock || matches!(self.flaw, Flaw::LeavesHalves | Flaw::GivesUp) {
            return Ok(());
        }
        for slot in [Block(0), Block(2)] {
            if self.load(disk, slot)?.is_none() {
                disk.write(slot, &[0; 2 * HALF])?;
                disk.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the next generation.
    fn save(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), IoError> {
        memory.generation = (memory.generation + 1) % GENERATIONS;
        let record = Self::record(memory);
        let slot = self.slot(memory.generation);
        if self.writes_noise {
            let noise = disk.block(self.noise())[0].wrapping_add(1) % 16;
            disk.write(self.noise(), &self.filled(noise))?;
        }
        if self.flaw == Flaw::Unchecked {
            disk.write(slot, &record[..HALF])?;
            disk.write(Block(slot.0 + 1), &record[HALF..])?;
        } else {
            disk.write(slot, &record)?;
        }
        if self.kind == Kind::TwoSlots && self.flaw != Flaw::NoFlush { disk.flush() } else { Ok(()) }
    }

    fn is_afraid(&self, disk: &Disk) -> bool {
        self.flaw == Flaw::Superstitious && disk.block(self.note())[0] != 0 && disk.block(self.noise())[0] == 3
    }

    /// Does an op in memory.
    fn change(&self, memory: &mut Memory, op: &Op) -> Result<Value, Errno> {
        let number = number_of(op).ok_or(Errno::EOPNOTSUPP)?;
        let file = &mut memory.files[number];
        match (op, file.as_mut()) {
            (Op::Create { .. }, Some(_)) => Err(Errno::EEXIST),
            (Op::Create { .. }, None) if memory.tired && self.flaw == Flaw::Full => Err(Errno::ENOSPC),
            (Op::Create { .. }, None) if memory.tired => Err(Errno::EROFS),
            (Op::Create { .. }, None) if self.flaw == Flaw::Small && memory.count > 0 => Err(Errno::ENOSPC),
            (Op::Create { .. }, None) => {
                *file = Some(Vec::new());
                memory.count += 1;
                Ok(Value::Done)
            }
            (_, None) => Err(Errno::ENOENT),
            (Op::Unlink { .. }, Some(_)) => {
                if self.flaw != Flaw::UnlinkDoesNothing {
                    *file = None;
                }
                memory.count -= usize::from(self.flaw != Flaw::Miscounts);
                Ok(Value::Done)
            }
            (Op::Write { data, .. }, Some(bytes)) => {
                assert!(self.flaw != Flaw::Panics || bytes.is_empty(), "one byte is enough");
                bytes.push(data.fill + u8::from(self.flaw == Flaw::WrongByte));
                Ok(Value::Count(if self.flaw == Flaw::ShortCount { 0 } else { data.len }))
            }
            _ => Err(Errno::EOPNOTSUPP),
        }
    }
}

fn number_of(op: &Op) -> Option<usize> {
    NAMES.iter().position(|name| op.paths().first().is_some_and(|path| path.as_str()[1..] == **name))
}

/// Adds one byte to a file.
fn append(path: &Path, fill: u8) -> Op {
    let data = Data { len: 1, fill };
    Op::Write { file: File::Path(path.clone()), at: WriteAt::End, data, via: WriteVia::Buffered }
}

/// FNV-1a over all that is not the checksum.
fn checksum(record: &[u8; 2 * HALF]) -> u32 {
    let covered = record[..4].iter().chain(&record[HALF..]);
    covered.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

impl Target for Store {
    type Mounted = Memory;

    fn mkfs(&self) -> Image {
        let block_size = BlockSize::new(u32::try_from(self.block_bytes()).unwrap()).unwrap();
        let mut image = Image::zeroed(Geometry { block_size, blocks: self.half_blocks() + 2 });
        for generation in [GENERATIONS - 1, 0] {
            let memory = Memory { files: [None, None], generation, count: 0, tired: false };
            image.write(self.slot(generation), &Self::record(&memory)).unwrap();
        }
        image
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        if self.reads_noise {
            disk.try_block(self.noise()).map_err(|_| Errno::EIO)?;
        }
        let memory = self.load_newest(disk)?;
        let tired = matches!(self.flaw, Flaw::Tired | Flaw::Full) && disk.block(self.note())[0] != 0;
        Ok(Memory { tired, ..memory })
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        self.recover(disk).map_err(|_| Errno::EIO)?;
        Ok(Vec::new())
    }

    fn unmount(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        if self.flaw == Flaw::Forgetful && disk.block(self.note())[0] != 0 {
            memory.files = [None, None];
            self.save(memory, disk).map_err(|_| Errno::EIO)?;
        }
        disk.flush().map_err(|_| Errno::EIO)
    }

    fn probe(&self, tree: &Tree) -> Vec<Vec<Op>> {
        let path = |name: &&str| Path::root().join(name);
        let absent = NAMES.iter().map(path).find(|path| tree.lookup(path).is_none());
        let remove = absent.is_none().then(|| Op::Unlink { path: path(&NAMES[0]) });
        let path = absent.unwrap_or_else(|| path(&NAMES[0]));
        let ops = [Op::Create { path: path.clone(), mode: 0o644 }, append(&path, 30), Op::Unlink { path }];
        vec![remove.into_iter().chain(ops).collect()]
    }

    fn step(&self, memory: &mut Memory, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let must_flush = match &task.op {
            Op::Sync if self.flaw == Flaw::SyncNeedsRoom => return Some(Err(Errno::ENOSPC)),
            Op::Sync => self.flaw != Flaw::SyncDoesNothing,
            Op::Fsync { .. } => self.flaw != Flaw::FsyncDoesNothing,
            _ if self.is_afraid(disk) => return Some(Err(Errno::EIO)),
            op => {
                let done = self.change(memory, op);
                let saved = if done.is_ok() { self.save(memory, disk) } else { Ok(()) };
                return Some(saved.map_err(|_| Errno::EIO).and(done));
            }
        };
        let flushed = if must_flush { disk.flush() } else { Ok(()) };
        Some(flushed.map(|()| Value::Done).map_err(|_| Errno::EIO))
    }

    fn observe(&self, memory: &Memory, _: &Disk) -> Result<Tree, Errno> {
        let node = |kind, mode, nlink| Arc::new(Node { kind, mode, uid: 0, gid: 0, nlink, xattrs: BTreeMap::new() });
        let mut nodes = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (id, (name, file)) in (1..).map(NodeId).zip(NAMES.iter().zip(&memory.files)) {
            if let Some(bytes) = file {
                names.insert(Arc::from(*name), id);
                nodes.insert(id, node(NodeKind::File(bytes.as_slice().into()), 0o644, 1));
            }
        }
        nodes.insert(NodeId(0), node(NodeKind::Dir(names.into()), 0o755, 2));
        Ok(Tree { root: NodeId(0), nodes: Arc::new(nodes) })
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        bytes.extend(Self::record(memory));
        bytes.extend([u8::try_from(memory.count).unwrap_or(u8::MAX), u8::from(memory.tired)]);
    }

    fn promise(&self) -> Promise {
        let synchronous = self.kind == Kind::TwoSlots;
        Promise { contract: Contract::Prefix, synchronous, write_through: true, ..Promise::default() }
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        for (number, name) in NAMES.iter().enumerate() {
            let path = Path::root().join(name);
            let Some(bytes) = &view.mounted.files[number] else {
                ops.push(Op::Create { path, mode: 0o644 });
                continue;
            };
            if bytes.len() < LEN_MAX {
                let fill = u8::try_from(10 * (number + 1) + bytes.len()).expect("small");
                ops.push(append(&path, fill));
            }
            ops.push(Op::Unlink { path: path.clone() });
            ops.push(Op::Fsync { file: File::Path(path) });
        }
        ops.push(Op::Sync);
    }

    fn invariants(&self, memory: &Memory, _: &Disk) -> Vec<Finding> {
        let found = memory.files.iter().flatten().count();
        if found == memory.count {
            return Vec::new();
        }
        vec![Finding { property: FILE_COUNT, detail: format!("{found} files, counted as {}", memory.count) }]
    }

    fn cache(&self) -> Option<usize> {
        (self.kind == Kind::OneBlock || self.flaw == Flaw::NoFlush).then_some(2)
    }
}
