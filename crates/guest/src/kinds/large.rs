//! File systems for large disks that recover by themselves: xfs, btrfs, reiserfs.

use vfs::{Conventions, DirLinks, Fallocate};

use super::{ALL_OPS, ALL_WAYS, ATTRIBUTES, Checking, FALLOCATE, Kind, Making, clean_or_wrong};
use crate::program::Program;

const MKFS_XFS: Program = Program { name: "mkfs.xfs", package: "xfsprogs" };
const XFS_REPAIR: Program = Program { name: "xfs_repair", package: "xfsprogs" };
const MKFS_BTRFS: Program = Program { name: "mkfs.btrfs", package: "btrfs-progs" };
const BTRFS_PROGRAM: Program = Program { name: "btrfs", package: "btrfs-progs" };

/// One allocation group. Below 300 MiB mkfs wants to be told that nobody will blame it.
pub(super) const XFS: Kind = Kind {
    name: "xfs",
    kib_min: 16 << 10,
    making: Making::Program {
        program: MKFS_XFS,
        arguments: &["--unsupported", "-q", "-f", "-K", "-m", "uuid=5eed5eed-5eed-4eed-8eed-5eed5eed5eed"],
        finish: None,
    },
    checking: Some(Checking {
        program: XFS_REPAIR,
        // With one group there is no second opinion about the geometry, so it must be told to believe the first.
        look: &["-n", "-f", "-o", "force_geometry"],
        repair: None,
        verdict: clean_or_wrong,
        chatter: &[
            "Phase ",
            "        - ",
            "Cannot get host",
            "Repair may fail",
            "the image and the host",
            "No modify flag",
        ],
    }),
    mount_options: "",
    hidden: &[],
    emptied: &[],
    ways: ALL_WAYS,
    exchanges: true,
    ops: ALL_OPS,
    fallocate: Fallocate::ALL,
    conventions: Conventions::POSIX,
};

/// Data and metadata share their room, as they do by default on a disk this small.
pub(super) const BTRFS: Kind = Kind {
    name: "btrfs",
    kib_min: 16 << 10,
    making: Making::Program {
        program: MKFS_BTRFS,
        arguments: &["-q", "-f", "-K", "--mixed", "-U", "5eed5eed-5eed-4eed-8eed-5eed5eed5eed"],
        finish: None,
    },
    checking: Some(Checking {
        program: BTRFS_PROGRAM,
        look: &["check", "--readonly"],
        repair: None,
        verdict: clean_or_wrong,
        chatter: &["[", "Opening ", "Checking ", "UUID:", "total ", "btree ", "file data ", "referenced "],
    }),
    mount_options: "",
    hidden: &[],
    emptied: &["btrfs_inode"],
    ways: ALL_WAYS,
    exchanges: true,
    ops: ALL_OPS,
    fallocate: &[
        Fallocate::Allocate,
        Fallocate::KeepSize,
        Fallocate::PunchHole,
        Fallocate::ZeroRange,
        Fallocate::ZeroRangeKeepSize,
    ],
    conventions: Conventions { dir_links: DirLinks::AlwaysOne, ..Conventions::POSIX },
};

const MKREISERFS: Program = Program { name: "mkreiserfs", package: "reiserfsprogs" };
const REISERFSCK: Program = Program { name: "reiserfsck", package: "reiserfsprogs" };

/// The smallest journal. Extended attributes are files in a hidden directory, and need a mount option; they are left
/// out.
pub(super) const REISERFS: Kind = Kind {
    name: "reiserfs",
    kib_min: 4 << 10,
    making: Making::Program {
        program: MKREISERFS,
        arguments: &["-q", "-f", "-f", "-s", "513", "-u", "5eed5eed-5eed-4eed-8eed-5eed5eed5eed"],
        finish: None,
    },
    checking: Some(Checking {
        program: REISERFSCK,
        look: &["--check", "-q", "-y"],
        repair: None,
        verdict: clean_or_wrong,
        chatter: &["reiserfsck ", "Will ", "###", "There are ", "\t", "Checking ", "Comparing ", "finished"],
    }),
    exchanges: false,
    ops: ALL_OPS.without(ATTRIBUTES).without(FALLOCATE),
    fallocate: &[],
    ..XFS
};
