//! What is to be known about each file system of the kernel: how it is made, mounted and checked, what recovers it,
//! which ops it has, and what it shows in its own way. One entry a file system, families in a file each.

pub(crate) use ext::EXT4_WITHOUT_JOURNAL;

mod cards;
mod ext;
mod flash;
mod hfsplus;
mod jfs;
mod large;
mod logs;
mod minix;
mod ntfs;

use std::{fs::File, io};

use posix::{Hidden, message::Medium};
use vfs::{Conventions, Fallocate, OpKind, WriteVia, generate::OpSet};

use crate::{FileSystemKind, program::Program};

/// A file system of the kernel.
#[derive(Debug)]
pub(crate) struct Kind {
    /// As the kernel calls it.
    pub name: &'static str,
    /// The least that a whole file system is made of, and the default.
    pub kib_min: u32,
    /// How it is made.
    pub making: Making,
    /// The program that checks it, if there is one, and whether that is its recovery too.
    pub checking: Option<Checking>,
    /// Mount options without which it would not be what is checked.
    pub mount_options: &'static str,
    /// What mkfs leaves in the root and no user asked for.
    pub hidden: &'static [Hidden],
    /// Caches of kernel objects that must be empty before a mount. The kernel is told to clear memory that it hands out
    /// (`init_on_alloc`), but objects that a constructor has prepared are handed out as they came back.
    pub emptied: &'static [&'static str],
    /// How a file of it can be written to.
    pub ways: &'static [WriteVia],
    /// Whether a rename can exchange two names.
    pub exchanges: bool,
    /// The kinds of ops that it has.
    pub ops: OpSet,
    /// What its `fallocate` can do.
    pub fallocate: &'static [Fallocate],
    /// What it shows in its own way.
    pub conventions: Conventions,
}

/// How a file system is made in a file that has its size already.
#[derive(Debug)]
pub(crate) enum Making {
    /// By a program of the host.
    Program {
        program: Program,
        arguments: &'static [&'static str],
        /// What is left to do, if anything: to put something fixed where the program leaves what it happens to find.
        finish: Option<fn(&File) -> io::Result<()>>,
    },
    /// By ourselves, in a file of so many bytes.
    Ours(fn(&File, u64) -> io::Result<()>),
    /// By the kernel, on the first mount of flash memory that was erased.
    FirstMount(Medium),
}

/// How a file system is checked.
#[derive(Debug)]
pub(crate) struct Checking {
    pub program: Program,
    /// Arguments that let it look and change nothing.
    pub look: &'static [&'static str],
    /// Arguments that let it repair whatever it can; `None` if the kernel recovers by itself, and nothing is left to
    /// repair.
    pub repair: Option<&'static [&'static str]>,
    /// What it says by its exit status and its words.
    pub verdict: fn(status: i32, said: &str) -> Verdict,
    /// The beginnings of lines that say nothing about what was found.
    pub chatter: &'static [&'static str],
}

/// What fsck says of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Clean,
    /// Something was wrong, and is not any more.
    Repaired,
    /// Something is wrong.
    Wrong,
}

/// The one that this is.
pub(crate) fn kind(kind: FileSystemKind) -> &'static Kind {
    match kind {
        FileSystemKind::Ext2 => &ext::EXT2,
        FileSystemKind::Ext3 => &ext::EXT3,
        FileSystemKind::Ext4 => &ext::EXT4,
        FileSystemKind::Xfs => &large::XFS,
        FileSystemKind::Btrfs => &large::BTRFS,
        FileSystemKind::Jfs => &jfs::JFS,
        FileSystemKind::F2fs => &logs::F2FS,
        FileSystemKind::Reiserfs => &large::REISERFS,
        FileSystemKind::Nilfs2 => &logs::NILFS2,
        FileSystemKind::Vfat => &cards::VFAT,
        FileSystemKind::Msdos => &cards::MSDOS,
        FileSystemKind::Exfat => &cards::EXFAT,
        FileSystemKind::Minix => &minix::MINIX,
        FileSystemKind::Hfsplus => &hfsplus::HFSPLUS,
        FileSystemKind::Ntfs3 => &ntfs::NTFS3,
        FileSystemKind::Jffs2 => &flash::JFFS2,
        FileSystemKind::Ubifs => &flash::UBIFS,
    }
}

/// The convention of most programs: 0 for nothing wrong, 1 for all repaired, more for worse.
pub(crate) fn usual_verdict(status: i32, _: &str) -> Verdict {
    match status {
        0 => Verdict::Clean,
        1 => Verdict::Repaired,
        _ => Verdict::Wrong,
    }
}

/// A program that only looks: 0 for nothing wrong.
fn clean_or_wrong(status: i32, _: &str) -> Verdict {
    if status == 0 { Verdict::Clean } else { Verdict::Wrong }
}

const ALL_WAYS: &[WriteVia] = &[WriteVia::Buffered, WriteVia::Direct, WriteVia::Mmap];
/// Everything but a power cut, which is the search's to make.
pub(crate) const ALL_OPS: OpSet = OpSet::ALL.without(OpSet::of(&[OpKind::Crash]));
/// What a format without owners, links and attributes has no room for.
const NEEDS_INODES: OpSet =
    OpSet::of(&[OpKind::Link, OpKind::Symlink, OpKind::Chmod, OpKind::Chown, OpKind::Setxattr, OpKind::Removexattr]);
const ATTRIBUTES: OpSet = OpSet::of(&[OpKind::Setxattr, OpKind::Removexattr]);
const FALLOCATE: OpSet = OpSet::of(&[OpKind::Fallocate]);
/// Among the arguments of a program: as many inodes as a disk of this size is to have.
pub(crate) const INODES: &str = "{inodes}";
