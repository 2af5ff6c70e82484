//! File systems of cards and sticks, which every system reads: vfat, msdos, exfat.

use posix::FSCK_REC;
use vfs::{Conventions, Modes, Names};

use super::{ALL_OPS, ALL_WAYS, Checking, FALLOCATE, Kind, Making, NEEDS_INODES, usual_verdict};
use crate::program::Program;

const MKFS_FAT: Program = Program { name: "mkfs.fat", package: "dosfstools" };
const FSCK_FAT: Program = Program { name: "fsck.fat", package: "dosfstools" };

/// FAT12 at this size. Modes come from the mount.
pub(super) const VFAT: Kind = Kind {
    name: "vfat",
    kib_min: 64,
    making: Making::Program {
        program: MKFS_FAT,
        arguments: &["--invariant", "-i", "5eed5eed", "-s", "1"],
        finish: None,
    },
    checking: Some(Checking {
        program: FSCK_FAT,
        look: &["-n"],
        repair: Some(&["-a"]),
        verdict: usual_verdict,
        chatter: &["fsck.fat "],
    }),
    mount_options: "fmask=0133,dmask=0022",
    hidden: &[FSCK_REC],
    emptied: &[],
    ways: ALL_WAYS,
    exchanges: true,
    ops: ALL_OPS.without(NEEDS_INODES).without(FALLOCATE),
    fallocate: &[],
    conventions: Conventions {
        modes: Modes::Fixed { file: 0o644, dir: 0o755 },
        names: Names::IgnoringCase,
        ..Conventions::POSIX
    },
};

/// The same disk with names of eight letters and three.
pub(super) const MSDOS: Kind = Kind {
    name: "msdos",
    exchanges: false,
    conventions: Conventions { names: Names::Small, ..VFAT.conventions },
    ..VFAT
};

const MKFS_EXFAT: Program = Program { name: "mkfs.exfat", package: "exfatprogs" };
const FSCK_EXFAT: Program = Program { name: "fsck.exfat", package: "exfatprogs" };

/// Small clusters, and a table that begins early.
pub(super) const EXFAT: Kind = Kind {
    name: "exfat",
    kib_min: 128,
    making: Making::Program { program: MKFS_EXFAT, arguments: &["-b", "4K", "-c", "512"], finish: None },
    checking: Some(Checking {
        program: FSCK_EXFAT,
        look: &["-n"],
        repair: Some(&["-y"]),
        verdict: usual_verdict,
        chatter: &["exfatprogs version"],
    }),
    exchanges: false,
    ..VFAT
};
