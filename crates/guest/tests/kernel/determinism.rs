//! The same ops on the same image give the same requests and the same bytes: again, in another guest, and after other
//! work.

use check::Target as _;
use disk::{Disk, Entry, EntryKind, Failing, Fault, Faults, Image};
use guest::{FileSystem, FileSystemKind, GuestTarget};
use vfs::{Reference, Tree};

use crate::{ext2, ext4, target, task};

const OPS: [&str; 12] = [
    "mkdir(\"/d\")",
    "create(\"/d/f\")",
    "write(\"/d/f\", offset=0, len=5000, fill=1)",
    "fsync(\"/d/f\")",
    "link(\"/d/f\", \"/g\")",
    "rename(\"/d\", \"/e\")",
    "symlink(\"e/f\", \"/s\")",
    "setxattr(\"/g\", \"user.a\", len=20, fill=3)",
    "sync()",
    "truncate(\"/g\", size=100)",
    "unlink(\"/e/f\")",
    "fsync(\"/e\")",
];

/// Other work, after which nothing may be different.
const OTHER: [&str; 3] = ["create(\"/x\")", "write(\"/x\", offset=0, len=20000, fill=9)", "sync()"];

/// The same ops, as far as the target has them; where there are no links, the second name is another file.
fn ops_of(target: &GuestTarget) -> Vec<&'static str> {
    let has = |op: &str| target.ops().contains(op.parse::<vfs::Op>().expect("a test's op").kind());
    let instead = |op| if has(op) { Some(op) } else { Some("create(\"/g\")").filter(|_| op == OPS[4]) };
    OPS.into_iter().filter_map(instead).collect()
}

/// Mounts a fresh image and does ops one after the other; everything that was asked of the disk, and what was seen.
fn run(target: &GuestTarget, ops: &[&str]) -> (Vec<Entry>, Image, Tree) {
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    assert_eq!(target.complaint(&mounted), None);
    let mut reference = Reference::from_tree(&target.observe(&mounted, &disk).unwrap());
    reference.keep_to(target.conventions());
    for (index, op) in (0..).zip(ops) {
        let mut task = task(op, index);
        let outcome = target.step(&mut mounted, &mut disk, &mut task).unwrap();
        assert_eq!(target.complaint(&mounted), None);
        assert_eq!(outcome, reference.apply(&task.op), "{op}");
        let tree = target.observe(&mounted, &disk).unwrap();
        assert!(tree.same_as(&reference.tree()), "after {op}:\n{tree}\nexpected\n{}", reference.tree());
    }
    let tree = target.observe(&mounted, &disk).unwrap();
    target.unmount(&mut mounted, &mut disk).unwrap();
    assert_eq!(target.complaint(&mounted), None);
    (disk.log().entries().map(|(_, entry)| entry.clone()).collect(), disk.image().clone(), tree)
}

fn repeats(file_system: &FileSystem) {
    let Some(target) = target(file_system.clone()) else { return };
    let ops = ops_of(&target);
    let first = run(&target, &ops);
    assert!(first.0.len() > 10, "a log that is empty would prove nothing");
    run(&target, &OTHER);
    let again = run(&target, &ops);
    let elsewhere = GuestTarget::new(file_system.clone(), guest::PLAIN);
    run(&elsewhere, &OTHER[..1]);
    for (other, how) in [(again, "again"), (run(&elsewhere, &ops), "in another guest")] {
        assert_eq!(first.0.len(), other.0.len(), "{how}: requests");
        for (number, (one, another)) in first.0.iter().zip(&other.0).enumerate() {
            assert!(one == another, "{how}: request {number}: {}", differing(one, another));
        }
        assert!(first.1 == other.1 && first.2.same_as(&other.2), "{how}");
    }
}

