//! File systems of the kernel that we run on as targets: those of guests that it has too.

use guest::FileSystemKind;
use host::{HostTarget, MountedBy, Subject};

use super::{
    Entry, Kind, Values,
    guests::{BARRIER, DATA, FSCK, LIES, SYNC, file_system, option},
};

macro_rules! host {
    ($name:literal, $kind:ident, $recovers:literal, kib = $kib:literal..=$kib_max:literal $(, $option:expr)*) => {
        Entry {
            name: concat!("host:", $name),
            about: concat!($name, " of the kernel that we run on, as root; ", $recovers),
            kind: Kind::Files,
            options: &[
                option("kib", Values::Number($kib..=$kib_max), stringify!($kib), "the size of the disk"),
                $($option,)*
                SYNC,
                LIES,
            ],
            make: |chosen| {
                let file_system = file_system(FileSystemKind::$kind, chosen);
                Box::new(HostTarget::new(Subject { file_system, mounted_by: MountedBy::RunningKernel }))
            },
        }
    };
}

pub const EXT2: Entry = host!("ext2", Ext2, "e2fsck recovers it", kib = 64..=65536);

pub const EXT3: Entry =
    host!("ext3", Ext3, "the kernel recovers it, and e2fsck must agree", kib = 2080..=65536, DATA, BARRIER, FSCK);

pub const EXT4: Entry = host!(
    "ext4",
    Ext4,
    "the kernel recovers it, and e2fsck must agree",
    kib = 2080..=65536,
    DATA,
    BARRIER,
    option("delalloc", Values::Words(&["off", "on"]), "off", "on: blocks are allocated when they are written back"),
    FSCK
);

pub const XFS: Entry =
    host!("xfs", Xfs, "the kernel recovers it, and xfs_repair must agree", kib = 16384..=262_144, FSCK);

pub const BTRFS: Entry =
    host!("btrfs", Btrfs, "the kernel recovers it, and btrfs check must agree", kib = 16384..=262_144, BARRIER, FSCK);
