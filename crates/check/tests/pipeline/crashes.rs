//! Whether the search goes on after crashes, and whether remembering recoveries changes anything.

use check::CheckOptions;
use disk::CrashMode;
use vfs::contract::Contract;

use crate::{
    searching::{options, search, violated},
    store::{Flaw, Kind, Store},
};

#[test]
fn what_goes_wrong_after_a_recovery_is_seen_only_if_the_search_goes_on() {
    let on = options(CrashMode::Prefix, Contract::Mountable);
    let off = CheckOptions { continue_after_crash: false, ..on };
    let tired = Store::new(Kind::OneBlock, Flaw::Tired);
    assert_eq!(violated(&search(&tired, on)), ["outcome"]);
    assert_eq!(violated(&search(&tired, off)), [""; 0]);

    // What is wrong at the crash itself is seen in both.
    let unchecked = Store::new(Kind::TwoSlots, Flaw::Unchecked);
    for options in [on, off] {
        assert_eq!(violated(&search(&unchecked, options)), ["no-foreign-data"]);
    }
}

#[test]
fn going_on_after_crashes_adds_states_and_crash_states() {
    let on = options(CrashMode::Subsets, Contract::Prefix);
    let store = Store::new(Kind::OneBlock, Flaw::None);
    let with = search(&store, on);
    let without = search(&store, CheckOptions { continue_after_crash: false, ..on });
    assert!(with.states > without.states, "{} and {}", with.states, without.states);
    assert!(with.work.crash_states > without.work.crash_states);
}

/// A recovery that reads a block with something else in it after each op can hardly ever be remembered; one that
/// does not read it nearly always. The disks, and so the crash states, are the same.
#[test]
fn remembered_recoveries_save_work_and_change_no_verdict() {
    for flaw in [Flaw::None, Flaw::NoFlush, Flaw::GivesUp, Flaw::Unchecked] {
        let report = |reads_noise: bool| {
            let store = Store { writes_noise: true, reads_noise, ..Store::new(Kind::TwoSlots, flaw) };
            search(&store, options(CrashMode::Torn, Contract::Mountable))
        };
        let (helped, hindered) = (report(false), report(true));
        let counts = |report: &check::CheckReport| {
            let violations = report.violations.iter().map(|violated| (violated.property.clone(), violated.count));
            (report.states, report.work.crash_states, violations.collect::<Vec<_>>())
        };
        assert_eq!(counts(&helped), counts(&hindered), "{flaw:?}");
        assert!(helped.work.recoveries_memoised > hindered.work.recoveries_memoised, "{flaw:?}");
        assert!(
            helped.work.recoveries * 4 < hindered.work.recoveries,
            "{flaw:?}: {:?} {:?}",
            helped.work,
            hindered.work
        );
        for work in [helped.work, hindered.work] {
            assert_eq!(work.recoveries + work.recoveries_memoised, work.crash_states, "each is recovered or known");
            assert!(work.crash_states_distinct <= work.crash_states);
        }
    }
}
