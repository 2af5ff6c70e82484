//! File systems of a guest kernel as targets.

use check::Checkable;
use guest::{FileSystem, FileSystemKind, GuestTarget, Kernel, KernelError, Which};
use host::{HostTarget, MountedBy, Subject};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

macro_rules! guest {
    ($name:literal, $kind:ident, $about:literal, kib = $kib:literal..=$kib_max:literal $(, $option:expr)*) => {
        Entry {
            name: concat!("guest:", $name),
            about: $about,
            kind: Kind::Files,
            options: &[
                option("kib", Values::Number($kib..=$kib_max), stringify!($kib), "the size of the disk"),
                $($option,)*
                SYNC,
                LIES,
                KERNEL,
            ],
            make: |chosen| make(file_system(FileSystemKind::$kind, chosen), chosen),
        }
    };
}

pub const EXT2: Entry = guest!(
    "ext2",
    Ext2,
    "ext2 of a real Linux kernel, which runs as a child process; e2fsck recovers it",
    kib = 64..=65536
);

pub const EXT3: Entry = guest!(
    "ext3",
    Ext3,
    "ext3 of a real Linux kernel (the code of ext4 runs it); the kernel recovers it, and e2fsck must agree",
    kib = 2080..=65536,
    DATA,
    BARRIER,
    FSCK
);

pub const EXT4: Entry = guest!(
    "ext4",
    Ext4,
    "ext4 of a real Linux kernel, which runs as a child process; the kernel recovers it, and e2fsck must agree",
    kib = 2080..=65536,
    DATA,
    BARRIER,
    option("journal", Values::Words(&["on", "off"]), "on", "off: made without a journal, so that e2fsck recovers it"),
    FSCK
);

pub const XFS: Entry = guest!(
    "xfs",
    Xfs,
    "xfs of a real Linux kernel; the kernel recovers it, and xfs_repair must agree",
    kib = 16384..=262_144,
    FSCK
);

pub const BTRFS: Entry = guest!(
    "btrfs",
    Btrfs,
    "btrfs of a real Linux kernel; the kernel recovers it, and btrfs check must agree",
    kib = 16384..=262_144,
    BARRIER,
    FSCK
);

pub const F2FS: Entry = guest!(
    "f2fs",
    F2fs,
    "f2fs of a real Linux kernel; the kernel recovers it, and fsck.f2fs must agree",
    kib = 53248..=262_144,
    option("fsync", Values::Words(&["posix", "strict", "nobarrier"]), "posix", "what fsync_mode the mount is given"),
    FSCK
);

pub const JFS: Entry =
    guest!("jfs", Jfs, "jfs of a real Linux kernel; jfs_fsck replays its journal", kib = 16384..=262_144);

pub const VFAT: Entry =
    guest!("vfat", Vfat, "FAT with long names, by a real Linux kernel; fsck.fat recovers it", kib = 64..=65536);

pub const REISERFS: Entry = guest!(
    "reiserfs",
    Reiserfs,
    "reiserfs of a real Linux kernel; the kernel recovers it, and reiserfsck must agree",
    kib = 4096..=65536,
    DATA,
    FSCK
);

pub const NILFS2: Entry = guest!(
    "nilfs2",
    Nilfs2,
    "nilfs2 of a real Linux kernel, which recovers it; there is no fsck",
    kib = 4096..=262_144,
    BARRIER,
    option("order", Values::Words(&["relaxed", "strict"]), "relaxed", "strict: no event overtakes another")
);

pub const MSDOS: Entry =
    guest!("msdos", Msdos, "FAT with short names, by a real Linux kernel; fsck.fat recovers it", kib = 64..=65536);

pub const EXFAT: Entry =
    guest!("exfat", Exfat, "exfat of a real Linux kernel; fsck.exfat recovers it", kib = 128..=65536);

pub const MINIX: Entry =
    guest!("minix", Minix, "minix of a real Linux kernel; fsck.minix recovers it", kib = 64..=65536);

pub const HFSPLUS: Entry = guest!(
    "hfsplus",
    Hfsplus,
    "hfsplus of a real Linux kernel; nothing recovers it, since Debian has no fsck for it",
    kib = 2048..=65536
);

pub const NTFS3: Entry = guest!(
    "ntfs3",
    Ntfs3,
    "ntfs of a real Linux kernel; ntfsfix only clears its mark, and nothing recovers it",
    kib = 4096..=65536
);

pub const JFFS2: Entry = Entry {
    kind: Kind::Flash,
    ..guest!(
        "jffs2",
        Jffs2,
        "jffs2 of a real Linux kernel, on a disk that is flash memory to it; the kernel recovers it",
        kib = 1024..=65536
    )
};

pub const UBIFS: Entry = Entry {
    kind: Kind::Flash,
    ..guest!(
        "ubifs",
        Ubifs,
        "ubifs of a real Linux kernel, on UBI, on a disk that is flash memory to it; the kernel recovers it",
        kib = 4096..=65536
    )
};

