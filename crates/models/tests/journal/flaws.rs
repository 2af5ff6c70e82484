//! Each flaw is found, and the right variant is silent within the same bounds.

use check::{CheckOptions, Lack, Target};
use disk::CrashMode::{self, Subsets, Torn};
use models::journal::{Flaw, Variant};

use crate::{
    driver::violated,
    searching::{Bounds, critical, play, search, search_with, target},
};

/// A flaw, the bounds within which a search meets it, and what it breaks there.
fn assert_found(flaw: Flaw, ops: &'static str, depth: u32, crash: CrashMode, property: &str) {
    let right = Variant::fitting(Some(flaw));
    let bounds = Bounds { ops, depth, crash, workers: 2 };
    let report = search(Variant { flaw: Some(flaw), ..right }, bounds);
    assert!(critical(&report).contains(&property), "{}: {:?}", flaw.name(), violated(&report));
    assert_eq!(violated(&search(right, bounds)), [""; 0], "without {}", flaw.name());
}

/// As [`assert_found`], for one list of ops.
fn assert_found_by(flaw: Flaw, script: &str, property: &str) {
    let right = Variant::fitting(Some(flaw));
    let run = |variant| play(variant, script, Subsets, target(variant).promise().contract);
    let report = run(Variant { flaw: Some(flaw), ..right });
    assert!(critical(&report).contains(&property), "{}: {:?}", flaw.name(), violated(&report));
    let silent = run(right);
    assert_eq!(violated(&silent), [""; 0], "without {}", flaw.name());
    assert_eq!(silent.depth, u32::try_from(script.lines().filter(|line| !line.trim().is_empty()).count()).unwrap());
}

#[test]
fn commits_without_order() {
    assert_found(Flaw::NoBarrier, "create,sync", 2, Subsets, "free-inode-in-use");
    assert_found(Flaw::DataAfterCommit, "create,write,sync", 3, Subsets, "contents");
    assert_found(Flaw::BitmapUnjournaled, "create,mkdir,rmdir,sync", 4, Subsets, "free-block-in-use");
}

#[test]
fn checkpoints_without_order() {
    assert_found(Flaw::TailBeforeCheckpoint, "create,sync", 4, Subsets, "pinned-name");
    assert_found(Flaw::ReuseBeforeSuperblock, "create,sync", 4, Subsets, "recovery-fails");
}

#[test]
fn checkpoints_that_go_wrong() {
    assert_found(Flaw::CheckpointLost, "create,mkdir,sync", 4, Subsets, "free-block-in-use");
    assert_found(Flaw::CheckpointMisdirected, "create,mkdir,sync", 4, Subsets, "pinned-name");
}

#[test]
fn a_torn_transaction_that_looks_complete() {
    assert_found(Flaw::FirstAndLastSequence, "create,sync", 2, Torn, "free-inode-in-use");
    let variant = Variant { flaw: Some(Flaw::FirstAndLastSequence), ..Variant::default() };
    let report = search(variant, Bounds { ops: "create,sync", depth: 3, crash: Subsets, workers: 1 });
    assert_eq!(violated(&report), [""; 0], "a disk that writes requests whole hides it");
}

#[test]
fn magic_that_is_put_back_in_the_wrong_place() {
    assert_found(Flaw::UnescapeWrongBlock, "create,write,sync", 3, Subsets, "contents");
}

#[test]
fn a_superblock_that_is_clean_too_early() {
    assert_found(Flaw::CleanTooEarly, "create,remount,sync", 3, Subsets, "pinned-name");
}

#[test]
fn blocks_given_out_again_before_the_commit() {
    assert_found_by(
        Flaw::ReuseBeforeCommit,
        r#"
            create("/a", mode=0644)
            write("/a", offset=0, len=32, fill=7)
            create("/b", mode=0644)
            sync()
            unlink("/a")
            write("/b", offset=0, len=32, fill=9)
            fsync("/b")
        "#,
        "contents",
    );
}

