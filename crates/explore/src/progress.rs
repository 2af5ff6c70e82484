//! How far a search is: counters that workers add to, and the snapshot that observers are given.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde::{Deserialize, Serialize};

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Distinct states seen.
    pub states: u64,
    /// Arrivals at states that were known.
    pub states_revisited: u64,
    /// Outcomes of actions: arrivals at new and at known states.
    pub transitions: u64,
    /// States that wait to be expanded.
    pub waiting: u64,
    /// Deepest state so far.
    pub depth: u32,
    /// Violations reported so far, repetitions included.
    pub violations: u64,
    /// Memory in use for visited states, links and waiting states.
    pub memory_bytes: u64,
    /// Since the start.
    pub elapsed: Duration,
    /// Why it could not be saved the last time that it was to be.
    #[serde(skip)]
    pub unsaved: Option<io::ErrorKind>,
}

/// Counters of all workers. Workers add in batches, so these lag behind a little.
#[derive(Default)]
pub(crate) struct Counters {
    pub states: AtomicU64,
    pub revisited: AtomicU64,
    pub depth: AtomicU64,
    pub violations: AtomicU64,
    /// Waiting states, kept up by adding and subtracting differences.
    pub waiting: AtomicU64,
    pub waiting_bytes: AtomicU64,
    pub link_bytes: AtomicU64,
    pub dropped: AtomicU64,
    /// Set when a state at the depth bound had actions.
    pub cut_at_depth: AtomicU64,
    /// States to which no way is known that is shorter than the depth bound.
    pub at_depth_bound: AtomicU64,
    pub walks: AtomicU64,
}

impl Counters {
    /// What a resumed search must still know.
    pub fn lasting(&self) -> [&AtomicU64; 7] {
        let Self { states, revisited, depth, violations, dropped, cut_at_depth, at_depth_bound, .. } = self;
        [states, revisited, depth, violations, dropped, cut_at_depth, at_depth_bound]
    }

    pub fn progress(&self, visited_bytes: u64, elapsed: Duration) -> Progress {
        let states = self.states.load(Ordering::Relaxed);
        let revisited = self.revisited.load(Ordering::Relaxed);
        Progress {
            states,
            states_revisited: revisited,
            transitions: states + revisited,
            waiting: self.waiting.load(Ordering::Relaxed),
            depth: u32::try_from(self.depth.load(Ordering::Relaxed)).unwrap_or(u32::MAX),
            violations: self.violations.load(Ordering::Relaxed),
            memory_bytes: visited_bytes
                + self.link_bytes.load(Ordering::Relaxed)
                + self.waiting_bytes.load(Ordering::Relaxed),
            elapsed,
            unsaved: None,
        }
    }
}

/// Replaces a worker's last contribution to a shared sum by its present one.
pub(crate) fn replace(sum: &AtomicU64, last: &mut u64, now: u64) {
    // Wrapping arithmetic: a decrease is the addition of a negative difference.
    sum.fetch_add(now.wrapping_sub(*last), Ordering::Relaxed);
    *last = now;
}
