//! Whether the search goes on after crashes, whether what was recovered can be used, and whether remembering recoveries
//! changes anything.

use check::{CheckOptions, CheckReport, Checker};
use disk::CrashMode;
use explore::{Stepped, System};
use vfs::contract::Contract;

use crate::{
    searching::{options, search, violated},
    store::{Flaw, Kind, Store},
};

#[test]
fn what_goes_wrong_after_a_recovery_is_seen_only_if_the_search_goes_on() {
    let on = CheckOptions { probe: false, ..options(CrashMode::Prefix, Contract::Mountable) };
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

/// Searches a store with a block of noise, twice: once recovery does not read the noise, once it does. The disks, and
/// so the crash states, are the same. A recovery that reads something else after each op can hardly ever be remembered.
fn helped_and_hindered(flaw: Flaw, options: CheckOptions) -> [CheckReport; 2] {
    [false, true].map(|reads_noise| {
        search(&Store { writes_noise: true, reads_noise, ..Store::new(Kind::TwoSlots, flaw) }, options)
    })
}

fn states_and_verdicts(report: &CheckReport) -> (u64, u64, Vec<(String, u64)>) {
    let violations = report.violations.iter().map(|violated| (violated.property.clone(), violated.count));
    (report.states, report.work.crash_states, violations.collect())
}

#[test]
fn remembered_recoveries_save_work_and_change_no_verdict() {
    // The ops of a probe read the noise, and then it is read by all.
    let options = CheckOptions { probe: false, ..options(CrashMode::Torn, Contract::Mountable) };
    for flaw in [Flaw::None, Flaw::NoFlush, Flaw::GivesUp, Flaw::Unchecked] {
        let [helped, hindered] = helped_and_hindered(flaw, options);
        assert_eq!(states_and_verdicts(&helped), states_and_verdicts(&hindered), "{flaw:?}");
        assert!(helped.work.recoveries_memoised > hindered.work.recoveries_memoised, "{flaw:?}");
        assert!(
            helped.work.recoveries * 4 < hindered.work.recoveries,
            "{flaw:?}: {:?} {:?}",
            helped.work,
            hindered.work
        );
        for work in [helped.work, hindered.work] {
            // The fresh file system is one more.
            assert_eq!(work.recoveries + work.recoveries_memoised, work.crash_states + 1, "each is recovered or known");
            assert!(work.crash_states_distinct <= work.crash_states);
        }
    }
}

/// What the probe does here depends on the noise. Were it remembered by what recovery reads, it would be judged by the
/// noise of another crash state.
#[test]
fn what_a_probe_reads_decides_whether_it_is_known() {
    let options = CheckOptions { continue_after_crash: false, ..options(CrashMode::Torn, Contract::Mountable) };
    let [helped, hindered] = helped_and_hindered(Flaw::Superstitious, options);
    assert_eq!(violated(&helped), ["usable"]);
    assert_eq!(states_and_verdicts(&helped), states_and_verdicts(&hindered));
    let unusable = helped.violations[0].count;
    assert!(unusable < helped.work.crash_states, "most noises do no harm");
}

#[test]
fn a_probe_finds_without_going_on_what_going_on_finds_without_a_probe() {
    let probing = options(CrashMode::Prefix, Contract::Mountable);
    for flaw in [Flaw::Tired, Flaw::Forgetful] {
        let store = Store::new(Kind::TwoSlots, flaw);
        for continue_after_crash in [false, true] {
            let report = search(&store, CheckOptions { continue_after_crash, ..probing });
            assert_eq!(violated(&report), ["usable"], "{flaw:?}");
        }
    }
    // Only a probe unmounts: the workload does not.
    let unprobed = CheckOptions { probe: false, ..probing };
    assert_eq!(violated(&search(&Store::new(Kind::TwoSlots, Flaw::Forgetful), unprobed)), [""; 0]);
}

#[test]
fn the_search_goes_on_from_before_the_probe() {
    for kind in [Kind::OneBlock, Kind::TwoSlots] {
        let options = options(CrashMode::Subsets, Contract::Prefix);
        let [with, without] =
            [true, false].map(|probe| search(&Store::new(kind, Flaw::None), CheckOptions { probe, ..options }));
        assert_eq!(states_and_verdicts(&with), states_and_verdicts(&without));
        assert_eq!(with.work.ops, without.work.ops, "the ops of probes are not counted");
    }
}

#[test]
fn a_search_that_is_told_to_end_leaves_crash_states_and_says_so() {
    let store = Store::new(Kind::OneBlock, Flaw::None);
    let checker = Checker::new(&store, options(CrashMode::Subsets, Contract::Prefix));
    let start = checker.initial().remove(0);
    let mut actions = Vec::new();
    checker.actions(&start, &mut actions);
    let outcomes = |checker: &Checker<'_, Store>| -> usize {
        actions.iter().map(|action| Stepped::by(checker, &start, action).outcomes.len()).sum()
    };
    let all = outcomes(&checker);
    assert!(!checker.was_cut_short());
    checker.interrupt();
    let left = outcomes(&checker);
    assert!(checker.was_cut_short());
    assert_eq!(left, actions.len(), "each op is done, and no power is cut");
    assert!(left < all, "{left} of {all}");
    checker.interrupt_is_over();
    assert_eq!(outcomes(&checker), all, "afterwards traces are made in full");
}
