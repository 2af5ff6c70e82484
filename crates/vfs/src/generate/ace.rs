//! ACE, the generator of `CrashMonkey`: every workload of a few ops over a few names, within the bounds of the
//! published tool.
//!
//! Five steps make a workload: a sequence of ops (its skeleton), arguments for each, a persistence point after each (or
//! none, but never none after the last), the calls that must come before for all of that to work, and our ops. What is
//! generated follows the tool to the number, oddities included, so that results can be compared: arguments are compared
//! letter by letter where the tool does so by mistake, and a persistence point is chosen even where none is made, which
//! gives the same workload several times.

mod choose;
mod names;
mod satisfy;

use std::sync::Arc;

pub use choose::{Chosen, Kind};
pub use names::Name;

use super::jlang::Lowering;
use crate::{
    Op,
    workloads::{Collector, Names, TooLarge, WorkloadSet},
};

/// The ops of the published runs.
const ALL: &[Kind] = &[
    Kind::Creat,
    Kind::Mkdir,
    Kind::Falloc,
    Kind::Write,
    Kind::Dwrite,
    Kind::Mmapwrite,
    Kind::Link,
    Kind::Unlink,
    Kind::Remove,
    Kind::Rename,
    Kind::Fsetxattr,
    Kind::Removexattr,
    Kind::Truncate,
];
/// The same and one more, as the tool has it now.
const ALL_AND_FDATASYNC: &[Kind] = &[
    Kind::Creat,
    Kind::Mkdir,
    Kind::Falloc,
    Kind::Write,
    Kind::Dwrite,
    Kind::Mmapwrite,
    Kind::Link,
    Kind::Unlink,
    Kind::Remove,
    Kind::Rename,
    Kind::Fsetxattr,
    Kind::Removexattr,
    Kind::Truncate,
    Kind::Fdatasync,
];
const METADATA: &[Kind] = &[Kind::Write, Kind::Link, Kind::Unlink, Kind::Rename];
const DATA: &[Kind] = &[Kind::Write, Kind::Dwrite, Kind::Mmapwrite, Kind::Falloc];
const NESTED: &[Kind] = &[Kind::Link, Kind::Rename];

/// The bounds of one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What it is called.
    pub name: &'static str,
    /// Which ops.
    pub kinds: &'static [Kind],
    /// How many of them in a row.
    pub len: usize,
    /// Whether there is a directory in the directory.
    pub nested: bool,
}

/// The sets that have a name.
pub const SETS: [Bounds; 7] = [
    Bounds { name: "ace-seq1", kinds: ALL, len: 1, nested: false },
    Bounds { name: "ace-seq1-fdatasync", kinds: ALL_AND_FDATASYNC, len: 1, nested: false },
    Bounds { name: "ace-seq2", kinds: ALL, len: 2, nested: false },
    Bounds { name: "ace-seq2-fdatasync", kinds: ALL_AND_FDATASYNC, len: 2, nested: false },
    Bounds { name: "ace-seq3-metadata", kinds: METADATA, len: 3, nested: false },
    Bounds { name: "ace-seq3-data", kinds: DATA, len: 3, nested: false },
    Bounds { name: "ace-seq3-nested", kinds: NESTED, len: 3, nested: true },
];

impl Bounds {
    /// The set of that name.
    pub fn named(name: &str) -> Option<Self> {
        SETS.into_iter().find(|bounds| bounds.name == name)
    }

    /// All workloads within the bounds, in the order of the tool: the chosen ops, each with its persistence point.
    pub fn each(&self, mut visit: impl FnMut(&[Chosen])) {
        choose::each(self, &mut visit);
    }

    /// A workload in our ops.
    ///
    /// # Panics
    /// What a call needs was not opened before it, which is not so for what [`Bounds::each`] gives.
    pub fn ops(workload: &[Chosen]) -> Vec<Op> {
        let mut lowering = Lowering::default();
        for call in satisfy::calls(workload) {
            lowering.push(call).expect("what is needed was opened before");
        }
        lowering.finish()
    }

    /// The whole set.
    ///
    /// # Errors
    /// It is too large to be held, which none with a name is.
    pub fn set(&self) -> Result<WorkloadSet, TooLarge> {
        let mut collector = Collector::default();
        let mut full = Ok(());
        self.each(|workload| {
            if full.is_ok() {
                full = collector.push(&Self::ops(workload));
            }
        });
        full.map(|()| collector.finish(Names::Numbered(Arc::from(self.name))))
    }
}
