//! What each variant does within small bounds: the right one nothing wrong, each flaw what it is known for.

use check::CheckOptions;
use disk::CrashMode::{self, Flushed, Off, Prefix, Subsets, Torn};
use models::f2fs::{BAD_NODE, DEAD_BLOCK, Flaw, Fsync, Heads, LOST_NID, SIT_MISMATCH, SSA_MISMATCH, Variant};

use crate::searching::{ALL, Search};

const NAMES: &str = "create,mkdir,unlink,fsync,sync";
const CONTENTS: &str = "create,write,sync";

fn search(ops: &'static str, depth: u32, crash: CrashMode) -> Search {
    Search { variant: Variant::small(), ops, files: 2, depth, crash }
}

#[test]
fn the_right_one_is_right_without_crashes() {
    assert_eq!(search(ALL, 4, Off).violated(), [""; 0]);
    let two = Variant { heads: Heads::Two, write_blocks: 1, ..Variant::small() };
    assert_eq!(Search { variant: two, ..search(ALL, 4, Off) }.violated(), [""; 0]);
    assert_eq!(Search { variant: Variant::default(), ..search(ALL, 4, Off) }.violated(), [""; 0]);
}

/// Everything at a small depth, and further where a flaw of the same bounds shows.
#[test]
fn the_right_one_is_right_after_every_crash() {
    for fsync in [Fsync::RollForward, Fsync::Checkpoint] {
        let variant = Variant { fsync, ..Variant::small() };
        for (ops, depth, crash) in [
            (ALL, 3, Flushed),
            (ALL, 3, Prefix),
            (ALL, 3, Subsets),
            (ALL, 3, Torn),
            (CONTENTS, 5, Prefix),
            (CONTENTS, 4, Subsets),
            (NAMES, 4, Prefix),
            (NAMES, 3, Subsets),
        ] {
            let search = Search { variant, ..search(ops, depth, crash) };
            let report = search.run(1);
            assert!(report.violations.is_empty(), "{search:?}: {:?}", report.violations);
            assert!(report.work.crash_states > 100, "{search:?}: {:?}", report.work);
        }
    }
}

#[test]
fn a_recovery_may_be_cut_short() {
    let options = CheckOptions { recovery_crashes: true, ..CheckOptions::default() };
    let report = search("create,fsync", 2, Prefix).run_with(1, options);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(report.work.recovery_crash_states > 40, "{:?}", report.work);
}

/// Nodes of directories share the log that a mount follows. An `fsync` that was cut short may have left a hole in it
/// with an inode behind: if the mount wrote there, the next one would follow the log to that inode.
#[test]
fn a_recovery_leaves_the_log_alone_that_it_follows() {
    let options = CheckOptions { recovery_crashes: true, ..CheckOptions::default() };
    for segment_blocks in [4, 16] {
        let variant = Variant { heads: Heads::Two, segment_blocks, write_blocks: 5, ..Variant::small() };
        let search = Search { variant, files: 1, ..search("create,write,fsync", 4, Subsets) };
        let report = search.run_with(1, options);
        assert!(report.violations.is_empty(), "{search:?}: {:?}", report.violations);
    }
}

#[test]
fn a_request_may_fail() {
    let options = CheckOptions { faults: 1, ..CheckOptions::default() };
    let report = search(ALL, 3, Prefix).run_with(1, options);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(report.work.ops > search(ALL, 3, Prefix).run(1).work.ops, "{:?}", report.work);
}

/// Only an allocation that fails shows it: reads, writes and flushes of a truncation are looked after.
#[test]
fn memory_may_be_missing() {
    let options = CheckOptions { faults: 1, ..CheckOptions::default() };
    let search = search("create,truncate", 2, Off);
    assert_eq!(search.wrong(Flaw::MemoryUnchecked).violated(), [""; 0], "without faults");
    assert!(search.run_with(1, options).violations.is_empty());
    let report = search.wrong(Flaw::MemoryUnchecked).run_with(1, options);
    let found: Vec<(&str, &str)> =
        report.violations.iter().map(|found| (found.property.as_str(), found.trace.detail.as_str())).collect();
    assert!(matches!(found[..], [("fault", detail)] if detail.contains("allocation 1 fails")), "{found:?}");
}

#[test]
fn the_published_geometry_is_right() {
    let search = Search { variant: Variant::default(), ..search(ALL, 3, Prefix) };
    assert_eq!(search.violated(), [""; 0]);
}

