//! Long runs against the reference: the disk fills up, segments are cleaned, files grow into direct nodes.

use std::sync::Arc;

use check::{Target, View, Workload};
use disk::{CrashMode, Disk};
use fastrand::Rng;
use models::{
    f2fs::{F2fs, Fsync, Heads, Memory, Variant},
    nodes::NodeTarget,
};
use vfs::{Data, Errno, File, Op, Path, Reference, Rename, WriteAt, WriteVia};

use crate::driver;

struct Mounted {
    target: NodeTarget<F2fs>,
    memory: Arc<Memory>,
    disk: Disk,
    reference: Reference,
}

impl Mounted {
    fn new(variant: Variant) -> Self {
        let target = NodeTarget::new(F2fs::new(variant));
        let mut disk = Disk::new(target.mkfs());
        let memory = target.mount(&mut disk).expect("a fresh file system mounts");
        let tree = target.observe(&memory, &disk).expect("it can be read");
        Self { target, memory, disk, reference: Reference::from_tree(&tree) }
    }

    /// Does an op here and in the reference, and compares; `true` if it was refused for want of room.
    fn run(&mut self, op: &Op) -> bool {
        let outcome = driver::run(&self.target, &mut self.memory, &mut self.disk, op.clone());
        let refused = outcome == Err(Errno::ENOSPC) || outcome == Err(Errno::EFBIG);
        if !refused {
            assert_eq!(outcome, self.reference.apply(op), "{op}");
        }
        self.assert_same(&op.to_string());
        self.disk.settle();
        refused
    }

    fn assert_same(&self, after: &str) {
        let findings = self.target.invariants(&self.memory, &self.disk);
        assert!(findings.is_empty(), "{after}: {findings:?}");
        let tree = self.target.observe(&self.memory, &self.disk).expect("it can be read");
        let differences = vfs::tree::diff(&tree, &self.reference.tree());
        assert!(tree.same_as(&self.reference.tree()), "{after}: {differences:?}");
    }

    /// The value that the workload would write next.
    fn next_fill(&self) -> u8 {
        let (tree, workload) = (self.reference.tree(), Workload::default());
        let view = View {
            mounted: &self.memory,
            disk: &self.disk,
            tasks: &[],
            trees: &[&tree],
            returned: &[],
            workload: &workload,
            crash: CrashMode::Off,
        };
        let mut ops = Vec::new();
        self.target.workload(&view, &mut ops);
        let fill = |op: &Op| if let Op::Write { data, .. } = op { Some(data.fill) } else { None };
        ops.iter().find_map(fill).expect("a file can be written")
    }

    /// Ends in peace and comes back.
    fn remount(&mut self) {
        self.run(&Op::Sync);
        let findings = self.target.fsck(&mut self.disk).expect("the disk can be checked");
        assert!(findings.is_empty(), "{findings:?}");
        self.memory = self.target.mount(&mut self.disk).expect("what was synced mounts");
        self.assert_same("a remount");
    }
}

fn path(text: &str) -> Path {
    Path::new(text).expect("it is a path")
}

fn write(to: &str, offset: u64, len: u64, fill: u8) -> Op {
    let (at, data) = (WriteAt::Offset(offset), Data { len, fill });
    Op::Write { file: File::Path(path(to)), at, data, via: WriteVia::Buffered }
}

/// Names of one to four slots of a dentry block.
const NAMES: [&str; 5] = ["/a", "/bcd", "/efghi", "/jklmnopq", "/r"];

/// Files of at most about `size_max` bytes.
fn any_op(random: &mut Rng, size_max: u64) -> Op {
    let dirs = ["", "/a", "/r"];
    let some = |random: &mut Rng| {
        let dir = dirs[random.usize(..dirs.len())];
        path(&format!("{dir}{}", NAMES[random.usize(..NAMES.len())]))
    };
    let target = some(random);
    let file = File::Path(target.clone());
    match random.u8(..9) {
        0 | 1 => Op::Create { path: target, mode: 0o644 },
        2 => Op::Mkdir { path: target, mode: 0o755 },
        3 => Op::Unlink { path: target },
        4 => Op::Rmdir { path: target },
        5 => Op::Rename { from: target, to: some(random), how: Rename::Replace },
        6 => Op::Truncate { file, size: random.u64(..size_max + size_max / 20) },
        7 => Op::Fsync { file },
        _ => write(target.as_str(), random.u64(..size_max - 56), random.u64(1..=80), random.u8(..)),
    }
}

