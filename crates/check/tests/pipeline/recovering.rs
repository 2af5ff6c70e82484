//! What recovery does, seen from outside: it panics, it needs a second time, another check disagrees with it, and what
//! it did not flush is lost. And crash states that are easily passed over.

use check::{CheckOptions, Checkable, Move, RunOptions};
use disk::{CrashMode, Disk};
use explore::Order;
use vfs::{Errno, contract::Contract::Mountable};

use crate::{
    searching::{minimised, options, run_options, search, trace_of, violated},
    toy::{A, B, BAD, NOISE, NOTE, SECOND_NOTE, Toy, found_if, get, put, set},
};

const CRASHING: [CrashMode; 4] = [CrashMode::Flushed, CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn];

fn flush(disk: &mut Disk) -> Result<(), Errno> {
    disk.flush().map_err(|_| Errno::EIO)
}

#[test]
fn a_finding_that_is_not_critical_hides_no_crash_state() {
    let noisy = Toy {
        // The crash state is one of the last request, which completes when the op returns.
        fsck: |disk| Ok(found_if(get(disk, A) != 0, BAD, "there is a file")),
        invariants: |disk| found_if(get(disk, A) != 0, NOISE, "there is a file"),
        ..Toy::RIGHT
    };
    for crash in [CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn] {
        assert_eq!(violated(&search(&noisy, options(crash, Mountable))), ["bad", "noise"], "{crash}");
        let right = Toy { fsck: Toy::RIGHT.fsck, ..noisy };
        assert_eq!(violated(&search(&right, options(crash, Mountable))), ["noise"], "{crash}");
    }
}

/// `/b` is durable before `/a`, which was made first.
const OVERTAKES: Toy = Toy {
    create: |disk, file| if file == B { disk.write_fua(file, &[1; 4]) } else { set(disk, file, 1) },
    fsck: |disk| Ok(found_if(get(disk, B) != 0 && get(disk, A) == 0, BAD, "b without a")),
    ..Toy::RIGHT
};

#[test]
fn a_fua_write_that_overtakes_is_seen_on_a_disk_that_keeps_the_order() {
    let flushes = Toy {
        create: |disk, file| {
            disk.flush()?;
            (OVERTAKES.create)(disk, file)
        },
        ..OVERTAKES
    };
    for crash in CRASHING {
        assert_eq!(violated(&search(&OVERTAKES, options(crash, Mountable))), ["bad"], "{crash}");
        assert_eq!(violated(&search(&flushes, options(crash, Mountable))), [""; 0], "{crash}");
    }
    minimised(&OVERTAKES, &trace_of(&OVERTAKES, options(CrashMode::Prefix, Mountable), "bad"));
}

#[test]
fn whoever_declares_no_fua_writes_makes_none_and_is_searched_with_fewer_states() {
    let liar = Toy { uses_fua: false, ..OVERTAKES };
    for crash in CrashMode::ALL {
        let found = trace_of(&liar, options(crash, Mountable), "undeclared-fua");
        assert_eq!(found.ops.len(), 2, "{crash}");
        minimised(&liar, &found);
    }
    let both_are_bad: fn(&mut Disk) -> _ = |disk| Ok(found_if(get(disk, A) != 0 && get(disk, B) != 0, BAD, "both"));
    for fsck in [Toy::RIGHT.fsck, both_are_bad] {
        for crash in CrashMode::ALL {
            let [with, without] =
                [true, false].map(|uses_fua| search(&Toy { fsck, uses_fua, ..Toy::RIGHT }, options(crash, Mountable)));
            assert_eq!(violated(&with), violated(&without), "{crash}");
            assert!(without.states <= with.states && without.complete && with.complete, "{crash}");
            // What is pending need not be told apart from what is durable.
            let fewer = matches!(crash, CrashMode::Prefix);
            assert_eq!(without.states < with.states, fewer, "{crash}: {} {}", without.states, with.states);
        }
    }
}

/// Recovery notes in two blocks that it ran; the second note says that the first is there.
fn note_twice(disk: &mut Disk, between: fn(&mut Disk) -> Result<(), Errno>) -> Result<Vec<check::Finding>, Errno> {
    let lost = get(disk, B) != 0 && get(disk, SECOND_NOTE) != 0 && get(disk, NOTE) == 0;
    if get(disk, A) != 0 && get(disk, B) == 0 {
        put(disk, NOTE, 1)?;
        between(disk)?;
        put(disk, SECOND_NOTE, 1)?;
    }
    Ok(found_if(lost, BAD, "the first note was lost"))
}

#[test]
fn what_recovery_did_not_flush_can_be_lost_by_a_later_crash() {
    let careless = Toy { fsck: |disk| note_twice(disk, |_| Ok(())), ..Toy::RIGHT };
    let careful = Toy { fsck: |disk| note_twice(disk, flush), ..Toy::RIGHT };
    for crash in CRASHING {
        let reorders = crash >= CrashMode::Subsets;
        let report = search(&careless, options(crash, Mountable));
        assert_eq!(violated(&report), if reorders { &["bad"][..] } else { &[] }, "{crash}");
        assert_eq!(violated(&search(&careful, options(crash, Mountable))), [""; 0], "{crash}");
        if let Some(found) = report.violations.first() {
            let cuts = |a_move: &Move| a_move.op().is_some_and(|op| op.crash.is_some());
            assert_eq!(found.trace.schedule.iter().map(cuts).collect::<Vec<_>>(), [true, true], "{crash}");
            minimised(&careless, &found.trace);
        }
    }
}

