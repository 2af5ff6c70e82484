//! Searches with and without symmetries come to the same verdicts, in geometries small enough for both.

use disk::CrashMode;
use models::mapping::{Index, Layout, Link, Variant, Writes};

use crate::{
    driver::violated,
    searching::{search, variant},
};

const MODES: [CrashMode; 4] = [CrashMode::Flushed, CrashMode::Prefix, CrashMode::Subsets, CrashMode::Torn];
const WRITES: [Writes; 4] = [Writes::Naive, Writes::Cached, Writes::Ordered, Writes::Barrier];

fn assert_verdicts_agree<L: Layout>(variant: Variant, crash: CrashMode) {
    let with = search::<L>(Variant { symmetry: true, ..variant }, crash, 1);
    let without = search::<L>(Variant { symmetry: false, ..variant }, crash, 1);
    assert_eq!(violated(&with), violated(&without), "{variant:?} under {crash}");
    // Torn writes tell blocks apart, so that there the models know no symmetry but blank blocks.
    let fewer = if crash == CrashMode::Torn { with.states <= without.states } else { with.states < without.states };
    assert!(fewer, "{variant:?} under {crash}: {} and {}", with.states, without.states);
}

fn every_variant_of<L: Layout>(threads: usize, size: (u8, u8)) {
    for writes in WRITES {
        MODES.iter().for_each(|crash| assert_verdicts_agree::<L>(variant(writes, threads, size), *crash));
    }
}

#[test]
fn link_with_one_thread() {
    every_variant_of::<Link>(1, (2, 2));
}

#[test]
fn index_with_one_thread() {
    every_variant_of::<Index>(1, (2, 2));
}

#[test]
fn link_with_two_threads() {
    every_variant_of::<Link>(2, (2, 1));
}

#[test]
fn index_with_two_threads() {
    every_variant_of::<Index>(2, (2, 1));
}

/// More blocks, or a third file whose inode is alone in its block, for the variants whose spaces stay small.
#[test]
fn larger_geometries() {
    for crash in MODES {
        assert_verdicts_agree::<Index>(variant(Writes::Barrier, 1, (2, 3)), crash);
        assert_verdicts_agree::<Link>(variant(Writes::Barrier, 1, (2, 3)), crash);
    }
    assert_verdicts_agree::<Link>(variant(Writes::Naive, 1, (3, 2)), CrashMode::Prefix);
    assert_verdicts_agree::<Link>(variant(Writes::Ordered, 1, (3, 2)), CrashMode::Prefix);
    assert_verdicts_agree::<Index>(variant(Writes::Cached, 1, (3, 2)), CrashMode::Flushed);
    assert_verdicts_agree::<Link>(variant(Writes::Ordered, 2, (2, 2)), CrashMode::Prefix);
    assert_verdicts_agree::<Index>(variant(Writes::Ordered, 2, (2, 2)), CrashMode::Prefix);
    // Two blocks are the least in which two threads can meet in one.
    assert_verdicts_agree::<Link>(variant(Writes::Cached, 2, (2, 2)), CrashMode::Flushed);
}
