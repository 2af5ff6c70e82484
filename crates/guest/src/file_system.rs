//! The file systems that guests can be asked for, with all that can be chosen about them.

use posix::message::Mount;
use vfs::{
    Conventions, OpKind,
    contract::promises::{self, Promise},
    generate::{ObjectBounds, OpSet, WritePlaces},
};

use crate::{
    kinds::{self, Checking, Kind, Making},
    program::Program,
};

/// A file system of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemKind {
    /// No journal: after a crash it is fsck that recovers.
    Ext2,
    /// A journal, run by the code of ext4.
    Ext3,
    /// A journal, which the kernel replays.
    Ext4,
    /// A log of metadata, which the kernel replays.
    Xfs,
    /// Trees that are never overwritten, and a log for fsync.
    Btrfs,
    /// A journal, which fsck replays.
    Jfs,
    /// Logs and checkpoints.
    F2fs,
    /// A journal, which the kernel replays.
    Reiserfs,
    /// One log of everything, whose last complete part counts.
    Nilfs2,
    /// FAT with long names. fsck recovers what can be.
    Vfat,
    /// FAT with short names.
    Msdos,
    /// The successor of FAT.
    Exfat,
    /// No journal: fsck recovers.
    Minix,
    /// The file system of the Macintosh. Nobody here recovers it.
    Hfsplus,
    /// The file system of Windows.
    Ntfs3,
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
    /// Whether it has its journal, where it is made to have one. Only ext4 can do without.
    pub journal: bool,
    /// Whether its disk says that it has flushed when it has not.
    pub flushes_are_lies: bool,
    /// Whether fsck must find nothing wrong with what the kernel recovered.
    pub fsck: bool,
}

impl FileSystemKind {
    /// Every one.
    pub const ALL: [Self; 15] = [
        Self::Ext2,
        Self::Ext3,
        Self::Ext4,
        Self::Xfs,
        Self::Btrfs,
        Self::F2fs,
        Self::Jfs,
        Self::Reiserfs,
        Self::Nilfs2,
        Self::Vfat,
        Self::Msdos,
        Self::Exfat,
        Self::Minix,
        Self::Hfsplus,
        Self::Ntfs3,
    ];

    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        kinds::kind(self).name
    }

    /// The least that a whole file system is made of, and the default.
    pub fn kib_min(self) -> u32 {
        kinds::kind(self).kib_min
    }

    /// The file system as it is if nothing is asked for.
    pub fn usual(self) -> FileSystem {
        FileSystem {
            kind: self,
            options: String::new(),
            kib: self.kib_min(),
            journal: true,
            flushes_are_lies: false,
            fsck: true,
        }
    }

    /// The programs that it takes on the host.
    pub(crate) fn programs(self) -> impl Iterator<Item = Program> {
        let Kind { making, checking, .. } = kinds::kind(self);
        let maker = match making {
            Making::Program { program, .. } => Some(*program),
            Making::Ours(_) => None,
        };
        [maker, checking.as_ref().map(|checking| checking.program)].into_iter().flatten()
    }
}

/// What stands for a missing journal among the options by which promises are found.
const WITHOUT_JOURNAL: &str = "journal=off";

impl FileSystem {
    /// All that is known about it.
    pub(crate) fn facts(&self) -> &'static Kind {
        if self.journal { kinds::kind(self.kind) } else { &kinds::EXT4_WITHOUT_JOURNAL }
    }

    /// Whether recovery is fsck, because the kernel does nothing about a crash.
    pub fn recovers_by_fsck(&self) -> bool {
        self.recovered_by().is_some()
    }

    /// Whether a program must find nothing wrong with what the kernel has recovered.
    pub fn is_checked(&self) -> bool {
        self.checked_by().is_some()
    }

    /// The program that recovers it after a crash, if the kernel does nothing about it.
    pub(crate) fn recovered_by(&self) -> Option<&'static Checking> {
        self.facts().checking.as_ref().filter(|checking| checking.repair.is_some())
    }

    /// The program that must find nothing wrong with what the kernel has recovered.
    pub(crate) fn checked_by(&self) -> Option<&'static Checking> {
        self.facts().checking.as_ref().filter(|checking| self.fsck && checking.repair.is_none())
    }

    /// The kinds of ops that it has.
    pub fn ops(&self) -> OpSet {
        self.facts().ops
    }

    /// How far a workload goes if the user asks for ops.
    pub fn bounds(&self) -> ObjectBounds {
        ObjectBounds { fallocate: self.facts().fallocate.to_vec(), ..bounds(self.ops()) }
    }

    /// What it shows in its own way.
    pub fn conventions(&self) -> Conventions {
        self.facts().conventions
    }

    /// How it is mounted.
    pub fn mount(&self) -> Mount {
        let Kind { name, mount_options, hidden, emptied, .. } = self.facts();
        let options: Vec<&str> = [*mount_options, &self.options].into_iter().filter(|some| !some.is_empty()).collect();
        let hidden = hidden.iter().map(|hidden| hidden.name.to_owned()).collect();
        let emptied = emptied.iter().map(ToString::to_string).collect();
        Mount { kind: (*name).to_owned(), options: options.join(","), hidden, emptied }
    }

    /// Whether every op is durable when it returns.
    pub fn is_synchronous(&self) -> bool {
        self.options.split(',').any(|option| option == "sync")
    }

    /// What it promises, if anybody claims anything.
    pub fn promise(&self) -> Option<&'static Promise> {
        let mut options: Vec<&str> = self.options.split(',').collect();
        options.extend((!self.journal).then_some(WITHOUT_JOURNAL));
        promises::promise(self.kind.name(), &options)
    }
}

/// How far a workload of these ops goes on a real kernel. Which slots are open is not known where a workload is made,
/// so they are left to scripts.
pub fn bounds(ops: OpSet) -> ObjectBounds {
    let ops = ops.without(OpSet::of(&[OpKind::Open, OpKind::Close]));
    ObjectBounds { ops, write_places: WritePlaces::End, ..ObjectBounds::default() }
}

/// What of a file system's programs this machine does not have, and how to get it: words that fit after "could not ".
pub fn missing_program(kind: FileSystemKind) -> Option<String> {
    let missing = kind.programs().find(|program| program.find().is_none())?;
    let (name, package) = (missing.name, missing.package);
    Some(format!("use {}: {name} is missing; as root: apt-get install {package}", kind.name()))
}

#[cfg(test)]
mod tests {
    use vfs::contract::Contract;

    use super::*;

    #[test]
    fn what_recovers_a_file_system_does_not_check_it_too() {
        for kind in FileSystemKind::ALL {
            let file_system = kind.usual();
            assert!(file_system.recovered_by().is_none() || file_system.checked_by().is_none(), "{}", kind.name());
            let after_fsck = file_system.promise().map(|promise| promise.after_fsck);
            assert!(after_fsck.is_none_or(|after| after == file_system.recovered_by().is_some()), "{}", kind.name());
        }
        let without = FileSystem { journal: false, ..FileSystemKind::Ext4.usual() };
        assert!(without.recovered_by().is_some() && without.checked_by().is_none());
        assert_eq!(without.promise().unwrap().contract, Contract::Synced);
    }

    #[test]
    fn options_of_the_user_follow_those_that_are_always_there() {
        let vfat = FileSystem { options: "sync".to_owned(), ..FileSystemKind::Vfat.usual() };
        assert_eq!(vfat.mount().options, "fmask=0133,dmask=0022,sync");
        assert_eq!(FileSystemKind::Xfs.usual().mount().options, "");
        assert!(vfat.is_synchronous());
    }
}
