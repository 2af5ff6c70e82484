//! Which targets there are, by name.
//!
//! A target is named like a URL: `model:link?writes=naive,threads=2`. One table says which names exist, which options
//! each has, which values an option takes and how the target is made; parsing, help and errors all follow from it, so a
//! new target is one more entry.

mod commands;
mod cow;
mod f2fs;
mod guests;
mod hosts;
mod idle;
mod journal;
mod libs;
mod models;
mod name;
mod options;
mod quoted;

use check::Checkable;

pub use self::{
    name::UnknownTarget,
    options::{Chosen, Fallback, TargetOption, Values},
};

/// One entry of the table.
pub struct Entry {
    /// The name without options.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What it is made of.
    pub kind: Kind,
    /// What can be chosen.
    pub options: &'static [TargetOption],
    /// Makes the target.
    make: fn(&Chosen) -> Box<dyn Checkable>,
}

/// What a target is made of, which decides which flags make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// States and actions, no disk.
    Plain,
    /// A file system whose files are its own to choose.
    FixedFiles,
    /// A file system whose workload the user can choose.
    Files,
}

impl Kind {
    /// Whether it has a disk, so that its power can be cut and a contract can be demanded.
    pub fn has_disk(self) -> bool {
        self != Self::Plain
    }
}

/// Every target.
pub const TARGETS: [&Entry; 27] = [
    &models::LINK,
    &models::INDEX,
    &models::PHILOSOPHERS,
    &f2fs::F2FS,
    &cow::COW,
    &journal::JOURNAL,
    &libs::LITTLEFS,
    &libs::FATFS,
    &libs::EXT4,
    &guests::EXT2,
    &guests::EXT3,
    &guests::EXT4,
    &guests::XFS,
    &guests::BTRFS,
    &guests::F2FS,
    &guests::JFS,
    &guests::REISERFS,
    &guests::NILFS2,
    &guests::VFAT,
    &guests::MSDOS,
    &guests::EXFAT,
    &guests::MINIX,
    &guests::HFSPLUS,
    &guests::NTFS3,
    &hosts::EXT2,
    &hosts::EXT4,
    &commands::FUSE,
];

/// A target that can be checked.
pub struct Named {
    /// Its name as the user gave it.
    pub name: String,
    /// Which entry it is.
    pub entry: &'static Entry,
    /// Every option, given or not.
    pub chosen: Chosen,
    /// The target itself.
    pub target: Box<dyn Checkable>,
}

impl Named {
    /// The target of this name.
    ///
    /// # Errors
    /// The scheme, the target, an option or a value does not exist.
    pub fn parse(name: &str) -> Result<Self, UnknownTarget> {
        let (entry, chosen) = name::parse(name)?;
        let target = (entry.make)(&chosen);
        Ok(Self { name: name.to_owned(), entry, chosen, target })
    }

    /// Sees whether it can be checked on this machine.
    ///
    /// # Errors
    /// Something is missing; the words say what to do about it.
    pub fn ready(&self) -> anyhow::Result<()> {
        self.target.ready().map_err(anyhow::Error::msg)
    }

    /// The name with every option spelled out.
    pub fn full_name(&self) -> String {
        match self.chosen.without(commands::COMMAND) {
            Some((command, rest)) => format!("{}:{}?{rest}", self.entry.name, quoted::quoted(command)),
            None => format!("{}?{}", self.entry.name, self.chosen),
        }
    }
}

impl Entry {
    /// The target as it is when no option is given.
    pub fn with_defaults(&self) -> Box<dyn Checkable> {
        (self.make)(&Chosen::defaults(self.options))
    }
}
