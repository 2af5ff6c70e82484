//! The ext family.

use posix::LOST_AND_FOUND;
use vfs::{Conventions, Fallocate};

use super::{ALL_OPS, ALL_WAYS, Checking, FALLOCATE, INODES, Kind, Making, usual_verdict};
use crate::program::Program;

const MKE2FS: Program = Program { name: "mke2fs", package: "e2fsprogs" };
const E2FSCK: Program = Program { name: "e2fsck", package: "e2fsprogs" };

/// Everything that mke2fs would choose at random is given. Small blocks and few inodes make a small file system.
macro_rules! mke2fs {
    ($kind:literal $(, $more:literal)*) => {
        Making::Program {
            program: MKE2FS,
            arguments: &[
                "-q", "-F", "-t", $kind, "-b", "1024", "-N", INODES, "-m", "0", "-O", "^resize_inode", "-U",
                "5eed5eed-5eed-4eed-8eed-5eed5eed5eed", "-E",
                "hash_seed=5eed5eed-5eed-4eed-8eed-5eed5eed5eed,lazy_itable_init=0,lazy_journal_init=0,nodiscard",
                $($more),*
            ],
            finish: None,
        }
    };
}

const LOOK: Checking = Checking {
    program: E2FSCK,
    look: &["-f", "-n"],
    repair: None,
    verdict: usual_verdict,
    chatter: &["e2fsck ", "Pass "],
};
const REPAIR: Checking = Checking { repair: Some(&["-f", "-y"]), ..LOOK };

/// No journal: after a crash it is fsck that recovers.
pub(super) const EXT2: Kind = Kind {
    name: "ext2",
    kib_min: 64,
    making: mke2fs!("ext2"),
    checking: Some(REPAIR),
    mount_options: "",
    hidden: &[LOST_AND_FOUND],
    emptied: &[],
    ways: ALL_WAYS,
    exchanges: false,
    ops: ALL_OPS.without(FALLOCATE),
    fallocate: &[],
    conventions: Conventions::POSIX,
};

/// A journal, which the kernel replays; run by the code of ext4. With a smaller disk, mke2fs leaves out the journal and
/// does not say so.
pub(super) const EXT3: Kind = Kind {
    name: "ext3",
    kib_min: 2080,
    making: mke2fs!("ext3"),
    checking: Some(LOOK),
    // Blocks are mapped one by one, so there are none that are allocated and not written.
    fallocate: &[Fallocate::PunchHole],
    exchanges: true,
    ops: ALL_OPS,
    ..EXT2
};

/// A journal, which the kernel replays.
pub(super) const EXT4: Kind = Kind { name: "ext4", making: mke2fs!("ext4"), fallocate: Fallocate::ALL, ..EXT3 };

/// The same without a journal, which makes fsck its recovery.
pub(crate) const EXT4_WITHOUT_JOURNAL: Kind =
    Kind { making: mke2fs!("ext4", "-O", "^has_journal"), checking: Some(REPAIR), ..EXT4 };
