//! Whole searches: what is right passes, what is wrong is found.

use std::collections::BTreeSet;

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Workload};
use disk::CrashMode;
use explore::Budget;
use guest::{FileSystem, FileSystemKind};

use crate::{ext2, ext4, kernel};

/// Does these ops one after the other, with a crash everywhere.
pub fn search_by(target: &impl Checkable, crash: CrashMode, script: &[&str]) -> CheckReport {
    let options = CheckOptions { crash, contract: target.promise().contract, ..CheckOptions::default() };
    check(target, options, script)
}

fn check(target: &impl Checkable, options: CheckOptions, script: &[&str]) -> CheckReport {
    let mut run = RunOptions::exhaustive("host");
    let ops: Vec<vfs::Op> = script.iter().map(|op| op.parse().unwrap()).collect();
    run.workload = Workload::scripted(&ops);
    run.budget = Budget { depth: Some(script.len().try_into().unwrap()), ..Budget::default() };
    target.check(options, &run, &mut |_, _| {}).unwrap()
}

fn search(file_system: FileSystem, script: &[&str]) -> Option<CheckReport> {
    Some(search_by(&kernel(file_system)?, CrashMode::Prefix, script))
}

pub fn violated(report: &CheckReport) -> BTreeSet<&str> {
    report.violations.iter().map(|violation| violation.property.as_str()).collect()
}

pub const WORK: [&str; 3] = ["create(\"/f\")", "write(\"/f\", at=end, len=2000, fill=7)", "fsync(\"/f\")"];

#[test]
fn ext4_keeps_its_promise() {
    let Some(report) = search(ext4(), &WORK) else { return };
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.crash_states > 5, "{:?}", report.work);
}

#[test]
fn every_file_system_that_recovers_by_itself_keeps_its_promise() {
    for kind in [FileSystemKind::Ext3, FileSystemKind::Xfs, FileSystemKind::Btrfs] {
        let Some(report) = search(kind.usual(), &WORK) else { return };
        assert_eq!(violated(&report), BTreeSet::new(), "{}: {:?}", kind.name(), report.violations);
        assert!(report.work.crash_states > 3, "{}: {:?}", kind.name(), report.work);
    }
}

#[test]
fn ext2_keeps_its_promise() {
    let Some(report) = search(ext2(), &["create(\"/f\")", "sync()"]) else { return };
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.crash_states > 0, "{:?}", report.work);
}

/// On a disk that does not flush, no journal helps.
#[test]
fn a_disk_that_lies_is_found_out() {
    for honest in [FileSystemKind::Ext3.usual(), ext4(), FileSystemKind::Xfs.usual(), FileSystemKind::Btrfs.usual()] {
        let Some(report) = search(FileSystem { flushes_are_lies: true, ..honest.clone() }, &WORK) else { return };
        assert!(violated(&report).contains("pinned-name"), "{honest:?}: {:?}", violated(&report));
    }
}

/// Does these ops one after the other, with up to one request failing at a time.
fn search_with_faults(target: &impl Checkable, script: &[&str]) -> CheckReport {
    let options = CheckOptions { crash: CrashMode::Off, faults: 1, ..CheckOptions::default() };
    check(target, options, script)
}

/// ext4 goes read-only when a write of its journal fails, and refuses what comes then; ext2 has nothing but fsck.
#[test]
fn what_gives_up_after_a_failed_request_is_not_accused() {
    let script = ["create(\"/f\")", "fsync(\"/f\")", "create(\"/g\")", "remount()"];
    for file_system in [ext4(), ext2()] {
        let Some(target) = kernel(file_system) else { return };
        let report = search_with_faults(&target, &script);
        assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
        assert!(report.work.ops > 20, "{:?}", report.work);
    }
}

/// The journal is replayed anew if the power is cut while it is replayed.
#[test]
fn ext4_keeps_its_promise_if_its_recovery_is_interrupted() {
    let Some(target) = kernel(ext4()) else { return };
    let options = CheckOptions { recovery_crashes: true, ..CheckOptions::default() };
    let report = check(&target, options, &["create(\"/f\")", "fsync(\"/f\")"]);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.recovery_crash_states > 5, "{:?}", report.work);
}
