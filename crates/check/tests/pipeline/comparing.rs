//! Comparisons of targets with each other: right ones agree, a wrong one is named, by the majority if there is one.
//!
//! The file systems are references that unmount and mount, so that they are right but for what a test adds.

use std::sync::{Arc, Mutex};

use check::{
    CheckOptions, CheckReport, Checkable, Comparison, Equality, InProcess, NoSide, Promise, RunOptions, Tail, Target,
    Task, Trace, View, Weighted, Workload,
};
use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image};
use explore::{Budget, Order};
use vfs::{Errno, Node, Op, OpKind, Outcome, Reference, Tree, Value, WriteAt, WriteVia};

use crate::searching::{minimised, violated};

/// A reference that is saved when it is unmounted; the disk says which of those saved it is.
struct Kept {
    saved: Mutex<Vec<Reference>>,
    wrong: Wrong,
}

/// What a file system does besides, or instead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// It forgets at every mount.
    ForgetsAll,
    /// `mkdir` lets others in.
    Mode,
    /// A name that is taken is no reason to fail.
    Taken,
    /// It has room for one file. That is not wrong.
    Small,
    /// It has room for one file, and what it refuses happens all the same.
    SmallAndLies,
    /// It has no room for a symlink, however much there is.
    FullTooEarly,
    /// It never has room for a file.
    NoRoomAtAll,
    /// It has no room to remove what is there. That is not wrong where nothing is overwritten.
    NoRoomToRemove {
        never_overwrites: bool,
    },
    /// It was made with an empty `lost+found`. That is not wrong.
    LostAndFound,
    /// To change a mode does nothing.
    ModeStays,
    /// There is a file in it that nobody made.
    Stray,
    /// It has no room for what is written.
    NoRoomToWrite,
    /// It never has room for ops of a kind, though it grants some at first; of the rest nothing is known.
    Refuses(OpKind),
    /// A write finds the file too long, however long it is.
    TooLong,
    /// What was cut off is there again when the file is made longer.
    StaleTail,
    /// A link counts for nothing.
    Uncounted,
    /// It says that less was written than was.
    ShortCount,
}

const LOST_AND_FOUND: &str = "mkdir(\"/lost+found\", mode=0700)";

impl Kept {
    fn boxed(wrong: Wrong) -> Box<dyn Checkable> {
        let mut fresh = Reference::new();
        let begins_with = match wrong {
            Wrong::Stray => Some("create(\"/stray\")"),
            Wrong::LostAndFound => Some(LOST_AND_FOUND),
            _ => None,
        };
        if let Some(op) = begins_with {
            fresh.apply(&op.parse().unwrap()).unwrap();
        }
        Box::new(Self { saved: Mutex::new(vec![fresh]), wrong })
    }
}

