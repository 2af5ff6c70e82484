//! The corpus: published crash-consistency bugs of real file systems, each by the ops that showed it.
//!
//! The numbers of `CrashMonkey`'s new bugs are those of its list (kernel 4.16), `generic` those of the tests in
//! fstests. What was wrong showed after a power cut behind the last op, if nothing else is said. Where an op needs
//! something that the reports take for granted, it is made first, and made durable where the test does so.

mod entries;

pub use entries::ENTRIES;

use std::sync::Arc;

use crate::{
    Op,
    text::parse_workload,
    workloads::{Collector, Names, WorkloadSet},
};

/// One known bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it was published.
    pub origin: &'static str,
    /// Which file system had it.
    pub broke: &'static str,
    /// What was wrong.
    pub wrong: &'static str,
    /// The ops, one a line.
    pub ops: &'static str,
}

/// What was published and cannot be asked for, with the reason.
pub const LEFT_OUT: [(&str, &str); 3] = [
    ("generic-041", "3000 names of one file: with the whole tree compared after every op, that takes an hour"),
    ("btrfs-rename-special", "there is no op that makes a device or a fifo, and a symlink cannot be fsynced"),
    ("Hydra, the other reports", "what is published are images of its own serialisation, not ops"),
];

impl Entry {
    /// The bug of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENTRIES.iter().find(|entry| entry.name == name)
    }

    /// Its ops.
    ///
    /// # Panics
    /// The table is wrong, which a test would have found.
    pub fn workload(&self) -> Vec<Op> {
        parse_workload(self.ops).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// Some entries as a set of workloads.
///
/// # Panics
/// They are too many to be held, which these are not.
pub fn set(entries: &[Entry]) -> WorkloadSet {
    let mut collector = Collector::default();
    for entry in entries {
        collector.push(&entry.workload()).expect("a few dozen");
    }
    collector.finish(Names::Own(entries.iter().map(|entry| Arc::from(entry.name)).collect()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Reference;

    #[test]
    fn every_entry_can_be_done_and_found_by_its_name() {
        let names: BTreeSet<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
        for entry in ENTRIES {
            assert_eq!(Entry::named(entry.name), Some(entry));
            let mut reference = Reference::new();
            for op in entry.workload() {
                assert!(reference.apply(&op).is_ok(), "{}: {op}", entry.name);
            }
        }
        assert_eq!(set(ENTRIES).len(), ENTRIES.len(), "no two are the same");
    }

    #[test]
    fn what_is_left_out_is_not_in_the_table() {
        assert!(LEFT_OUT.iter().all(|(name, _)| Entry::named(name).is_none()));
    }
}
