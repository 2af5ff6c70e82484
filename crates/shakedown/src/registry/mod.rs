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
mod other;
mod quoted;
mod reference;

use anyhow::ensure;
use check::{Checkable, Comparison, Sighting, Trace};

pub use self::{
    guests::remark,
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
    /// The same on flash memory, which a disk stands for: its power is cut between ops.
    Flash,
    /// A file system whose power is never cut: the reference, or several that are compared. The user can choose the
    /// workload.
    Undisturbed,
}

impl Kind {
    /// Whether it has a disk, so that its power can be cut and a contract can be demanded.
    pub fn has_disk(self) -> bool {
        matches!(self, Self::FixedFiles | Self::Files | Self::Flash)
    }

    /// Whether it does ops.
    pub fn has_files(self) -> bool {
        self != Self::Plain
    }

    /// Whether the user can choose the workload.
    pub fn takes_workload(self) -> bool {
        matches!(self, Self::Files | Self::Flash | Self::Undisturbed)
    }
}

/// Every target.
pub const TARGETS: [&Entry; 34] = [
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
    &guests::JFFS2,
    &guests::UBIFS,
    &other::OTHER,
    &hosts::EXT2,
    &hosts::EXT3,
    &hosts::EXT4,
    &hosts::XFS,
    &hosts::BTRFS,
    &commands::FUSE,
    &reference::REFERENCE,
];

/// Whether to violate this is no fault of a target, but of this machine.
pub fn is_of_the_machine(property: &str) -> bool {
    [guest::UNAVAILABLE, host::UNAVAILABLE].iter().any(|unavailable| unavailable.name == property)
}

/// A target that can be checked.
pub struct Named {
    /// Its name as the user gave it.
    pub name: String,
    /// Which entry it is.
    pub entry: &'static Entry,
    /// Every option, given or not.
    pub chosen: Chosen,
    /// What it is compared with, as the user gave it.
    pub against: Vec<String>,
    /// The target itself, or the comparison.
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
        Ok(Self { name: name.to_owned(), entry, chosen, against: Vec::new(), target })
    }

    /// Whether a violation is one that nobody can be accused of: the running kernel, which does other things too,
    /// showed it once and in no try again.
    pub fn is_doubtful(&self, count: u64, trace: &Trace) -> bool {
        let mut sides = std::iter::once(&self.name).chain(&self.against);
        let is_once = count == 1 && trace.sighting.as_ref().is_some_and(Sighting::is_once);
        is_once && sides.any(|name| is_on_this_machine(name))
    }

    /// The comparison of this target with the ones of these names.
    ///
    /// # Errors
    /// A name stands for no target, or for none that can be compared.
    pub fn against(self, names: &[String]) -> anyhow::Result<Self> {
        if names.is_empty() {
            return Ok(self);
        }
        let mut sides = vec![(self.name.clone(), self.target)];
        for name in names {
            sides.push((name.clone(), Self::parse(name)?.target));
        }
        let target = Box::new(Comparison::new(sides)?);
        Ok(Self { against: names.to_vec(), target, ..self })
    }

    /// How it is asked for: `model:cow --against ref`.
    pub fn with_rivals(&self) -> String {
        [&[self.entry.name.to_owned()], &self.against[..]].concat().join(" --against ")
    }

    /// What is checked, which decides which flags make sense.
    pub fn kind(&self) -> Kind {
        if self.against.is_empty() { self.entry.kind } else { Kind::Undisturbed }
    }

    /// Sees whether it can be checked on this machine.
    ///
    /// # Errors
    /// Something is missing; the words say what to do about it.
    pub fn ready(&self) -> anyhow::Result<()> {
        let is_alone = self.against.is_empty() && self.entry.kind == Kind::Undisturbed;
        ensure!(!is_alone, "check {} alone: name what to compare it with, --against TARGET", self.name);
        self.target.ready().map_err(anyhow::Error::msg)
    }

    /// The name with every option spelled out.
    pub fn full_name(&self) -> String {
        match self.chosen.without(commands::COMMAND) {
            Some((command, rest)) => format!("{}:{}?{rest}", self.entry.name, quoted::quoted(command)),
            None if self.entry.options.is_empty() => self.entry.name.to_owned(),
            None => format!("{}?{}", self.entry.name, self.chosen),
        }
    }
}

