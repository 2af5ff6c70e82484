//! The in-process models as targets.

use check::Checkable;
use models::{
    mapping::{self, BLOCKS_MAX, FILES_MAX, Variant, Writes},
    philosophers::{ForkOrder, PHILOSOPHERS_MAX, Philosophers},
};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};
use crate::plain::Plain;

pub const LINK: Entry = Entry {
    name: "model:link",
    about: "a minimal file system that chains the blocks of a file through a table, as FAT does",
    kind: Kind::FixedFiles,
    options: &MAPPING,
    make: |chosen| mapping::link(variant(chosen)),
};

pub const INDEX: Entry = Entry {
    name: "model:index",
    about: "a minimal file system that lists the blocks of a file in its inode, as ext2 does",
    kind: Kind::FixedFiles,
    options: &MAPPING,
    make: |chosen| mapping::index(variant(chosen)),
};

pub const PHILOSOPHERS: Entry = Entry {
    name: "model:philosophers",
    about: "the dining philosophers: no file system, but a yardstick for the search",
    kind: Kind::Plain,
    options: &[
        option("n", Values::Number(2..=PHILOSOPHERS_MAX), "5", "how many philosophers"),
        option(
            "order",
            Values::WordsOr(&["left", "safe"], &[("naive", "left")]),
            "left",
            "left: everybody takes the left fork first; safe: the last one takes the right one first",
        ),
    ],
    make: philosophers,
};

const MAPPING: [TargetOption; 6] = [
    option(
        "writes",
        Values::Words(&["naive", "cached", "ordered", "barrier"]),
        "ordered",
        "naive: pointers first; cached: naive with a flush after each op; ordered: pointers last; barrier: ordered \
         with flushes",
    ),
    option("threads", Values::Words(&["1", "2"]), "1", "how many ops are under way at the same time"),
    option("files", Values::Number(1..=FILES_MAX as u32), "4", "how many files there can be"),
    option("blocks", Values::Number(1..=BLOCKS_MAX as u32), "11", "how many data blocks the disk has"),
    TargetOption {
        name: "cache",
        values: Values::NumberOr(1..=CACHE_MAX, UNLIMITED),
        fallback: Fallback::Depends { says: "2 for naive and ordered, else unlimited", of: cache_default },
        about: "how many writes the disk's volatile cache holds back",
    },
    option(
        "symmetry",
        Values::Words(&["on", "off"]),
        "on",
        "on: states that differ only in which blocks and files are which are one",
    ),
];

const UNLIMITED: &str = "unlimited";
/// More writes than any op of these models leaves pending; beyond it only `unlimited` makes a difference.
const CACHE_MAX: u32 = 64;

const fn option(name: &'static str, values: Values, value: &'static str, about: &'static str) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

fn writes(chosen: &Chosen) -> Writes {
    match chosen.word("writes") {
        "naive" => Writes::Naive,
        "cached" => Writes::Cached,
        "barrier" => Writes::Barrier,
        _ => Writes::Ordered,
    }
}

fn cache_default(chosen: &Chosen) -> String {
    Variant::cache_default(writes(chosen)).map_or_else(|| UNLIMITED.to_owned(), |writes| writes.to_string())
}

fn variant(chosen: &Chosen) -> Variant {
    let study = Variant::study(writes(chosen), chosen.number("threads").unwrap_or(1));
    Variant {
        files: chosen.number("files").unwrap_or(study.files),
        blocks: chosen.number("blocks").unwrap_or(study.blocks),
        cache: chosen.number("cache"),
        symmetry: chosen.word("symmetry") == "on",
        ..study
    }
}

fn philosophers(chosen: &Chosen) -> Box<dyn Checkable> {
    let order = if chosen.word("order") == "safe" { ForkOrder::LastRightFirst } else { ForkOrder::LeftFirst };
    let table = chosen.number("n").and_then(|seats| Philosophers::new(seats, order));
    Box::new(Plain::new(table.expect("the table of options allows no other number"), says))
}

/// A philosopher takes the first fork, takes the second, puts the first back, puts the second back.
fn says(earlier: &[u8], philosopher: u8) -> String {
    let moves = earlier.iter().fold(0, |moves, mover| moves + usize::from(*mover == philosopher));
    let does =
        ["takes the first fork", "takes the second fork", "puts the first fork back", "puts the second fork back"];
    format!("philosopher {philosopher} {}", does[moves % does.len()])
}
