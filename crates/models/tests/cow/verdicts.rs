//! What each variant does under each crash mode, in complete searches to a depth.

use check::Checkable;
use disk::CrashMode;
use models::cow::{Commit, Flaw, Variant};

use vfs::contract::Contract;

use crate::{
    driver::violated,
    searching::{search, search_under, target},
};

const COMMITS: [Commit; 2] = [Commit::Barrier, Commit::Verify];

fn assert_silent(variant: Variant, ops: &str, crash: CrashMode, depth: u32) {
    let report = search(&target(variant, ops), crash, depth, true, 1);
    let told: Vec<_> = report.violations.iter().map(|violated| &violated.trace.detail).collect();
    assert_eq!(violated(&report), [""; 0], "{variant:?} {crash} {depth}: {told:?}");
}

#[test]
fn the_right_variants_keep_their_promise_in_every_mode() {
    for crash in CrashMode::ALL {
        for commit in COMMITS {
            assert_silent(Variant::right(false, commit), "default", crash, 3);
            assert_silent(Variant::right(true, commit), "default", crash, 3);
        }
    }
}

#[test]
fn the_right_variants_keep_their_promise_deeper() {
    for log in [false, true] {
        assert_silent(Variant::right(log, Commit::Barrier), "default", CrashMode::Subsets, 4);
        assert_silent(
            Variant::right(log, Commit::Verify),
            "create,mkdir,link,rename,unlink,rmdir,fsync",
            CrashMode::Prefix,
            4,
        );
    }
}

#[test]
fn a_disk_that_fills_up_is_as_safe() {
    for log in [false, true] {
        let small = Variant { blocks: Variant::BLOCKS_MIN, ..Variant::right(log, Commit::Barrier) };
        assert_silent(small, "create,write,fsync", CrashMode::Subsets, 5);
    }
}

/// A log makes one file newer than another: it does not keep what the variant without one promises.
#[test]
fn a_log_does_not_keep_the_order() {
    let target = target(Variant::right(true, Commit::Barrier), "create,fsync");
    assert_eq!(target.promise().contract, Contract::Atomic);
    let report = search_under(Contract::Ordered, &target, CrashMode::Flushed, 3, true, 1);
    assert_eq!(violated(&report), ["one-moment"]);
}

/// Flaws that only show when requests fail, and are tested there.
const OF_FAULTS: [Flaw; 1] = [Flaw::AbortKeepsChanges];

/// The ops of the workload, the crash mode, the depth, and a property that the search must find violated.
type Row = (Flaw, &'static str, CrashMode, u32, &'static str);

const ROWS: [Row; 21] = [
    (Flaw::NoBarrier, "create,sync", CrashMode::Subsets, 2, "recovery-fails"),
    (Flaw::SuperNotFlushed, "create,sync", CrashMode::Flushed, 2, "pinned-name"),
    (Flaw::Overwrite, "create,sync", CrashMode::Prefix, 2, "recovery-fails"),
    (Flaw::ReuseFreed, "create,sync", CrashMode::Prefix, 2, "recovery-fails"),
    (Flaw::SuperUnchecked, "create,sync", CrashMode::Torn, 2, "recovery-fails"),
    (Flaw::GenerationUnchecked, "create,rename,sync", CrashMode::Subsets, 4, "rename-atomic"),
    (Flaw::DataUnchecked, "create,write,sync", CrashMode::Subsets, 3, "one-moment-contents"),
    (Flaw::GenerationReused, "create,mkdir,sync", CrashMode::Subsets, 4, "never-held"),
    (Flaw::StaleLog, "create,unlink,fsync", CrashMode::Flushed, 4, "pinned-name"),
    (Flaw::LogOneName, "create,link,fsync", CrashMode::Flushed, 3, "pinned-name"),
    (Flaw::LogForgetsRename, "create,rename,fsync", CrashMode::Flushed, 4, "link-count"),
    (Flaw::LogForgetsUnlink, "create,link,unlink,fsync", CrashMode::Flushed, 5, "miscounted-links"),
    (Flaw::LogForgetsRenamedParent, "create,mkdir,rename,fsync", CrashMode::Flushed, 5, "pinned-name"),
    (Flaw::LogForgetsTakenName, "create,rename,fsync", CrashMode::Flushed, 5, "rename-atomic"),
    (Flaw::LogSkipsLoggedDir, "create,mkdir,fsync", CrashMode::Flushed, 5, "pinned-name"),
    (Flaw::LogForgetsMode, "create,chmod,fsync", CrashMode::Flushed, 4, "pinned-attributes"),
    (Flaw::ReplayNotCommitted, "create,fsync", CrashMode::Flushed, 2, "recovery-unstable"),
    (Flaw::ReplayForgetsBlocks, "create,write,fsync", CrashMode::Flushed, 3, "shared-block"),
    (Flaw::ReplayKeepsRoom, "create,fsync", CrashMode::Flushed, 3, "usable"),
    (Flaw::TailKept, "create,write,truncate", CrashMode::Off, 4, "contents"),
    (Flaw::UnmountForgets, "create,sync", CrashMode::Flushed, 1, "usable"),
];

#[test]
fn each_flaw_is_found_where_the_right_variant_is_silent() {
    for (name, flaw) in Flaw::ALL.into_iter().filter(|(_, flaw)| !OF_FAULTS.contains(flaw)) {
        let (_, ops, crash, depth, property) =
            ROWS.into_iter().find(|row| row.0 == flaw).unwrap_or_else(|| panic!("{name} has no row"));
        let wrong = Variant::wrong(flaw);
        let found = violated(&search(&target(wrong, ops), crash, depth, true, 1));
        assert!(found.iter().any(|found| found == property), "{name}: {found:?}");
        assert_silent(Variant { flaw: None, ..wrong }, ops, crash, depth);
    }
}

/// A change of a count means that the model does something else, which has to be explained in review.
#[test]
fn golden_counts_are_the_same_for_any_number_of_workers() {
    for (log, states) in [(false, 408), (true, 449)] {
        let target = target(Variant::right(log, Commit::Barrier), "default");
        let [one, two] = [1, 2].map(|threads| search(&target, CrashMode::Subsets, 3, true, threads).states);
        assert_eq!([one, two], [states; 2], "log {log}");
    }
}
