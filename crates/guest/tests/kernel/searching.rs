//! Whole checks: nothing is found where all is well, and what is broken on purpose is found and seen again.

use check::{CheckOptions, CheckReport, Checkable as _, Promise, RunOptions, Workload};
use disk::CrashMode;
use explore::Budget;
use guest::{Described, FileSystem, FileSystemKind, GuestTarget, Which};
use vfs::{Conventions, Names, contract::Contract};

use crate::{ext2, ext4, target};

/// Everything that is possible, to depth 2, also after crashes. What recovery left is mounted anew for every op, and
/// must be the same each time.
#[test]
fn a_search_goes_on_from_what_was_recovered() {
    for (file_system, states_min) in [(ext2(), 30), (ext4(), 50)] {
        let Some(target) = target(file_system) else { return };
        let options = CheckOptions { crash: CrashMode::Subsets, ..CheckOptions::default() };
        let budget = Budget { depth: Some(2), ..Budget::default() };
        let run = RunOptions { budget, threads: 2, ..RunOptions::exhaustive("under test") };
        let report = target.check(options, &run, &mut |_, _| {}).unwrap();
        assert_eq!(found(&report), Vec::<&str>::new(), "{:?}", report.violations);
        assert!(report.complete && report.states > states_min, "{report:?}");
    }
}

fn check(file_system: FileSystem, ops: &[&str]) -> Option<(GuestTarget, CheckReport)> {
    check_under(file_system, ops, CrashMode::Subsets, None)
}

/// The same on a disk of this kind; unless a contract is demanded, what it promises is what it is held to.
fn check_under(
    file_system: FileSystem,
    ops: &[&str],
    crash: CrashMode,
    demanded: Option<Contract>,
) -> Option<(GuestTarget, CheckReport)> {
    let target = target(file_system)?;
    let Promise { contract, .. } = check::Checkable::promise(&target);
    let contract = demanded.unwrap_or(contract);
    let options = CheckOptions { crash, contract, continue_after_crash: false, ..CheckOptions::default() };
    let script = ops.iter().map(|op| op.parse().unwrap()).collect::<Vec<_>>();
    let run = RunOptions {
        workload: Workload::scripted(&script),
        budget: Budget { depth: Some(u32::try_from(ops.len()).unwrap()), ..Budget::default() },
        ..RunOptions::exhaustive("under test")
    };
    let report = target.check(options, &run, &mut |_, _| {}).unwrap();
    Some((target, report))
}

const FSYNC: [&str; 3] = ["create(\"/f\")", "write(\"/f\", offset=0, len=3000, fill=7)", "fsync(\"/f\")"];
const RENAME: [&str; 4] = ["create(\"/f\")", "sync()", "rename(\"/f\", \"/g\")", "sync()"];

fn found(report: &CheckReport) -> Vec<&str> {
    report.violations.iter().map(|violated| violated.property.as_str()).collect()
}

#[test]
fn ext4_keeps_its_promise() {
    for ops in [&FSYNC[..], &RENAME] {
        let Some((_, report)) = check(ext4(), ops) else { return };
        assert_eq!(found(&report), Vec::<&str>::new(), "{:?}", report.violations);
        assert!(report.complete && report.work.crash_states > 10, "{report:?}");
    }
}

/// What a program may rely on is another matter, see `docs/findings.md`: nothing tells the disk that it should flush.
#[test]
fn ext2_is_mountable_after_fsck_but_sync_leaves_everything_in_the_cache_of_the_disk() {
    let Some((_, report)) = check(ext2(), &RENAME) else { return };
    assert_eq!(found(&report), ["pinned-name"], "{:?}", report.violations);
    assert_eq!(report.violations[0].trace.ops.last(), Some(&vfs::Op::Sync));
    assert!(report.complete && report.work.crash_states > 10);
}

/// Without a journal, a rename from one directory to another is two writes, and the power can be cut between them. The
/// disk is as kind as one that can fail is: it writes in order.
#[test]
fn a_rename_between_directories_is_cut_in_two_where_there_is_no_journal() {
    const MOVE: [&str; 5] = ["mkdir(\"/d\")", "create(\"/f\")", "sync()", "rename(\"/f\", \"/d/g\")", "sync()"];
    let cut_in_two = |file_system| {
        let (_, report) = check_under(file_system, &MOVE, CrashMode::Prefix, Some(Contract::Atomic))?;
        Some(found(&report).contains(&"rename-atomic"))
    };
    for without in [FileSystem { journal: false, ..ext4() }, ext2(), FileSystemKind::Vfat.usual()] {
        let what = format!("{without:?}");
        assert_ne!(cut_in_two(without), Some(false), "{what}");
    }
    for with in [ext4(), FileSystemKind::Xfs.usual()] {
        let what = format!("{with:?}");
        assert_ne!(cut_in_two(with), Some(true), "{what}");
    }
}