/// The published bug: without crashes nothing is wrong, and with them a checkpoint points to what was overwritten.
#[test]
fn immediate_reuse_loses_what_a_checkpoint_needs() {
    let right = |depth, crash| Search { files: 1, ..search(CONTENTS, depth, crash) };
    let wrong = |depth, crash| right(depth, crash).wrong(Flaw::ReuseImmediate);
    assert_eq!(wrong(6, Off).violated(), [""; 0]);
    assert_eq!(wrong(5, Prefix).violated(), [""; 0]);
    for crash in [Flushed, Prefix, Subsets] {
        assert_eq!(right(6, crash).violated(), [""; 0], "{crash}");
    }
    let report = wrong(6, Prefix).run(1);
    let critical = report.violations.iter().find(|violated| violated.property == "contents");
    let trace = &critical.expect("the file has other bytes than were written to it").trace;
    assert_eq!(trace.ops.len(), 6, "{:?}", trace.ops);
}

/// The same on the disk of the study, with every op of the model: a write of more than a segment leaves one behind that
/// a checkpoint needs, the next kills it, and the one after that overwrites it.
#[test]
fn immediate_reuse_is_found_in_the_published_geometry() {
    let right =
        Search { variant: Variant::default(), files: 1, ..search("create,write,truncate,unlink,sync", 5, Prefix) };
    assert_eq!(right.violated(), [""; 0]);
    let report = right.wrong(Flaw::ReuseImmediate).run(1);
    let critical = report.violations.iter().find(|violated| violated.property == "contents");
    let trace = &critical.expect("the file has other bytes than were written to it").trace;
    assert_eq!(trace.ops.len(), 5, "{:?}", trace.ops);
}

/// What is found in the bounds of a flaw, and that the right variant is silent in them.
fn check(flaw: Flaw, search: Search, expected: &[&str]) {
    assert_eq!(search.violated(), [""; 0], "{search:?}");
    let found = search.wrong(flaw).violated();
    for property in expected {
        assert!(found.iter().any(|name| name == property), "{flaw:?}: {found:?}, expected {expected:?}");
    }
}

#[test]
fn tables_in_place_go_apart() {
    check(Flaw::VersionsOff, search("create,sync", 3, Prefix), &[DEAD_BLOCK.name]);
}

#[test]
fn a_checkpoint_needs_its_barrier_and_its_footer() {
    check(Flaw::BarrierOff, search("mkdir,sync", 2, Subsets), &[BAD_NODE.name, LOST_NID.name]);
    assert_eq!(search("mkdir,sync", 3, Prefix).wrong(Flaw::BarrierOff).violated(), [""; 0], "in order it is safe");
    check(Flaw::FooterUnchecked, search("create,mkdir,sync", 3, Subsets), &[LOST_NID.name, SIT_MISMATCH.name]);
}

#[test]
fn fsync_waits_for_data() {
    check(Flaw::FsyncUnordered, search("create,write,fsync", 3, Subsets), &["contents"]);
}

#[test]
fn fsync_knows_what_roll_forward_cannot_do() {
    check(Flaw::RenameForgotten, search("create,rename,fsync", 4, Prefix), &["pinned-name"]);
    check(Flaw::ParentForgotten, search("create,mkdir,fsync", 3, Prefix), &["pinned-name"]);
}

#[test]
fn node_numbers_wait_for_a_checkpoint() {
    check(Flaw::NidImmediate, Search { files: 1, ..search("create,mkdir,unlink,fsync", 6, Flushed) }, &["pinned-name"]);
}

/// An `fsync` that was cut short leaves an inode behind a hole in the log. The next one fills the hole.
#[test]
fn a_mount_ends_the_old_log() {
    let variant = Variant { write_blocks: 8, ..Variant::small() };
    check(Flaw::StaleChain, Search { variant, files: 1, ..search("create,write,fsync", 5, Subsets) }, &["lost-nid"]);
}

#[test]
fn full_segments_need_summaries() {
    check(Flaw::SummaryForgotten, search(CONTENTS, 4, Prefix), &[SSA_MISMATCH.name]);
}

#[test]
fn the_number_of_workers_does_not_matter() {
    let search = search(ALL, 3, Prefix).wrong(Flaw::ReuseImmediate);
    let [one, two] = [1, 2].map(|workers| search.run(workers));
    let found = |report: &check::CheckReport| -> Vec<String> {
        report.violations.iter().map(|violated| violated.property.clone()).collect()
    };
    assert_eq!([one.states, one.work.crash_states], [two.states, two.work.crash_states]);
    assert_eq!(found(&one), found(&two));
}
