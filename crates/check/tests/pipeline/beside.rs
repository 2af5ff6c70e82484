//! Two ops under way on a file system with directories, hard links and symlinks.
//!
//! The file system is the reference itself, so it is right by definition: each op has its effect with its first disk
//! request and returns after its second. What differs in between must be explained by the op under way, and nothing
//! else may be.

use check::{Action, CheckOptions, CheckReport, Checkable, Checker, Move, Promise, RunOptions, Target, Task, View};
use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image};
use explore::{Budget, Order, Stepped, System};
use vfs::{Errno, Op, Outcome, Reference, Tree, Value, contract::Contract};

use crate::searching::{minimised, options, run_options, violated};

/// A reference with a disk.
struct Beside {
    ops: &'static [&'static str],
    /// What else is done with an op: an op that is wrong there, or nothing.
    flaw: fn(&Op) -> Option<&'static str>,
    on_fault: OnFault,
}

/// What an op does whose request fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFault {
    Undoes,
    /// It fails, but what it did stays.
    LeavesIt,
    /// Where it should have failed anyhow, it does not.
    SaysSuccess,
}

impl Beside {
    fn right(ops: &'static [&'static str]) -> Self {
        Self { ops, flaw: |_| None, on_fault: OnFault::Undoes }
    }
}

fn parsed(text: &str) -> Op {
    text.parse().expect("the test writes ops as they print")
}

impl Target for Beside {
    type Mounted = Reference;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 })
    }

    fn mount(&self, _: &mut Disk) -> Result<Reference, Errno> {
        Ok(Reference::new())
    }

    /// The second request may fail. Then what was done is undone in a move of its own.
    fn step(&self, mounted: &mut Reference, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let written = disk.write(Block(0), &[1; 4]);
        match (task.pc, written) {
            (0, Err(_)) => {
                let lies = self.on_fault == OnFault::SaysSuccess && mounted.clone().apply(&task.op).is_err();
                return Some(if lies { Ok(Value::Done) } else { Err(Errno::EIO) });
            }
            (0, Ok(())) => {
                if let Err(errno) = mounted.apply(&task.op) {
                    return Some(Err(errno));
                }
                if let Some(also) = (self.flaw)(&task.op) {
                    let _ = mounted.apply(&parsed(also));
                }
                task.pc = 1;
            }
            (1, Ok(())) => return Some(Ok(Value::Done)),
            (1, Err(_)) => task.pc = 2,
            _ => {
                let Op::Create { path, .. } = &task.op else { panic!("only files are made with faults") };
                if self.on_fault != OnFault::LeavesIt {
                    let _ = mounted.apply(&Op::Unlink { path: path.clone() });
                }
                return Some(Err(Errno::EIO));
            }
        }
        None
    }

    fn observe(&self, mounted: &Reference, _: &Disk) -> Result<Tree, Errno> {
        Ok(mounted.tree())
    }

    fn encode(&self, mounted: &Reference, bytes: &mut Vec<u8>) {
        bytes.extend(mounted.tree().fingerprint().to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, ops: &mut Vec<Op>) {
        ops.extend(self.ops.iter().map(|op| parsed(op)));
    }

    fn tasks(&self) -> usize {
        2
    }
}

/// Deep enough for four ops.
const DEPTH: u32 = 8;

