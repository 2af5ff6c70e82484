//! The file systems that guests can be asked for, with all that can be chosen about them.

use std::sync::Arc;

use posix::{
    FILE_BYTES_MAX, is_hidden,
    message::{Medium, Mount},
};
use vfs::{
    Conventions, Fallocate, Op, OpKind, OpenFlags, Path, Rename, WriteVia,
    contract::{
        Contract,
        promises::{self, Promise},
    },
    generate::{ObjectBounds, OpSet},
};

use crate::{
    Described,
    kinds::{self, ALL_OPS, Kind, Making},
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
    /// One log, on flash memory.
    Jffs2,
    /// A tree and a journal, on flash memory.
    Ubifs,
}

/// One of those that are known here, or what its user says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// One of the table.
    Known(FileSystemKind),
    /// Any other.
    Described(Arc<Described>),
}

/// A file system with all that can be chosen about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Which.
    pub which: Which,
    /// As after `mount -o`; may be empty.
    pub options: String,
    /// The size of its disk.
    pub kib: u32,
    /// Whether it has its journal, where it is made to have one. Only ext4 can do without.
    pub journal: bool,
    /// Whether its disk says that it has flushed when it has not.
    pub flushes_are_lies: bool,
    /// Whether fsck must find nothing wrong with what the kernel recovered, and with what it has unmounted.
    pub fsck: bool,
}

impl FileSystemKind {
    /// Every one.
    pub const ALL: [Self; 17] = [
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
        Self::Jffs2,
        Self::Ubifs,
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
        FileSystem::new(Which::Known(self), self.kib_min())
    }

    /// The programs that it takes on the host.
    pub(crate) fn programs(self) -> impl Iterator<Item = Program> {
        let Kind { making, checking, .. } = kinds::kind(self);
        let maker = match making {
            Making::Program { program, .. } => Some(*program),
            Making::Ours(_) | Making::FirstMount(_) => None,
        };
        [maker, checking.as_ref().map(|checking| checking.program)].into_iter().flatten()
    }
}

/// The bytes that a file may have on any file system; the smallest that are taught with have no more than this.
pub const FILE_BYTES_OF_ANY: u64 = 64 << 10;
/// The bytes of room that any file system has that is new, and whose disk is not too small for it.
pub const ROOM_OF_ANY: u64 = 1 << 20;
/// What stands for a missing journal among the options by which promises are found.
const WITHOUT_JOURNAL: &str = "journal=off";

impl FileSystem {
    /// The file system as it is if nothing is asked for.
    pub fn new(which: Which, kib: u32) -> Self {
        Self { which, options: String::new(), kib, journal: true, flushes_are_lies: false, fsck: true }
    }

    /// As the kernel calls it.
    pub fn name(&self) -> &str {
        match &self.which {
            Which::Known(kind) => kind.name(),
            Which::Described(described) => &described.name,
        }
    }

    /// Which of those that are known here.
    pub fn kind(&self) -> Option<FileSystemKind> {
        match self.which {
            Which::Known(kind) => Some(kind),
            Which::Described(_) => None,
        }
    }

