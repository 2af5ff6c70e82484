//! Guests that run the kernel that Debian has built, for whom has built none: it has clocks of its own, so that what is
//! done again is the same in shape only.

use std::collections::BTreeSet;

use check::Target as _;
use disk::CrashMode;
use guest::{FileSystem, FileSystemKind, Kernel};
use host::{HostTarget, MountedBy, Subject};

use crate::{
    here,
    searching::{WORK, search_by, violated},
};

fn in_debian(file_system: FileSystem) -> HostTarget {
    HostTarget::new(Subject { file_system, mounted_by: MountedBy::Guest(Kernel::of_debian()) })
}

#[test]
fn a_file_system_that_it_has_is_checked() {
    let Some(ext4) = here(in_debian(FileSystemKind::Ext4.usual())) else { return };
    let report = search_by(&ext4, CrashMode::Prefix, &WORK);
    assert_eq!(violated(&report), BTreeSet::new(), "{:?}", report.violations);
    assert!(report.work.crash_states > 5, "{:?}", report.work);
    let lying = FileSystem { flushes_are_lies: true, ..FileSystemKind::Ext4.usual() };
    let report = search_by(&in_debian(lying), CrashMode::Flushed, &WORK);
    assert!(violated(&report).contains("pinned-name"), "{:?}", violated(&report));
}

#[test]
fn one_that_it_does_not_have_is_said_to_be_missing() {
    if here(in_debian(FileSystemKind::Ext4.usual())).is_none() {
        return;
    }
    let error = in_debian(FileSystemKind::F2fs.usual()).ready().unwrap_err();
    assert!(error.contains("use f2fs: the guest kernel has no file system of that name"), "{error}");
}
