//! Random lists of ops: half of them are sure to work, the others are whatever the arguments allow.

use std::sync::Arc;

use fastrand::Rng;
use vfs::{
    Fallocate, Fd, Op, OpKind, OpenFlags, Path, Reference, Rename, WriteVia,
    generate::{ArgumentSets, ObjectBounds, OpSet, object_ops},
};

/// Which ops a list may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Words {
    All,
    /// Those that a shell script can do.
    Shell,
}

fn pick<T: Copy>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())]
}

pub fn random_ops(random: &mut Rng, words: Words, count: usize) -> Vec<Op> {
    let any = arguments(words).ops();
    let bounds = bounds(words);
    let mut reference = Reference::new();
    let mut ops = Vec::new();
    while ops.len() < count {
        // Kinds first: there are a hundred times as many renames as unlinks.
        let working = object_ops(&reference.tree(), reference.open_files(), &bounds);
        let pool = if random.bool() { &working } else { &any };
        let mut kinds: Vec<_> = pool.iter().map(Op::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kind = pick(random, &kinds);
        let of_kind: Vec<_> = pool.iter().filter(|op| op.kind() == kind).collect();
        let op = match pick(random, &of_kind).clone() {
            Op::Mkdir { path, .. } => Op::Mkdir { path, mode: 0o755 },
            Op::Create { path, .. } => Op::Create { path, mode: 0o644 },
            op => op,
        };
        let _ = reference.apply(&op);
        ops.push(op);
    }
    ops
}

/// Owners and attributes depend on who runs the test and where; whole file systems are slow to sync.
const LEFT_OUT: OpSet = OpSet::of(&[
    OpKind::Chown,
    OpKind::Chmod,
    OpKind::Setxattr,
    OpKind::Removexattr,
    OpKind::Sync,
    OpKind::Syncfs,
    OpKind::Remount,
    OpKind::Crash,
]);

fn op_set(words: Words) -> OpSet {
    match words {
        Words::All => OpSet::ALL.without(LEFT_OUT),
        Words::Shell => OpSet::ALL.without(LEFT_OUT).without(OpSet::of(&[OpKind::Open, OpKind::Close, OpKind::Msync])),
    }
}

fn arguments(words: Words) -> ArgumentSets {
    let (paths, targets): (&[&str], &[&str]) = match words {
        Words::All => (
            &["/a", "/b", "/c", "/c/a", "/c/c/b", "/../a", "/c/../b", "/c/", "/a/b", "//c/./a"],
            &["a", "/b", "../a", "c", "/", "..", "/../c/", "a/b", "../../../c"],
        ),
        Words::Shell => (&["/a", "/b", "/c", "/c/a", "/c/c/b", "/a/b"], &["a", "c", "a/b", "b"]),
    };
    let some = |flags| OpenFlags::RDWR | flags;
    let paths = paths.iter().map(|path| Path::new(path).expect("it starts with a slash")).collect();
    ArgumentSets {
        ops: op_set(words),
        targets: targets.iter().map(|target| Arc::from(*target)).collect(),
        slots: slots(words),
        open_flags: vec![
            OpenFlags::RDONLY,
            some(OpenFlags::CREAT),
            some(OpenFlags::CREAT | OpenFlags::EXCL),
            some(OpenFlags::TRUNC),
            some(OpenFlags::APPEND),
            OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW,
            OpenFlags::WRONLY | OpenFlags::DSYNC,
        ],
        offsets: vec![0, 1000, 4096],
        lens: vec![0, 100, 4096],
        fills: vec![1, 2, 255],
        write_via: write_via(words),
        fallocate: Fallocate::ALL.to_vec(),
        rename: rename(words),
        ..ArgumentSets::over(paths)
    }
}

fn bounds(words: Words) -> ObjectBounds {
    ObjectBounds {
        ops: op_set(words),
        files_max: 8,
        dirs_max: 3,
        size_max: 32768,
        slots_max: u8::try_from(slots(words).len()).expect("a few"),
        write_via: write_via(words),
        rename: rename(words),
        ..ObjectBounds::default()
    }
}

fn slots(words: Words) -> Vec<Fd> {
    if words == Words::All { vec![Fd(0), Fd(1)] } else { Vec::new() }
}

fn write_via(words: Words) -> Vec<WriteVia> {
    if words == Words::All { vec![WriteVia::Buffered, WriteVia::Mmap] } else { vec![WriteVia::Buffered] }
}

fn rename(words: Words) -> Vec<Rename> {
    if words == Words::All { Rename::ALL.to_vec() } else { vec![Rename::Replace, Rename::NoReplace] }
}
