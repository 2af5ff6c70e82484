//! Power cuts in the middle of recovery: each wrong order is found, explained by the kindest disk that shows it, and
//! the right order is silent.

use check::CheckOptions;
use disk::{
    CrashMode::{self, Flushed, Prefix, Subsets, Torn},
    Disk,
};
use vfs::{Errno, contract::Contract::Mountable};

use crate::{
    journal::{Journal, Replay},
    searching::{minimised, options, search, violated},
    toy::{A, NOTE, SECOND_NOTE, Toy, get, put},
};

const IN_ORDER: &str = "a disk that keeps the order of writes";

fn interrupting(crash: CrashMode) -> CheckOptions {
    CheckOptions { recovery_crashes: true, ..options(crash, Mountable) }
}

/// The wrong way, the modes in which it shows, and the disk that explains it in the harshest of them.
const WRONG: [(Replay, &[CrashMode], &str); 5] = [
    (Replay::ClearsFirst, &[Flushed, Prefix, Subsets, Torn], IN_ORDER),
    (Replay::NoFlush, &[Subsets, Torn], "a disk that reorders writes"),
    (Replay::TrustsFirst, &[Torn], "a disk that keeps the order and tears a write from the left"),
    (Replay::TrustsLast, &[Torn], "a disk that keeps the order and tears a write anywhere"),
    (Replay::NoFlushButBackup, &[Torn], "a disk that reorders and tears"),
];

#[test]
fn a_recovery_that_can_be_interrupted_anywhere_is_silent() {
    for replay in [Replay::Right, Replay::RightInOne] {
        for crash in [Flushed, Prefix, Subsets, Torn] {
            let report = search(&Journal(replay), interrupting(crash));
            assert_eq!(violated(&report), [""; 0], "{replay:?} {crash}");
            assert!(report.complete, "{replay:?} {crash}");
            assert!(report.work.recovery_crash_states > 0, "{replay:?} {crash}: {:?}", report.work);
            assert!(report.work.recoveries_memoised > 0, "{replay:?} {crash}: {:?}", report.work);
        }
    }
}

#[test]
fn each_wrong_order_is_found_on_the_disks_that_show_it_and_on_no_other() {
    for (replay, modes, _) in WRONG {
        for crash in [Flushed, Prefix, Subsets, Torn] {
            let shows: &[&str] = if modes.contains(&crash) { &["recovery-interrupted"] } else { &[] };
            assert_eq!(violated(&search(&Journal(replay), interrupting(crash))), shows, "{replay:?} {crash}");
        }
    }
}

#[test]
fn without_power_cuts_in_recovery_none_is_found() {
    for (replay, ..) in WRONG {
        for crash in CrashMode::ALL {
            let report = search(&Journal(replay), options(crash, Mountable));
            assert_eq!(violated(&report), [""; 0], "{replay:?} {crash}");
            assert_eq!(report.work.recovery_crash_states, 0);
        }
    }
}

#[test]
fn the_kindest_disk_that_shows_it_explains_it() {
    for (replay, _, disk) in WRONG {
        let report = search(&Journal(replay), interrupting(Torn));
        let trace = &report.violations[0].trace;
        let says = format!("the power was cut again during recovery, on {disk}, after:\n");
        assert!(trace.detail.starts_with(&says), "{replay:?}: {}", trace.detail);
        assert_eq!(minimised(&Journal(replay), trace).ops.len(), 1);
    }
}

#[test]
fn what_is_said_names_the_requests_of_recovery_and_their_fate() {
    let said = |replay| search(&Journal(replay), interrupting(Torn)).violations[0].trace.detail.clone();
    let detail = said(Replay::ClearsFirst);
    let after = "\n  write record: 4 x 00  [on disk]\nrecovered again: /a: is missing, expected a file with 0 bytes";
    assert!(detail.ends_with(after), "{detail}");
    let detail = said(Replay::NoFlush);
    assert!(detail.contains("  [lost with the cache]\n"), "{detail}");
    let detail = said(Replay::TrustsFirst);
    let after = "
  write home 1 (2 blocks)  [torn: partly on disk]
    home 1: ";
    assert!(detail.contains(after), "{detail}");
    assert!(detail.contains("  [on disk]\n") && detail.contains("  [lost with the cache]\n"), "{detail}");
}

/// Notes that it is at work and clears the note. Whoever finds the note makes another, and whoever finds that one gives
/// up a file: too late for the second recovery to show it.
fn note_of_work(disk: &mut Disk, second: u8) -> Result<(), Errno> {
    let flush = |disk: &mut Disk| disk.flush().map_err(|_| Errno::EIO);
    if get(disk, SECOND_NOTE) != 0 {
        put(disk, A, 0)?;
        put(disk, SECOND_NOTE, 0)?;
    } else if get(disk, NOTE) != 0 {
        put(disk, SECOND_NOTE, second)?;
        put(disk, NOTE, 0)?;
    } else if get(disk, A) != 0 {
        put(disk, NOTE, 1)?;
        flush(disk)?;
        put(disk, NOTE, 0)?;
    }
    flush(disk)
}

#[test]
fn what_an_interruption_leads_to_later_counts_too() {
    let careful = Toy { fsck: |disk| note_of_work(disk, 0).map(|()| Vec::new()), ..Toy::RIGHT };
    let late = Toy { fsck: |disk| note_of_work(disk, 1).map(|()| Vec::new()), ..Toy::RIGHT };
    assert_eq!(violated(&search(&careful, interrupting(Prefix))), [""; 0]);
    assert_eq!(violated(&search(&late, options(Prefix, Mountable))), [""; 0]);
    let report = search(&late, interrupting(Prefix));
    assert_eq!(violated(&report), ["recovery-interrupted"]);
    let detail = &report.violations[0].trace.detail;
    assert!(detail.contains("recovered again: recovery-unstable: "), "{detail}");
}
