//! jfs: it has a journal, but the program that replays it is fsck.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use posix::LOST_AND_FOUND;
use vfs::Conventions;

use super::{ALL_OPS, ALL_WAYS, Checking, FALLOCATE, Kind, Making, usual_verdict};
use crate::program::Program;

const MKFS: Program = Program { name: "mkfs.jfs", package: "jfsutils" };
const FSCK: Program = Program { name: "jfs_fsck", package: "jfsutils" };

/// The kernel refuses to mount what was not unmounted, unless fsck has been there.
pub(super) const JFS: Kind = Kind {
    name: "jfs",
    kib_min: 16 << 10,
    making: Making::Program { program: MKFS, arguments: &["-q"], finish: Some(empty_the_log) },
    checking: Some(Checking {
        program: FSCK,
        look: &["-n"],
        repair: Some(&["-a"]),
        verdict: usual_verdict,
        chatter: &["jfs_fsck version", "processing ", "The current device", "Block size", "Filesystem size", "**Phase"],
    }),
    mount_options: "",
    // mkfs makes none, but fsck does, for what it finds.
    hidden: &[LOST_AND_FOUND],
    emptied: &["jfs_ip"],
    ways: ALL_WAYS,
    exchanges: false,
    ops: ALL_OPS.without(FALLOCATE),
    fallocate: &[],
    conventions: Conventions::POSIX,
};

const PAGE: usize = 4096;
const SUPERBLOCK_AT: u64 = 0x8000;
/// Where the superblock says in which blocks the log is: a length of 24 bits, an address of 40, of which 8 come first.
const LOG_AT: u64 = SUPERBLOCK_AT + 72;
/// A page of the log begins and ends with its number and with where its records end.
const HEADER: usize = 8;
const RECORDS_END_AT: usize = 6;

/// mkfs leaves what lay on its stack in the pages of the log that hold no record: they are made empty.
fn empty_the_log(file: &File) -> io::Result<()> {
    let mut extent = [0; 8];
    file.read_exact_at(&mut extent, LOG_AT)?;
    let [a, b, c, high, address @ ..] = extent;
    let pages = u64::from(u32::from_le_bytes([a, b, c, 0]));
    let first = u64::from(high) << 32 | u64::from(u32::from_le_bytes(address));
    for at in (first..first + pages).map(|page| page * PAGE as u64) {
        let mut page = [0; PAGE];
        file.read_exact_at(&mut page, at)?;
        let end = PAGE - HEADER;
        let (header, trailer) = (&page[..HEADER], &page[end..]);
        let is_empty = usize::from(u16::from_le_bytes([header[RECORDS_END_AT], header[RECORDS_END_AT + 1]])) == HEADER;
        if is_empty && header == trailer {
            page[HEADER..end].fill(0);
            file.write_all_at(&page, at)?;
        }
    }
    Ok(())
}