/// Where two requests differ.
fn differing(one: &Entry, another: &Entry) -> String {
    match (&one.kind, &another.kind) {
        (EntryKind::Write { block, data }, EntryKind::Write { block: other_block, data: other_data }) => {
            let places = (0..).zip(data.iter().zip(other_data.iter())).filter(|(_, (a, b))| a != b);
            let places: Vec<(usize, (&u8, &u8))> = places.collect();
            let (count, shown) = (places.len(), &places[..places.len().min(16)]);
            format!("blocks {block} and {other_block}, {} bytes, {count} of them differ: {shown:?}", data.len())
        }
        (one, another) => format!("{one:?} and {another:?}"),
    }
}

macro_rules! repeats {
    ($($name:ident: $kind:ident,)*) => {
        $(#[test]
        fn $name() {
            repeats(&FileSystemKind::$kind.usual());
        })*
    };
}

repeats! {
    ext2_repeats: Ext2,
    ext3_repeats: Ext3,
    ext4_repeats: Ext4,
    xfs_repeats: Xfs,
    btrfs_repeats: Btrfs,
    jfs_repeats: Jfs,
    f2fs_repeats: F2fs,
    vfat_repeats: Vfat,
    reiserfs_repeats: Reiserfs,
    nilfs2_repeats: Nilfs2,
    msdos_repeats: Msdos,
    exfat_repeats: Exfat,
    minix_repeats: Minix,
    hfsplus_repeats: Hfsplus,
    ntfs3_repeats: Ntfs3,
    jffs2_repeats: Jffs2,
    ubifs_repeats: Ubifs,
}

/// A state is restored by replaying: an op from the middle of a session has the same effect after the guest was used
/// for something else, and a copy of a state goes its own way.
fn restores(file_system: FileSystem, (before, after): (&[&str], &[&str])) {
    let Some(target) = target(file_system) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    for (index, op) in (0..).zip(before) {
        target.step(&mut mounted, &mut disk, &mut task(op, index)).unwrap().unwrap();
    }
    let finish = |ops: &[&str]| {
        let (mut mounted, mut disk) = (mounted.clone(), disk.clone());
        for (index, op) in (6..).zip(ops) {
            let outcome = target.step(&mut mounted, &mut disk, &mut task(op, index)).unwrap();
            assert_eq!(target.complaint(&mounted), None);
            outcome.unwrap();
        }
        (disk.image().hash(), target.observe(&mounted, &disk).unwrap().to_string())
    };
    let live = finish(after);
    let other = finish(&["create(\"/other\")", "sync()"]);
    assert_eq!(finish(after), live);
    assert_ne!(other, live);
}

#[test]
fn a_session_is_restored_by_doing_it_again() {
    restores(ext4(), OPS.split_at(6));
}

/// A thread of btrfs looks for free space when nobody else runs, so that where an `fsync` writes depends on who waited
/// when.
#[test]
fn a_session_is_restored_at_the_pace_at_which_it_was_done() {
    let ops = ["open(\"/foo\", O_CREAT|O_RDWR, mode=0777, fd=0)", "fsync(fd=0)", "close(fd=0)"];
    restores(FileSystemKind::Btrfs.usual(), ops.split_at(2));
}

/// Ops that touch the same few files in every way, and leave them open now and then: what a file system does when a
/// file is closed comes from here.
const MIXED: [&str; 28] = [
    "create(\"/a\")",
    "create(\"/d/b\")",
    "mkdir(\"/d\")",
    "write(\"/a\", offset=0, len=5000, fill=1)",
    "write(\"/a\", offset=9000, len=20000, fill=2)",
    "write(\"/d/b\", offset=100, len=300, fill=3)",
    "truncate(\"/a\", size=0)",
    "truncate(\"/a\", size=3000)",
    "truncate(\"/d/b\", size=70000)",
    "open(\"/a\", O_RDWR|O_CREAT, mode=0644, fd=0)",
    "open(\"/a\", O_RDWR|O_CREAT|O_TRUNC, mode=0644, fd=0)",
    "open(\"/d/b\", O_WRONLY, fd=1)",
    "write(fd=0, offset=0, len=12000, fill=4)",
    "write(fd=1, offset=4096, len=4096, fill=5)",
    "truncate(fd=0, size=10)",
    "close(fd=0)",
    "close(fd=1)",
    "fsync(\"/a\")",
    "fsync(fd=1)",
    "link(\"/a\", \"/d/l\")",
    "symlink(\"d/b\", \"/s\")",
    "write(\"/s\", offset=0, len=700, fill=6)",
    "rename(\"/a\", \"/d/b\")",
    "rename(\"/d/b\", \"/a\")",
    "unlink(\"/a\")",
    "unlink(\"/d/l\")",
    "setxattr(\"/a\", \"user.a\", len=200, fill=7)",
    "sync()",
];

