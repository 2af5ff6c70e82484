//! The right variant keeps its promise: searches to the last state within their bounds find nothing at all.

use std::num::NonZeroU64;

use check::{CheckOptions, Target};
use disk::CrashMode::{Flushed, Prefix, Subsets, Torn};
use models::journal::{DataMode, FsckMode, Layout, TRANSACTION_BLOCKS_MAX, Variant};
use vfs::{contract::Contract, generate::ObjectBounds};

use crate::{
    driver::violated,
    searching::{Bounds, play, search, search_target, search_with, target},
};

const MODES: [DataMode; 3] = [DataMode::Ordered, DataMode::Writeback, DataMode::Journal];
/// Everything that the workload knows, and less of it for deeper searches.
const ALL: &str = "create,write,truncate,mkdir,rmdir,unlink,rename,link,fsync,sync,remount";
const CONTENTS: &str = "create,write,truncate,unlink,sync";
const NAMES: &str = "create,mkdir,rmdir,unlink,rename,sync";

fn assert_silent(variant: Variant, bounds: Bounds) {
    let report = search(variant, bounds);
    assert_eq!(violated(&report), [""; 0], "{variant:?} {bounds:?}");
    assert!(report.work.crash_states > 0);
}

#[test]
fn every_mode_keeps_its_promise_on_every_disk() {
    for data in MODES {
        for crash in [Flushed, Prefix, Subsets, Torn] {
            let variant = Variant { data, ..Variant::default() };
            assert_silent(variant, Bounds { ops: ALL, depth: 3, crash, workers: 2 });
        }
    }
}

#[test]
fn every_mode_keeps_its_promise_while_the_log_goes_round_and_the_disk_is_full() {
    for data in MODES {
        for (log, blocks, depth) in [(TRANSACTION_BLOCKS_MAX, 8, 4), (17, 2, 5), (32, 3, 4)] {
            let variant = Variant { data, layout: Layout { log, data: blocks }, ..Variant::default() };
            assert_silent(variant, Bounds { ops: CONTENTS, depth, crash: Subsets, workers: 2 });
        }
    }
    let layout = Layout { log: TRANSACTION_BLOCKS_MAX, data: 3 };
    assert_silent(
        Variant { layout, ..Variant::default() },
        Bounds { ops: NAMES, depth: 5, crash: Subsets, workers: 2 },
    );
}

#[test]
fn sizes_need_not_be_whole_blocks() {
    for data in MODES {
        let mut target = target(Variant { data, ..Variant::default() });
        let block = NonZeroU64::new(20).expect("not zero");
        *target.bounds_mut() = ObjectBounds { block, size_max: 40, files_max: 1, ..target.bounds_mut().clone() };
        let bounds = Bounds { ops: "create,write,truncate,sync", depth: 5, crash: Subsets, workers: 2 };
        let report = search_target(target, CheckOptions::default(), bounds);
        assert_eq!(violated(&report), [""; 0], "{data:?}");
    }
}

#[test]
fn a_check_after_the_crash_finds_nothing_to_repair() {
    for fsck in [FsckMode::Fast, FsckMode::Full] {
        let variant = Variant { fsck, ..Variant::default() };
        assert_silent(variant, Bounds { ops: ALL, depth: 3, crash: Subsets, workers: 2 });
    }
}

#[test]
fn promises_differ_by_mode_and_the_strongest_is_not_kept_by_the_others() {
    let promised = MODES.map(|data| target(Variant { data, ..Variant::default() }).promise().contract);
    assert_eq!(promised, [Contract::Ordered, Contract::Ordered, Contract::Prefix]);
    let script = r#"
        create("/a", mode=0644)
        write("/a", offset=0, len=32, fill=7)
        sync()
        create("/b", mode=0644)
        write("/a", offset=0, len=32, fill=9)
        sync()
    "#;
    for (data, kept) in MODES.into_iter().zip([false, false, true]) {
        let report = play(Variant { data, ..Variant::default() }, script, Prefix, Contract::Prefix);
        let expected: &[&str] = if kept { &[] } else { &["one-moment-contents"] };
        assert_eq!(violated(&report), expected, "{data:?}");
    }
}

#[test]
fn requests_that_fail_do_no_harm() {
    let layout = Layout { log: TRANSACTION_BLOCKS_MAX, data: 3 };
    for data in MODES {
        let variant = Variant { data, layout, ..Variant::default() };
        for (faults, ops, depth) in [(1, "create,write,unlink,mkdir,sync,remount", 3), (2, "create,write,sync", 3)] {
            let bounds = Bounds { ops, depth, crash: Prefix, workers: 2 };
            let report = search_with(variant, CheckOptions { faults, ..CheckOptions::default() }, bounds);
            assert_eq!(violated(&report), [""; 0], "{data:?} {faults}");
        }
    }
}

/// The counts are facts about the model; a change of one has to be explained.
#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    let search = |workers| search(Variant::default(), Bounds { ops: CONTENTS, depth: 4, crash: Subsets, workers });
    let [one, two] = [1, 2].map(search);
    assert_eq!(one.states, two.states);
    assert_eq!(one.work.crash_states, two.work.crash_states);
    assert_eq!(one.states, 3809);
}