    /// All that is known about it, or what its user says.
    pub(crate) fn facts(&self) -> Result<&'static Kind, &Described> {
        match &self.which {
            Which::Known(_) if !self.journal => Ok(&kinds::EXT4_WITHOUT_JOURNAL),
            Which::Known(kind) => Ok(kinds::kind(*kind)),
            Which::Described(described) => Err(described),
        }
    }

    /// Whether recovery is a program, because the kernel does nothing about a crash.
    pub fn recovers_by_fsck(&self) -> bool {
        match self.facts() {
            Ok(kind) => kind.checking.as_ref().is_some_and(|checking| checking.repair.is_some()),
            Err(described) => described.repair.is_some(),
        }
    }

    /// Whether a program must find nothing wrong with what the kernel has recovered.
    pub fn is_checked(&self) -> bool {
        let can_be_checked = match self.facts() {
            Ok(kind) => kind.checking.as_ref().is_some_and(|checking| checking.repair.is_none()),
            Err(described) => described.fsck.is_some(),
        };
        self.fsck && can_be_checked
    }

    /// Whether a program must find nothing wrong with what was unmounted, if nothing had failed before.
    pub(crate) fn is_left_clean(&self) -> bool {
        let can_be_checked = match self.facts() {
            Ok(kind) => kind.checking.is_some(),
            Err(described) => described.fsck.is_some(),
        };
        self.fsck && can_be_checked
    }

    /// Whether the kernel makes it when it is mounted first.
    pub(crate) fn is_made_by_mounting(&self) -> bool {
        self.medium() != Medium::Disk
    }

    fn medium(&self) -> Medium {
        match self.facts().map(|kind| &kind.making) {
            Ok(Making::FirstMount(medium)) => *medium,
            _ => Medium::Disk,
        }
    }

    /// The kinds of ops that it has.
    pub fn ops(&self) -> OpSet {
        self.facts().map_or_else(Described::ops, |kind| kind.ops)
    }

    /// Whether names are removed, and modes and owners changed, where they lie: that takes no room.
    pub fn overwrites_in_place(&self) -> bool {
        use FileSystemKind::{Ext2, Ext3, Ext4, Minix};
        matches!(self.which, Which::Known(Ext2 | Ext3 | Ext4 | Minix))
    }

    /// Whether names, nodes and contents take their room from one supply. Those that never overwrite keep room apart
    /// for each of them, or for tidying up, and of what nobody knows nothing is said.
    pub fn has_one_supply(&self) -> bool {
        use FileSystemKind::{Btrfs, F2fs, Jffs2, Nilfs2, Ubifs};
        matches!(self.which, Which::Known(kind) if !matches!(kind, Btrfs | F2fs | Jffs2 | Nilfs2 | Ubifs))
    }

    /// See [`check::Target::file_bytes_granted`]. Formats in the tables have far larger files than fit here.
    pub fn file_bytes_granted(&self) -> u64 {
        if self.is_known() { FILE_BYTES_MAX } else { FILE_BYTES_OF_ANY }
    }

    /// See [`check::Target::room_granted`]: of what is in no table, not all of its disk may be for its user.
    pub fn room_granted(&self) -> u64 {
        if self.is_known() { 0 } else { ROOM_OF_ANY.min((u64::from(self.kib) << 10) / 8) }
    }

    /// Whether it is known what it has and what it lacks.
    pub fn is_known(&self) -> bool {
        self.facts().is_ok()
    }

    /// Whether it has an op, of a kind that it has, with these arguments.
    pub fn offers(&self, op: &Op) -> bool {
        let hidden = self.hidden();
        let is_hidden = |path: &&Path| {
            let in_root = path.as_str().split('/').find(|name| !name.is_empty());
            in_root.is_some_and(|name| hidden.iter().any(|hidden| is_hidden(hidden, name.as_bytes())))
        };
        if op.paths().iter().any(is_hidden) {
            return false;
        }
        match (op, self.facts()) {
            (Op::Write { via, .. }, Ok(kind)) => kind.ways.contains(via),
            (Op::Open { flags, .. }, Ok(kind)) if flags.contains(OpenFlags::DIRECT) => {
                kind.ways.contains(&WriteVia::Direct)
            }
            (Op::Rename { how: Rename::Exchange, .. }, Ok(kind)) => kind.exchanges,
            (Op::Fallocate { how, .. }, Ok(kind)) => kind.fallocate.contains(how),
            (_, Ok(_)) => true,
            (op, Err(described)) => described.offers(op),
        }
    }

    /// Names in its root that are no part of what a user sees.
    fn hidden(&self) -> Vec<String> {
        match self.facts() {
            Ok(kind) => kind.hidden.iter().map(|hidden| hidden.name.to_owned()).collect(),
            Err(described) => described.hidden.clone(),
        }
    }

    /// How far a workload goes if the user asks for ops.
    pub fn bounds(&self) -> ObjectBounds {
        match self.facts() {
            Ok(kind) => ObjectBounds { fallocate: kind.fallocate.to_vec(), ..bounds(kind.ops) },
            Err(described) => described.bounds(),
        }
    }

    /// What it shows in its own way.
    pub fn conventions(&self) -> Conventions {
        self.facts().map_or_else(Described::conventions, |kind| kind.conventions)
    }

    /// How it is mounted.
    pub fn mount(&self) -> Mount {
        let (always, emptied) = self.facts().map_or(("", &[][..]), |kind| (kind.mount_options, kind.emptied));
        let options: Vec<&str> = [always, &self.options].into_iter().filter(|some| !some.is_empty()).collect();
        Mount {
            kind: self.name().to_owned(),
            medium: self.medium(),
            options: options.join(","),
            hidden: self.hidden(),
            emptied: emptied.iter().map(ToString::to_string).collect(),
        }
    }

    /// Whether every op is durable when it returns.
    pub fn is_synchronous(&self) -> bool {
        self.options.split(',').any(|option| option == "sync")
    }

    /// The contract that it is held to: the least, if nobody claims anything.
    pub fn contract(&self) -> Contract {
        match &self.which {
            Which::Known(kind) => self.promise(*kind).map_or(Contract::Mountable, |promise| promise.contract),
            Which::Described(described) => described.contract,
        }
    }

    fn promise(&self, kind: FileSystemKind) -> Option<&'static Promise> {
        let mut options: Vec<&str> = self.options.split(',').collect();
        options.extend((!self.journal).then_some(WITHOUT_JOURNAL));
        promises::promise(kind.name(), &options)
    }

    /// What of its programs this machine does not have, and how to get it: words that fit after "could not ".
    pub fn missing_program(&self) -> Option<String> {
        let missing = self.kind()?.programs().find(|program| program.find().is_none())?;
        let (name, package) = (missing.name, missing.package);
        Some(format!("use {}: {name} is missing; as root: apt-get install {package}", self.name()))
    }
}