fn long_run(variant: Variant, seed: u64, size_max: u64) {
    let mut mounted = Mounted::new(variant);
    let mut random = Rng::with_seed(seed);
    for number in 0..800 {
        mounted.run(&any_op(&mut random, size_max));
        if number % 50 == 49 {
            mounted.remount();
        }
    }
}

#[test]
fn long_runs_agree_with_the_reference() {
    for (seed, heads) in (0..).zip([Heads::Two, Heads::Four, Heads::Five]) {
        for fsync in [Fsync::RollForward, Fsync::Checkpoint] {
            long_run(Variant { heads, fsync, segments: 20, ..Variant::small() }, seed, 256);
            long_run(Variant { heads, fsync, ..Variant::default() }, seed, 37 * 32);
        }
    }
}

/// Writing the same blocks over and over needs every segment many times: dead ones are freed, others are emptied.
#[test]
fn a_file_can_be_overwritten_for_ever() {
    for variant in [Variant::small(), Variant::default()] {
        let mut mounted = Mounted::new(variant);
        mounted.run(&Op::Create { path: path("/a"), mode: 0o644 });
        mounted.run(&Op::Create { path: path("/r"), mode: 0o644 });
        for turn in 0..200_u64 {
            let fill = (turn % 250).to_le_bytes()[0] + 1;
            assert!(!mounted.run(&write("/a", turn % 5 * 32, 96, fill)), "turn {turn}: no room");
            assert!(!mounted.run(&write("/r", turn % 3 * 32, 32, fill)), "turn {turn}: no room");
        }
        mounted.remount();
    }
}

/// What Linux finds before it asks the file system. The errno of the reference is the right one, which `run` asserts
/// of everything that is not refused.
#[test]
fn numbers_that_no_file_can_have_are_refused_as_linux_does() {
    let mut mounted = Mounted::new(Variant::small());
    mounted.run(&Op::Create { path: path("/a"), mode: 0o644 });
    mounted.run(&Op::Mkdir { path: path("/d"), mode: 0o755 });
    let (largest, beyond) = (i64::MAX.unsigned_abs(), u64::MAX);
    for name in ["/a", "/d", "/none"] {
        let file = || File::Path(path(name));
        let append = |len| {
            let data = Data { len, fill: 1 };
            Op::Write { file: file(), at: WriteAt::End, data, via: WriteVia::Buffered }
        };
        for op in [
            write(name, largest, 1, 1),
            write(name, largest, 0, 1),
            write(name, beyond, 0, 1),
            append(beyond),
            Op::Read { file: file(), offset: beyond, len: 1 },
            Op::Read { file: file(), offset: largest, len: 1 },
            Op::Read { file: file(), offset: largest, len: 0 },
            Op::Read { file: file(), offset: 0, len: beyond },
            Op::Truncate { file: file(), size: beyond },
            Op::Truncate { file: file(), size: largest + 1 },
        ] {
            assert!(!mounted.run(&op), "{op} was refused for want of room");
        }
    }
}

/// A full disk refuses, and gives room back when files go.
#[test]
fn a_full_disk_can_be_emptied() {
    let mut mounted = Mounted::new(Variant::small());
    let mut made = Vec::new();
    for name in ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"] {
        if !mounted.run(&Op::Create { path: path(name), mode: 0o644 }) {
            made.push(name);
            mounted.run(&write(name, 0, 128, 7));
        }
    }
    assert!(mounted.run(&write("/a", 128, 128, 8)) || made.len() < 8, "such a disk is never full");
    for name in made {
        assert!(!mounted.run(&Op::Unlink { path: path(name) }), "no room to remove {name}");
    }
    mounted.remount();
    mounted.run(&Op::Create { path: path("/a"), mode: 0o644 });
    assert!(!mounted.run(&write("/a", 0, 128, 9)));
}

/// What a removed file leaves on the disk is no data that a write could make, wherever it turns up.
#[test]
fn data_of_removed_files_is_not_written_again() {
    let mut mounted = Mounted::new(Variant::small());
    for fill in 1..=3 {
        mounted.run(&Op::Create { path: path("/a"), mode: 0o644 });
        assert_eq!(mounted.next_fill(), fill);
        mounted.run(&write("/a", 0, 128, fill));
        mounted.run(&Op::Unlink { path: path("/a") });
    }
}
