//! What is checked, and who mounts it.

use guest::{FileSystem, FileSystemKind, Kernel, Which};
use posix::message::Mount;

/// A file system with all that can be chosen about it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Which, and how it is made and checked.
    pub file_system: FileSystem,
    /// Who mounts it.
    pub mounted_by: MountedBy,
}

/// Who mounts a file system.
#[derive(Clone, Debug)]
pub enum MountedBy {
    /// The kernel that we run on.
    RunningKernel,
    /// A command, in which `{dev}` stands for the disk and `{mnt}` for where it is wanted. It stays, or leaves somebody
    /// there.
    Command(String),
    /// A guest kernel that has clocks of its own, if there is one.
    Guest(Option<Kernel>),
}

/// What a file system must be told where clocks run and where several workers have disks with the same UUID: journals
/// and logs are not to be written because time has passed, and nothing is to be done in the background.
fn where_clocks_run(kind: FileSystemKind) -> &'static [&'static str] {
    match kind {
        FileSystemKind::Ext3 | FileSystemKind::Ext4 => &["commit=2000", "noinit_itable"],
        FileSystemKind::Xfs => &["nouuid"],
        FileSystemKind::Btrfs => &["commit=2000", "nodiscard"],
        _ => &[],
    }
}

impl Subject {
    /// Whether threads of the kernel have something to do on its first mount, and may be done before the first op or
    /// not: those of btrfs go through a tree of UUIDs.
    pub(crate) fn is_busy_at_first(&self) -> bool {
        self.file_system.kind() == Some(FileSystemKind::Btrfs)
    }

    /// How it is mounted.
    pub(crate) fn mount(&self) -> Mount {
        let mut mount = self.file_system.mount();
        let added = self.file_system.kind().map_or(&[][..], where_clocks_run);
        let all = [&*mount.options].into_iter().chain(added.iter().copied());
        mount.options = all.filter(|option| !option.is_empty()).collect::<Vec<_>>().join(",");
        mount
    }

    /// What can be checked instead, where this cannot be had: words that follow others.
    pub(crate) fn instead(&self) -> String {
        match self.mounted_by {
            MountedBy::RunningKernel => format!("; or use guest:{}", self.file_system.name()),
            MountedBy::Command(_) | MountedBy::Guest(_) => String::new(),
        }
    }

    /// What it takes that this machine does not have, and what to do about it.
    pub(crate) fn missing(&self) -> Option<String> {
        let name = self.file_system.name();
        match &self.mounted_by {
            MountedBy::Command(command) => return missing_of_a_command(command, &self.file_system.which),
            MountedBy::RunningKernel => {
                let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
                if !known.lines().any(|line| line.split_whitespace().last() == Some(name)) {
                    return Some(format!(
                        "use {name} of this kernel: it has none (as root: modprobe {name}); or use guest:{name}"
                    ));
                }
            }
            MountedBy::Guest(None) => {
                return Some("use Debian's kernel: it is missing; as root: apt-get install user-mode-linux".to_owned());
            }
            MountedBy::Guest(Some(kernel)) => {
                if let Some(missing) = kernel.lacks(name) {
                    return Some(missing);
                }
            }
        }
        self.file_system.missing_program()
    }
}

fn missing_of_a_command(command: &str, which: &Which) -> Option<String> {
    let has_mkfs = matches!(which, Which::Described(described) if described.mkfs.is_some());
    if command.is_empty() {
        return Some("mount anything: say which command does, as in 'fuse:\"fuse2fs {dev} {mnt}\"'".to_owned());
    }
    let example = "'fuse:\"...\"?mkfs=\"mke2fs -q -F {dev}\"'";
    (!has_mkfs).then(|| format!("use a disk full of zeros: say what makes a file system of it, as in {example}"))
}
