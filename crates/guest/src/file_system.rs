//! The file systems that guests can be asked for: how each is made, mounted and checked.

use std::{
    io,
    path::Path,
    process::{Command, Output},
};

use vfs::{OpKind, generate::OpSet};

/// A file system of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// No journal: after a crash it is fsck that recovers.
    Ext2,
    /// A journal, which the kernel replays.
    Ext4,
}

/// A file system with all that can be chosen about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Which.
    pub kind: FileSystemKind,
    /// As after `mount -o`; may be empty.
    pub options: String,
    /// The size of its disk.
    pub kib: u32,
    /// Whether its disk says that it has flushed when it has not.
    pub flushes_are_lies: bool,
    /// Whether fsck must find nothing wrong with what the kernel recovered.
    pub fsck: bool,
}

/// A program of the host that is needed, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub name: &'static str,
    pub package: &'static str,
}

const MKE2FS: Program = Program { name: "mke2fs", package: "e2fsprogs" };
const E2FSCK: Program = Program { name: "e2fsck", package: "e2fsprogs" };

/// Everything that mkfs would choose at random or by the clock.
const UUID: &str = "5eed5eed-5eed-4eed-8eed-5eed5eed5eed";
const NOW: &str = "1000000000";

/// System programs are not on every user's path.
const PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

impl FileSystemKind {
    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext2 => "ext2",
            Self::Ext4 => "ext4",
        }
    }

    /// The least that mkfs makes a whole file system of, and the default: with less, it leaves out the journal and does
    /// not say so.
    pub fn kib_min(self) -> u32 {
        match self {
            Self::Ext2 => 64,
            Self::Ext4 => 2080,
        }
    }

    /// Whether recovery is fsck, because the kernel does nothing about a crash.
    pub fn recovers_by_fsck(self) -> bool {
        self == Self::Ext2
    }

    /// Whether mkfs leaves a `lost+found`.
    pub fn lost_and_found(self) -> bool {
        match self {
            Self::Ext2 | Self::Ext4 => true,
        }
    }

    /// The kinds of ops that a workload may have. Which slots are open is not known where it is made, so they are left
    /// to scripts; a power cut is the search's to make.
    pub fn ops(self) -> OpSet {
        let all = OpSet::ALL.without(OpSet::of(&[OpKind::Open, OpKind::Close, OpKind::Crash]));
        match self {
            Self::Ext2 => all.without(OpSet::of(&[OpKind::Fallocate])),
            Self::Ext4 => all,
        }
    }

    /// The programs that it takes on the host.
    pub(crate) fn programs(self) -> [Program; 2] {
        match self {
            Self::Ext2 | Self::Ext4 => [MKE2FS, E2FSCK],
        }
    }

    /// Makes a file system in a file that has its size already.
    pub(crate) fn mkfs(self, file: &Path) -> io::Result<Output> {
        let seed = format!("hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,nodiscard");
        let mut command = on_the_host(MKE2FS);
        command.args([
            "-q",
            "-F",
            "-t",
            self.name(),
            "-b",
            "1024",
            "-N",
            "32",
            "-m",
            "0",
            "-O",
            "^resize_inode",
            "-U",
            UUID,
            "-E",
            &seed,
        ]);
        command.arg(file).output()
    }

    /// Checks a file system in a file: repairs what it can, or changes nothing.
    pub(crate) fn fsck(self, file: &Path, repair: bool) -> io::Result<Output> {
        match self {
            Self::Ext2 | Self::Ext4 => {
                on_the_host(E2FSCK).args(["-f", if repair { "-y" } else { "-n" }]).arg(file).output()
            }
        }
    }
}

fn on_the_host(program: Program) -> Command {
    let mut command = Command::new(find(program).unwrap_or_else(|| program.name.into()));
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C").env("E2FSPROGS_FAKE_TIME", NOW).env("E2FSCK_TIME", NOW);
    // The configuration of the host must not decide what is checked: without one, the programs have their own.
    command.env("MKE2FS_CONFIG", "/nonexistent").env("E2FSCK_CONFIG", "/nonexistent");
    command
}

/// What of a file system's programs this machine does not have, and how to get it: words that fit after "could not ".
pub fn missing_program(kind: FileSystemKind) -> Option<String> {
    let missing = kind.programs().into_iter().find(|program| find(*program).is_none())?;
    let (name, package) = (missing.name, missing.package);
    Some(format!("use {}: {name} is missing; as root: apt-get install {package}", kind.name()))
}

/// Where a program of the host lies.
pub(crate) fn find(program: Program) -> Option<std::path::PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(program.name)).find(|path| path.is_file())
}
