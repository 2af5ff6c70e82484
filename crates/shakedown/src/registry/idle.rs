//! Options that do nothing together: the one table of them, each with its reason.
//!
//! A flaw without what it is a flaw of is right by accident, and who searches it for nothing is misled.

use models::{
    cow::{self, Commit},
    journal::Flaw as JournalFlaw,
};

use super::{
    Chosen,
    commands::{COMMAND, KIB, is_killed},
};

/// One option makes another one idle.
struct Idle {
    target: &'static str,
    /// The option that does nothing.
    option: &'static str,
    /// The one that makes it so.
    beside: &'static str,
    /// When.
    is_so: fn(&Chosen) -> bool,
    /// Why.
    reason: &'static str,
}

const TABLE: [Idle; 14] = [
    Idle {
        target: "model:cow",
        option: "flaw",
        beside: "log",
        is_so: |chosen| chosen.word("log") == "off" && cow_flaw(chosen).is_some_and(cow::Flaw::needs_log),
        reason: "it is a flaw of the log",
    },
    Idle {
        target: "model:cow",
        option: "flaw",
        beside: "commit",
        is_so: |chosen| {
            let needs_verify = cow_flaw(chosen).is_some_and(|flaw| flaw.commit() == Commit::Verify);
            chosen.word("commit") == "barrier" && needs_verify
        },
        reason: "it is a flaw of what a mount verifies, and behind a barrier there is nothing to verify",
    },
    Idle {
        target: "model:cow",
        option: "flaw",
        beside: "commit",
        is_so: |chosen| chosen.word("commit") == "verify" && chosen.word("flaw") == "no-barrier",
        reason: "such a commit has no barrier that could be missing",
    },
    Idle {
        target: "model:cow",
        option: "flaw",
        beside: "commit",
        // With a log, the superblock that leads to it is written by itself.
        is_so: |chosen| {
            let alone = chosen.word("commit") == "verify" && chosen.word("log") == "off";
            alone && chosen.word("flaw") == "super-not-flushed"
        },
        reason: "trees and superblock are flushed together",
    },
    Idle {
        target: "model:journal",
        option: "flaw",
        beside: "data",
        is_so: |chosen| is_journal_flaw(chosen, JournalFlaw::StaleData) && chosen.word("data") != "writeback",
        reason: "only in writeback does a commit leave new blocks without their data",
    },
    Idle {
        target: "model:journal",
        option: "flaw",
        beside: "data",
        is_so: |chosen| is_journal_flaw(chosen, JournalFlaw::DataAfterCommit) && chosen.word("data") == "journal",
        reason: "all data is in the transaction",
    },
    Idle {
        target: "model:journal",
        option: "flaw",
        beside: "data",
        is_so: |chosen| is_journal_flaw(chosen, JournalFlaw::UnescapeWrongBlock) && chosen.word("data") != "journal",
        reason: "no metadata looks like a record of the log, and no data is in it",
    },
    Idle {
        target: "model:f2fs",
        option: "forgets",
        beside: "fsync",
        is_so: |chosen| is_checkpointed(chosen) && ["rename", "parent", "version"].contains(&chosen.word("forgets")),
        reason: "nothing is rolled forward",
    },
    Idle {
        target: "model:f2fs",
        option: "nids",
        beside: "fsync",
        is_so: |chosen| is_checkpointed(chosen) && chosen.word("nids") == "immediate",
        reason: "only roll-forward can take a new node for an old one",
    },
    Idle { target: "model:link", ..INDEX_THREADS },
    INDEX_THREADS,
    WITHOUT_DISK,
    Idle { option: "repair", is_so: |chosen| is_killed(chosen) && !chosen.word("repair").is_empty(), ..WITHOUT_DISK },
    Idle { option: "kib", is_so: |chosen| is_killed(chosen) && chosen.word("kib") != KIB, ..WITHOUT_DISK },
];

const WITHOUT_DISK: Idle = Idle {
    target: "fuse",
    option: "fsck",
    beside: COMMAND,
    is_so: |chosen| is_killed(chosen) && !chosen.word("fsck").is_empty(),
    reason: "it has no {dev}, and what has no disk is not looked at there",
};

const INDEX_THREADS: Idle = Idle {
    target: "model:index",
    option: "threads",
    beside: "files",
    is_so: |chosen| chosen.word("threads") == "2" && chosen.word("files") == "1",
    reason: "two ops on one file wait for each other",
};

/// What is wrong with these options of a target, if some do nothing.
pub fn complain(target: &str, chosen: &Chosen) -> Option<String> {
    let idle = TABLE.iter().find(|idle| idle.target == target && (idle.is_so)(chosen))?;
    let says = |option: &str| format!("{option}={}", chosen.word(option));
    Some(format!("{} does nothing with {}: {}", says(idle.option), says(idle.beside), idle.reason))
}

fn cow_flaw(chosen: &Chosen) -> Option<cow::Flaw> {
    cow::Flaw::ALL.into_iter().find(|(name, _)| *name == chosen.word("flaw")).map(|(_, flaw)| flaw)
}

fn is_journal_flaw(chosen: &Chosen, flaw: JournalFlaw) -> bool {
    chosen.word("flaw") == flaw.name()
}

fn is_checkpointed(chosen: &Chosen) -> bool {
    chosen.word("fsync") == "checkpoint"
}
