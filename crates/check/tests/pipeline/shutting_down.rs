//! File systems that give up when a request has failed, as those of Linux do: which of them are right, which are not.

use check::{CheckOptions, Checkable as _, Finding, Promise, RunOptions, Target, Task, View, Workload};
use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image, IoError};
use explore::Budget;
use vfs::{Errno, File, Op, Outcome, Path, Tree, Value, contract::Contract};

use crate::{
    searching::{minimised, options, search, trace_of, violated},
    toy::{BAD, create, found_if, tree_of},
};

const FILES: [&str; 2] = ["a", "b"];
/// What is said of something that is not given back.
const LEFT: &str = "unmounted then: something is still in use";

/// The one thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    /// It goes read-only when nothing has failed.
    ForNothing,
    /// What it refuses it does all the same.
    Pretends,
    /// It refuses in words that mean something else.
    WrongWord,
    /// When it gives up, it destroys what was durable.
    Destroys,
    /// An fsync in which a write failed says that it succeeded.
    Lies,
    /// It does not say that it may give up.
    Undeclared,
    /// When it stops in the middle of an op, it goes on as if nothing had happened.
    GoesOn,
    /// It has made a file before it finds no memory for it.
    FailsWhenDone,
    /// What a failed write needed is never given back.
    LeaksWhatFailed,
    /// What the second file needs is never given back.
    LeaksForNothing,
}

/// A file is a block that does not begin with a zero. What is done stays in memory until it is synced; from the first
/// failure on, nothing is written and every change is refused, until it is mounted again. A file for which there is no
/// memory gets the wrong name.
struct Fragile(Flaw);

#[derive(Clone, Debug, Default)]
struct Memory {
    files: [bool; 2],
    is_read_only: bool,
    /// Whether something is not given back, and whether an unmount has found out.
    leaks: bool,
    complains: bool,
}

impl Fragile {
    fn write_back(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), IoError> {
        if memory.is_read_only {
            return Err(IoError::Write);
        }
        let blocks = (0..).map(Block).zip(memory.files);
        let mut written = blocks.map(|(block, file)| disk.write(block, &[u8::from(file); 4]));
        let done = written.try_for_each(|result| result).and_then(|()| disk.flush());
        if done.is_err() {
            memory.is_read_only = true;
            memory.leaks = self.0 == Flaw::LeaksWhatFailed;
            if self.0 == Flaw::Destroys {
                let _ = disk.write(Block(0), &[0; 4]).and_then(|()| disk.flush());
            }
        }
        done
    }

    fn create(&self, memory: &mut Memory, disk: &Disk, file: usize) -> Outcome {
        if self.0 == Flaw::ForNothing && memory.files[0] {
            memory.is_read_only = true;
        }
        if memory.is_read_only {
            memory.files[file] |= self.0 == Flaw::Pretends;
            return Err(if self.0 == Flaw::WrongWord { Errno::ENOENT } else { Errno::EROFS });
        }
        if memory.files[file] {
            return Err(Errno::EEXIST);
        }
        let is_allocated = disk.allocate().is_ok();
        if !is_allocated && self.0 == Flaw::FailsWhenDone {
            memory.files[file] = true;
            return Err(Errno::ENOMEM);
        }
        if !is_allocated {
            memory.files[1 - file] = true;
            memory.is_read_only = self.0 != Flaw::GoesOn;
            return Err(Errno::ENOMEM);
        }
        memory.files[file] = true;
        memory.leaks |= self.0 == Flaw::LeaksForNothing && file == 1;
        Ok(Value::Done)
    }
}

impl Target for Fragile {
    type Mounted = Memory;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 2 })
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        Ok(Memory { files: [0, 1].map(|block| disk.block(Block(block))[0] != 0), ..Memory::default() })
    }

    fn unmount(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        // Nobody could be told.
        let _ = self.write_back(memory, disk);
        memory.complains = memory.leaks;
        Ok(())
    }

    fn complaint(&self, memory: &Memory) -> Option<Finding> {
        found_if(memory.complains, BAD, "something is still in use").pop()
    }

    fn complaint_at_unmount(&self, memory: &Memory, _: &Disk) -> Option<Finding> {
        found_if(memory.leaks, BAD, "something is still in use").pop()
    }

    fn step(&self, memory: &mut Memory, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        Some(match &task.op {
            Op::Sync => {
                let _ = self.write_back(memory, disk);
                Ok(Value::Done)
            }
            Op::Fsync { .. } => match self.write_back(memory, disk) {
                Err(_) if self.0 != Flaw::Lies => Err(Errno::EIO),
                _ => Ok(Value::Done),
            },
            op => self.create(memory, disk, usize::from(*op == create("b"))),
        })
    }

    fn observe(&self, memory: &Memory, _: &Disk) -> Result<Tree, Errno> {
        Ok(tree_of(FILES.into_iter().zip(memory.files).filter(|(_, file)| *file).map(|(name, _)| name)))
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(memory.is_read_only) | u8::from(memory.leaks) << 1);
    }

    fn promise(&self) -> Promise {
        Promise { contract: Contract::Fsynced, ..Promise::default() }
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let is_absent = |name: &&str| view.tree().lookup(&Path::root().join(name)).is_none();
        ops.extend(FILES.into_iter().find(is_absent).map(create));
        ops.extend([Op::Sync, Op::Fsync { file: File::Path(Path::root()) }, Op::Remount]);
    }

    fn probe(&self, _: &Tree) -> Vec<Vec<Op>> {
        vec![Vec::new()]
    }

    fn invariants(&self, _: &Memory, _: &Disk) -> Vec<Finding> {
        Vec::new()
    }

    fn may_shut_down(&self) -> bool {
        self.0 != Flaw::Undeclared
    }

    fn has_given_up(&self, memory: &Memory) -> bool {
        memory.is_read_only
    }
}

