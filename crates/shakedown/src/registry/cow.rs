//! `model:cow` as a target.

use check::Checkable;
use models::cow::{BLOCKS_MAX, Commit, Cow, Flaw, Variant};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const COW: Entry = Entry {
    name: "model:cow",
    about: "a copy-on-write file system with checksummed trees, two superblocks and an fsync log, as btrfs has",
    kind: Kind::Files,
    options: &OPTIONS,
    make,
};

const NO_FLAW: &str = "none";

const OPTIONS: [TargetOption; 4] = [
    TargetOption {
        name: "flaw",
        values: Values::Words(&FLAWS),
        fallback: Fallback::Value(NO_FLAW),
        about: "what is wrong with it; each is described in the source of the model",
    },
    TargetOption {
        name: "log",
        values: Values::Words(&["on", "off"]),
        fallback: Fallback::Depends { says: "on for a flaw of the log, else off", of: log_default },
        about: "on: fsync writes a log of one file, which a mount replays; off: fsync commits everything",
    },
    TargetOption {
        name: "commit",
        values: Values::Words(&["barrier", "verify"]),
        fallback: Fallback::Depends { says: "verify for a flaw of verification, else barrier", of: commit_default },
        about: "barrier: the trees are flushed before the superblock; verify: with it, and a mount looks whether they \
                are there",
    },
    TargetOption {
        name: "blocks",
        values: Values::Number(Variant::BLOCKS_MIN..=BLOCKS_MAX),
        fallback: Fallback::Value("32"),
        about: "how many blocks the disk has",
    },
];

/// The names of the flaws, after the word for none.
const FLAWS: [&str; Flaw::ALL.len() + 1] = {
    let mut names = [NO_FLAW; Flaw::ALL.len() + 1];
    let mut index = 0;
    while index < Flaw::ALL.len() {
        names[index + 1] = Flaw::ALL[index].0;
        index += 1;
    }
    names
};

fn flaw(chosen: &Chosen) -> Option<Flaw> {
    Flaw::ALL.into_iter().find(|(name, _)| *name == chosen.word("flaw")).map(|(_, flaw)| flaw)
}

fn log_default(chosen: &Chosen) -> String {
    let on = flaw(chosen).is_some_and(Flaw::needs_log);
    if on { "on" } else { "off" }.to_owned()
}

fn commit_default(chosen: &Chosen) -> String {
    match flaw(chosen).map_or(Commit::Barrier, Flaw::commit) {
        Commit::Barrier => "barrier",
        Commit::Verify => "verify",
    }
    .to_owned()
}

fn make(chosen: &Chosen) -> Box<dyn Checkable> {
    let commit = if chosen.word("commit") == "verify" { Commit::Verify } else { Commit::Barrier };
    Cow::target(Variant {
        log: chosen.word("log") == "on",
        commit,
        flaw: flaw(chosen),
        blocks: chosen.number("blocks").unwrap_or(Variant::BLOCKS_DEFAULT),
    })
}
