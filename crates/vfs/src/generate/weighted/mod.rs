//! The weighted generator: ops drawn at random, each kind and each partition of each argument as often as asked.
//!
//! What is asked is a file (`read.rs` knows its form). Arguments are divided as tools that measure input coverage
//! divide them: flags bit by bit, numbers by powers of two, the rest by value ([`argument`]). Paths come from a pool
//! ([`pool`]). What was drawn follows from a seed, and if that is wanted from what is still due ([`due`]); [`coverage`]
//! counts what was really done.

mod argument;
mod coverage;
mod distribution;
mod due;
mod number;
mod pool;
mod random;
mod read;

use std::{collections::BTreeMap, fmt, sync::Arc};

use self::{
    argument::{Argument, Partition},
    due::Due,
    pool::Pool,
    random::Random,
};
pub use self::{
    coverage::{ArgumentCoverage, InputCounts, InputCoverage, PartitionCoverage},
    read::WeightsError,
};
use super::OpSet;
use crate::{Data, Fallocate, Fd, File, Op, OpKind, OpenFlags, Path, Rename, WriteAt, WriteVia};

/// How often each op and each partition of its arguments is to be tried. Cheap to clone.
#[derive(Clone)]
pub struct Weights(Arc<Table>);

struct Table {
    /// What it was read from.
    text: String,
    draws: usize,
    /// The kinds with their shares of all ops.
    ops: Vec<(OpKind, f64)>,
    /// The same, to be drawn from.
    op_partitions: Vec<Partition>,
    arguments: BTreeMap<(OpKind, &'static str), Argument>,
    pool: Pool,
    slots: u8,
    by_slot: f64,
}

/// How often something is drawn that not every target has, before a state has to do with fewer ops.
const TRIES_MAX: usize = 64;
/// In how many of these tries words go by what is due.
const TRIES_BY_WORDS: usize = 8;
/// In how many of these tries anything goes by what is due.
const TRIES_BY_DUE: usize = 32;

impl Weights {
    /// The text that they were read from.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The kinds of ops that may be drawn.
    pub fn ops(&self) -> OpSet {
        let kinds: Vec<OpKind> = self.0.ops.iter().filter(|(_, share)| *share > 0.0).map(|(kind, _)| *kind).collect();
        OpSet::of(&kinds)
    }

    /// The bytes of the longest name in the pool.
    pub fn name_bytes_max(&self) -> usize {
        self.0.pool.name_bytes_max()
    }

    /// The ops of one state, which follow from the seed. What is not `offered` is drawn again.
    pub fn draw(&self, seed: u64, offered: impl Fn(&Op) -> bool) -> Vec<Op> {
        let mut random = Random::new(seed);
        let mut one = || (0..TRIES_MAX).map(|_| self.0.any_op(&mut random)).find(&offered);
        (0..self.0.draws).filter_map(|_| one()).collect()
    }

    /// An op that brings what was done closer to what was asked. What is not `offered` is drawn again: of the same
    /// kind, since who takes another instead never sees what is rarely offered; soon without regard to which words are
    /// due, since direct writes of odd lengths, say, stay due for ever and would keep all other writes waiting; and at
    /// last by the weights alone.
    pub fn draw_due(&self, seed: u64, done: &InputCounts, offered: impl Fn(&Op) -> bool) -> Option<Op> {
        let mut random = Random::new(seed);
        let kind = self.0.kind(Due(Some(done.ops())), &mut random);
        let one = |tries: usize| match tries {
            0..TRIES_BY_WORDS => self.0.op(kind, &mut random, Wanted { words: Some(done), values: Some(done) }),
            TRIES_BY_WORDS..TRIES_BY_DUE => self.0.op(kind, &mut random, Wanted { words: None, values: Some(done) }),
            _ => self.0.any_op(&mut random),
        };
        (0..TRIES_MAX).map(one).find(offered)
    }

    fn arguments(&self) -> impl Iterator<Item = &Argument> {
        let is_drawn = |argument: &&Argument| self.ops().contains(argument.known.op);
        self.0.arguments.values().filter(is_drawn)
    }

    fn op_partitions(&self) -> &[Partition] {
        &self.0.op_partitions
    }
}

/// Two that were read from the same text are the same.
impl PartialEq for Weights {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Weights {}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Weights").field(&self.0.text).finish()
    }
}

impl Table {
    fn kind(&self, due: Due<'_>, random: &mut Random) -> OpKind {
        self.ops[due.draw(&self.op_partitions, random)].0
    }

    fn any_op(&self, random: &mut Random) -> Op {
        self.op(self.kind(Due(None), random), random, Wanted::default())
    }

