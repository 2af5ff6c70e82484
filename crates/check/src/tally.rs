//! What became of the workloads of a set.
//!
//! A node of their tree stands for all workloads that go through it, so what is noted are nodes; they are counted as
//! workloads at the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use vfs::{Place, WorkloadSet};

use crate::workload::Lacking;

/// Notes of all workers.
#[derive(Debug)]
pub(crate) struct Tally {
    set: Option<Arc<WorkloadSet>>,
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    finished: BTreeSet<usize>,
    left_out: BTreeMap<Place, Lacking>,
    violated: BTreeMap<&'static str, BTreeSet<Place>>,
}

/// What became of a set of workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadsReport {
    /// How many there were, also those that do the same as another.
    pub given: u64,
    /// How many different ones.
    pub distinct: u64,
    /// Of how many every op was done.
    pub finished: u64,
    /// How many were given up because the target does not have an op.
    pub left_out: u64,
    /// The first of these ops of each kind.
    pub lacking: Vec<Lacking>,
}

/// The workloads in which a property was violated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// How many.
    pub count: u64,
    /// What the first ones are called, at most [`NAMED_MAX`] of them.
    pub names: Vec<String>,
}

/// More names tell nobody more. `count` says how many there are.
pub const NAMED_MAX: usize = 50;

impl Tally {
    pub fn of(set: Option<Arc<WorkloadSet>>) -> Self {
        Self { set, notes: Mutex::default() }
    }

    /// An op was done and all is well.
    pub fn reached(&self, place: Place) {
        if let Some(finished) = self.set.as_ref().and_then(|set| set.finished(place)) {
            self.note(|notes| notes.finished.insert(finished));
        }
    }

    /// What follows is not tried.
    pub fn left_out(&self, place: Place, lacking: Lacking) {
        self.note(|notes| notes.left_out.insert(place, lacking));
    }

    pub fn violated(&self, property: &'static str, place: Place) {
        if self.set.is_some() {
            self.note(|notes| notes.violated.entry(property).or_default().insert(place));
        }
    }

    fn note<R>(&self, note: impl FnOnce(&mut Notes) -> R) -> R {
        note(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The end of it, if there is a set.
    pub fn report(&self) -> Option<WorkloadsReport> {
        let set = self.set.as_ref()?;
        Some(self.note(|notes| {
            let mut kinds = BTreeSet::new();
            let first_of_its_kind = |lacking: &&Lacking| kinds.insert(lacking.op.kind());
            WorkloadsReport {
                given: set.given() as u64,
                distinct: set.len() as u64,
                finished: notes.finished.len() as u64,
                left_out: workloads(notes.left_out.keys()).len() as u64,
                lacking: notes.left_out.values().filter(first_of_its_kind).cloned().collect(),
            }
        }))
    }

    /// The workloads in which a property was violated, if there is a set.
    pub fn affected(&self, property: &str) -> Option<Affected> {
        let set = self.set.as_ref()?;
        let workloads = self.note(|notes| workloads(notes.violated.get(property).into_iter().flatten()));
        let names = workloads.iter().take(NAMED_MAX).map(|workload| set.name(*workload)).collect();
        Some(Affected { count: workloads.len() as u64, names })
    }
}

/// The workloads that go through these nodes.
fn workloads<'a>(places: impl Iterator<Item = &'a Place>) -> BTreeSet<usize> {
    places.flat_map(|place| place.workloads()).collect()
}
