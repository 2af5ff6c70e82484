//! What is wrong before anything has happened: a file system that does not start, and one that does not survive a power
//! cut before its first op.

use std::sync::atomic::{AtomicU32, Ordering};

use check::{CheckOptions, CheckReport, Checkable, Finding, Repeats, Story, TRIES, settled};
use disk::{Block, CrashMode, Disk};
use explore::{Order, Stop};
use vfs::{Errno, contract::Contract::Mountable};

use crate::{
    searching::{minimised, options, search, search_in, violated},
    toy::{A, B, NOTE, SECOND_NOTE, Toy, get, put},
};

const ORDERS: [Order; 5] =
    [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst, Order::IterativeDeepening(2), Order::RandomWalk];

/// The report names one violation, of the fresh file system.
fn assert_only(report: &CheckReport, property: &str) {
    assert_eq!(violated(report), [property]);
    let trace = &report.violations[0].trace;
    assert!(trace.ops.is_empty() && trace.schedule.is_empty(), "{trace:?}");
}

#[test]
fn a_file_system_that_does_not_mount_is_a_violation_in_every_search() {
    let unmountable = Toy { mount: |_| Err(Errno::EIO), ..Toy::RIGHT };
    for crash in CrashMode::ALL {
        for order in ORDERS {
            let report = search_in(&unmountable, options(crash, Mountable), order);
            assert_only(&report, "recovery-fails");
            assert!(!report.complete, "{crash} {order:?}");
            assert_eq!(violated(&search_in(&Toy::RIGHT, options(crash, Mountable), order)), [""; 0]);
        }
    }
    let report = search(&unmountable, options(CrashMode::Off, Mountable));
    let trace = &report.violations[0].trace;
    assert_eq!(minimised(&unmountable, trace), *trace, "there is nothing to remove");
    let replayed = unmountable.replay(trace).unwrap();
    let told = Story { trace, replayed: &replayed, every_step: false }.to_string();
    assert_eq!(told, "\nBroken: recovery-fails (critical)\n  a fresh file system does not mount: EIO\n");
    let mended = Toy::RIGHT.replay(trace).expect("there is no move that it could not make");
    assert_eq!(mended.violation, None);
}

/// A search that has seen nothing must not look like one that found nothing.
#[test]
fn a_file_system_that_fails_to_start_only_once_is_a_violation() {
    static STARTS: AtomicU32 = AtomicU32::new(0);
    let mount = |_: &mut Disk| if STARTS.fetch_add(1, Ordering::Relaxed) == 0 { Err(Errno::EIO) } else { Ok(()) };
    let moody = Toy { mount, ..Toy::RIGHT };
    let report = search(&moody, options(CrashMode::Off, Mountable));
    assert_only(&report, "recovery-fails");
    assert_eq!(report.states, 0);
}

#[test]
fn a_mkfs_that_panics_is_reported_as_a_panic() {
    let panicking = Toy { mkfs: || panic!("no room for a superblock"), ..Toy::RIGHT };
    for order in ORDERS {
        let report = search_in(&panicking, options(CrashMode::Prefix, Mountable), order);
        assert_only(&report, "panic");
        assert_eq!(report.violations[0].trace.detail, "no room for a superblock");
        assert!(!report.complete);
    }
}

/// An fsck that cannot read a file system without files.
const REFUSES_EMPTY: Toy = Toy {
    fsck: |disk| if get(disk, A) == 0 && get(disk, B) == 0 { Err(Errno::EIO) } else { Ok(Vec::new()) },
    ..Toy::RIGHT
};

/// An fsck that fills an empty file system.
const FILLS_EMPTY: Toy = Toy {
    fsck: |disk| {
        if get(disk, A) == 0 {
            put(disk, A, 1)?;
        }
        Ok(Vec::new())
    },
    ..Toy::RIGHT
};