pub(super) const DATA: TargetOption =
    option("data", Values::Words(&["ordered", "journal", "writeback"]), "ordered", "what is journaled, and when");
pub(super) const BARRIER: TargetOption =
    option("barrier", Values::Words(&["on", "off"]), "on", "off: the journal is written without flushes");
pub(super) const FSCK: TargetOption =
    option("fsck", Values::Words(&["on", "off"]), "on", "whether fsck looks at all that was recovered or unmounted");
pub(super) const SYNC: TargetOption = option("sync", Values::Words(&["off", "on"]), "off", "on: mounted with -o sync");
pub(super) const LIES: TargetOption =
    option("lies", Values::Words(&["none", "flush"]), "none", "flush: the disk ignores flushes");
pub(super) const KERNEL: TargetOption = TargetOption {
    name: "kernel",
    values: Values::Text,
    fallback: Fallback::Depends { says: "debian where that is installed and none was built, else plain", of: kernel },
    about: "plain; debug: built with --debug, finds more and is slower; debian: not built here, finds less; or a NAME \
            that was given to one: shakedown kernel build --name NAME",
};
const DEBIAN: &str = "debian";

/// What the kernel that Debian has built cannot do, if it is the one that guests run.
pub fn remark(entry: &Entry) -> Option<&'static str> {
    (Chosen::defaults(entry.options).get("kernel") == Some(DEBIAN)).then_some(
        "in the kernel of Debian's user-mode-linux, which has clocks and chance of its own: states are restored in \
         shape, not to the byte, recoveries are not remembered, and allocations do not fail; for all of that: \
         shakedown kernel build",
    )
}

fn kernel(_: &Chosen) -> String {
    let has_none = matches!(Kernel::built(guest::PLAIN), Err(KernelError::NotBuilt { .. }));
    let kernel = if has_none && Kernel::of_debian().is_some() { DEBIAN } else { guest::PLAIN };
    kernel.to_owned()
}

pub(super) const fn option(
    name: &'static str,
    values: Values,
    value: &'static str,
    about: &'static str,
) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

/// Options that are mount options.
const MOUNT_OPTIONS: [&str; 6] = ["data", "barrier", "delalloc", "fsync", "order", "sync"];

/// The mount option that a choice stands for; none for what the kernel does anyway.
fn mount_option(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("data", "journal") => Some("data=journal"),
        ("data", "writeback") => Some("data=writeback"),
        ("barrier", "off") => Some("nobarrier"),
        ("delalloc", "off") => Some("nodelalloc"),
        ("fsync", "strict") => Some("fsync_mode=strict"),
        ("fsync", "nobarrier") => Some("fsync_mode=nobarrier"),
        ("order", "strict") => Some("order=strict"),
        ("sync", "on") => Some("sync"),
        _ => None,
    }
}

pub(super) fn make(file_system: FileSystem, chosen: &Chosen) -> Box<dyn Checkable> {
    match chosen.word("kernel") {
        DEBIAN => Box::new(HostTarget::new(Subject { file_system, mounted_by: MountedBy::Guest(Kernel::of_debian()) })),
        kernel => Box::new(GuestTarget::new(file_system, kernel)),
    }
}

/// A file system as it was asked for, in a guest or elsewhere.
pub(super) fn file_system(kind: FileSystemKind, chosen: &Chosen) -> FileSystem {
    let options: Vec<&str> = MOUNT_OPTIONS.iter().filter_map(|name| mount_option(name, chosen.get(name)?)).collect();
    FileSystem {
        which: Which::Known(kind),
        options: options.join(","),
        kib: chosen.number("kib").expect("the table of options allows only numbers"),
        journal: chosen.get("journal") != Some("off"),
        flushes_are_lies: chosen.word("lies") == "flush",
        fsck: chosen.get("fsck") != Some("off"),
    }
}

#[cfg(test)]
mod tests {
    use vfs::contract::Contract;

    use super::super::{Named, TARGETS};
    use super::FileSystemKind;

    #[test]
    fn mount_options_decide_what_is_promised() {
        let promise = |name: &str| Named::parse(name).unwrap().target.promise();
        assert_eq!(promise("guest:ext4").contract, Contract::Atomic);
        assert_eq!(promise("guest:ext4?data=journal").contract, Contract::Prefix);
        assert_eq!(promise("guest:ext4?journal=off").contract, Contract::Synced);
        assert_eq!(promise("guest:f2fs?fsync=strict").contract, Contract::Atomic);
        assert_eq!(promise("guest:ext2").contract, Contract::Synced);
        assert!(promise("guest:ext2?sync=on").synchronous && !promise("guest:ext2").synchronous);
    }

    #[test]
    fn every_file_system_is_a_target_of_the_least_size() {
        for kind in FileSystemKind::ALL {
            let name = format!("guest:{}", kind.name());
            assert!(TARGETS.iter().any(|entry| entry.name == name), "{name}");
            let chosen = Named::parse(&name).unwrap().chosen;
            assert_eq!(chosen.number("kib"), Some(kind.kib_min()), "{name}");
        }
    }
}