    fn op(&self, kind: OpKind, random: &mut Random, wanted: Wanted<'_>) -> Op {
        let mut draw = Draw { table: self, kind, random, wanted };
        match kind {
            OpKind::Open => draw.open(),
            OpKind::Close => Op::Close { fd: draw.slot() },
            OpKind::Create => Op::Create { path: draw.file_path(), mode: draw.mode() },
            OpKind::Read => Op::Read { file: draw.file(), offset: draw.number("offset"), len: draw.number("len") },
            OpKind::Write => draw.write(),
            OpKind::Truncate => Op::Truncate { file: draw.file(), size: draw.number("size") },
            OpKind::Fallocate => Op::Fallocate {
                file: draw.file(),
                how: Fallocate::from_name(draw.word("how")).unwrap_or(Fallocate::Allocate),
                offset: draw.number("offset"),
                len: draw.number("len"),
            },
            OpKind::Mkdir => Op::Mkdir { path: draw.dir_path(), mode: draw.mode() },
            OpKind::Rmdir => Op::Rmdir { path: draw.dir_path() },
            OpKind::Unlink => Op::Unlink { path: draw.file_path() },
            OpKind::Rename => draw.rename(),
            OpKind::Link => Op::Link { from: draw.file_path(), to: draw.file_path() },
            OpKind::Symlink => Op::Symlink { target: self.pool.text(draw.random), path: draw.file_path() },
            OpKind::Chmod => Op::Chmod { path: draw.file_path(), mode: draw.mode() },
            OpKind::Chown => Op::Chown { path: draw.file_path(), uid: draw.id("uid"), gid: draw.id("gid") },
            OpKind::Setxattr => Op::Setxattr {
                path: draw.file_path(),
                name: Arc::from(draw.word("name")),
                value: Data { len: draw.number("len"), fill: draw.fill() },
            },
            OpKind::Removexattr => Op::Removexattr { path: draw.file_path(), name: Arc::from(draw.word("name")) },
            OpKind::Fsync => Op::Fsync { file: draw.file() },
            OpKind::Fdatasync => Op::Fdatasync { file: draw.file() },
            OpKind::Msync => Op::Msync { file: draw.file(), offset: draw.number("offset"), len: draw.number("len") },
            OpKind::Sync => Op::Sync,
            OpKind::Syncfs => Op::Syncfs,
            OpKind::Remount => Op::Remount,
            OpKind::Crash => Op::Crash,
        }
    }
}

/// What was done so far, where draws are to go by it.
#[derive(Clone, Copy, Default)]
struct Wanted<'r> {
    words: Option<&'r InputCounts>,
    /// Of flags, numbers and modes.
    values: Option<&'r InputCounts>,
}

/// One op that is being drawn.
struct Draw<'a, 'r> {
    table: &'a Table,
    kind: OpKind,
    random: &'r mut Random,
    wanted: Wanted<'r>,
}

impl<'a, 'r> Draw<'a, 'r> {
    /// An argument and what is due of it.
    fn argument(&self, name: &'static str, done: Option<&'r InputCounts>) -> (&'a Argument, Due<'r>) {
        let due = Due(done.and_then(|done| done.argument(self.kind, name)));
        (&self.table.arguments[&(self.kind, name)], due)
    }

    fn word(&mut self, name: &'static str) -> &'a str {
        let (argument, due) = self.argument(name, self.wanted.words);
        argument.word(due, self.random)
    }

    fn number(&mut self, name: &'static str) -> u64 {
        let (argument, due) = self.argument(name, self.wanted.values);
        argument.number(due, self.random)
    }

    fn mode(&mut self) -> u32 {
        let (argument, due) = self.argument("mode", self.wanted.values);
        argument.mode(due, self.random)
    }

    fn id(&mut self, name: &'static str) -> Option<u32> {
        self.word(name).parse().ok()
    }

    fn file_path(&mut self) -> Path {
        self.table.pool.file(self.random)
    }

    fn dir_path(&mut self) -> Path {
        self.table.pool.dir(self.random)
    }

    fn slot(&mut self) -> Fd {
        Fd(u8::try_from(self.random.below(self.table.slots.into())).unwrap_or(0))
    }

    fn file(&mut self) -> File {
        if self.random.happens(self.table.by_slot) { File::Fd(self.slot()) } else { File::Path(self.file_path()) }
    }

    /// Any value but zero, which holes have: old data that turns up is then told from new with near certainty.
    fn fill(&mut self) -> u8 {
        u8::try_from(1 + self.random.below(u8::MAX.into())).unwrap_or(1)
    }

    fn open(&mut self) -> Op {
        let access: OpenFlags = self.word("access").parse().unwrap_or(OpenFlags::RDWR);
        let (argument, due) = self.argument("flags", self.wanted.values);
        let flags = argument.flags(due, self.random) | access;
        let wants_dir = flags.contains(OpenFlags::DIRECTORY);
        let path = if wants_dir { self.dir_path() } else { self.file_path() };
        Op::Open { path, flags, mode: self.mode(), fd: self.slot() }
    }

    fn write(&mut self) -> Op {
        let at = if self.word("place") == "end" { WriteAt::End } else { WriteAt::Offset(self.number("offset")) };
        let data = Data { len: self.number("len"), fill: self.fill() };
        let via = WriteVia::from_name(self.word("via")).unwrap_or(WriteVia::Buffered);
        Op::Write { file: self.file(), at, data, via }
    }

    /// A directory is moved to where a directory may be, a file to where a file may be, but for the odd one.
    fn rename(&mut self) -> Op {
        let how = Rename::from_name(self.word("how")).unwrap_or(Rename::Replace);
        let dirs = self.random.happens(0.5);
        let mut path = || if dirs { self.table.pool.dir(self.random) } else { self.table.pool.file(self.random) };
        Op::Rename { from: path(), to: path(), how }
    }
}
