//! Everything that a guest can be accused of, provoked: by damage on its disk, or by a kernel that is none.
//!
//! The zoo boots no kernel, so its tests look here for a property of guests.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use check::Target as _;
use disk::{Block, Disk, Failing, Fault};
use guest::{Described, FileSystem, FileSystemKind, GuestTarget, Which};
use vfs::contract::Contract;

use crate::{ext2, ext4, target, task};

/// Says to a copy of this test, started with another cache, which accusation it is to expect.
const EXPECTED: &str = "SHAKEDOWN_TEST_ACCUSED_OF";

/// Sectors of a block of the smallest file systems.
const BLOCK_SECTORS: u32 = 2;

/// What a target is accused of after a mount.
fn accused_after_mount(target: &GuestTarget, disk: &mut Disk) -> Option<&'static str> {
    let mounted = target.mount(disk).expect("a guest that is lost is no errno");
    target.complaint(&mounted).map(|finding| finding.property.name)
}

fn fill_block(disk: &mut Disk, block: u32, fill: u8) {
    disk.write(Block(block * BLOCK_SECTORS), &[fill; 1024]).unwrap();
}

#[test]
fn damage_that_the_kernel_meets_is_reported() {
    let Some(target) = target(ext2()) else { return };
    let mut disk = Disk::new(target.mkfs());
    assert_eq!(accused_after_mount(&target, &mut disk), None, "a fresh disk has no damage");
    // The block after the boot block is the superblock.
    fill_block(&mut disk, 1, 0);
    assert_eq!(accused_after_mount(&target, &mut disk), Some("damage-reported"));
}

/// The kernel does not look at bits of the block bitmap before it needs a block; the check does.
#[test]
fn damage_that_only_the_check_meets_is_reported() {
    let Some(target) = target(ext4()) else { return };
    let fresh = target.mkfs();
    let checked = |disk: &mut Disk| target.full_fsck(disk).expect("it is asked for").unwrap();
    assert_eq!(checked(&mut Disk::new(fresh.clone())), []);
    let bitmap = (0..fresh.geometry().blocks / BLOCK_SECTORS).find(|block| {
        // The only block that begins with bits of used blocks and ends with the padding behind the last one.
        let first = Block(block * BLOCK_SECTORS);
        fresh.block(first)[..32] == [0xff; 32] && fresh.block(Block(first.0 + 1))[480..] == [0xff; 32]
    });
    let first = Block(bitmap.expect("there is a block bitmap") * BLOCK_SECTORS);
    let mut damaged = Disk::new(fresh.clone());
    let mut sector = fresh.block(first).to_vec();
    sector[0] = 0;
    damaged.write(first, &sector).unwrap();
    let found = checked(&mut damaged);
    assert_eq!(found.first().map(|finding| finding.property.name), Some("fsck-not-clean"), "{found:?}");
}

/// The same for a file system that is repaired after every crash: what was unmounted in peace needs no repair.
#[test]
fn damage_that_is_left_by_an_unmount_is_reported() {
    let Some(target) = target(ext2()) else { return };
    let unmounted = |disk: &mut Disk| {
        let mut mounted = target.mount(disk).unwrap();
        let foretold = target.complaint_at_unmount(&mounted, disk);
        target.unmount(&mut mounted, disk).unwrap();
        assert_eq!(target.complaint(&mounted), foretold);
        foretold.map(|finding| finding.property.name)
    };
    let fresh = Disk::new(target.mkfs());
    assert_eq!(unmounted(&mut fresh.clone()), None);
    // The block bitmap follows the superblock and the descriptors of the groups.
    let mut damaged = fresh.clone();
    fill_block(&mut damaged, 3, 0xff);
    assert_eq!(unmounted(&mut damaged.clone()), Some("fsck-not-clean"));
    damaged.arm([Fault { what: Failing::Read, after: u64::MAX }].into_iter().collect());
    damaged.disarm();
    assert_eq!(unmounted(&mut damaged), None, "after a failure nobody is to blame");
}

#[test]
fn a_disk_that_changes_by_itself_is_reported() {
    let Some(target) = target(ext2()) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    fill_block(&mut disk, 50, 1);
    assert!(target.step(&mut mounted, &mut disk, &mut task("create(\"/f\")", 0)).unwrap().is_err());
    assert_eq!(target.complaint(&mounted).unwrap().property.name, "guest-nondeterministic");
}

/// What was reserved for a file for which there was no memory half-way is not given back by the btrfs of Linux 6.1,
/// which says so when it is unmounted. What leaked in one guest is of no account in the next.
#[test]
fn what_a_kernel_does_not_give_back_is_reported() {
    let Some(target) = target(FileSystemKind::Btrfs.usual()) else { return };
    let accused = |failing: Option<u64>| {
        let mut disk = Disk::new(target.mkfs());
        let mut mounted = target.mount(&mut disk).unwrap();
        disk.arm(failing.map(|after| Fault { what: Failing::Allocation, after }).into_iter().collect());
        let _ = target.step(&mut mounted, &mut disk, &mut task("create(\"/f\")", 0)).unwrap();
        let allocations = disk.disarm().of(Failing::Allocation);
        let said = target.complaint(&mounted).or_else(|| target.complaint_at_unmount(&mounted, &disk));
        (said.map(|finding| finding.property.name), allocations)
    };
    let (without_failure, allocations) = accused(None);
    assert_eq!(without_failure, None);
    let accusations: Vec<_> = (0..allocations).map(|number| accused(Some(number)).0).collect();
    assert!(accusations.contains(&Some("kernel-leaks")) && accusations.contains(&None), "{accusations:?}");
    assert_eq!(accused(None).0, None);
}