/// A session of many ops goes on as it would have, from wherever it is restored.
fn goes_on(kind: FileSystemKind) {
    const OPS_DONE: usize = 60;
    let Some(target) = target(kind.usual()) else { return };
    let mut random = 12345_u64;
    let mut any = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        MIXED[(random >> 33) as usize % MIXED.len()]
    };
    let ops: Vec<&str> = (0..OPS_DONE).map(|_| any()).collect();
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    let mut states = Vec::new();
    for (index, op) in (0..).zip(&ops) {
        states.push((mounted.clone(), disk.clone()));
        let _ = target.step(&mut mounted, &mut disk, &mut task(op, index)).unwrap();
        assert_eq!(target.complaint(&mounted), None, "{op}");
    }
    assert!(target.observe(&mounted, &disk).unwrap().nodes.len() > 2, "nothing came of all this");
    let images: Vec<u128> = states.iter().skip(1).map(|(_, disk)| disk.image().hash()).collect();
    for from in [50, 33, 7] {
        let (mut mounted, mut disk) = states[from].clone();
        for (at, op) in ops.iter().enumerate().skip(from) {
            let index = u32::try_from(at).unwrap();
            let _ = target.step(&mut mounted, &mut disk, &mut task(op, index)).unwrap();
            assert_eq!(target.complaint(&mounted), None, "{op}, {at} after {from}: {:?}", &ops[..=at]);
            assert!(images.get(at).is_none_or(|image| *image == disk.image().hash()), "{op}, {at} after {from}");
        }
    }
}

#[test]
fn a_session_goes_on_from_wherever_it_is_restored() {
    for kind in FileSystemKind::ALL {
        goes_on(kind);
    }
}

/// What an op finds in caches, and what is looked at between two ops, decides how often the kernel reads its clock.
/// That must not decide when a thread of btrfs writes a tree: here it would once in some eighty ops, if reading took
/// time.
#[test]
fn it_does_not_matter_how_often_the_clock_was_read() {
    const FILES: usize = 60;
    const OPS_DONE: usize = 100;
    let Some(target) = target(FileSystemKind::Btrfs.usual()) else { return };
    let name = |number: usize| format!("/d/f{}", number % FILES);
    let made = (0..FILES).map(|number| format!("create(\"{}\")", name(number)));
    let used = (0..).map(|number| {
        let (one, another) = (name(7 * number), name(11 * number + 3));
        match number % 6 {
            0 | 3 => format!("rename(\"{one}\", \"{another}\")"),
            1 => format!("unlink(\"{one}\")"),
            4 => format!("fsync(\"{one}\")"),
            _ => format!("write(\"{one}\", offset=0, len={}, fill=3)", 1000 + 997 * number),
        }
    });
    let ops: Vec<String> = std::iter::once("mkdir(\"/d\")".to_owned()).chain(made).chain(used).take(OPS_DONE).collect();
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    for (index, op) in (0..).zip(&ops) {
        // The guest has gone on with something else, and is brought back to each state before it goes on from there.
        let (mut elsewhere, mut other) = (mounted.clone(), disk.clone());
        let _ = target.step(&mut elsewhere, &mut other, &mut task("create(\"/other\")", index)).unwrap();
        assert_eq!(target.complaint(&elsewhere), None, "instead of {op}");
        let _ = target.step(&mut mounted, &mut disk, &mut task(op, index)).unwrap();
        assert_eq!(target.complaint(&mounted), None, "{op}");
    }
}

