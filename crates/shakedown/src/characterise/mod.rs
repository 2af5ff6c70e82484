//! Which promises a file system keeps, measured: a row for each target, a column for each promise.
//!
//! One pass over the crash states of a fixed set of workloads answers every column of a row, since each guarantee is
//! judged by itself ([`vfs::contract::Guarantee`]). Only a synchronous mount is another mount, and so another pass.

mod folder;
mod json;
mod measure;
mod page;
mod text;
mod workloads;

use check::Trace;
use vfs::contract::{Contract, Guarantee};

pub use self::{
    folder::Folder,
    json::json,
    measure::{Knobs, measure},
    page::page,
    text::{explain, row, table},
};

/// A promise, as a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Recovery succeeds, what it leaves is sound and can be used, and no file shows foreign data.
    Recovers,
    /// A guarantee of the contracts.
    Keeps(Guarantee),
    /// Recovery and the more thorough check leave the same tree, and the check has nothing to repair.
    FastIsFull,
}

impl Column {
    /// Every column, in the order of the table.
    pub const ALL: [Self; 12] = [
        Self::Recovers,
        Self::Keeps(Guarantee::SynchronousMount),
        Self::Keeps(Guarantee::Sync),
        Self::Keeps(Guarantee::Fsync),
        Self::Keeps(Guarantee::FsyncName),
        Self::Keeps(Guarantee::FsyncDirectory),
        Self::Keeps(Guarantee::Fdatasync),
        Self::Keeps(Guarantee::SynchronousWrite),
        Self::Keeps(Guarantee::RenameAtomic),
        Self::Keeps(Guarantee::Ordered),
        Self::Keeps(Guarantee::Prefix),
        Self::FastIsFull,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recovers => "recovers",
            Self::Keeps(guarantee) => guarantee.name(),
            Self::FastIsFull => "fast-is-full",
        }
    }

    /// What it says if it holds.
    pub fn says(self) -> &'static str {
        match self {
            Self::Recovers => "recovery succeeds, and what it leaves is sound and can be used",
            Self::Keeps(Guarantee::SynchronousMount) => "on a synchronous mount, what has returned is there",
            Self::Keeps(Guarantee::Sync) => "what sync covered is there",
            Self::Keeps(Guarantee::Fsync) => "content and attributes of a file that was fsynced are there",
            Self::Keeps(Guarantee::FsyncName) => "so are its names",
            Self::Keeps(Guarantee::FsyncDirectory) => "the names in a directory that was fsynced are there",
            Self::Keeps(Guarantee::Fdatasync) => "what fdatasync covered is there",
            Self::Keeps(Guarantee::SynchronousWrite) => "what was written through O_SYNC or O_DSYNC is there",
            Self::Keeps(Guarantee::RenameAtomic) => "a rename is seen entirely or not at all",
            Self::Keeps(Guarantee::Ordered) => "names, sizes and attributes are those of one moment",
            Self::Keeps(Guarantee::Prefix) => "so are the contents",
            Self::FastIsFull => "recovery and the more thorough check agree",
        }
    }

    /// The weakest contract that promises it.
    fn contract(self) -> Contract {
        match self {
            Self::Recovers | Self::FastIsFull => Contract::Mountable,
            Self::Keeps(guarantee) => guarantee.contract(),
        }
    }
}

/// One target, measured.
pub struct Row {
    /// As the user named it.
    pub target: String,
    /// What it promises.
    pub contract: Contract,
    /// One for each of [`Column::ALL`].
    pub cells: Vec<Cell>,
    /// What went wrong while the power was on: property and detail.
    pub aside: Vec<(String, String)>,
    /// Workloads that were run.
    pub workloads: usize,
    /// Crash states that were judged.
    pub crash_states: u64,
    /// What was sampled, skipped or cut off.
    pub limits: Vec<String>,
    pub seconds: f64,
}

/// What came of a promise.
pub enum Cell {
    /// It held wherever it had something to say.
    Held {
        /// In how many crash states it had.
        crash_states: u64,
    },
    /// It did not.
    Broken(Box<Counterexample>),
    /// Nothing is known.
    NotMeasured {
        /// Why not.
        why: String,
    },
}

/// How a promise was broken.
pub struct Counterexample {
    /// In how many crash states it had something to say.
    pub crash_states: u64,
    /// In how many it was broken.
    pub broken: u64,
    /// Whether the target promises it.
    pub promised: bool,
    /// The shortest way to see it.
    pub trace: Trace,
    /// The same as a story.
    pub told: String,
    /// Where the trace was written, if it was.
    pub file: Option<String>,
}

impl Row {
    /// Whether something is broken that the target promises.
    pub fn breaks_a_promise(&self) -> bool {
        let is_broken = |cell: &Cell| matches!(cell, Cell::Broken(counterexample) if counterexample.promised);
        self.cells.iter().any(is_broken) || !self.aside.is_empty()
    }

    /// The columns with their cells.
    pub fn columns(&self) -> impl Iterator<Item = (Column, &Cell)> {
        Column::ALL.into_iter().zip(&self.cells)
    }
}