fn search(target: &Beside, faults: u8) -> CheckReport {
    let options = CheckOptions { faults, ..options(CrashMode::Off, Contract::Mountable) };
    let budget = Budget { depth: Some(DEPTH), ..Budget::default() };
    let run = RunOptions { budget, ..run_options(Order::BreadthFirst) };
    target.check(options, &run, &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

/// Ops that get in each other's way, and what one of them may not do besides.
type Case = (&'static [&'static str], fn(&Op) -> Option<&'static str>);

const CASES: [Case; 4] = [
    // Both change the directory above: one its link count, none its mode.
    (&[r#"mkdir("/d", mode=0755)"#, r#"create("/f", mode=0644)"#, r#"rmdir("/d")"#], |op| {
        matches!(op, Op::Mkdir { .. }).then_some(r#"chmod("/", mode=0700)"#)
    }),
    // A directory does not move while something is made in it, and takes all of it along.
    (
        &[r#"mkdir("/d", mode=0755)"#, r#"create("/d/f", mode=0644)"#, r#"rename("/d", "/e")"#, r#"unlink("/e/f")"#],
        |op| matches!(op, Op::Rename { .. }).then_some(r#"unlink("/e/f")"#),
    ),
    // A file changes under all of its names.
    (
        &[
            r#"create("/f", mode=0644)"#,
            r#"link("/f", "/g")"#,
            r#"chmod("/f", mode=0600)"#,
            r#"chmod("/g", mode=0640)"#,
            r#"unlink("/g")"#,
        ],
        |op| (*op == parsed(r#"chmod("/g", mode=0640)"#)).then_some(r#"chmod("/f", mode=0644)"#),
    ),
    // A directory does not move either while something is made in it by way of a symlink.
    (
        &[
            r#"mkdir("/d", mode=0755)"#,
            r#"symlink("/d", "/s")"#,
            r#"create("/s/f", mode=0644)"#,
            r#"rename("/d", "/e")"#,
        ],
        |op| matches!(op, Op::Symlink { .. }).then_some(r#"chmod("/d", mode=0700)"#),
    ),
];

#[test]
fn ops_under_way_explain_their_own_changes_and_no_others() {
    for (ops, flaw) in CASES {
        let report = search(&Beside::right(ops), 0);
        assert_eq!(violated(&report), [""; 0], "{ops:?}: {:?}", report.violations);
        let wrong = Beside { flaw, ..Beside::right(ops) };
        let report = search(&wrong, 0);
        assert_eq!(violated(&report), ["tree"], "{ops:?}");
        minimised(&wrong, &report.violations[0].trace);
    }
}

/// The ops that may begin after some were run and one is under way.
fn may_begin(ops: &'static [&'static str], done: &[usize], under_way: usize) -> Vec<String> {
    let target = Beside::right(ops);
    let checker = Checker::new(&target, options(CrashMode::Off, Contract::Mountable));
    let mut state = checker.initial().remove(0);
    let make = |state: &mut _, action: &Action| *state = Stepped::by(&checker, state, action).outcomes.remove(0);
    let begin = |op: usize| Action::Begin { op: parsed(ops[op]), choice: 0 };
    for op in done {
        make(&mut state, &begin(*op));
        make(&mut state, &Action::Go { task: 0 });
    }
    make(&mut state, &begin(under_way));
    let mut actions = Vec::new();
    checker.actions(&state, &mut actions);
    let begins = |action: &Action| if let Action::Begin { op, .. } = action { Some(op.to_string()) } else { None };
    actions.iter().filter_map(begins).collect()
}

#[test]
fn an_op_waits_for_those_that_it_would_meet() {
    let [_, (moving, _), (linked, _), (symlinked, _)] = CASES;
    assert_eq!(may_begin(moving, &[0], 1), [r#"unlink("/e/f")"#], "a file is being made in /d");
    assert_eq!(may_begin(moving, &[0, 2], 0), [r#"unlink("/e/f")"#], "what is in /e does not mind a new /d");
    // Before there is a second name, the other file is another one.
    assert_eq!(may_begin(linked, &[0], 2), [linked[3], linked[4]]);
    assert_eq!(may_begin(linked, &[0, 1], 2), [""; 0]);
    assert_eq!(may_begin(symlinked, &[0, 1], 2), [""; 0], "/s/f is in /d");
}

/// The request that failed was made in an earlier move than the one in which the op returns.
#[test]
fn a_fault_excuses_an_op_that_fails_later() {
    let ops = &[r#"create("/f", mode=0644)"#, r#"create("/g", mode=0644)"#];
    for faults in [1, 2] {
        let report = search(&Beside::right(ops), faults);
        assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
    }
    let wrong = Beside { on_fault: OnFault::LeavesIt, ..Beside::right(ops) };
    assert_eq!(violated(&search(&wrong, 0)), [""; 0]);
    let report = search(&wrong, 1);
    assert_eq!(violated(&report), ["fault"]);
    let trace = minimised(&wrong, &report.violations[0].trace);
    let faults = trace.schedule.iter().filter_map(Move::op).map(|op| op.faults.len());
    assert_eq!(faults.collect::<Vec<_>>(), [0, 1, 0], "it begins, its second request fails, it returns");
}

#[test]
fn a_fault_excuses_no_success_where_an_op_must_fail() {
    let ops = &[r#"create("/f", mode=0644)"#];
    let wrong = Beside { on_fault: OnFault::SaysSuccess, ..Beside::right(ops) };
    let report = search(&wrong, 1);
    assert_eq!(violated(&report), ["fault"]);
    let detail = minimised(&wrong, &report.violations[0].trace).detail;
    assert!(detail.ends_with("succeeded, expected that it failed with EEXIST"), "{detail}");
}
