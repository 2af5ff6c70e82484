//! `model:journal` as a target.

use check::Checkable;
use models::journal::{BLOCKS_MAX, DataMode, Flaw, FsckMode, Journal, Layout, TRANSACTION_BLOCKS_MAX, Variant};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const JOURNAL: Entry = Entry {
    name: "model:journal",
    about: "a journaling file system with bitmaps, inodes, a log, checkpoints and revoke records, as ext3 has",
    kind: Kind::Files,
    options: &OPTIONS,
    make,
};

const NO_FLAW: &str = "none";

const OPTIONS: [TargetOption; 5] = [
    TargetOption {
        name: "data",
        values: Values::Words(&["ordered", "writeback", "journal"]),
        fallback: Fallback::Depends { says: "what the flaw needs, else ordered", of: data_default },
        about: "ordered: home before the metadata commits; writeback: home when it is synced; journal: through the log",
    },
    TargetOption {
        name: "fsck",
        values: Values::Words(&["off", "fast", "full"]),
        fallback: Fallback::Value("off"),
        about: "what runs before the mount after a crash; fast: replay only; full: replay, check and repair",
    },
    TargetOption {
        name: "log",
        values: Values::Number(TRANSACTION_BLOCKS_MAX as u32..=BLOCKS_MAX as u32),
        fallback: Fallback::Depends { says: "11 or 24 for some flaws, else 32", of: log_default },
        about: "how many blocks the log has",
    },
    TargetOption {
        name: "blocks",
        // The root has one, and with no other the first directory finds no room, which nobody is excused for.
        values: Values::Number(2..=BLOCKS_MAX as u32),
        fallback: Fallback::Depends { says: "2 or 3 for a flaw that needs a full disk, else 8", of: blocks_default },
        about: "how many data blocks the disk has, of which the root has one",
    },
    TargetOption {
        name: "flaw",
        values: Values::Words(&FLAWS),
        fallback: Fallback::Value(NO_FLAW),
        about: "what is wrong with it; each is described in the source of the model",
    },
];

/// The names of the flaws, after the word for none.
const FLAWS: [&str; Flaw::ALL.len() + 1] = {
    let mut names = [NO_FLAW; Flaw::ALL.len() + 1];
    let mut index = 0;
    while index < Flaw::ALL.len() {
        names[index + 1] = Flaw::ALL[index].name();
        index += 1;
    }
    names
};

fn flaw(chosen: &Chosen) -> Option<Flaw> {
    Flaw::ALL.into_iter().find(|flaw| flaw.name() == chosen.word("flaw"))
}

fn data_default(chosen: &Chosen) -> String {
    match Variant::fitting(flaw(chosen)).data {
        DataMode::Ordered => "ordered",
        DataMode::Writeback => "writeback",
        DataMode::Journal => "journal",
    }
    .to_owned()
}

fn log_default(chosen: &Chosen) -> String {
    Variant::fitting(flaw(chosen)).layout.log.to_string()
}

fn blocks_default(chosen: &Chosen) -> String {
    Variant::fitting(flaw(chosen)).layout.data.to_string()
}

fn make(chosen: &Chosen) -> Box<dyn Checkable> {
    let data = match chosen.word("data") {
        "writeback" => DataMode::Writeback,
        "journal" => DataMode::Journal,
        _ => DataMode::Ordered,
    };
    let fsck = match chosen.word("fsck") {
        "fast" => FsckMode::Fast,
        "full" => FsckMode::Full,
        _ => FsckMode::Off,
    };
    let default = Variant::default().layout;
    let layout = Layout {
        log: chosen.number("log").unwrap_or(default.log),
        data: chosen.number("blocks").unwrap_or(default.data),
    };
    let journal = Journal::target(Variant { data, fsck, layout, flaw: flaw(chosen) });
    journal.expect("the table of options allows no other sizes")
}
