//! A file system that a command mounts as a target: `fuse:"CMD {dev} {mnt}"`. A command without `{dev}` stores things
//! elsewhere; for it, `{store}` is an empty folder.

use check::Checkable;
use guest::{Described, FileSystem, Which};
use host::{HostTarget, KilledTarget, MountedBy, Subject};
use vfs::{Conventions, DirLinks, contract::Contract};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values, guests::option};

pub const FUSE: Entry = Entry {
    name: "fuse",
    about: "whatever a command mounts, as root: fuse:\"CMD {dev} {mnt}\"; {dev} is the disk, {mnt} where it is wanted",
    kind: Kind::Files,
    options: &[
        TargetOption {
            name: COMMAND,
            values: Values::Text,
            fallback: Fallback::Value(""),
            about: "what mounts it, and serves it until it is unmounted",
        },
        TargetOption {
            name: "kib",
            values: Values::Number(16..=1_048_576),
            fallback: Fallback::Value(KIB),
            about: "the size of the disk",
        },
        MKFS,
        REPAIR,
        FSCK_COMMAND,
        PROMISES,
        DIR_LINKS,
    ],
    make,
};

pub(super) const MKFS: TargetOption = option(
    "mkfs",
    Values::Text,
    "",
    "what makes a file system of {dev}, which is full of zeros; without {dev}: what empties the store",
);
pub(super) const REPAIR: TargetOption = option(
    "repair",
    Values::Text,
    "",
    "what repairs {dev} after a crash, before it is mounted; it fails with an exit code above 1",
);
pub(super) const FSCK_COMMAND: TargetOption = option(
    "fsck",
    Values::Text,
    "",
    "what looks at {dev} after it was recovered and unmounted; any exit code but 0 is a violation",
);
pub(super) const PROMISES: TargetOption = option(
    "promises",
    Values::Words(&["mountable", "synced", "fsynced", "atomic", "ordered", "prefix"]),
    "fsynced",
    "the contract that is demanded of it",
);
pub(super) const DIR_LINKS: TargetOption = option(
    "dirlinks",
    Values::Words(&["counted", "one"]),
    "counted",
    "one: a directory has one link, whatever is in it",
);

/// The size of the disk that nobody asks for.
pub(super) const KIB: &str = "4096";

/// The option that stands behind the colon.
pub const COMMAND: &str = "command";

/// Whether nothing is asked of a disk: then whoever serves it is killed.
pub fn is_killed(chosen: &Chosen) -> bool {
    let command = chosen.word(COMMAND);
    !command.is_empty() && !command.contains("{dev}")
}

/// What is wrong with a command, if it can be no right one.
pub fn complain(chosen: &Chosen) -> Option<String> {
    let command = chosen.word(COMMAND);
    let is_wrong = !command.is_empty() && !command.contains("{mnt}");
    is_wrong.then(|| "its command has no {mnt}, the place where it is to be mounted".to_owned())
}

/// What is said of a file system of this name.
pub(super) fn described(name: &str, chosen: &Chosen) -> Described {
    let dir_links = if chosen.word("dirlinks") == "one" { DirLinks::AlwaysOne } else { DirLinks::WithSubdirectories };
    Described {
        mkfs: given("mkfs", chosen),
        fsck: given("fsck", chosen),
        repair: given("repair", chosen),
        conventions: Conventions { dir_links, ..Conventions::POSIX },
        ..Described::new(name, contract(chosen))
    }
}

fn given(name: &str, chosen: &Chosen) -> Option<String> {
    Some(chosen.word(name).to_owned()).filter(|command| !command.is_empty())
}

fn contract(chosen: &Chosen) -> Contract {
    chosen.word("promises").parse().expect("the table of options allows only contracts")
}

fn make(chosen: &Chosen) -> Box<dyn Checkable> {
    let command = chosen.word(COMMAND).to_owned();
    if is_killed(chosen) {
        return Box::new(KilledTarget::new(command, given("mkfs", chosen), contract(chosen)));
    }
    let kib = chosen.number("kib").expect("the table of options allows only numbers");
    let file_system = FileSystem::new(Which::Described(described("fuse", chosen).into()), kib);
    Box::new(HostTarget::new(Subject { file_system, mounted_by: MountedBy::Command(command) }))
}
