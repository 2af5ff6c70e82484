//! The log-structured model as a target.

use check::Checkable;
use models::f2fs::{F2fs, Flaw, Flaws, Fsync, Heads, Variant};

use super::{Chosen, Entry, Fallback, Kind, TargetOption, Values};

pub const F2FS: Entry = Entry {
    name: "model:f2fs",
    about: "a log-structured file system after F2FS: NAT, SIT, SSA, checkpoints, cleaning, roll-forward",
    kind: Kind::Files,
    options: &OPTIONS,
    make,
};

const OPTIONS: [TargetOption; 13] = [
    option(
        "segments",
        Values::Number(Variant::SEGMENTS_MIN as u32..=Variant::SEGMENTS_MAX as u32),
        "60",
        "segments of the main area",
    ),
    option("blocks", Values::Words(&["4", "8", "16"]), "16", "blocks of a segment"),
    option(
        "heads",
        Values::Words(&["2", "4", "5"]),
        "5",
        "logs: 2 for nodes and data; 4 tell directories from files; 5 keep moved data apart",
    ),
    option(
        "journal",
        Values::Number(0..=Variant::JOURNAL_MAX as u32),
        "8",
        "SIT and NAT entries that a checkpoint holds before blocks of these tables are written",
    ),
    TargetOption {
        name: "write",
        values: Values::Number(1..=Variant::WRITE_BLOCKS_MAX as u32),
        fallback: Fallback::Depends { says: "one more than a segment has", of: write_default },
        about: "blocks of 32 bytes in a write; a search with --crash torn ends sooner with few",
    },
    option(
        "fsync",
        Values::Words(&["roll-forward", "unordered", "checkpoint"]),
        "roll-forward",
        "roll-forward: the file's nodes, which a mount replays; unordered: the same, not waiting for data (wrong); \
         checkpoint: everything",
    ),
    option(
        "reuse",
        Values::Words(&["checkpointed", "immediate"]),
        "checkpointed",
        "when a segment without valid blocks is written again: after a checkpoint, or at once (wrong)",
    ),
    option(
        "versions",
        Values::Words(&["on", "off"]),
        "on",
        "on: SIT and NAT blocks have two copies and a bit that chooses; off: they are updated in place (wrong)",
    ),
    option(
        "barrier",
        Values::Words(&["on", "off"]),
        "on",
        "whether a checkpoint is flushed before its last block is written; off is wrong",
    ),
    option(
        "footer",
        Values::Words(&["checked", "unchecked"]),
        "checked",
        "whether a mount compares the versions of a checkpoint's first and last block; unchecked is wrong",
    ),
    option(
        "nids",
        Values::Words(&["checkpointed", "immediate"]),
        "checkpointed",
        "when the number of a removed node is given out again: after a checkpoint, or at once (wrong)",
    ),
    option(
        "forgets",
        Values::Words(&["nothing", "rename", "parent", "version", "summary"]),
        "nothing",
        "rename, parent: fsync does not look whether something was renamed, or whether the directory is new; \
         version: a mount does not end the old log; summary: full segments get none",
    ),
    option(
        "memory",
        Values::Words(&["checked", "unchecked"]),
        "checked",
        "whether a truncation that gets no memory says so; unchecked is wrong, see --faults",
    ),
];

const fn option(name: &'static str, values: Values, value: &'static str, about: &'static str) -> TargetOption {
    TargetOption { name, values, fallback: Fallback::Value(value), about }
}

/// So few writes fill a segment, kill it, and need another one.
fn write_default(chosen: &Chosen) -> String {
    let segment_blocks: u8 = chosen.number("blocks").unwrap_or(Variant::default().segment_blocks);
    (segment_blocks + 1).to_string()
}

/// Which value of which option stands for which flaw.
const FLAWS: [(&str, &str, Flaw); 11] = [
    ("reuse", "immediate", Flaw::ReuseImmediate),
    ("versions", "off", Flaw::VersionsOff),
    ("barrier", "off", Flaw::BarrierOff),
    ("footer", "unchecked", Flaw::FooterUnchecked),
    ("fsync", "unordered", Flaw::FsyncUnordered),
    ("nids", "immediate", Flaw::NidImmediate),
    ("forgets", "rename", Flaw::RenameForgotten),
    ("forgets", "parent", Flaw::ParentForgotten),
    ("forgets", "version", Flaw::StaleChain),
    ("forgets", "summary", Flaw::SummaryForgotten),
    ("memory", "unchecked", Flaw::MemoryUnchecked),
];

fn make(chosen: &Chosen) -> Box<dyn Checkable> {
    let study = Variant::default();
    let chosen_flaws = FLAWS.iter().filter(|(option, value, _)| chosen.word(option) == *value);
    F2fs::target(Variant {
        segments: chosen.number("segments").unwrap_or(study.segments),
        segment_blocks: chosen.number("blocks").unwrap_or(study.segment_blocks),
        heads: match chosen.word("heads") {
            "2" => Heads::Two,
            "4" => Heads::Four,
            _ => Heads::Five,
        },
        journal: chosen.number("journal").unwrap_or(study.journal),
        write_blocks: chosen.number("write").unwrap_or(study.write_blocks),
        fsync: if chosen.word("fsync") == "checkpoint" { Fsync::Checkpoint } else { Fsync::RollForward },
        flaws: chosen_flaws.fold(Flaws::default(), |flaws, (_, _, flaw)| flaws.with(*flaw)),
    })
}
