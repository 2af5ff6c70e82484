//! minix: the first file system of Linux.

use vfs::{Conventions, WriteVia};

use super::{ALL_OPS, ATTRIBUTES, Checking, FALLOCATE, Kind, Making, Verdict};
use crate::program::Program;

const MKFS: Program = Program { name: "mkfs.minix", package: "util-linux" };
const FSCK: Program = Program { name: "fsck.minix", package: "util-linux" };

/// The third version of its format, with few inodes.
pub(super) const MINIX: Kind = Kind {
    name: "minix",
    kib_min: 64,
    making: Making::Program { program: MKFS, arguments: &["-3", "-i", "32"], finish: None },
    checking: Some(Checking {
        program: FSCK,
        look: &["-f"],
        repair: Some(&["-f", "-a"]),
        verdict,
        chatter: &["Forcing "],
    }),
    mount_options: "",
    hidden: &[],
    emptied: &[],
    ways: &[WriteVia::Buffered, WriteVia::Mmap],
    exchanges: false,
    ops: ALL_OPS.without(ATTRIBUTES).without(FALLOCATE),
    fallocate: &[],
    conventions: Conventions::POSIX,
};

/// 3 says that errors were corrected; other numbers have bits for errors that were not.
fn verdict(status: i32, _: &str) -> Verdict {
    match status {
        0 => Verdict::Clean,
        3 => Verdict::Repaired,
        _ => Verdict::Wrong,
    }
}