/// A disk that is not what the ops left is noticed, and not worked on.
#[test]
fn a_disk_that_is_another_one_is_noticed() {
    let Some(target) = target(ext2()) else { return };
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    disk.write(disk::Block(100), &[1; 512]).unwrap();
    assert!(target.step(&mut mounted, &mut disk, &mut task(OPS[0], 0)).unwrap().is_err());
    assert_eq!(target.complaint(&mounted).unwrap().property.name, "guest-nondeterministic");
}

/// How many allocations an op on a fresh image makes.
fn allocations(target: &GuestTarget, op: &str) -> u64 {
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    disk.arm(Faults::new());
    let _ = target.step(&mut mounted, &mut disk, &mut task(op, 0)).unwrap();
    disk.disarm().of(Failing::Allocation)
}

/// How many allocations a remount of a fresh image makes: in the unmount, and in all.
fn allocations_of_a_remount(target: &GuestTarget) -> (u64, u64) {
    let mut disk = Disk::new(target.mkfs());
    let mut mounted = target.mount(&mut disk).unwrap();
    disk.arm(Faults::new());
    target.unmount(&mut mounted, &mut disk).unwrap();
    let unmounted = disk.io_counts().of(Failing::Allocation);
    target.mount(&mut disk).unwrap();
    (unmounted, disk.disarm().of(Failing::Allocation))
}

#[test]
fn a_remount_allocates_more_than_an_op() {
    let Some(target) = target(ext4()) else { return };
    let (unmounting, remounting) = allocations_of_a_remount(&target);
    assert!(unmounting > 0 && remounting > unmounting, "{unmounting} {remounting}");
    assert!(remounting > 3 * allocations(&target, "create(\"/f\")"), "{remounting}");
}

/// What could be mounted though an allocation failed is restored with the same allocation failing.
#[test]
fn a_mount_in_which_an_allocation_failed_is_done_again() {
    let Some(target) = target(ext4()) else { return };
    let (unmounting, remounting) = allocations_of_a_remount(&target);
    let mut mounted_at_once = 0;
    for after in 0..remounting {
        let mut disk = Disk::new(target.mkfs());
        let mut mounted = target.mount(&mut disk).unwrap();
        disk.arm([Fault { what: Failing::Allocation, after }].into_iter().collect());
        target.unmount(&mut mounted, &mut disk).unwrap();
        let first = target.mount(&mut disk);
        assert!(first.is_ok() || after >= unmounting, "allocation {after} is one of the unmount");
        mounted_at_once += u64::from(first.is_ok() && after >= unmounting);
        let mounted = first.or_else(|_| target.mount(&mut disk)).unwrap();
        assert_eq!(target.complaint(&mounted), None, "allocation {after}");
        disk.disarm();
        let finish = |op: &str| {
            let (mut mounted, mut disk) = (mounted.clone(), disk.clone());
            target.step(&mut mounted, &mut disk, &mut task(op, 0)).unwrap().unwrap();
            assert_eq!(target.complaint(&mounted), None, "allocation {after}");
            disk.image().hash()
        };
        let live = finish("create(\"/f\")");
        finish("mkdir(\"/d\")");
        assert_eq!(finish("create(\"/f\")"), live, "allocation {after}");
    }
    assert!(mounted_at_once > 0, "some of {remounting} are not needed for a mount");
}

/// A kernel makes things at the first mount that it has from then on. Which allocation fails must not depend on that.
#[test]
fn a_fresh_guest_allocates_what_it_allocates_later() {
    for kind in [FileSystemKind::Ext4, FileSystemKind::Btrfs, FileSystemKind::F2fs, FileSystemKind::Jfs] {
        let Some(target) = target(kind.usual()) else { return };
        let counted = |op| allocations(&target, op);
        let ops = ["fsync(\"/\")", "mkdir(\"/d\")", "create(\"/f\")"];
        let first = ops.map(counted);
        assert!(first.iter().all(|count| *count > 0), "{first:?}");
        let remount = allocations_of_a_remount(&target);
        assert_eq!(ops.map(counted), first, "{}", kind.name());
        assert_eq!(allocations_of_a_remount(&target), remount, "{}", kind.name());
    }
}