/// Whether what does the ops of a target is the running kernel, or served by a process of it.
fn is_on_this_machine(name: &str) -> bool {
    name::parse(name).is_ok_and(|(entry, _)| entry.name.starts_with("host:") || entry.name == commands::FUSE.name)
}

/// Whether a target has no disk whose power could be cut, but somebody who can be killed.
pub fn is_killed(name: &str) -> bool {
    name::parse(name).is_ok_and(|(entry, chosen)| entry.name == commands::FUSE.name && commands::is_killed(&chosen))
}

/// Whether the target of this name has a disk whose size its user chooses by `kib=`.
pub fn has_kib(name: &str) -> bool {
    let has = |entry: &Entry| entry.options.iter().any(|option| option.name == "kib");
    name::parse(name).is_ok_and(|(entry, _)| has(entry)) && !is_killed(name)
}

impl Entry {
    /// The target as it is when no option is given.
    pub fn with_defaults(&self) -> Box<dyn Checkable> {
        (self.make)(&Chosen::defaults(self.options))
    }
}

#[cfg(test)]
mod tests {
    use check::{CheckOptions, Tail, VERSION};
    use explore::Severity;

    use super::*;

    fn met(sighting: Sighting) -> Trace {
        Trace {
            version: VERSION,
            target: String::new(),
            against: Vec::new(),
            options: CheckOptions::default(),
            property: "outcome".to_owned(),
            severity: Severity::Critical,
            detail: String::new(),
            workload: None,
            ops: Vec::new(),
            schedule: Vec::new(),
            sighting: Some(sighting),
        }
    }

    #[test]
    fn only_what_the_running_kernel_showed_once_and_in_no_try_is_doubtful() {
        let once = Sighting { tries: 20, ..Sighting::default() };
        let tail = Some(Tail { ops: 2, tries: 2 });
        let command = r#"fuse:"CMD {store} {mnt}""#;
        let cases = [
            ("host:ext2", None, 1, once.clone(), true),
            (command, Some("ref"), 1, once.clone(), true),
            ("ref", Some(command), 1, once.clone(), true),
            ("ref", Some("model:cow"), 1, once.clone(), false),
            (command, Some("ref"), 12, once.clone(), false),
            (command, Some("ref"), 1, Sighting { tail, ..once.clone() }, false),
            (command, Some("ref"), 1, Sighting { shown: 1, ..once }, false),
            (command, Some("ref"), 1, Sighting::default(), false),
        ];
        for (name, against, count, sighting, expected) in cases {
            let against: Vec<String> = against.map(str::to_owned).into_iter().collect();
            let named = Named::parse(name).unwrap().against(&against).unwrap();
            let told = format!("{name} {against:?} {count} {sighting:?}");
            assert_eq!(named.is_doubtful(count, &met(sighting)), expected, "{told}");
        }
    }

    #[test]
    fn only_a_disk_can_be_larger() {
        for (name, expected) in [
            ("guest:ext4", true),
            ("fuse:\"fuse2fs {dev} {mnt}\"", true),
            ("fuse:\"bindfs {store} {mnt}\"", false),
            ("model:journal", false),
            ("ref", false),
        ] {
            assert_eq!(has_kib(name), expected, "{name}");
        }
    }

    #[test]
    fn a_disk_has_room_for_something() {
        let error = Named::parse("model:journal?blocks=1").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("2..64"), "{error}");
        assert!(Named::parse("model:journal?blocks=2").is_ok());
    }
}