/// How far a workload of these ops goes on a real kernel. Which slots are open is not known where a workload is made,
/// so they are left to scripts.
fn bounds(ops: OpSet) -> ObjectBounds {
    let ops = ops.without(OpSet::of(&[OpKind::Open, OpKind::Close]));
    ObjectBounds { ops, ..ObjectBounds::default() }
}

/// How far a workload goes on a file system that nobody knows: with all ops, and what most make of `fallocate`.
pub fn bounds_of_any() -> ObjectBounds {
    let fallocate = vec![
        Fallocate::Allocate,
        Fallocate::KeepSize,
        Fallocate::PunchHole,
        Fallocate::ZeroRange,
        Fallocate::ZeroRangeKeepSize,
    ];
    ObjectBounds { fallocate, ..bounds(ALL_OPS) }
}

#[cfg(test)]
mod tests {
    use vfs::{Reference, WriteAt, generate::object_ops, open::OpenFiles};

    use super::*;

    #[test]
    fn what_recovers_a_file_system_does_not_check_it_too() {
        for kind in FileSystemKind::ALL {
            let file_system = kind.usual();
            assert!(!file_system.recovers_by_fsck() || !file_system.is_checked(), "{}", kind.name());
            let after_fsck = file_system.promise(kind).map(|promise| promise.after_fsck);
            assert!(after_fsck.is_none_or(|after| after == file_system.recovers_by_fsck()), "{}", kind.name());
        }
        let without = FileSystem { journal: false, ..FileSystemKind::Ext4.usual() };
        assert!(without.recovers_by_fsck() && !without.is_checked());
        assert_eq!(without.contract(), Contract::Synced);
    }

    /// An `fsync` that has nothing to allocate goes other ways than one after an append, and so does what fills a hole.
    #[test]
    fn a_search_overwrites_appends_and_leaves_holes() {
        let bounds = ObjectBounds { ops: OpSet::of(&[OpKind::Write]), ..FileSystemKind::Ext4.usual().bounds() };
        let places = |size: u64| -> Vec<WriteAt> {
            let mut reference = Reference::new();
            for op in ["create(\"/a\")".to_owned(), format!("truncate(\"/a\", size={size})")] {
                reference.apply(&op.parse().unwrap()).unwrap();
            }
            let ops = object_ops(&reference.tree(), &OpenFiles::new(), &bounds).into_iter();
            ops.map(|op| if let Op::Write { at, .. } = op { at } else { panic!("{op}") }).collect()
        };
        let [first, second] = [0, 4096].map(WriteAt::Offset);
        for size in [0, 4096, 8192] {
            assert_eq!(places(size), [first, second], "{size}");
        }
        assert_eq!(places(2048), [first, second, WriteAt::End]);
    }

    #[test]
    fn names_that_belong_to_the_file_system_are_not_offered() {
        let offers = |kind: FileSystemKind, op: &str| kind.usual().offers(&op.parse().unwrap());
        assert!(!offers(FileSystemKind::Ext4, "mkdir(\"/lost+found\")"));
        assert!(!offers(FileSystemKind::Ext4, "create(\"/lost+found/a\")"));
        assert!(offers(FileSystemKind::Ext4, "create(\"/a/lost+found\")"));
        assert!(offers(FileSystemKind::Xfs, "mkdir(\"/lost+found\")"));
        assert!(!offers(FileSystemKind::Vfat, "create(\"/fsck0001.rec\")"));
    }

    #[test]
    fn who_cannot_read_and_write_directly_is_not_asked_to_open_files_for_it() {
        for (kind, has_direct) in [(FileSystemKind::Ext2, true), (FileSystemKind::Jffs2, false)] {
            let offers = |op: &str| kind.usual().offers(&op.parse().unwrap());
            assert_eq!(offers("open(\"/a\", O_RDWR|O_DIRECT, fd=0)"), has_direct, "{}", kind.name());
            assert!(offers("open(\"/a\", O_RDWR, fd=0)"));
        }
    }

    #[test]
    fn options_of_the_user_follow_those_that_are_always_there() {
        let vfat = FileSystem { options: "sync".to_owned(), ..FileSystemKind::Vfat.usual() };
        assert_eq!(vfat.mount().options, "fmask=0133,dmask=0022,sync");
        assert_eq!(FileSystemKind::Xfs.usual().mount().options, "");
        assert!(vfat.is_synchronous());
    }
}
