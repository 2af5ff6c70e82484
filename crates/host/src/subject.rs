//! What is checked: a file system of the running kernel, or one that a command mounts, with the programs that make and
//! check it.

use std::{
    io,
    path::Path,
    process::{Command, Output},
};

use disk::{Disk, Image};
use guest::{
    FileSystem, FileSystemKind,
    fsck::{self, Verdict},
};
use posix::{LOST_AND_FOUND, message::Mount};
use vfs::{
    Conventions, Fallocate, OpKind,
    contract::Contract,
    generate::{ObjectBounds, OpSet},
};

/// A file system with all that can be chosen about it.
#[derive(Clone, Debug)]
pub enum Subject {
    /// One of the running kernel.
    Kernel(FileSystem),
    /// One that a command mounts.
    Commands(Commands),
}

/// The commands of a file system. In each, `{dev}` stands for the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Mounts `{dev}` on `{mnt}`, and stays, or leaves somebody there.
    pub mount: String,
    /// Makes a file system; without it the disk is full of zeros.
    pub mkfs: Option<String>,
    /// Looks at what was recovered: any exit code but 0 is a violation.
    pub fsck: Option<String>,
    /// Runs before the first mount after a crash: an exit code above 1 says that it could not repair everything.
    pub repair: Option<String>,
    /// The size of the disk.
    pub kib: u32,
    /// What is demanded of it.
    pub contract: Contract,
    /// What it shows in its own way.
    pub conventions: Conventions,
}

/// What a file system must be told where clocks run and where several workers have disks with the same UUID: journals
/// and logs are not to be written because time has passed, and nothing is to be done in the background.
fn on_a_running_kernel(kind: FileSystemKind) -> &'static [&'static str] {
    match kind {
        FileSystemKind::Ext3 | FileSystemKind::Ext4 => &["commit=2000", "noinit_itable"],
        FileSystemKind::Xfs => &["nouuid"],
        FileSystemKind::Btrfs => &["commit=2000", "nodiscard"],
        _ => &[],
    }
}