impl Target for Kept {
    type Mounted = Reference;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 128 })
    }

    fn mount(&self, disk: &mut Disk) -> Result<Reference, Errno> {
        let mut number = [0; 4];
        disk.read(Block(0), &mut number).map_err(|_| Errno::EIO)?;
        let number = u32::from_le_bytes(number) as usize;
        let number = if self.wrong == Wrong::ForgetsAll { 0 } else { number };
        Ok(self.saved.lock().unwrap()[number].clone())
    }

    fn unmount(&self, mounted: &mut Reference, disk: &mut Disk) -> Result<(), Errno> {
        let mut saved = self.saved.lock().unwrap();
        mounted.apply(&Op::Remount)?;
        saved.push(mounted.clone());
        let number = u32::try_from(saved.len() - 1).expect("a test is short");
        disk.write(Block(0), &number.to_le_bytes()).map_err(|_| Errno::EIO)
    }

    fn needs_room_to_free(&self) -> bool {
        matches!(self.wrong, Wrong::NoRoomToRemove { never_overwrites: true } | Wrong::Refuses(_))
    }

    fn room_granted(&self) -> u64 {
        if matches!(self.wrong, Wrong::Refuses(_)) { 256 << 10 } else { 0 }
    }

    fn has_one_supply(&self) -> bool {
        !Target::needs_room_to_free(self) && self.wrong != Wrong::NoRoomToWrite
    }

    fn step(&self, mounted: &mut Reference, _: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let is_full = !mounted.tree().is_empty();
        Some(match (&task.op, self.wrong) {
            (Op::Create { .. }, Wrong::NoRoomAtAll) | (Op::Unlink { .. }, Wrong::NoRoomToRemove { .. }) => {
                Err(Errno::ENOSPC)
            }
            (Op::Symlink { .. }, Wrong::FullTooEarly) | (Op::Write { .. }, Wrong::NoRoomToWrite) => Err(Errno::ENOSPC),
            (op, Wrong::Refuses(kind)) if op.kind() == kind => Err(Errno::ENOSPC),
            (Op::Chmod { .. }, Wrong::ModeStays) => Ok(Value::Done),
            (Op::Write { .. }, Wrong::TooLong) => Err(Errno::EFBIG),
            (Op::Truncate { file, size }, Wrong::StaleTail) if *size > 0 => {
                let data = vfs::Data { len: *size, fill: 7 };
                let write = Op::Write { file: file.clone(), at: WriteAt::Offset(0), data, via: WriteVia::Buffered };
                mounted.apply(&write).map(|_| Value::Done)
            }
            (Op::Write { .. }, Wrong::ShortCount) => mounted.apply(&task.op).map(|_| Value::Count(1)),
            (Op::Create { .. }, Wrong::Small | Wrong::SmallAndLies) if is_full => {
                if self.wrong == Wrong::SmallAndLies {
                    let _ = mounted.apply(&task.op);
                }
                Err(Errno::ENOSPC)
            }
            (Op::Mkdir { path, .. }, Wrong::Mode) => mounted.apply(&Op::Mkdir { path: path.clone(), mode: 0o777 }),
            (Op::Create { .. }, Wrong::Taken) => mounted.apply(&task.op).or(Ok(Value::Done)),
            (op, _) => mounted.apply(op),
        })
    }

    fn observe(&self, mounted: &Reference, _: &Disk) -> Result<Tree, Errno> {
        let tree = mounted.tree();
        if self.wrong != Wrong::Uncounted {
            return Ok(tree);
        }
        let once = |node: &Node| Node { nlink: if node.is_dir() { node.nlink } else { 1 }, ..node.clone() };
        let nodes = tree.nodes.iter().map(|(id, node)| (*id, Arc::new(once(node)))).collect();
        Ok(Tree { nodes: Arc::new(nodes), ..tree })
    }

    fn encode(&self, mounted: &Reference, bytes: &mut Vec<u8>) {
        bytes.extend(mounted.tree().fingerprint().to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, _: &mut Vec<Op>) {}
}

fn comparison(sides: &[(&str, Option<Wrong>)]) -> Comparison {
    let make = |(name, wrong): &(&str, Option<Wrong>)| {
        let side: Box<dyn Checkable> = wrong.map_or_else(|| Box::new(InProcess) as Box<dyn Checkable>, Kept::boxed);
        ((*name).to_owned(), side)
    };
    Comparison::new(sides.iter().map(make).collect()).expect("all of them are file systems")
}

fn options(equality: Equality) -> CheckOptions {
    CheckOptions { crash: CrashMode::Off, equality, ..CheckOptions::default() }
}

