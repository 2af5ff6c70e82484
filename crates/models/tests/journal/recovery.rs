//! Recovery under fire: it is cut short at every point, and recovering again must give the same tree.

use check::Target;
use disk::{CrashMode, Disk, Image, Limits, Position, crash_states};
use models::journal::{DataMode, Flaw, FsckMode, Variant};
use vfs::{Path, Tree};

use crate::{
    driver::violated,
    searching::{Bounds, run, search, target},
};

const SCRIPT: &str = r#"
    create("/a", mode=0644)
    write("/a", offset=0, len=40, fill=1)
    sync()
    mkdir("/b", mode=0755)
    rename("/a", "/b/a")
    sync()
"#;

/// Does the script, and perhaps unmounts. Mounting is over: its requests are not in the log.
fn used(variant: Variant, unmount: bool) -> Disk {
    let target = target(variant);
    let mut start = Disk::new(target.mkfs());
    let mut memory = target.mount(&mut start).expect("a fresh file system mounts");
    let mut disk = Disk::new(start.image().clone());
    run(&target, &mut memory, &mut disk, SCRIPT);
    if unmount {
        target.unmount(&mut memory, &mut disk).expect("it can be unmounted");
    }
    disk
}

/// Every image that a power cut at any time may leave.
fn images(disk: &Disk) -> Vec<Image> {
    let positions = (disk.log().positions().start().0..=disk.position().0).map(Position);
    let states = positions.flat_map(|position| {
        crash_states(disk.log(), position, CrashMode::Subsets, Limits { only_new: true, ..Limits::default() })
    });
    let mut images: Vec<Image> = states.map(|state| state.image).collect();
    images.sort_unstable_by_key(Image::hash);
    images.dedup();
    images
}

/// The tree after recovery, and the disk with what recovery asked of it.
fn recover(variant: Variant, image: &Image) -> (Tree, Disk) {
    let target = target(variant);
    let mut disk = Disk::new(image.clone());
    let findings = target.fsck(&mut disk).expect("the check ends");
    assert!(findings.is_empty(), "{findings:?}");
    let memory = target.mount(&mut disk).expect("it mounts");
    (target.observe(&memory, &disk).expect("it can be read"), disk)
}

/// How many second recoveries gave another tree than the first, of how many.
fn differing(variant: Variant, unmount: bool) -> (usize, usize) {
    let (mut differing, mut all) = (0, 0);
    for image in images(&used(variant, unmount)) {
        let (tree, disk) = recover(variant, &image);
        for image in images(&disk) {
            let mut disk = Disk::new(image.clone());
            let target = target(variant);
            let again = target.fsck(&mut disk).and_then(|_| target.mount(&mut disk));
            let again = again.and_then(|memory| target.observe(&memory, &disk));
            all += 1;
            differing += usize::from(!again.is_ok_and(|again| again.same_as(&tree)));
        }
    }
    (differing, all)
}

#[test]
fn a_recovery_that_is_cut_short_changes_nothing() {
    for data in [DataMode::Ordered, DataMode::Writeback, DataMode::Journal] {
        for fsck in [FsckMode::Off, FsckMode::Fast, FsckMode::Full] {
            let (differing, all) = differing(Variant { data, fsck, ..Variant::default() }, true);
            assert_eq!(differing, 0, "{data:?} {fsck:?}");
            assert!(all > 100, "{all}");
        }
    }
}

#[test]
fn a_journal_that_is_cleared_before_its_replay_is_flushed_loses_everything_in_it() {
    let variant = Variant { flaw: Some(Flaw::ReplayClearsFirst), ..Variant::default() };
    assert!(differing(variant, false).0 > 0);
}

#[test]
fn no_power_cut_in_ops_alone_shows_that_the_journal_is_cleared_too_early() {
    let variant = Variant { flaw: Some(Flaw::ReplayClearsFirst), ..Variant::default() };
    let bounds = Bounds { ops: "create,write,sync", depth: 3, crash: CrashMode::Subsets, workers: 1 };
    assert_eq!(violated(&search(variant, bounds)), [""; 0]);
}

#[test]
fn a_check_that_says_clean_before_it_replays_cannot_be_cut_short() {
    let flaw = Some(Flaw::CleanTooEarly);
    assert!(differing(Variant { fsck: FsckMode::Fast, flaw, ..Variant::default() }, false).0 > 0);
}

#[test]
fn fast_and_full_checks_and_the_mount_give_the_same_tree() {
    let variant = Variant::default();
    for image in images(&used(variant, true)) {
        let [off, fast, full] =
            [FsckMode::Off, FsckMode::Fast, FsckMode::Full].map(|fsck| recover(Variant { fsck, ..variant }, &image).0);
        assert!(off.same_as(&fast) && fast.same_as(&full));
    }
}

#[test]
fn an_unmounted_file_system_is_mounted_without_replay() {
    let target = target(Variant::default());
    let image = used(Variant::default(), true).image().clone();
    let mut disk = Disk::new(image.clone());
    let memory = target.mount(&mut disk).expect("it mounts");
    let wrote: Vec<_> = disk.log().entries().map(|(_, entry)| entry.extent(disk.geometry()).0).collect();
    assert_eq!(wrote.first(), Some(&disk::Block(0)), "only the superblock, which says that it is in use");
    assert_eq!(wrote.len(), 2, "and a flush");
    let tree = target.observe(&memory, &disk).expect("it can be read");
    assert!(tree.lookup(&Path::new("/b/a").expect("a path")).is_some());
}

#[test]
fn a_full_check_that_leaves_inodes_in_the_log_disagrees_with_a_fast_one() {
    let bounds = Bounds { ops: "create,mkdir,sync", depth: 3, crash: CrashMode::Subsets, workers: 2 };
    for fsck in [FsckMode::Off, FsckMode::Fast] {
        let wrong = Variant { fsck, flaw: Some(Flaw::FsckSkipsInodes), ..Variant::default() };
        assert_eq!(violated(&search(wrong, bounds)), ["fsck-disagrees"], "{fsck:?}");
        assert_eq!(violated(&search(Variant { flaw: None, ..wrong }, bounds)), [""; 0], "{fsck:?}");
    }
}