/// A kernel that ends at once, and one for which there is no room on this machine: nobody is accused. That a kernel
/// hangs is known only after a minute of silence; `runner.rs` has a test of what is made of that.
#[test]
fn a_kernel_that_is_none_is_told_before_anything_is_checked() {
    if let Ok(expected) = std::env::var(EXPECTED) {
        let error = GuestTarget::new(FileSystem { fsck: false, ..ext2() }, guest::PLAIN).ready().unwrap_err();
        assert!(error.contains(&expected) && !error.contains('\n'), "{error}");
        return;
    }
    if target(ext2()).is_none() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    put_kernel(cache.path(), "#!/bin/sh\necho Kernel panic - not syncing\n");
    let name = "accusing::a_kernel_that_is_none_is_told_before_anything_is_checked";
    let missing = &cache.path().join("missing");
    for (folder, expected) in [(cache.path(), "Kernel panic - not syncing"), (missing, "start a guest: ")] {
        run_again(name, cache.path(), folder, expected);
    }
}

#[test]
fn a_mount_option_that_the_kernel_does_not_know_is_told_before_anything_is_checked() {
    let Some(target) = target(FileSystem { options: "nosuchoption".to_owned(), ..ext4() }) else { return };
    let error = target.ready().unwrap_err();
    assert!(error.contains("mount a fresh file system: EINVAL") && error.contains("nosuchoption"), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

/// A fsck that somebody kills has said nothing of the file system.
#[test]
fn a_check_that_cannot_be_run_is_not_blamed_on_the_file_system() {
    let killed = || Some("kill -KILL $$".to_owned());
    let described = |fsck, repair| {
        let mkfs = Some("mke2fs -q -F -t ext2 -b 1024 -N 32 -m 0 {dev}".to_owned());
        let described = Described { mkfs, fsck, repair, ..Described::new("ext2", Contract::Mountable) };
        target(FileSystem::new(Which::Described(described.into()), 64))
    };
    let names = |found: Vec<check::Finding>| found.iter().map(|finding| finding.property.name).collect::<Vec<_>>();
    let Some(target) = described(killed(), None) else { return };
    let mut disk = Disk::new(target.mkfs());
    assert_eq!(names(target.full_fsck(&mut disk).unwrap().unwrap()), ["guest-unavailable"]);
    let mut mounted = target.mount(&mut disk).unwrap();
    target.unmount(&mut mounted, &mut disk).unwrap();
    assert_eq!(target.complaint(&mounted).unwrap().property.name, "guest-unavailable");
    let Some(target) = described(None, killed()) else { return };
    assert_eq!(names(target.fsck(&mut disk).unwrap()), ["guest-unavailable"]);
}

/// btrfs names a disk when it meets it first, which is before the mount that is asked for, and never again. Nobody
/// hears of it unless the kernel is asked to chat, and the name of this disk is what a kernel says of a bug.
#[test]
fn what_a_kernel_says_once_is_reported_if_it_says_it_before_anything_is_asked() {
    if std::env::var_os(EXPECTED).is_some() {
        let mkfs = Some("mkfs.btrfs -q -f -K --mixed -L Oops {dev}".to_owned());
        let described = Described { mkfs, ..Described::new("btrfs", Contract::Mountable) };
        let target = GuestTarget::new(FileSystem::new(Which::Described(described.into()), 16 << 10), guest::PLAIN);
        let mounted = target.mount(&mut Disk::new(target.mkfs())).unwrap();
        let finding = target.complaint(&mounted).expect("it was said once");
        assert_eq!(finding.property.name, "kernel-bug");
        assert!(finding.detail.starts_with("on a fresh disk already: "), "{}", finding.detail);
        return;
    }
    if target(ext2()).is_none() {
        return;
    }
    let kernels = cache_folder().join("shakedown/kernels");
    let kernel = kernels.join(fs::read_to_string(kernels.join("current")).unwrap().trim());
    let cache = tempfile::tempdir().unwrap();
    let script = format!("#!/bin/sh\nexec {} \"$@\" loglevel=8\n", kernel.join("linux").display());
    let chatting = put_kernel(cache.path(), &script);
    for file in ["variables", "file-systems"] {
        fs::copy(kernel.join(file), chatting.join(file)).unwrap();
    }
    let name = "accusing::what_a_kernel_says_once_is_reported_if_it_says_it_before_anything_is_asked";
    run_again(name, cache.path(), &std::env::temp_dir(), "kernel-bug");
}

/// Where kernels are kept, among other things.
fn cache_folder() -> PathBuf {
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from)
}

/// Runs a test once more, with another cache and another folder for what is temporary.
fn run_again(test: &str, cache: &Path, temporary: &Path, expected: &str) {
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("XDG_CACHE_HOME", cache)
        .env("TMPDIR", temporary)
        .env(EXPECTED, expected)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{expected}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Puts a program where the kernel is looked for; the folder that it lies in.
fn put_kernel(cache: &Path, program: &str) -> PathBuf {
    let kernels = cache.join("shakedown/kernels");
    fs::create_dir_all(kernels.join("none")).unwrap();
    fs::write(kernels.join("current"), "none").unwrap();
    let file = kernels.join("none/linux");
    fs::write(&file, program).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(kernels.join("none/variables"), crate::variables_of_no_kernel()).unwrap();
    fs::write(kernels.join("none/file-systems"), "ext2\n").unwrap();
    kernels.join("none")
}