fn search_with(comparison: &Comparison, equality: Equality, workload: Workload) -> CheckReport {
    let walks = workload.weighted.as_ref().is_some_and(|weighted| weighted.by_step);
    let run = RunOptions {
        workload,
        order: if walks { Order::RandomWalk } else { Order::BreadthFirst },
        budget: Budget { depth: Some(if walks { 50 } else { 3 }), states: Some(20_000), ..Budget::default() },
        ..RunOptions::exhaustive("first")
    };
    comparison.check(options(equality), &run, &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

fn search(comparison: &Comparison) -> CheckReport {
    let ops = Some("create,mkdir,unlink,rmdir,rename,remount".parse().unwrap());
    search_with(comparison, Equality::Tree, Workload { ops, ..Workload::default() })
}

fn script(comparison: &Comparison, ops: &[&str]) -> CheckReport {
    let script: Vec<Op> = ops.iter().map(|op| op.parse().unwrap()).collect();
    search_with(comparison, Equality::Tree, Workload::scripted(&script))
}

/// The ops of the minimised trace of the only violation, and what it says.
fn found(comparison: &Comparison, report: &CheckReport, property: &str) -> (Vec<String>, String) {
    assert_eq!(violated(report), [property]);
    let trace = minimised_here(comparison, &report.violations[0].trace);
    (trace.ops.iter().map(ToString::to_string).collect(), trace.detail)
}

fn minimised_here(comparison: &Comparison, trace: &Trace) -> Trace {
    assert_eq!(trace.version, 3, "what was seen is kept until it is known to show again");
    let tail = trace.sighting.as_ref().and_then(|sighting| sighting.tail);
    assert_eq!(tail, Some(Tail { ops: 1, tries: 1 }), "the state before the last op is at hand");
    let smaller = minimised(comparison, trace);
    assert_eq!(smaller.version, 2, "what has `against` is of the version that has it");
    smaller
}

#[test]
fn right_ones_agree_by_tree_and_in_full() {
    let both = comparison(&[("kept", Some(Wrong::Nothing)), ("ref", None)]);
    let report = search(&both);
    assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
    assert!(!report.complete, "states that look alike counted as one");
    let ops = Some("create,mkdir,remount".parse().unwrap());
    let report = search_with(&both, Equality::Full, Workload { ops, ..Workload::default() });
    assert!(report.complete && report.violations.is_empty(), "{report:?}");
}

#[test]
fn a_difference_between_two_is_told_of_both() {
    let both = comparison(&[("wrong", Some(Wrong::Mode)), ("ref", None)]);
    let (ops, detail) = found(&both, &search(&both), "tree");
    assert_eq!(ops, [r#"mkdir("/a", mode=0755)"#]);
    assert_eq!(detail, "on wrong, compared with ref: /a: has mode 0777, expected mode 0755");
}

#[test]
fn the_majority_names_the_odd_one_out() {
    for (sides, odd) in [(["wrong", "right", "ref"], 0), (["right", "wrong", "ref"], 1)] {
        let kind = |name: &str| match name {
            "wrong" => Some(Wrong::Taken),
            "right" => Some(Wrong::Nothing),
            _ => None,
        };
        let three = comparison(&sides.map(|name| (name, kind(name))));
        let report = script(&three, &[r#"create("/a", mode=0644)"#, r#"create("/a", mode=0644)"#]);
        let (ops, detail) = found(&three, &report, "outcome");
        assert_eq!(ops.len(), 2);
        let others: Vec<&str> = (0..3).filter(|side| *side != odd).map(|side| sides[side]).collect();
        assert_eq!(
            detail,
            format!(
                "create(\"/a\", mode=0644) succeeded on wrong, the odd one out, and failed with EEXIST on {}",
                others.join(" and ")
            )
        );
    }
}

#[test]
fn the_majority_names_the_odd_tree_too() {
    let three = comparison(&[("right", Some(Wrong::Nothing)), ("ref", None), ("wrong", Some(Wrong::Mode))]);
    let (_, detail) = found(&three, &search(&three), "tree");
    assert_eq!(detail, "on wrong, the odd one out: /a: has mode 0777, expected mode 0755");
}

#[test]
fn the_reference_begins_like_the_first_and_does_not_speak_for_it() {
    let (stray, right) = (("stray", Some(Wrong::Stray)), ("right", Some(Wrong::Nothing)));
    let three = search(&comparison(&[stray, right, ("ref", None)]));
    assert_eq!(violated(&three), ["tree"]);
    let detail = &three.violations[0].trace.detail;
    assert_eq!(detail, "on stray, compared with right: /stray: is a file with 0 bytes, expected nothing");
    let four = search(&comparison(&[stray, right, ("another", Some(Wrong::Nothing)), ("ref", None)]));
    assert!(four.violations[0].trace.detail.starts_with("on stray, the odd one out"), "{:?}", four.violations);
    let two = search(&comparison(&[stray, ("ref", None)]));
    assert_eq!(violated(&two), [""; 0], "one alone may begin with what it likes");
}

#[test]
fn lost_and_found_is_left_out_where_it_was_made_with_the_file_system_alone() {
    let both = comparison(&[("made with it", Some(Wrong::LostAndFound)), ("ref", None)]);
    assert_eq!(violated(&search(&both)), [""; 0]);
    let both = comparison(&[("wrong", Some(Wrong::ModeStays)), ("ref", None)]);
    let report = script(&both, &[LOST_AND_FOUND, "chmod(\"/lost+found\", mode=0755)"]);
    assert_eq!(violated(&report), ["tree"]);
    let detail = &report.violations[0].trace.detail;
    assert_eq!(detail, "on wrong, compared with ref: /lost+found: has mode 0700, expected mode 0755");
}

#[test]
fn a_remount_shows_what_memory_hides() {
    let both = comparison(&[("wrong", Some(Wrong::ForgetsAll)), ("ref", None)]);
    let (ops, detail) = found(&both, &search(&both), "tree");
    assert_eq!(ops.last().map(String::as_str), Some("remount()"));
    assert_eq!(ops.len(), 2, "{ops:?}");
    assert!(detail.starts_with("on wrong, compared with ref: /a: "), "{detail}");
}

#[test]
fn want_of_room_is_no_difference_but_must_change_nothing() {
    let both = comparison(&[("small", Some(Wrong::Small)), ("ref", None)]);
    let report = search(&both);
    assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
    assert!(report.work.ops_refused > 0);
    assert!(report.states > 5, "the search goes on from what both agree on");
    let both = comparison(&[("small", Some(Wrong::SmallAndLies)), ("ref", None)]);
    let (_, detail) = found(&both, &search(&both), "tree");
    assert!(detail.starts_with("on small, compared with ref: "), "{detail}");
}

const FILE: &str = "create(\"/a\", mode=0644)";
const WRITE: &str = "write(\"/a\", offset=0, len=4, fill=1)";

/// Bugs of one side, each with the ops that show it; no excuse covers any of them.
#[test]
fn seeded_bugs_are_named() {
    let unlink = "unlink(\"/a\")";
    let cases: [(Wrong, &[&str], &str, &str); 7] = [
        (
            Wrong::FullTooEarly,
            &[FILE, "symlink(\"a\", \"/s\")"],
            "outcome",
            "failed with ENOSPC on wrong, and succeeded on ref; a new file of 128 bytes finds room on wrong",
        ),
        (Wrong::NoRoomAtAll, &[FILE], "outcome", "failed with ENOSPC on wrong, and succeeded on ref"),
        (
            Wrong::NoRoomToRemove { never_overwrites: false },
            &[FILE, unlink],
            "outcome",
            "failed with ENOSPC on wrong, and succeeded on ref",
        ),
        (
            Wrong::TooLong,
            &[FILE, "truncate(\"/a\", size=4)", WRITE],
            "outcome",
            "failed with EFBIG on wrong, and succeeded on ref",
        ),
        (Wrong::StaleTail, &[FILE, "truncate(\"/a\", size=4)"], "contents", "on wrong, compared with ref: /a"),
        (Wrong::Uncounted, &[FILE, "link(\"/a\", \"/b\")"], "tree", "has link count 1, expected link count 2"),
        (Wrong::ShortCount, &[FILE, WRITE], "outcome", "wrote 1 byte on wrong, and wrote 4 bytes on ref"),
    ];
    for (wrong, ops, property, says) in cases {
        let both = comparison(&[("wrong", Some(wrong)), ("ref", None)]);
        let report = script(&both, ops);
        assert_eq!(violated(&report), [property], "{ops:?}");
        let detail = &report.violations[0].trace.detail;
        assert!(detail.contains(says), "{detail}");
    }
}

/// What is found where a target is checked by itself.
fn alone(wrong: Wrong, ops: &[&str]) -> CheckReport {
    let script: Vec<Op> = ops.iter().map(|op| op.parse().unwrap()).collect();
    let run = RunOptions { workload: Workload::scripted(&script), ..RunOptions::exhaustive("alone") };
    Kept::boxed(wrong).check(options(Equality::Full), &run, &mut |_, _| {}).expect("it needs no checkpoint")
}

/// The same excuses end in the same places where a target is checked by itself.
#[test]
fn one_that_is_not_full_may_not_say_so_when_it_is_checked_alone() {
    let unlink = "unlink(\"/a\")";
    let cases: [(Wrong, &[&str], &str); 3] = [
        (
            Wrong::FullTooEarly,
            &[FILE, "symlink(\"a\", \"/s\")"],
            "failed with ENOSPC, expected that it succeeded; a new file of 128 bytes finds room",
        ),
        (Wrong::NoRoomAtAll, &[FILE], "failed with ENOSPC, expected that it succeeded"),
        (Wrong::NoRoomToRemove { never_overwrites: false }, &[FILE, unlink], "failed with ENOSPC"),
    ];
    for (wrong, ops, says) in cases {
        let report = alone(wrong, ops);
        assert_eq!(violated(&report), ["outcome"], "{ops:?}");
        let detail = &report.violations[0].trace.detail;
        assert!(detail.contains(says), "{detail}");
    }
    let report = alone(Wrong::TooLong, &[FILE, WRITE]);
    assert_eq!((violated(&report), report.work.ops_refused), (vec![], 1), "a longer file may be too long");
}

#[test]
fn what_never_overwrites_may_have_no_room_to_remove_and_a_longer_file_may_be_too_long() {
    let excused =
        [(Wrong::NoRoomToRemove { never_overwrites: true }, [FILE, "unlink(\"/a\")"]), (Wrong::TooLong, [FILE, WRITE])];
    for (wrong, ops) in excused {
        let both = comparison(&[("small", Some(wrong)), ("ref", None)]);
        let report = script(&both, &ops);
        assert_eq!((violated(&report), report.work.ops_refused), (vec![], 1), "{ops:?}");
    }
}

/// What is in no table may need room for anything and keep it in many places, but not when it is new.
#[test]
fn a_new_one_has_room_whatever_is_known_of_it() {
    let used_up = "write(\"/a\", offset=0, len=262144, fill=1)";
    for op in [
        WRITE,
        "truncate(\"/a\", size=1)",
        "chmod(\"/a\", mode=0600)",
        "setxattr(\"/a\", \"user.a\", len=8, fill=1)",
        "unlink(\"/a\")",
    ] {
        let refuses = Wrong::Refuses(op.parse::<Op>().unwrap().kind());
        let both = comparison(&[("wrong", Some(refuses)), ("ref", None)]);
        assert_eq!(violated(&script(&both, &[FILE, op])), ["outcome"], "{op}");
        assert_eq!(violated(&alone(refuses, &[FILE, op])), ["outcome"], "{op}");
        if op != WRITE {
            let ops = [FILE, used_up, op];
            assert_eq!(violated(&script(&both, &ops)), [""; 0], "who is not new may be full: {op}");
            assert_eq!(violated(&alone(refuses, &ops)), [""; 0], "{op}");
        }
    }
}

#[test]
fn each_of_several_may_have_no_room_in_its_own_way() {
    let sides = |sides: &[Option<Wrong>]| {
        let names = ["first", "second", "third"];
        comparison(&names.into_iter().zip(sides.iter().copied()).collect::<Vec<_>>())
    };
    let (long, full) = (Some(Wrong::TooLong), Some(Wrong::NoRoomToWrite));
    for excused in [&[long, full, None][..], &[full, long, None], &[full, long], &[None, long, full]] {
        let report = script(&sides(excused), &[FILE, WRITE]);
        assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
        assert_eq!(report.work.ops_refused, u64::from(excused.contains(&None)));
    }
    let report = script(&sides(&[full, Some(Wrong::ShortCount), None]), &[FILE, WRITE]);
    assert_eq!(violated(&report), ["outcome"]);
    let says = "wrote 1 byte on second, and wrote 4 bytes on third";
    let detail = &report.violations[0].trace.detail;
    assert!(detail.ends_with(says), "whoever is excused does not say who is right: {detail}");
    let report = script(&sides(&[full, Some(Wrong::Nothing), None]), &["write(\"/b\", offset=0, len=4, fill=1)"]);
    assert_eq!(violated(&report), ["outcome"], "no room is no excuse for what nobody can do");
}

const WEIGHTS: &str = "[ops]\nopen = 2\nclose = 1\ncreate = 1\nwrite = 2\nunlink = 1\nmkdir = 1\nremount = 0.2\n";

#[test]
fn weighted_ops_are_compared_and_counted() {
    let both = comparison(&[("kept", Some(Wrong::Nothing)), ("ref", None)]);
    for by_step in [false, true] {
        let weighted = Weighted { weights: WEIGHTS.parse().unwrap(), seed: 3, by_step };
        let workload = Workload { weighted: Some(weighted), ..Workload::default() };
        let report = search_with(&both, Equality::Tree, workload.clone());
        assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
        let inputs = report.inputs.expect("they are counted where weights are given");
        let counted: u64 = inputs.0[0].partitions.iter().map(|partition| partition.count).sum();
        assert_eq!(counted, report.work.ops);
        let again = search_with(&both, Equality::Tree, workload).inputs;
        assert!(by_step || again.as_ref() == Some(&inputs), "the same seed draws the same ops");
        let wrong = comparison(&[("wrong", Some(Wrong::Taken)), ("ref", None)]);
        let weighted = Weighted { weights: WEIGHTS.parse().unwrap(), seed: 3, by_step };
        let report = search_with(&wrong, Equality::Tree, Workload { weighted: Some(weighted), ..Workload::default() });
        let (ops, _) = found(&wrong, &report, "outcome");
        assert!(ops.len() <= 2, "{ops:?}");
    }
}

#[test]
fn what_is_no_file_system_cannot_be_compared() {
    struct Plain;
    impl Checkable for Plain {
        fn promise(&self) -> Promise {
            Promise::default()
        }
        fn ops(&self) -> vfs::generate::OpSet {
            vfs::generate::OpSet::EMPTY
        }
        fn lacks(&self, _: &[Op]) -> Option<check::Lacking> {
            None
        }
        fn check(
            &self,
            _: CheckOptions,
            _: &RunOptions,
            _: &mut (dyn FnMut(&explore::Progress, &check::Work) + Send),
        ) -> Result<CheckReport, explore::SearchError> {
            Err(explore::SearchError::NoInitialState)
        }
        fn replay(&self, _: &Trace) -> Result<check::Replayed, check::ReplayError> {
            Err(check::ReplayError::OtherKind)
        }
        fn minimise(&self, trace: &Trace, _: &explore::Stop) -> Result<Trace, check::ReplayError> {
            Ok(trace.clone())
        }
    }
    let named: Vec<(String, Box<dyn Checkable>)> =
        vec![("ref".to_owned(), Box::new(InProcess)), ("plain".to_owned(), Box::new(Plain))];
    let error: Option<NoSide> = Comparison::new(named).err();
    assert_eq!(error.map(|error| error.to_string()), Some("compare plain with anything: it has no files".to_owned()));
}
