//! What each variant does under each crash mode, in the geometry of the study or, where that takes long, a smaller one.
//!
//! Every search here is exact and, but for one that says so, ends because nothing is left, so "not violated" means that
//! it cannot happen.

use check::CheckReport;
use disk::CrashMode::{Flushed, Prefix, Subsets, Torn};
use explore::{Order, Severity};
use models::mapping::{DEAD_BLOCK, DOUBLE_POINTER, Index, LOST_BLOCK, Layout, Link, Writes};

use crate::{
    driver::violated,
    searching::{options, search, search_in, search_to, variant},
};

const STUDY: (u8, u8) = (4, 11);
const CRITICAL: [&str; 3] = ["contents", DOUBLE_POINTER.name, LOST_BLOCK.name];

#[test]
fn naive_loses_data_even_if_the_disk_keeps_the_order() {
    fn check<L: Layout>() {
        let report = search::<L>(variant(Writes::Naive, 1, STUDY), Prefix, 1);
        for property in ["contents", LOST_BLOCK.name] {
            let found = report.violations.iter().find(|violated| violated.property == property);
            assert_eq!(found.map(|violated| violated.severity), Some(Severity::Critical), "{property}");
        }
    }
    check::<Link>();
    check::<Index>();
}

#[test]
fn cached_is_right_alone_on_the_disk_of_the_study() {
    assert_eq!(violated(&search::<Link>(variant(Writes::Cached, 1, STUDY), Flushed, 1)), [""; 0]);
    assert_eq!(violated(&search::<Index>(variant(Writes::Cached, 1, STUDY), Flushed, 1)), [""; 0]);
}

#[test]
fn cached_is_wrong_in_every_critical_way_with_two_threads() {
    fn check<L: Layout>() {
        let report = search::<L>(variant(Writes::Cached, 2, (3, 5)), Flushed, 1);
        let critical = report.violations.iter().filter(|violated| violated.severity == Severity::Critical);
        let mut critical: Vec<&str> = critical.map(|violated| violated.property.as_str()).collect();
        critical.sort_unstable();
        assert_eq!(critical, CRITICAL);
    }
    check::<Link>();
    check::<Index>();
}

/// No other property is violated, and what recovery found it repaired.
fn assert_only_repaired_dead_blocks<L: Layout>(writes: Writes, threads: usize, size: (u8, u8), crash: disk::CrashMode) {
    let report = search::<L>(variant(writes, threads, size), crash, 1);
    assert_only_dead_blocks_in(&report, &format!("{writes:?} {threads} {size:?} {crash}"));
}

fn assert_only_dead_blocks_in(report: &CheckReport, what: &str) {
    assert_eq!(violated(report), [DEAD_BLOCK.name], "{what}");
    let dead = &report.violations[0];
    assert_eq!(dead.severity, Severity::NotCritical);
    assert!(dead.trace.detail.ends_with("; repaired"), "{}", dead.trace.detail);
}

#[test]
fn ordered_leaves_dead_blocks_only_if_the_disk_keeps_the_order() {
    for (threads, link) in [(1, STUDY), (2, (4, 8))] {
        assert_only_repaired_dead_blocks::<Link>(Writes::Ordered, threads, link, Prefix);
        assert_only_repaired_dead_blocks::<Index>(Writes::Ordered, threads, STUDY, Prefix);
    }
}

#[test]
fn only_barriers_help_if_the_disk_reorders() {
    fn check<L: Layout>() {
        for writes in [Writes::Naive, Writes::Cached, Writes::Ordered] {
            let report = search::<L>(variant(writes, 1, (2, 3)), Subsets, 1);
            let critical = report.violations.iter().filter(|violated| violated.severity == Severity::Critical);
            let critical: Vec<&str> = critical.map(|violated| violated.property.as_str()).collect();
            assert!(critical.contains(&LOST_BLOCK.name), "{writes:?}: {critical:?}");
        }
        assert_only_repaired_dead_blocks::<L>(Writes::Barrier, 1, (3, 5), Subsets);
        assert_only_repaired_dead_blocks::<L>(Writes::Barrier, 2, (2, 4), Subsets);
    }
    check::<Link>();
    check::<Index>();
}

#[test]
fn barriers_help_even_if_the_disk_tears_writes() {
    assert_only_repaired_dead_blocks::<Link>(Writes::Barrier, 1, (2, 3), Torn);
    assert_only_repaired_dead_blocks::<Index>(Writes::Barrier, 1, (2, 3), Torn);
    // The table has four entries a block: only from five data blocks on can a write of it be torn. Six ops fill it.
    let report = search_to::<Link>(6, variant(Writes::Barrier, 1, (1, 5)), Torn);
    assert_only_dead_blocks_in(&report, "six ops on one file of five blocks");
}

/// The counts are a fact about the models, not about the search: a change of a count means that a model does something
/// else, or that a symmetry takes states together (or apart) that it did not before. Either has to be explained in
/// review; a lower count that nobody can explain is how an unsound symmetry shows first.
#[test]
fn golden_counts_are_the_same_for_any_order_and_number_of_workers() {
    fn check<L: Layout>(writes: Writes, threads: usize, size: (u8, u8), crash: disk::CrashMode, states: u64) {
        let variant = variant(writes, threads, size);
        let options = options(crash);
        let [first, others @ ..] = [(Order::BreadthFirst, 1), (Order::BreadthFirst, 2), (Order::DepthFirst, 1)]
            .map(|(order, workers)| search_in::<L>(order, variant, options, workers));
        assert_eq!(first.states, states, "{variant:?} {crash}");
        for other in others {
            assert_eq!(other.states, states, "{variant:?} {crash}");
            assert_eq!(violated(&other), violated(&first), "{variant:?} {crash}");
        }
    }
    check::<Link>(Writes::Naive, 1, (4, 8), Prefix, 201);
    check::<Index>(Writes::Naive, 1, STUDY, Prefix, 145);
    check::<Link>(Writes::Cached, 1, (4, 8), Flushed, 201);
    check::<Index>(Writes::Cached, 1, STUDY, Flushed, 145);
    check::<Index>(Writes::Ordered, 2, (4, 6), Prefix, 897);
    check::<Link>(Writes::Barrier, 1, (3, 5), Subsets, 67);
    check::<Index>(Writes::Barrier, 2, (2, 3), Subsets, 532);
    // Files that look alike and have writes pending, in each order of writes.
    check::<Link>(Writes::Naive, 2, (2, 3), Flushed, 2638);
    check::<Link>(Writes::Naive, 2, (2, 3), Subsets, 5627);
    check::<Link>(Writes::Cached, 2, (2, 2), Subsets, 737);
    check::<Link>(Writes::Barrier, 2, (3, 3), Subsets, 3843);
    check::<Index>(Writes::Ordered, 2, (3, 3), Subsets, 1006);
}