#[test]
fn replay_over_blocks_that_have_a_new_owner() {
    let script = r#"
        create("/a", mode=0644)
        mkdir("/b", mode=0755)
        sync()
        rmdir("/b")
        write("/a", offset=0, len=32, fill=7)
        fsync("/a")
    "#;
    assert_found_by(Flaw::RevokeUnwritten, script, "contents");
    assert_found_by(Flaw::RevokeIgnored, script, "contents");
}

#[test]
fn old_data_in_a_new_file() {
    assert_found_by(
        Flaw::StaleData,
        r#"
            create("/a", mode=0644)
            write("/a", offset=0, len=32, fill=7)
            sync()
            unlink("/a")
            create("/b", mode=0644)
            write("/b", offset=0, len=32, fill=9)
            fsync("/")
        "#,
        "no-foreign-data",
    );
}

#[test]
fn a_lookup_that_takes_no_memory_for_no_such_name() {
    let violated_with = |faults, flaw| {
        let bounds = Bounds { ops: "create,rename,remount", depth: 4, crash: CrashMode::Off, workers: 2 };
        let options = CheckOptions { faults, ..CheckOptions::default() };
        let report = search_with(Variant { flaw, ..Variant::default() }, options, bounds);
        violated(&report)
    };
    assert_eq!(violated_with(1, Some(Flaw::LookupSkipsBlock)), ["fault"]);
    assert_eq!(violated_with(0, Some(Flaw::LookupSkipsBlock)), [""; 0], "while there is memory, nothing is wrong");
    assert_eq!(violated_with(1, None), [""; 0]);
}

#[test]
fn a_truncate_that_fails_when_it_is_done() {
    let violated_with = |faults, flaw| {
        let bounds = Bounds { ops: "create,truncate,sync", depth: 3, crash: Subsets, workers: 2 };
        let options = CheckOptions { faults, ..CheckOptions::default() };
        let report = search_with(Variant { flaw, ..Variant::default() }, options, bounds);
        assert_eq!(critical(&report), [""; 0], "{flaw:?}");
        violated(&report)
    };
    assert_eq!(violated_with(1, Some(Flaw::TruncateFailsLate)), ["failed-but-done"]);
    assert_eq!(violated_with(0, Some(Flaw::TruncateFailsLate)), [""; 0], "while there is memory, nothing is wrong");
    assert_eq!(violated_with(1, None), [""; 0]);
}

#[test]
fn recoveries_that_cannot_be_relied_on() {
    assert_found(Flaw::ReplayExpectsWork, "create,sync", 2, Subsets, "recovery-panics");
    assert_found(Flaw::ReplayUsesClock, "create,sync", 2, Subsets, "recovery-nondeterministic");
}

#[test]
fn an_outcome_that_posix_does_not_have() {
    for flaw in [Flaw::GrowRefused, Flaw::GrowTooLarge] {
        assert_found(flaw, "create,truncate", 2, Subsets, "outcome");
    }
}

#[test]
fn a_fua_write_that_was_not_declared() {
    assert_found(Flaw::FuaUndeclared, "create,sync", 2, Subsets, "undeclared-fua");
}

#[test]
fn an_exchange_is_seen_as_a_whole_and_chmod_is_not_offered() {
    let script = r#"
        create("/a", mode=0644)
        mkdir("/d", mode=0755)
        create("/d/b", mode=0644)
        sync()
        rename("/a", "/d/b", how=exchange)
        sync()
    "#;
    let contract = target(Variant::default()).promise().contract;
    let report = play(Variant::default(), script, Subsets, contract);
    assert_eq!((violated(&report), report.depth), (Vec::new(), 6));
    let lacks = |op: &str| {
        let ops = ["create(\"/a\")", op].map(|op| op.parse().expect("an op"));
        check::Checkable::lacks(&target(Variant::default()), &ops).map(|lacking| lacking.what)
    };
    assert_eq!(lacks("chmod(\"/a\", mode=0600)"), Some(Lack::Kind));
    assert_eq!(lacks("create(\"/b\", mode=0600)"), Some(Lack::Form));
    assert_eq!(lacks("create(\"/1234567\")"), Some(Lack::LongNames { bytes_max: 6 }));
    assert_eq!(lacks("create(\"/123456\")"), None);
    assert_eq!(lacks("unlink(\"/a\")"), None);
}
