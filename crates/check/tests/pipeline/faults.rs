//! Requests that fail: an op must fail as a whole or succeed as a whole, whichever request it is.

use check::{Action, CheckOptions, Checkable, Checker, Move, Story, Trace, TraceError};
use disk::{Block, CrashMode, Disk, Failing, Fault, IoError};
use explore::{Stepped, System as _};
use vfs::{Errno, contract::Contract};

use crate::{
    searching::{minimised, options, search, trace_of, violated},
    toy::{A, BAD, NOTE, SECOND_NOTE, Toy, create, found_if, get, put, set},
};

fn faulty(faults: u8) -> CheckOptions {
    CheckOptions { faults, ..options(CrashMode::Off, Contract::Mountable) }
}

const WRITE: Fault = Fault { what: Failing::Write, after: 0 };
const SECOND_WRITE: Fault = Fault { what: Failing::Write, after: 1 };

fn faults_of(trace: &Trace) -> Vec<Vec<Fault>> {
    trace.schedule.iter().filter_map(Move::op).map(|op| op.faults.to_vec()).collect()
}

type Create = fn(&mut Disk, Block) -> Result<(), IoError>;

/// A file becomes visible before a request that may fail: the request that fails, and the two ways to go about it.
const TOO_EARLY: [(Fault, Create, Create); 4] = [
    (
        SECOND_WRITE,
        |disk, file| set(disk, file, 1).and_then(|()| set(disk, NOTE, 1)),
        |disk, file| set(disk, NOTE, 1).and_then(|()| set(disk, file, 1)),
    ),
    (
        Fault { what: Failing::Flush, after: 0 },
        |disk, file| set(disk, file, 1).and_then(|()| disk.flush()),
        |disk, file| disk.flush().and_then(|()| set(disk, file, 1)),
    ),
    (
        Fault { what: Failing::Read, after: 0 },
        |disk, file| set(disk, file, 1).and_then(|()| disk.try_block(NOTE).map(drop)),
        |disk, file| disk.try_block(NOTE).map(drop).and_then(|()| set(disk, file, 1)),
    ),
    (
        Fault { what: Failing::Allocation, after: 0 },
        |disk, file| set(disk, file, 1).and_then(|()| disk.allocate()),
        |disk, file| disk.allocate().and_then(|()| set(disk, file, 1)),
    ),
];

#[test]
fn an_op_that_fails_must_have_changed_nothing() {
    for (fault, too_early, in_time) in TOO_EARLY {
        let wrong = Toy { create: too_early, ..Toy::RIGHT };
        let right = Toy { create: in_time, ..Toy::RIGHT };
        for crash in CrashMode::ALL {
            let faulty = CheckOptions { crash, ..faulty(1) };
            let report = search(&wrong, faulty);
            assert_eq!(violated(&report), ["fault"], "{fault:?} {crash}");
            assert_eq!(faults_of(&report.violations[0].trace), [[fault]], "{crash}");
            assert_eq!(violated(&search(&right, faulty)), [""; 0], "{fault:?} {crash}");
            assert_eq!(violated(&search(&wrong, CheckOptions { faults: 0, ..faulty })), [""; 0], "{fault:?} {crash}");
        }
    }
}