#[test]
fn a_panic_in_recovery_comes_with_its_power_cut() {
    let fsck =
        Toy { fsck: |disk| if get(disk, A) == 0 { Ok(Vec::new()) } else { panic!("fsck met a file") }, ..Toy::RIGHT };
    // A file system is mounted without a crash too, when recovery has left no note.
    let mount = Toy {
        fsck: |disk| put(disk, NOTE, get(disk, A)).map(|()| Vec::new()),
        mount: |disk| if get(disk, NOTE) == 0 { Ok(()) } else { panic!("mount met a file") },
        ..Toy::RIGHT
    };
    for (toy, message) in [(fsck, "fsck met a file"), (mount, "mount met a file")] {
        assert_eq!(violated(&search(&toy, options(CrashMode::Off, Mountable))), [""; 0]);
        for crash in [CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn] {
            let report = search(&toy, options(crash, Mountable));
            assert_eq!(violated(&report), ["recovery-panics"], "{crash}");
            assert!(report.complete, "the search goes on: {:?}", report.limits);
            let trace = &report.violations[0].trace;
            assert!(trace.detail.ends_with(message), "{}", trace.detail);
            assert!(trace.schedule.last().and_then(Move::op).is_some_and(|op| op.crash.is_some()), "{trace:?}");
            assert_eq!(minimised(&toy, trace).ops.len(), 1);
            assert_eq!(Toy::RIGHT.replay(trace).unwrap().violation, None);
        }
    }
}

/// Repairs a file system with one file so far; a second round repairs the rest.
fn repair(disk: &mut Disk, rounds: u8) -> Result<Vec<check::Finding>, Errno> {
    let repaired = get(disk, NOTE);
    let damaged = get(disk, A) != 0 && get(disk, B) == 0 && repaired < 2;
    if damaged {
        put(disk, NOTE, repaired + rounds)?;
    }
    Ok(found_if(damaged, NOISE, "the note was repaired"))
}

#[test]
fn a_recovery_that_needs_two_rounds_is_unstable() {
    let thorough = Toy { fsck: |disk| repair(disk, 2), ..Toy::RIGHT };
    let halfway = Toy { fsck: |disk| repair(disk, 1), ..Toy::RIGHT };
    // Removes the file that it found, the second time that it finds it.
    let fickle = Toy {
        fsck: |disk| {
            let (file, noted) = (get(disk, A), get(disk, NOTE));
            if file != 0 {
                put(disk, if noted == 0 { NOTE } else { A }, 1 - noted)?;
            }
            Ok(Vec::new())
        },
        ..Toy::RIGHT
    };
    for crash in [CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn] {
        assert_eq!(violated(&search(&thorough, options(crash, Mountable))), ["noise"], "{crash}");
        assert_eq!(violated(&search(&halfway, options(crash, Mountable))), ["noise", "recovery-unstable"], "{crash}");
        assert_eq!(violated(&search(&fickle, options(crash, Mountable))), ["recovery-unstable"], "{crash}");
    }
    let detail = |toy: &Toy| {
        let trace = trace_of(toy, options(CrashMode::Prefix, Mountable), "recovery-unstable");
        minimised(toy, &trace).detail
    };
    assert_eq!(detail(&halfway), "recovered once more: noise: the note was repaired");
    assert_eq!(detail(&fickle), "recovered once more: /a: is missing, expected a file with 0 bytes");
}

#[test]
fn a_thorough_check_must_leave_the_same_tree() {
    let agrees = Toy { full_fsck: Some(|_| Ok(found_if(true, NOISE, "something else to say"))), ..Toy::RIGHT };
    let removes = Toy {
        full_fsck: Some(|disk| {
            if get(disk, A) != 0 {
                put(disk, A, 0)?;
            }
            Ok(Vec::new())
        }),
        ..Toy::RIGHT
    };
    let fails =
        Toy { full_fsck: Some(|disk| if get(disk, A) == 0 { Ok(Vec::new()) } else { Err(Errno::EIO) }), ..Toy::RIGHT };
    for probe in [false, true] {
        let options = CheckOptions { probe, ..options(CrashMode::Prefix, Mountable) };
        assert_eq!(violated(&search(&agrees, options)), [""; 0]);
        for (toy, says) in [
            (removes, "/a: is missing, expected a file with 0 bytes"),
            (fails, "it failed with EIO (input/output error)"),
        ] {
            assert_eq!(violated(&search(&toy, options)), ["fsck-disagrees"]);
            let trace = minimised(&toy, &trace_of(&toy, options, "fsck-disagrees"));
            assert_eq!(trace.detail, format!("checked thoroughly instead: {says}"));
        }
    }
}

#[test]
fn without_a_memo_every_crash_state_is_recovered_and_the_same_is_found() {
    let noisy = Toy { invariants: |disk| found_if(get(disk, A) != 0, NOISE, "there is a file"), ..Toy::RIGHT };
    // The toy never flushes, so a disk that loses its cache as a whole has one crash image.
    for crash in [CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn] {
        for recovery_crashes in [false, true] {
            let options = CheckOptions { recovery_crashes, ..options(crash, Mountable) };
            let [with, without] = [true, false].map(|memoise| {
                let run = RunOptions { memoise, ..run_options(Order::BreadthFirst) };
                noisy.check(options, &run, &mut |_, _| {}).unwrap()
            });
            assert_eq!((with.states, violated(&with)), (without.states, violated(&without)), "{crash}");
            assert_eq!(without.work.recoveries_memoised, 0, "{crash}");
            assert!(without.work.recoveries > without.work.crash_states, "{crash}: one more before the first op");
            assert!(with.work.recoveries < without.work.recoveries, "{crash}");
        }
    }
}