impl Subject {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Kernel(file_system) => file_system.kind.name(),
            Self::Commands(_) => "fuse",
        }
    }

    pub(crate) fn options(&self) -> &str {
        match self {
            Self::Kernel(file_system) => &file_system.options,
            Self::Commands(_) => "",
        }
    }

    pub(crate) fn mount_command(&self) -> Option<&str> {
        match self {
            Self::Kernel(_) => None,
            Self::Commands(commands) => Some(&commands.mount),
        }
    }

    pub(crate) fn lies(&self) -> bool {
        matches!(self, Self::Kernel(file_system) if file_system.flushes_are_lies)
    }

    /// Whether threads of the kernel have something to do on its first mount, and may be done before the first op or
    /// not: those of btrfs go through a tree of UUIDs.
    pub(crate) fn is_busy_at_first(&self) -> bool {
        matches!(self, Self::Kernel(file_system) if file_system.kind == FileSystemKind::Btrfs)
    }

    /// How it is mounted. An unknown file system has in its root what most have.
    pub(crate) fn mount(&self) -> Mount {
        match self {
            Self::Kernel(file_system) => {
                let mut mount = file_system.mount();
                let all = [&*mount.options].into_iter().chain(on_a_running_kernel(file_system.kind).iter().copied());
                mount.options = all.filter(|option| !option.is_empty()).collect::<Vec<_>>().join(",");
                mount
            }
            Self::Commands(_) => Mount {
                kind: self.name().to_owned(),
                options: String::new(),
                hidden: vec![LOST_AND_FOUND.name.to_owned()],
                emptied: Vec::new(),
            },
        }
    }

    /// What it shows in its own way.
    pub(crate) fn conventions(&self) -> Conventions {
        match self {
            Self::Kernel(file_system) => file_system.conventions(),
            Self::Commands(commands) => commands.conventions,
        }
    }

    pub(crate) fn recovers_by_fsck(&self) -> bool {
        match self {
            Self::Kernel(file_system) => file_system.recovers_by_fsck(),
            Self::Commands(commands) => commands.repair.is_some(),
        }
    }

    /// The kinds of ops that it has.
    pub(crate) fn ops(&self) -> OpSet {
        match self {
            Self::Kernel(file_system) => file_system.ops(),
            Self::Commands(_) => OPS_OF_COMMANDS,
        }
    }

    /// How far a workload goes if the user asks for ops.
    pub(crate) fn bounds(&self) -> ObjectBounds {
        match self {
            Self::Kernel(file_system) => file_system.bounds(),
            Self::Commands(_) => bounds_of_commands(),
        }
    }

    pub(crate) fn contract(&self) -> Contract {
        match self {
            Self::Kernel(file_system) => file_system.promise().map_or(Contract::Mountable, |promise| promise.contract),
            Self::Commands(commands) => commands.contract,
        }
    }

    /// What it takes that this machine does not have, and what to do about it.
    pub(crate) fn missing(&self) -> Option<String> {
        let file_system = match self {
            Self::Kernel(file_system) => file_system,
            Self::Commands(commands) if commands.mount.is_empty() => {
                return Some("mount anything: say which command does, as in 'fuse:\"fuse2fs {dev} {mnt}\"'".to_owned());
            }
            Self::Commands(commands) if commands.mkfs.is_none() => {
                let example = "'fuse:\"...\"?mkfs=\"mke2fs -q -F {dev}\"'";
                return Some(format!("use a disk full of zeros: say what makes a file system of it, as in {example}"));
            }
            Self::Commands(_) => return None,
        };
        let kind = file_system.kind.name();
        let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !known.lines().any(|line| line.split_whitespace().last() == Some(kind)) {
            return Some(format!(
                "use {kind} of this kernel: it has none (as root: modprobe {kind}); or use guest:{kind}"
            ));
        }
        guest::missing_program(file_system.kind)
    }

    pub(crate) fn make(&self) -> io::Result<Image> {
        match self {
            Self::Kernel(file_system) => fsck::make(file_system),
            Self::Commands(Commands { kib, mkfs, .. }) => fsck::make_by(*kib, |file| match mkfs {
                Some(mkfs) => shell(mkfs, file),
                None => Command::new("true").output(),
            }),
        }
    }

    /// What a check of what was recovered says, if it says that something is wrong.
    pub(crate) fn check(&self, disk: &Disk) -> io::Result<Option<String>> {
        let checked = match self {
            Self::Kernel(file_system) => fsck::check(file_system, disk)?,
            Self::Commands(Commands { fsck: Some(command), .. }) => fsck::check_by(disk, |file| shell(command, file))?,
            Self::Commands(_) => return Ok(None),
        };
        Ok((checked.verdict != Verdict::Clean).then_some(checked.said))
    }

    /// What a repair says, if it could not repair everything.
    pub(crate) fn repair(&self, disk: &mut Disk) -> io::Result<Option<String>> {
        let checked = match self {
            Self::Kernel(file_system) => fsck::repair(file_system, disk)?,
            Self::Commands(Commands { repair: Some(command), .. }) => {
                fsck::repair_by(disk, |file| shell(command, file))?
            }
            Self::Commands(_) => return Ok(None),
        };
        Ok((checked.verdict == Verdict::Wrong).then_some(checked.said))
    }

    /// Whether what was recovered is looked at.
    pub(crate) fn is_checked(&self) -> bool {
        match self {
            Self::Kernel(file_system) => file_system.is_checked(),
            Self::Commands(commands) => commands.fsck.is_some(),
        }
    }
}

/// Everything but a power cut, which is the search's to make.
const OPS_OF_COMMANDS: OpSet = OpSet::ALL.without(OpSet::of(&[OpKind::Crash]));

/// How far a workload goes on what a command mounts. The kernel passes no other modes of `fallocate` on to user space.
pub(crate) fn bounds_of_commands() -> ObjectBounds {
    let fallocate = vec![
        Fallocate::Allocate,
        Fallocate::KeepSize,
        Fallocate::PunchHole,
        Fallocate::ZeroRange,
        Fallocate::ZeroRangeKeepSize,
    ];
    ObjectBounds { fallocate, ..guest::bounds(OPS_OF_COMMANDS) }
}

fn shell(command: &str, file: &Path) -> io::Result<Output> {
    Command::new("/bin/sh").arg("-c").arg(command.replace("{dev}", &file.to_string_lossy())).output()
}
