//! The table of the corpus, in the order of its sources.

use super::Entry;

/// Every bug that the vocabulary can ask for.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "crashmonkey-01",
        origin: "CrashMonkey 2018, new bug 1",
        broke: "btrfs",
        wrong: "neither the old nor the new file has the name that was renamed onto",
        ops: r#"
            mkdir("/A")
            create("/A/bar")
            fsync("/A/bar")
            mkdir("/B")
            create("/B/bar")
            rename("/B/bar", "/A/bar")
            create("/A/foo")
            fsync("/A/foo")
            fsync("/A")
            "#,
    },
    Entry {
        name: "crashmonkey-02",
        origin: "CrashMonkey 2018, new bug 2",
        broke: "btrfs",
        wrong: "a file is in two directories",
        ops: r#"
            mkdir("/A")
            mkdir("/A/C")
            rename("/A/C", "/B")
            create("/B/bar")
            fsync("/B/bar")
            rename("/B/bar", "/A/bar")
            rename("/A", "/B")
            fsync("/B/bar")
            "#,
    },
    Entry {
        name: "crashmonkey-03",
        origin: "CrashMonkey 2018, new bug 3",
        broke: "btrfs",
        wrong: "a directory is missing despite its fsync",
        ops: r#"
            mkdir("/A")
            mkdir("/B")
            mkdir("/A/C")
            create("/B/foo")
            fsync("/B/foo")
            link("/B/foo", "/A/C/foo")
            fsync("/A")
            "#,
    },
    Entry {
        name: "crashmonkey-04",
        origin: "CrashMonkey 2018, new bug 4",
        broke: "btrfs",
        wrong: "a renamed directory is missing despite its fsync",
        ops: r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            fsync("/B")
            "#,
    },
    Entry {
        name: "crashmonkey-05",
        origin: "CrashMonkey 2018, new bug 5",
        broke: "btrfs",
        wrong: "the second name of a file is missing despite its fsync",
        ops: r#"
            mkdir("/A")
            mkdir("/B")
            create("/A/foo")
            link("/A/foo", "/B/foo")
            fsync("/A/foo")
            fsync("/B/foo")
            "#,
    },
    Entry {
        name: "crashmonkey-06",
        origin: "CrashMonkey 2018, new bug 6",
        broke: "btrfs",
        wrong: "a name is missing despite the fsync of its directory",
        ops: r#"
            mkdir("/d")
            mkdir("/d/A")
            create("/d/foo")
            create("/d/A/foo")
            fsync("/d/A/foo")
            fsync("/d")
            "#,
    },
    Entry {
        name: "crashmonkey-07",
        origin: "CrashMonkey 2018, new bug 7",
        broke: "btrfs",
        wrong: "fsync does not keep all names of a file",
        ops: r#"
            create("/foo")
            mkdir("/A")
            link("/foo", "/A/bar")
            fsync("/foo")
            "#,
    },
    Entry {
        name: "crashmonkey-08",
        origin: "CrashMonkey 2018, new bug 8",
        broke: "btrfs",
        wrong: "space that was reserved beyond the end is lost, which no tree shows",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=16384, fill=1)
            fsync("/foo")
            fallocate("/foo", how=keep_size, offset=16384, len=4096)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "crashmonkey-09",
        origin: "CrashMonkey 2018, new bug 9",
        broke: "f2fs",
        wrong: "a file grows by a range that was to keep its size",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=16384, fill=1)
            fsync("/foo")
            fallocate("/foo", how=zero_range_keep_size, offset=16384, len=4096)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "crashmonkey-10",
        origin: "CrashMonkey 2018, new bug 10",
        broke: "f2fs",
        wrong: "a file is below the old name of its directory",
        ops: r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            "#,
    },
    Entry {
        name: "generic-034",
        origin: "fstests generic/034",
        broke: "btrfs",
        wrong: "a directory cannot be removed, because its size is wrong",
        ops: r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            create("/A/bar")
            fsync("/A")
            "#,
    },
    Entry {
        name: "generic-039",
        origin: "fstests generic/039",
        broke: "btrfs",
        wrong: "an unlinked name comes back, and its directory cannot be removed",
        ops: r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-056",
        origin: "fstests generic/056",
        broke: "btrfs",
        wrong: "data is lost that was fsynced before a link",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            fsync("/foo")
            link("/foo", "/bar")
            create("/other")
            fsync("/other")
            "#,
    },
    Entry {
        name: "generic-059",
        origin: "fstests generic/059",
        broke: "btrfs",
        wrong: "a hole is not persisted",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=32768, fill=1)
            sync()
            fallocate("/foo", how=punch_hole, offset=5000, len=8000)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-066",
        origin: "fstests generic/066",
        broke: "btrfs",
        wrong: "a removed attribute comes back",
        ops: r#"
            create("/foo")
            setxattr("/foo", "user.a", len=8, fill=1)
            sync()
            removexattr("/foo", "user.a")
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-090",
        origin: "fstests generic/090",
        broke: "btrfs",
        wrong: "an append to a file with two names is lost",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            sync()
            link("/foo", "/bar")
            sync()
            write("/foo", offset=4096, len=4096, fill=2)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-104",
        origin: "fstests generic/104",
        broke: "btrfs",
        wrong: "a name is missing, and the directory cannot be removed",
        ops: r#"
            create("/foo")
            create("/bar")
            link("/foo", "/foo1")
            link("/bar", "/bar1")
            fsync("/bar")
            "#,
    },
    Entry {
        name: "generic-106",
        origin: "fstests generic/106; a remount stands for dropping caches",
        broke: "btrfs",
        wrong: "an unlinked name comes back",
        ops: r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            remount()
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-107",
        origin: "fstests generic/107",
        broke: "btrfs",
        wrong: "an unlinked name comes back, in another directory",
        ops: r#"
            create("/foo")
            mkdir("/A")
            link("/foo", "/A/foo")
            link("/foo", "/A/bar")
            sync()
            unlink("/A/bar")
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-177",
        origin: "fstests generic/177",
        broke: "btrfs",
        wrong: "two holes that overlap leave a wrong map of extents",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=32768, fill=1)
            sync()
            fallocate("/foo", how=punch_hole, offset=24576, len=8192)
            fallocate("/foo", how=punch_hole, offset=4096, len=61440)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-321",
        origin: "fstests generic/321",
        broke: "btrfs",
        wrong: "a moved file is in both directories",
        ops: r#"
            mkdir("/A")
            create("/foo")
            sync()
            rename("/foo", "/A/foo")
            fsync("/A")
            fsync("/A/foo")
            "#,
    },
    Entry {
        name: "generic-322",
        origin: "fstests generic/322",
        broke: "btrfs",
        wrong: "a renamed file has both names, or the old one",
        ops: r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            rename("/A/foo", "/A/bar")
            fsync("/A/bar")
            "#,
    },
    Entry {
        name: "generic-325",
        origin: "fstests generic/325",
        broke: "btrfs",
        wrong: "of two ranges that msync made durable, the second is lost",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=262144, fill=1)
            sync()
            write("/foo", offset=0, len=4096, fill=2, via=mmap)
            write("/foo", offset=258048, len=4096, fill=3, via=mmap)
            msync("/foo", offset=0, len=65536)
            msync("/foo", offset=196608, len=65536)
            "#,
    },
    Entry {
        name: "generic-335",
        origin: "fstests generic/335",
        broke: "btrfs",
        wrong: "a file that was moved out of its directory is lost",
        ops: r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            rename("/A/foo", "/foo")
            create("/bar")
            fsync("/")
            "#,
    },
    Entry {
        name: "generic-336",
        origin: "fstests generic/336",
        broke: "btrfs",
        wrong: "a file that was moved is lost",
        ops: r#"
            mkdir("/A")
            mkdir("/B")
            mkdir("/C")
            create("/A/foo")
            link("/A/foo", "/B/foo")
            create("/B/bar")
            sync()
            unlink("/B/foo")
            rename("/B/bar", "/C/bar")
            fsync("/A/foo")
            "#,
    },
    Entry {
        name: "generic-341",
        origin: "fstests generic/341",
        broke: "btrfs",
        wrong: "a renamed directory is lost with all that is in it when a new one takes its name",
        ops: r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            rename("/A", "/B")
            mkdir("/A")
            fsync("/A")
            "#,
    },
    Entry {
        name: "generic-342",
        origin: "fstests generic/342; Hydra, bug 202843 of the kernel",
        broke: "btrfs, f2fs",
        wrong: "a renamed file is lost when a new one takes its name",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            sync()
            rename("/foo", "/bar")
            create("/foo")
            write("/foo", offset=0, len=4096, fill=2)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "generic-343",
        origin: "fstests generic/343",
        broke: "btrfs",
        wrong: "a moved directory is in both directories",
        ops: r#"
            mkdir("/A")
            mkdir("/B")
            mkdir("/B/d")
            create("/A/foo")
            sync()
            link("/A/foo", "/A/bar")
            rename("/B/d", "/A/d")
            fsync("/A/foo")
            "#,
    },
    Entry {
        name: "generic-348",
        origin: "fstests generic/348",
        broke: "btrfs",
        wrong: "a symlink says nothing",
        ops: r#"
            mkdir("/A")
            create("/foo")
            sync()
            symlink("/foo", "/A/bar")
            fsync("/A")
            "#,
    },
    Entry {
        name: "generic-376",
        origin: "fstests generic/376",
        broke: "btrfs",
        wrong: "a new file with the old name of a renamed one is lost",
        ops: r#"
            create("/foo")
            sync()
            rename("/foo", "/bar")
            create("/foo")
            fsync("/bar")
            "#,
    },
    Entry {
        name: "generic-468",
        origin: "fstests generic/468",
        broke: "ext4, f2fs",
        wrong: "space that was reserved beyond the end is lost, which no tree shows",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            sync()
            fallocate("/foo", how=keep_size, offset=4096, len=4096)
            fdatasync("/foo")
            "#,
    },
    Entry {
        name: "ext4-direct-write",
        origin: "CrashMonkey 2018, reproduced",
        broke: "ext4",
        wrong: "a file has blocks, but no size",
        ops: r#"
            create("/foo")
            create("/bar")
            write("/foo", offset=0, len=32768, fill=1)
            write("/foo", offset=0, len=8192, fill=2, via=direct)
            fsync("/bar")
            "#,
    },
    Entry {
        name: "btrfs-link-unlink",
        origin: "CrashMonkey 2018, reproduced",
        broke: "btrfs",
        wrong: "the file system does not mount",
        ops: r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            create("/bar")
            fsync("/bar")
            "#,
    },
    Entry {
        name: "btrfs-inode-eexist",
        origin: "CrashMonkey 2018, reproduced",
        broke: "btrfs",
        wrong: "a new file cannot be made: its number is taken",
        ops: r#"
            create("/foo")
            fsync("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            fsync("/foo")
            "#,
    },
    Entry {
        name: "iocov-zero-range",
        origin: "CM-IOCov",
        broke: "xfs",
        wrong: "a file is missing despite its fsync",
        ops: r#"
            open("/foo", O_CREAT|O_APPEND|O_WRONLY, mode=0700, fd=0)
            write(fd=0, offset=0, len=2048, fill=1)
            fallocate(fd=0, how=zero_range_keep_size, offset=580, len=65535)
            fsync(fd=0)
            "#,
    },
    Entry {
        name: "hydra-rename",
        origin: "Hydra, one of its worked examples",
        broke: "btrfs, f2fs",
        wrong: "a renamed file is lost or has both names",
        ops: r#"
            mkdir("/A")
            create("/A/foo")
            write("/A/foo", offset=0, len=4096, fill=1)
            sync()
            rename("/A/foo", "/A/bar")
            fsync("/A/bar")
            "#,
    },
    Entry {
        name: "ext2-rename",
        origin: "CrashMonkey, rename_root_to_sub: a control",
        broke: "ext2, which has no journal",
        wrong: "a moved file is missing",
        ops: r#"
            mkdir("/A")
            create("/foo")
            write("/foo", offset=0, len=4096, fill=1)
            sync()
            rename("/foo", "/A/foo")
            sync()
            "#,
    },
    Entry {
        name: "jffs2-hole",
        origin: "Metis",
        broke: "jffs2",
        wrong: "bytes that were cut off are back in a hole",
        ops: r#"
            create("/foo")
            write("/foo", offset=0, len=16, fill=1)
            truncate("/foo", size=8)
            write("/foo", offset=20, len=4, fill=2)
            remount()
            read("/foo", offset=0, len=24)
            "#,
    },
];
