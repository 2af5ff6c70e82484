//! A file system that a command mounts as a target: `fuse:"CMD {dev} {mnt}"`. A command without `{dev}` stores things
//! elsewhere; for it, `{store}` is an empty folder.

use check::Checkable;
use host::{Commands, HostTarget, KilledTarget, Subject};
use vfs::{Conventions, DirLinks};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

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
            fallback: Fallback::Value("4096"),
            about: "the size of the disk",
        },
        TargetOption {
            name: "mkfs",
            values: Values::Text,
            fallback: Fallback::Value(""),
            about: "what makes a file system of {dev}, which is full of zeros; without {dev}: what empties the store",
        },
        TargetOption {
            name: "repair",
            values: Values::Text,
            fallback: Fallback::Value(""),
            about: "what repairs {dev} after a crash, before it is mounted; it fails with an exit code above 1",
        },
        TargetOption {
            name: "fsck",
            values: Values::Text,
            fallback: Fallback::Value(""),
            about: "what looks at {dev} after it was recovered and unmounted; any exit code but 0 is a violation",
        },
        TargetOption {
            name: "promises",
            values: Values::Words(&["mountable", "synced", "fsynced", "atomic", "ordered", "prefix"]),
            fallback: Fallback::Value("fsynced"),
            about: "the contract that is demanded of it",
        },
        TargetOption {
            name: "dirlinks",
            values: Values::Words(&["counted", "one"]),
            fallback: Fallback::Value("counted"),
            about: "one: a directory has one link, whatever is in it",
        },
    ],
    make,
};

/// The option that stands behind the colon.
pub const COMMAND: &str = "command";

/// Whether nothing is asked of a disk: then whoever serves it is killed.
pub fn is_killed(chosen: &Chosen) -> bool {
    let command = chosen.word(COMMAND);
    !command.is_empty() && !command.contains("{dev}")
}

fn make(chosen: &Chosen) -> Box<dyn Checkable> {
    let given = |name: &str| Some(chosen.word(name).to_owned()).filter(|command| !command.is_empty());
    let contract = chosen.word("promises").parse().expect("the table of options allows only contracts");
    if is_killed(chosen) {
        return Box::new(KilledTarget::new(chosen.word(COMMAND).to_owned(), given("mkfs"), contract));
    }
    let dir_links = if chosen.word("dirlinks") == "one" { DirLinks::AlwaysOne } else { DirLinks::WithSubdirectories };
    Box::new(HostTarget::new(Subject::Commands(Commands {
        mount: chosen.word(COMMAND).to_owned(),
        mkfs: given("mkfs"),
        fsck: given("fsck"),
        repair: given("repair"),
        kib: chosen.number("kib").expect("the table of options allows only numbers"),
        contract,
        conventions: Conventions { dir_links, ..Conventions::POSIX },
    })))
}