fn faulty(crash: CrashMode) -> CheckOptions {
    CheckOptions { faults: 1, ..options(crash, Contract::Fsynced) }
}

/// Whatever fails, wherever the power is cut: to give up is no crime, to forget what was not durable neither.
#[test]
fn to_give_up_is_right() {
    for crash in [CrashMode::Off, CrashMode::Flushed, CrashMode::Subsets] {
        let report = search(&Fragile(Flaw::None), faulty(crash));
        assert_eq!(violated(&report), [""; 0], "{crash}: {:?}", report.violations);
        assert!(report.states > 10, "{report:?}");
        // Where it comes back without what was only in memory, and nobody knows what is durable, the search ends.
        assert!(!report.complete && report.work.ended_unjudged > 0, "{report:?}");
    }
}

#[test]
fn what_goes_beyond_giving_up_is_found() {
    let cases = [
        (Flaw::ForNothing, 0, "outcome", "failed with EROFS, expected that it succeeded"),
        (Flaw::Pretends, 1, "tree", ": is a file with 0 bytes, expected nothing"),
        (Flaw::GoesOn, 1, "fault", "while its allocation 1 fails, it failed, but tree: /b: is a file with 0 bytes"),
        (Flaw::WrongWord, 1, "outcome", "failed with ENOENT, expected that it succeeded"),
        (Flaw::Destroys, 1, "pinned-name", "mounted again after a request had failed: `/a` was"),
        (Flaw::Undeclared, 1, "outcome", "failed with EROFS, expected that it succeeded"),
    ];
    for (flaw, faults, property, detail) in cases {
        let target = Fragile(flaw);
        let trace = trace_of(&target, CheckOptions { faults, ..faulty(CrashMode::Off) }, property);
        let trace = minimised(&target, &trace);
        assert!(trace.detail.contains(detail), "{flaw:?}: {}", trace.detail);
        if faults > 0 && flaw != Flaw::Undeclared {
            let spared = search(&target, CheckOptions { faults: 0, ..faulty(CrashMode::Off) });
            assert_eq!(violated(&spared), [""; 0], "{flaw:?}");
        }
    }
}

/// An op that was done is told of if it says that it failed, and that is all: what follows is right.
#[test]
fn what_was_done_though_it_failed_is_told_and_gone_on_from() {
    let target = Fragile(Flaw::FailsWhenDone);
    for crash in [CrashMode::Off, CrashMode::Flushed, CrashMode::Subsets] {
        let report = search(&target, faulty(crash));
        assert_eq!(violated(&report), ["failed-but-done"], "{crash}: {:?}", report.violations);
        assert!(report.depth > 2, "the search goes on: {report:?}");
    }
    let trace = minimised(&target, &trace_of(&target, faulty(CrashMode::Off), "failed-but-done"));
    let says = "while its allocation 1 fails: it failed with ENOMEM, but it was done";
    assert_eq!(trace.detail, format!(r#"create("/a", mode=0644) {says}"#));
}

/// `sync` cannot say that it failed, and pins nothing then; `fsync` can.
#[test]
fn a_call_that_can_say_that_it_failed_is_taken_at_its_word() {
    let trace = trace_of(&Fragile(Flaw::Lies), faulty(CrashMode::Flushed), "pinned-name");
    assert!(matches!(trace.ops.last(), Some(Op::Fsync { .. })), "{trace:?}");
}

/// What is not given back shows when it is unmounted, be it by nobody but the checker, and the trace ends with the op
/// that did not give it back.
#[test]
fn what_is_not_given_back_is_found_at_the_end_of_every_way() {
    let leaky = Fragile(Flaw::LeaksWhatFailed);
    let trace = minimised(&leaky, &trace_of(&leaky, faulty(CrashMode::Off), BAD.name));
    assert_eq!((&trace.ops[..], trace.detail.as_str()), (&[Op::Sync][..], LEFT));
    // Without a failure it shows where a search ends: at the end of a script, or as deep as it goes.
    let leaky = Fragile(Flaw::LeaksForNothing);
    let script = [create("a"), create("b")];
    for (workload, depth) in [(Workload::scripted(&script), None), (Workload::default(), Some(2))] {
        let budget = Budget { depth, ..Budget::default() };
        let run = RunOptions { workload, budget, ..RunOptions::exhaustive("under test") };
        let report = leaky.check(options(CrashMode::Off, Contract::Fsynced), &run, &mut |_, _| {}).unwrap();
        let trace = minimised(&leaky, &report.violations.first().expect("it is found").trace);
        assert_eq!((&trace.ops[..], trace.property.as_str(), trace.detail.as_str()), (&script[1..], BAD.name, LEFT));
    }
}

/// Deeper, it is a remount among the ops that shows it first.
#[test]
fn a_remount_that_complains_is_heard() {
    let report = search(&Fragile(Flaw::LeaksForNothing), options(CrashMode::Off, Contract::Fsynced));
    let found = report.violations.iter().find(|violated| violated.property == BAD.name).expect("it is found");
    assert_eq!(found.trace.ops, [create("a"), create("b"), Op::Remount]);
}