/// Whoever judges only what a request made possible never sees the image that was there before the first.
#[test]
fn a_power_cut_before_the_first_op_is_judged() {
    for crash in CrashMode::ALL.into_iter().filter(|crash| *crash != CrashMode::Off) {
        for toy in [REFUSES_EMPTY, FILLS_EMPTY] {
            for order in ORDERS {
                let report = search_in(&toy, options(crash, Mountable), order);
                assert_only(&report, "recovery-fails");
            }
            let report = search(&toy, options(crash, Mountable));
            let trace = &report.violations[0].trace;
            assert!(trace.detail.starts_with("with the power cut before the first op, "), "{}", trace.detail);
            assert_eq!(minimised(&toy, trace), *trace);
            assert_eq!(Toy::RIGHT.replay(trace).unwrap().violation, None);
        }
        assert_eq!(violated(&search(&Toy::RIGHT, options(crash, Mountable))), [""; 0]);
    }
    assert_eq!(violated(&search(&REFUSES_EMPTY, options(CrashMode::Off, Mountable))), [""; 0]);
}

/// A clock that strikes once, in the first recovery, must not make a file system wrong.
#[test]
fn what_is_wrong_before_the_first_op_is_tried_again() {
    static FSCKS: AtomicU32 = AtomicU32::new(0);
    let fsck = |_: &mut Disk| if FSCKS.fetch_add(1, Ordering::Relaxed) == 0 { Err(Errno::EIO) } else { Ok(Vec::new()) };
    let moody = Toy { fsck, repeats: Repeats::InShape, remounts: true, ..Toy::RIGHT };
    let report = search(&moody, options(CrashMode::Prefix, Mountable));
    assert_only(&report, "recovery-nondeterministic");
    assert_eq!(report.violations[0].count, 1, "the same image was recovered again, and well");
    let trace = settled(&moody, &report.violations[0].trace, &Stop::default());
    let seen = trace.sighting.as_ref().expect("it does not show again");
    assert_eq!((seen.tries, seen.shown, trace.version), (TRIES, 0, 3));
    assert!(seen.is_once());
    let told = Story { trace: &trace, replayed: &trace.as_seen(seen), every_step: false }.to_string();
    assert!(told.starts_with("\nSeen, and in no try again: recovery-nondeterministic\n"), "{told}");
}

/// One that is wrong now and then says how often.
#[test]
fn what_is_wrong_before_the_first_op_at_times_is_counted() {
    static FSCKS: AtomicU32 = AtomicU32::new(0);
    let fsck = |_: &mut Disk| {
        let before = FSCKS.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(3) { Err(Errno::EIO) } else { Ok(Vec::new()) }
    };
    let moody = Toy { fsck, repeats: Repeats::InShape, ..Toy::RIGHT };
    let report = search(&moody, options(CrashMode::Prefix, Mountable));
    let found = report.violations.iter().find(|found| found.trace.schedule.is_empty()).expect("the first fsck fails");
    let seen = settled(&moody, &found.trace, &Stop::default()).sighting.expect("it does not show each time");
    assert!(0 < seen.shown && seen.shown < seen.tries, "{seen:?}");
}

/// The first recovery leaves two notes, and one without the other is more than the next can take.
fn notes(disk: &mut Disk, order: [Block; 2]) -> Result<Vec<Finding>, Errno> {
    match (get(disk, NOTE), get(disk, SECOND_NOTE)) {
        (1, 0) => Err(Errno::EIO),
        (1, _) => Ok(Vec::new()),
        _ => {
            for note in order {
                put(disk, note, 1)?;
                disk.flush().map_err(|_| Errno::EIO)?;
            }
            Ok(Vec::new())
        }
    }
}

#[test]
fn a_second_power_cut_before_the_first_op_is_judged_too() {
    let wrong = Toy { fsck: |disk| notes(disk, [NOTE, SECOND_NOTE]), ..Toy::RIGHT };
    let right = Toy { fsck: |disk| notes(disk, [SECOND_NOTE, NOTE]), ..Toy::RIGHT };
    for crash in CrashMode::ALL.into_iter().filter(|crash| *crash != CrashMode::Off) {
        let twice = CheckOptions { recovery_crashes: true, ..options(crash, Mountable) };
        assert_only(&search(&wrong, twice), "recovery-interrupted");
        assert_eq!(violated(&search(&right, twice)), [""; 0], "{crash}");
        assert_eq!(violated(&search(&wrong, options(crash, Mountable))), [""; 0], "{crash}");
    }
}
