//! What a check has done so far, counted by all workers.

use std::{
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use vfs::{
    Op, Outcome,
    contract::Guarantee,
    generate::{InputCounts, InputCoverage},
};

use crate::weighted::Weighted;

/// Shards of the set of crash images; more than workers, so that two rarely meet.
const SHARDS: usize = 64;

/// Counters that workers add to.
pub(crate) struct Counts {
    ops: AtomicU64,
    ops_refused: AtomicU64,
    ended_unjudged: AtomicU64,
    crash_states: AtomicU64,
    positions_sampled: AtomicU64,
    /// Whether what is done now was done before, and judged.
    is_repeating: AtomicBool,
    compared: AtomicU64,
    guarantees: [AtomicU64; Guarantee::ALL.len()],
    images: [Mutex<HashSet<u128, FixedState>>; SHARDS],
    inputs: Option<InputCounts>,
}

/// What was done again and does not count.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    /// All of it so far.
    work: Work,
    /// How much there was when the repetition under way began.
    since: Option<Work>,
}

impl Repeated {
    /// From here on, everything was done before.
    pub fn begin(&mut self, done: Work) {
        self.since = Some(done);
    }

    /// From here on, it is new.
    pub fn end(&mut self, done: Work) {
        if let Some(since) = self.since.take() {
            self.work = self.work.plus(done.minus(since));
        }
    }

    /// What counts of what was done.
    pub fn left_out_of(&self, done: Work) -> Work {
        self.since.unwrap_or(done).minus(self.work)
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Ops that were run to their end.
    pub ops: u64,
    /// Ops for which one of several targets had no room; the others were then put back.
    #[serde(default)]
    pub ops_refused: u64,
    /// States behind which nothing was searched, because nobody can say what a file system owes that was hurt.
    #[serde(default)]
    pub ended_unjudged: u64,
    /// Crash states that were judged.
    pub crash_states: u64,
    /// How many different images were among them.
    pub crash_states_distinct: u64,
    /// Recoveries that were run.
    pub recoveries: u64,
    /// Recoveries whose result was known from what they would read.
    pub recoveries_memoised: u64,
    /// Crash states of recoveries, each recovered again.
    #[serde(default)]
    pub recovery_crash_states: u64,
    /// Positions of a log with so many crash states that only a sample was judged.
    pub positions_sampled: u64,
}

impl Work {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// Whether nothing was sampled and nothing left out.
    pub fn is_whole(self) -> bool {
        self.positions_sampled == 0 && self.ended_unjudged == 0
    }

    /// What is left without the other.
    #[must_use]
    fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    fn zip(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            ops: with(self.ops, other.ops),
            ops_refused: with(self.ops_refused, other.ops_refused),
            ended_unjudged: with(self.ended_unjudged, other.ended_unjudged),
            crash_states: with(self.crash_states, other.crash_states),
            crash_states_distinct: with(self.crash_states_distinct, other.crash_states_distinct),
            recoveries: with(self.recoveries, other.recoveries),
            recoveries_memoised: with(self.recoveries_memoised, other.recoveries_memoised),
            recovery_crash_states: with(self.recovery_crash_states, other.recovery_crash_states),
            positions_sampled: with(self.positions_sampled, other.positions_sampled),
        }
    }
}

/// In how many crash states each thing was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// How often each guarantee had something to say, in the order of [`Guarantee::ALL`].
    pub guarantees: [u64; Guarantee::ALL.len()],
    /// How often recovery was compared with the more thorough check.
    pub compared: u64,
}

impl Judged {
    /// Counts what another check judged as well.
    pub fn add(&mut self, other: &Self) {
        self.guarantees.iter_mut().zip(other.guarantees).for_each(|(sum, more)| *sum += more);
        self.compared += other.compared;
    }

    /// In how many crash states a guarantee had something to say.
    pub fn of(&self, guarantee: Guarantee) -> u64 {
        self.guarantees[guarantee as usize]
    }
}

impl Counts {
    pub fn new(weighted: Option<&Weighted>) -> Self {
        Self {
            inputs: weighted.map(|weighted| InputCounts::new(&weighted.weights)),
            ops: AtomicU64::new(0),
            ops_refused: AtomicU64::new(0),
            ended_unjudged: AtomicU64::new(0),
            crash_states: AtomicU64::new(0),
            positions_sampled: AtomicU64::new(0),
            is_repeating: AtomicBool::new(false),
            compared: AtomicU64::new(0),
            guarantees: std::array::from_fn(|_| AtomicU64::new(0)),
            images: std::array::from_fn(|_| Mutex::default()),
        }
    }

    pub fn op(&self, op: &Op, outcome: &Outcome) {
        self.ops.fetch_add(1, Ordering::Relaxed);
        if let Some(inputs) = self.inputs.as_ref().filter(|_| !self.is_repeating()) {
            inputs.op(op, outcome);
        }
    }

    /// What is counted of the inputs, while it is.
    pub fn inputs_so_far(&self) -> Option<&InputCounts> {
        self.inputs.as_ref()
    }

    /// What was exercised, if that was counted.
    pub fn inputs(&self) -> Option<InputCoverage> {
        self.inputs.as_ref().map(InputCounts::coverage)
    }

    pub fn refused(&self, refused: bool) {
        self.ops_refused.fetch_add(self.one_if(refused), Ordering::Relaxed);
    }

    pub fn ended_unjudged(&self) {
        self.ended_unjudged.fetch_add(1, Ordering::Relaxed);
    }

    pub fn position(&self, states: usize, sampled: bool) {
        self.crash_states.fetch_add(states as u64, Ordering::Relaxed);
        self.positions_sampled.fetch_add(u64::from(sampled), Ordering::Relaxed);
    }

    /// From here on, everything was judged before, or is new again.
    pub fn repeat(&self, is_repeating: bool) {
        self.is_repeating.store(is_repeating, Ordering::Relaxed);
    }

    /// Whether what is done now was done before.
    pub fn is_repeating(&self) -> bool {
        self.is_repeating.load(Ordering::Relaxed)
    }

    /// What counts: 0 while something is only repeated.
    fn one_if(&self, counts: bool) -> u64 {
        u64::from(counts && !self.is_repeating())
    }

    pub fn guarantee(&self, guarantee: Guarantee) {
        self.guarantees[guarantee as usize].fetch_add(self.one_if(true), Ordering::Relaxed);
    }

    /// A crash state was recovered; `compared`: in two ways.
    pub fn recovery(&self, compared: bool) {
        self.compared.fetch_add(self.one_if(compared), Ordering::Relaxed);
    }

    pub fn judged(&self) -> Judged {
        Judged {
            guarantees: std::array::from_fn(|guarantee| self.guarantees[guarantee].load(Ordering::Relaxed)),
            compared: self.compared.load(Ordering::Relaxed),
        }
    }

    pub fn crash_image(&self, hash: u128) {
        let shard = &self.images[(hash % SHARDS as u128) as usize];
        shard.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
    }

    /// The counters, without what others count.
    pub fn work(&self) -> Work {
        let images = self.images.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len());
        Work {
            ops: self.ops.load(Ordering::Relaxed),
            ops_refused: self.ops_refused.load(Ordering::Relaxed),
            ended_unjudged: self.ended_unjudged.load(Ordering::Relaxed),
            crash_states: self.crash_states.load(Ordering::Relaxed),
            crash_states_distinct: images.sum::<usize>() as u64,
            positions_sampled: self.positions_sampled.load(Ordering::Relaxed),
            ..Work::default()
        }
    }
}
