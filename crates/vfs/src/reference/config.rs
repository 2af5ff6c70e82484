//! Who uses the reference, and where it ends.

use crate::{Modes, Names};

/// Who calls. Uid 0 holds every capability, anybody else none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credentials {
    /// The user.
    pub uid: u32,
    /// The group that new files get.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl Credentials {
    /// Whether no permission check applies.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether the group is one of the caller's.
    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}

/// Caller and limits of a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Who calls.
    pub caller: Credentials,
    /// Permission bits that new files and directories do not get. None by default, so that the mode of an op is the
    /// mode of the file.
    pub umask: u32,
    /// Bytes of the longest name; a longer one is `ENAMETOOLONG`.
    pub name_max: usize,
    /// Bytes of the longest path with its terminating zero; a longer one is `ENAMETOOLONG`.
    pub path_max: usize,
    /// The highest link count; one more is `EMLINK`.
    pub link_max: u32,
    /// Bytes of the longest file; beyond is `EFBIG`. Contents are held in full, holes included, so the default is
    /// what a machine can afford rather than what a disk format can express.
    pub file_size_max: u64,
    /// How many bytes all files may have together, if there is a limit; beyond is `ENOSPC`. Holes count and metadata
    /// does not, so this is a bound for tests of full disks, not the arithmetic of any real file system.
    pub capacity: Option<u64>,
    /// What `CollapseRange` and `InsertRange` must be aligned to.
    pub block_size: u64,
    /// What direct reads and writes must be aligned to.
    pub sector_size: u64,
    /// Whether a hard link needs a file that the caller owns or may both read and write (`fs.protected_hardlinks`,
    /// off in a bare kernel, on in most distributions).
    pub protected_hardlinks: bool,
    /// Which permission bits new files and directories get.
    pub modes: Modes,
    /// Which names are the same.
    pub names: Names,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            caller: Credentials::default(),
            umask: 0,
            name_max: 255,
            path_max: 4096,
            link_max: 65_000,
            file_size_max: 64 << 20,
            capacity: None,
            block_size: 4096,
            sector_size: 512,
            protected_hardlinks: false,
            modes: Modes::Kept,
            names: Names::AsGiven,
        }
    }
}
