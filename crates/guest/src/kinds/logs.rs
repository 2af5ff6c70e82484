//! File systems that write logs: f2fs, nilfs2.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use posix::NILFS;
use vfs::{Conventions, Fallocate};

use super::{ALL_OPS, ALL_WAYS, ATTRIBUTES, Checking, FALLOCATE, Kind, Making, Verdict};
use crate::program::Program;

const MKFS_F2FS: Program = Program { name: "mkfs.f2fs", package: "f2fs-tools" };
const FSCK_F2FS: Program = Program { name: "fsck.f2fs", package: "f2fs-tools" };

pub(super) const F2FS: Kind = Kind {
    name: "f2fs",
    kib_min: 52 << 10,
    making: Making::Program {
        program: MKFS_F2FS,
        // No discards; a fixed identity, seed and time.
        arguments: &["-q", "-f", "-t", "0", "-r", "-T", "1000000000", "-U", "5eed5eed-5eed-4eed-8eed-5eed5eed5eed"],
        finish: Some(forget_who_made_it),
    },
    checking: Some(Checking {
        program: FSCK_F2FS,
        look: &["--dry-run"],
        repair: None,
        verdict: f2fs_verdict,
        chatter: &["Info: ", "  \"", "  from ", "    to ", "Done: "],
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

/// Not all that is wrong shows in the exit status; in words it does. That one of the two checkpoints is not whole is as
/// it should be after a crash.
fn f2fs_verdict(status: i32, said: &str) -> Verdict {
    let is_wrong = ["[Fail]", "[ASSERT]"].iter().any(|sign| said.contains(sign));
    if status == 0 && !is_wrong { Verdict::Clean } else { Verdict::Wrong }
}

/// Where both superblocks have the version of the kernel that mkfs ran on, twice.
const VERSIONS_AT: [u64; 2] = [2692, 6788];
const VERSIONS: [u8; 512] = [0; 512];

fn forget_who_made_it(file: &File) -> io::Result<()> {
    VERSIONS_AT.iter().try_for_each(|at| file.write_all_at(&VERSIONS, *at))
}

const MKFS_NILFS2: Program = Program { name: "mkfs.nilfs2", package: "nilfs-tools" };

/// Nobody wrote a fsck for it: the kernel looks for the last complete log. Segments of 64 blocks, so that a small disk
/// has enough of them.
pub(super) const NILFS2: Kind = Kind {
    name: "nilfs2",
    kib_min: 4 << 10,
    making: Making::Program { program: MKFS_NILFS2, arguments: &["-q", "-f", "-b", "1024", "-B", "64"], finish: None },
    checking: None,
    hidden: &[NILFS],
    exchanges: false,
    ops: ALL_OPS.without(ATTRIBUTES).without(FALLOCATE),
    fallocate: &[],
    ..F2FS
};