#[test]
fn a_disk_that_ignores_flushes_is_found_out_and_the_trace_shows_it_again() {
    let Some((target, report)) = check(FileSystem { flushes_are_lies: true, ..ext4() }, &FSYNC) else { return };
    let violated = report.violations.first().expect("what was fsynced is lost");
    let replayed = target.replay(&violated.trace).unwrap();
    assert!(replayed.violation.is_some_and(|(property, _)| property.name == violated.property), "{:?}", violated.trace);
}

/// Also in `docs/findings.md`: a size that grows is written back some time later, on a synchronous mount too.
#[test]
fn a_synchronous_ext4_makes_a_file_longer_when_it_likes() {
    let sync = FileSystem { options: "sync".to_owned(), ..ext4() };
    let Some((_, report)) = check(sync, &["create(\"/f\")", "truncate(\"/f\", size=1)"]) else { return };
    assert_eq!(found(&report), ["pinned-size"], "{:?}", report.violations);
}

/// A file system that is in no table, as its user describes it.
#[test]
fn a_file_system_that_nobody_knows_is_checked_as_its_user_says() {
    let described = Described {
        mkfs: Some("mke2fs -q -F -t ext4 -b 1024 -N 32 -m 0 -E lazy_itable_init=0 {dev}".to_owned()),
        fsck: Some("e2fsck -fn {dev}".to_owned()),
        ..Described::new("ext4", Contract::Atomic)
    };
    let file_system = |described: Described| FileSystem::new(Which::Described(described.into()), 2080);
    let Some((_, report)) = check(file_system(described.clone()), &RENAME) else { return };
    assert_eq!(found(&report), Vec::<&str>::new(), "{:?}", report.violations);
    assert!(report.complete && report.work.crash_states > 10, "{report:?}");
    // Its programs are asked: one that is never content is heard.
    let never_content = Described { fsck: Some("echo no; exit 4 {dev}".to_owned()), ..described.clone() };
    let Some((_, report)) = check(file_system(never_content), &RENAME) else { return };
    assert_eq!(found(&report), ["fsck-disagrees", "fsck-not-clean"], "{:?}", report.violations);
    // What repairs comes first, what looks comes last.
    let repaired = Described {
        name: "ext2".to_owned(),
        mkfs: Some("mke2fs -q -F -t ext2 -b 1024 -N 32 -m 0 {dev}".to_owned()),
        repair: Some("e2fsck -fy {dev}".to_owned()),
        contract: Contract::Mountable,
        ..described.clone()
    };
    let Some((_, report)) = check(file_system(repaired), &RENAME) else { return };
    assert_eq!(found(&report), Vec::<&str>::new(), "{:?}", report.violations);
    // What it has under a name need not be a file system, as `md` is none.
    for name in ["nosuchfs", "md"] {
        let named = Described { name: name.to_owned(), ..described.clone() };
        let error = GuestTarget::new(file_system(named), guest::PLAIN).ready().unwrap_err();
        assert!(error.contains(&format!("use {name}: the guest kernel has no file system of that name; if it is one")));
    }
}

/// FAT as its user describes it: modes come from the mount, and case does not matter.
#[test]
fn what_is_said_of_a_file_system_that_nobody_knows_is_no_difference() {
    let conventions = FileSystemKind::Vfat.usual().conventions();
    let with_case = Conventions { names: Names::AsGiven, ..conventions };
    let cases = [(conventions, None), (with_case, Some("outcome")), (Conventions::POSIX, Some("tree"))];
    for (conventions, expected) in cases {
        let mkfs = Some("mkfs.fat --invariant -i 5eed5eed -s 1 {dev}".to_owned());
        let described = Described { mkfs, conventions, ..Described::new("vfat", Contract::Mountable) };
        let vfat = FileSystem::new(Which::Described(described.into()), 64);
        let vfat = FileSystem { options: "fmask=0133,dmask=0022".to_owned(), ..vfat };
        let ops = ["create(\"/a\", mode=0600)", "unlink(\"/A\")"];
        let Some((_, report)) = check_under(vfat, &ops, CrashMode::Off, None) else { return };
        assert_eq!(found(&report), Vec::from_iter(expected), "{:?}", report.violations);
    }
}

/// ext4 complains when it cannot write at the end; the disk is to blame, and it may say so. What it makes of that at
/// the next mount is judged all the same.
#[test]
fn what_is_said_of_a_request_that_fails_in_an_unmount_is_no_damage() {
    let Some(target) = target(ext4()) else { return };
    let options = CheckOptions { crash: CrashMode::Off, faults: 1, ..CheckOptions::default() };
    let script = ["create(\"/f\")", "fsync(\"/f\")", "remount()"].map(|op| op.parse().unwrap());
    let budget = Budget { depth: Some(3), ..Budget::default() };
    let run = RunOptions { workload: Workload::scripted(&script), budget, ..RunOptions::exhaustive("under test") };
    let report = target.check(options, &run, &mut |_, _| {}).unwrap();
    let says_so = report.violations.iter().any(|violated| violated.trace.detail.contains("clean up the journal"));
    assert!(!says_so, "{:?}", report.violations);
    assert!(report.work.ops > 20, "{report:?}");
}