#[test]
fn an_op_that_succeeds_must_have_done_everything() {
    let ignores = |disk: &mut Disk, file| {
        let _ = set(disk, file, 1);
        Ok(())
    };
    let retries = |disk: &mut Disk, file| set(disk, file, 1).or_else(|_| set(disk, file, 1));
    let trace = trace_of(&Toy { create: ignores, ..Toy::RIGHT }, faulty(1), "fault");
    let says = "it succeeded, but tree: /a: is missing, expected a file with 0 bytes";
    assert_eq!(trace.detail, format!(r#"create("/a", mode=0644) while its write 1 fails, {says}"#));
    assert_eq!(faults_of(&trace), [[WRITE]]);
    for faults in [1, 2] {
        assert_eq!(violated(&search(&Toy { create: retries, ..Toy::RIGHT }, faulty(faults))), [""; 0]);
    }
}

/// Makes a file, or notes that it could not.
fn set_or_note(disk: &mut Disk, file: Block) -> Result<(), IoError> {
    let done = set(disk, file, 1);
    if done.is_err() {
        let _ = set(disk, NOTE, 1);
    }
    done
}

/// Takes the file back if the note cannot be written.
const UNDOES: Toy = Toy {
    create: |disk, file| {
        set(disk, file, 1)?;
        let done = set(disk, NOTE, 1);
        if done.is_err() {
            let _ = set(disk, file, 0);
        }
        done
    },
    ..Toy::RIGHT
};

#[test]
fn what_takes_two_faults_is_found_with_two() {
    assert_eq!(violated(&search(&UNDOES, faulty(1))), [""; 0]);
    let trace = trace_of(&UNDOES, faulty(2), "fault");
    let undo = Fault { what: Failing::Write, after: 2 };
    assert_eq!(faults_of(&trace), [[SECOND_WRITE, undo]]);
    assert_eq!(faults_of(&minimised(&UNDOES, &trace)), [[SECOND_WRITE, undo]], "both are needed");
    assert!(trace.detail.contains("while its write 2 and its write 3 fail, it failed, but "), "{}", trace.detail);
}

#[test]
fn a_search_that_is_told_to_end_leaves_faults_and_says_so() {
    let checker = Checker::new(&UNDOES, faulty(2));
    let start = checker.initial().remove(0);
    let action = Action::Run { op: create("a"), choice: 0 };
    let times_done = || {
        let before = checker.work().ops;
        let violations = Stepped::by(&checker, &start, &action).violations.len();
        (checker.work().ops - before, violations)
    };
    assert_eq!(times_done(), (5, 1), "undisturbed, with each of two writes failing, or both, or the undoing too");
    assert!(!checker.was_cut_short());
    checker.interrupt();
    assert_eq!(times_done(), (1, 0), "undisturbed");
    assert!(checker.was_cut_short());
    checker.interrupt_is_over();
    assert_eq!(times_done(), (5, 1), "afterwards traces are made in full");
}

#[test]
fn faults_in_different_ops_add_up() {
    // Notes that a write failed, and from then on believes that all writes succeed.
    let jaded = Toy {
        create: |disk, file| {
            let noted = get(disk, NOTE) != 0;
            let done = set_or_note(disk, file);
            if noted { Ok(()) } else { done }
        },
        ..Toy::RIGHT
    };
    assert_eq!(violated(&search(&jaded, faulty(1))), [""; 0]);
    let trace = minimised(&jaded, &trace_of(&jaded, faulty(2), "fault"));
    assert_eq!(faults_of(&trace), [[WRITE], [WRITE]]);
}

/// An op that took itself back may still be found after a power cut, then and later: no flush was asked for.
#[test]
fn an_undo_that_was_not_flushed_is_no_breach_of_a_contract() {
    let undoes = Toy { any_order: true, ..UNDOES };
    for contract in Contract::ALL {
        for crash in [CrashMode::Flushed, CrashMode::Prefix] {
            let report = search(&undoes, CheckOptions { crash, contract, ..faulty(1) });
            assert_eq!(violated(&report), [""; 0], "{crash} {contract}: {:?}", report.violations);
        }
    }
    // A disk that reorders shows both files, or the second one, but an atomic op is still one.
    let reordered = CheckOptions { crash: CrashMode::Subsets, contract: Contract::Atomic, ..faulty(1) };
    assert_eq!(violated(&search(&undoes, reordered)), [""; 0]);
    let ordered = CheckOptions { contract: Contract::Ordered, faults: 0, ..reordered };
    assert_eq!(violated(&search(&undoes, ordered)), ["one-moment"]);
}

#[test]
fn a_power_cut_can_show_what_a_fault_left() {
    let scribbles = Toy {
        create: set_or_note,
        fsck: |disk| Ok(found_if(get(disk, NOTE) != 0, BAD, "there is a note")),
        ..Toy::RIGHT
    };
    let crashing = CheckOptions { crash: CrashMode::Prefix, ..faulty(1) };
    assert_eq!(violated(&search(&scribbles, CheckOptions { faults: 0, ..crashing })), [""; 0]);
    assert_eq!(violated(&search(&scribbles, crashing)), ["bad"]);
    let trace = minimised(&scribbles, &trace_of(&scribbles, crashing, "bad"));
    let [Move::Run(only)] = &trace.schedule[..] else { panic!("{trace:?}") };
    assert!(only.crash.is_some());
    assert_eq!(only.faults.to_vec(), [WRITE]);
}

#[test]
fn a_fault_that_does_not_matter_is_removed() {
    let (fault, create, _) = TOO_EARLY[0];
    let toy = Toy { create, ..Toy::RIGHT };
    let trace = trace_of(&toy, faulty(2), "fault");
    assert_eq!(minimised(&toy, &trace), trace);
    for useless in [Fault { what: Failing::Flush, after: 0 }, Fault { what: Failing::Write, after: 7 }] {
        let mut longer = trace.clone();
        let Some(Move::Run(op)) = longer.schedule.last_mut() else { panic!("{trace:?}") };
        op.faults = [fault, useless].into_iter().collect();
        assert!(toy.replay(&longer).expect("the moves are the same").violation.is_some());
        assert_eq!(toy.minimise(&longer, &explore::Stop::default()).unwrap(), trace, "{useless:?}");
        longer.options.faults = 1;
        assert!(matches!(Trace::from_json(&longer.to_json()), Err(TraceError::TooManyFaults { found: 2, allowed: 1 })));
    }
}

#[test]
fn a_story_names_the_request_that_fails() {
    let toy = Toy { create: TOO_EARLY[0].1, ..Toy::RIGHT };
    let trace = trace_of(&toy, faulty(1), "fault");
    let replayed = toy.replay(&trace).unwrap();
    let told = Story { trace: &trace, replayed: &replayed, every_step: false }.to_string();
    assert_eq!(
        told,
        r#"   1. create("/a", mode=0644), while its write 2 fails = EIO (input/output error)
        write file a: 4 x 01

Broken: fault (critical)
  create("/a", mode=0644) while its write 2 fails, it failed, but tree: /a: is a file with 0 bytes, expected nothing
"#
    );
}

/// A note says that the file system is not mounted. Mounting removes it, after a read that may fail.
const MARKS_MOUNTS: Toy = Toy {
    mount: |disk| {
        disk.try_block(SECOND_NOTE).map_err(|_| Errno::EIO)?;
        put(disk, NOTE, 0)
    },
    unmount: |disk| disk.flush().and_then(|()| disk.write_fua(NOTE, &[1; 4])),
    invariants: |disk| found_if(get(disk, NOTE) != 0, BAD, "mounted, but marked as not mounted"),
    remounts: true,
    ..Toy::RIGHT
};

/// After a mount that failed there is no file system that could be looked at: it is mounted again first.
#[test]
fn a_mount_that_fails_for_a_fault_is_tried_again() {
    for faults in [1, 2] {
        assert_eq!(violated(&search(&MARKS_MOUNTS, faulty(faults))), [""; 0]);
    }
    // One that fails once and then for good has lost the file system.
    let sulks = Toy {
        mount: |disk| {
            if get(disk, A) == 2 {
                return Err(Errno::EIO);
            }
            disk.try_block(SECOND_NOTE).map(drop).map_err(|_| put(disk, A, 2).err().unwrap_or(Errno::EIO))?;
            put(disk, NOTE, 0)
        },
        ..MARKS_MOUNTS
    };
    assert_eq!(violated(&search(&sulks, faulty(0))), [""; 0]);
    let trace = trace_of(&sulks, faulty(1), "fault");
    assert_eq!(trace.ops.last(), Some(&vfs::Op::Remount));
    assert!(trace.detail.contains("remount() failed with EIO, expected that it succeeded"), "{}", trace.detail);
    minimised(&sulks, &trace);
}
