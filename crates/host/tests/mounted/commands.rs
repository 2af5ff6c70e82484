//! File systems that commands mount: right ones pass, and each way to be wrong is found.

use std::{collections::BTreeSet, path::Path};

use check::Target;
use disk::CrashMode;
use guest::Described;
use host::{HostTarget, KilledTarget};
use vfs::{Conventions, DirLinks, contract::Contract};

use crate::{
    any, here, mounted_by,
    searching::{WORK, search_by, violated},
};

/// Whether a program is there; if not, a word about it, and in CI an end.
fn has(program: &str) -> bool {
    let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
    let found = folders.iter().any(|folder| Path::new(folder).join(program).is_file());
    assert!(found || std::env::var_os("CI").is_none(), "{program} is missing");
    if !found {
        eprintln!("skipped: {program} is missing");
    }
    found
}

fn ext(mkfs: &str, mount: &str, repair: Option<&str>) -> Option<HostTarget> {
    let described = Described {
        mkfs: Some(format!("{mkfs} {{dev}}")),
        repair: repair.map(ToOwned::to_owned),
        ..any(Contract::Fsynced)
    };
    here(mounted_by(mount.to_owned(), described, 2080))
}

const EXT4: &str = "mke2fs -q -F -t ext4 -b 1024 -N 32 -m 0";

#[test]
fn a_command_that_mounts_is_checked_as_a_file_system_of_the_kernel() {
    let Some(target) = ext(EXT4, "mount -t ext4 -o nodelalloc,commit=2000 {dev} {mnt}", None) else { return };
    let report = search_by(&target, CrashMode::Prefix, &WORK);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.crash_states > 5, "{:?}", report.work);
}

#[test]
fn a_command_that_forgets_to_flush_is_found_out() {
    let Some(target) = ext(EXT4, "mount -t ext4 -o nodelalloc,commit=2000,nobarrier {dev} {mnt}", None) else { return };
    let report = search_by(&target, CrashMode::Flushed, &WORK);
    assert!(violated(&report).contains("pinned-name"), "{:?}", violated(&report));
}

/// It has no journal that it uses, so that e2fsck recovers it. It flushes for a descriptor that may write, not for one
/// that only reads, and of what is synced with all of a file system it never hears: the kernel does not tell it.
#[test]
fn fuse2fs_keeps_what_was_fsynced_by_a_writer_and_nothing_else() {
    if !has("fuse2fs") {
        return;
    }
    let repair = Some("e2fsck -fy {dev}");
    let Some(target) = ext("mke2fs -q -F -t ext2 -b 1024 -N 32 -m 0", "fuse2fs {dev} {mnt}", repair) else { return };
    let by_writer = ["open(\"/f\", O_CREAT|O_RDWR, mode=0644, fd=0)", "fsync(fd=0)"];
    let report = search_by(&target, CrashMode::Prefix, &by_writer);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    for sync in ["fsync(\"/f\")", "syncfs()"] {
        let report = search_by(&target, CrashMode::Prefix, &["create(\"/f\")", sync]);
        assert_eq!(violated(&report), BTreeSet::from(["pinned-name"]), "{sync}");
    }
}

fn ntfs(repair: Option<&str>) -> Option<HostTarget> {
    let described = Described {
        mkfs: Some("mkntfs -F -q {dev}".to_owned()),
        repair: repair.map(ToOwned::to_owned),
        conventions: Conventions { dir_links: DirLinks::AlwaysOne, ..Conventions::POSIX },
        ..any(Contract::Fsynced)
    };
    here(mounted_by("ntfs-3g -o permissions {dev} {mnt}".to_owned(), described, 4096))
}

/// What was fsynced is kept, of directories too. Of a sync the kernel does not tell it: it writes, and does not flush.
/// While metadata is being written, the table of files and its mirror differ, and nothing but ntfsfix gets over it.
#[test]
fn ntfs_3g_keeps_what_was_fsynced_and_needs_ntfsfix_after_a_crash() {
    if !has("ntfs-3g") || !has("mkntfs") {
        return;
    }
    let Some(target) = ntfs(Some("ntfsfix {dev}")) else { return };
    let fsynced = ["mkdir(\"/d\")", "create(\"/d/f\")", "fsync(\"/d/f\")"];
    let report = search_by(&target, CrashMode::Flushed, &fsynced);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    let report = search_by(&target, CrashMode::Flushed, &["create(\"/f\")", "syncfs()"]);
    assert_eq!(violated(&report), BTreeSet::from(["pinned-name"]));
    let Some(target) = ntfs(None) else { return };
    let report = search_by(&target, CrashMode::Prefix, &["create(\"/f\")", "fsync(\"/f\")"]);
    assert_eq!(violated(&report), BTreeSet::from(["recovery-fails"]));
}

/// A target that cannot be had, and what is said of it; nothing where none could be.
fn refused<T: Target>(target: &T) -> Option<String> {
    let error = target.ready().expect_err("nothing is mounted");
    if error.starts_with("mount a file system on this machine") {
        assert!(std::env::var_os("CI").is_none(), "could not {error}");
        eprintln!("skipped: could not {error}");
        return None;
    }
    Some(error)
}

#[test]
fn a_command_that_mounts_nothing_is_told_as_itself() {
    let cases = [
        ("exit 7 # {mnt}", "it ended with exit status 7"),
        ("kill -KILL $$ # {mnt}", "it was ended by signal 9"),
        ("echo one >&2; echo two >&2; exit 1 # {mnt}", "it ended with exit status 1; it said last: one; two"),
        ("true {mnt}", "it ended and mounted nothing"),
        ("(sleep 0.1) & true {mnt}", "it ended and mounted nothing"),
    ];
    for (command, why) in cases {
        let expected = format!("mount with `{command}`: {why}");
        let killed = KilledTarget::new(command.to_owned(), None, Contract::Prefix);
        let on_a_disk = Described { mkfs: Some("true".to_owned()), ..any(Contract::Mountable) };
        let Some(said) = refused(&killed) else { return };
        assert_eq!(said, expected);
        assert_eq!(refused(&mounted_by(command.to_owned(), on_a_disk, 64)), Some(expected));
    }
    let target = KilledTarget::new("true {mnt}".to_owned(), Some("exit 3".to_owned()), Contract::Prefix);
    assert_eq!(refused(&target), Some("empty the store with `exit 3`: it ended with exit status 3".to_owned()));
}

const KILLED: [&str; 4] = ["mkdir(\"/d\")", "create(\"/d/f\")", "write(\"/d/f\", at=end, len=9, fill=7)", "syncfs()"];

#[test]
fn what_is_stored_at_once_survives_a_kill() {
    if !has("bindfs") {
        return;
    }
    let target = KilledTarget::new("bindfs -f {store} {mnt}".to_owned(), None, Contract::Prefix);
    let Some(target) = here(target) else { return };
    let report = search_by(&target, CrashMode::Flushed, &KILLED);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.crash_states >= 4, "{:?}", report.work);
}

/// One that works on a copy, and stores it when it is unmounted, whatever was synced.
#[test]
fn what_is_stored_too_late_is_found_out() {
    if !has("bindfs") {
        return;
    }
    let copies = "rm -rf {store}.copy; cp -a {store} {store}.copy; bindfs -f {store}.copy {mnt};";
    let stores = "rm -rf {store}; mv {store}.copy {store}";
    let target = KilledTarget::new(format!("{copies} {stores}"), None, Contract::Fsynced);
    let Some(target) = here(target) else { return };
    let report = search_by(&target, CrashMode::Flushed, &KILLED);
    assert!(violated(&report).contains("pinned-name"), "{:?}", violated(&report));
}
