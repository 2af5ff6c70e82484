//! A system that notes which states it was asked to describe, so that several searches can be compared afterwards.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use explore::{Property, Step, System};
use xxhash_rust::xxh3::xxh3_64;

/// More than workers, so that two rarely meet.
const SHARDS: usize = 64;

/// A system and, if that is wanted, the hashes of the states that a search of it came to. They do not depend on the
/// seed of the search.
pub struct Noted<'a, S> {
    system: &'a S,
    states: Option<[Mutex<HashSet<u64>>; SHARDS]>,
}

impl<'a, S: System> Noted<'a, S> {
    /// The system; its states are noted if that is `wanted`.
    pub fn new(system: &'a S, wanted: bool) -> Self {
        Self { system, states: wanted.then(|| std::array::from_fn(|_| Mutex::default())) }
    }

    /// The hashes, in order, if they were wanted.
    pub fn states(&self) -> Option<Vec<u64>> {
        let of_shard = |shard: &Mutex<HashSet<u64>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect::<Vec<_>>()
        };
        let mut states: Vec<u64> = self.states.as_ref()?.iter().flat_map(of_shard).collect();
        states.sort_unstable();
        Some(states)
    }

    fn note(&self, bytes: &[u8]) {
        if let Some(states) = &self.states {
            let hash = xxh3_64(bytes);
            let shard = &states[usize::try_from(hash % SHARDS as u64).expect("below a usize")];
            shard.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
        }
    }
}

impl<S: System> System for Noted<'_, S> {
    type State = S::State;
    type Action = S::Action;
    type Evidence = S::Evidence;

    fn initial(&self) -> Vec<S::State> {
        self.system.initial()
    }

    fn actions(&self, state: &S::State, actions: &mut Vec<S::Action>) {
        self.system.actions(state, actions);
    }

    fn apply(&self, state: &S::State, action: &S::Action, step: &mut Step<'_, Self>) {
        step.of(|inner| self.system.apply(state, action, inner));
    }

    fn encode(&self, state: &S::State, bytes: &mut Vec<u8>) {
        let from = bytes.len();
        self.system.encode(state, bytes);
        self.note(&bytes[from..]);
    }

    fn canonical(&self, state: &S::State, bytes: &mut Vec<u8>) {
        let from = bytes.len();
        self.system.canonical(state, bytes);
        self.note(&bytes[from..]);
    }

    fn inspect(&self, state: &S::State, enabled: usize, step: &mut Step<'_, Self>) {
        step.of(|inner| self.system.inspect(state, enabled, inner));
    }

    fn ends_with(&self, property: Property) -> bool {
        self.system.ends_with(property)
    }

    fn score(&self, state: &S::State) -> i64 {
        self.system.score(state)
    }

    fn interrupt(&self) {
        self.system.interrupt();
    }

    fn interrupt_is_over(&self) {
        self.system.interrupt_is_over();
    }

    fn was_cut_short(&self) -> bool {
        self.system.was_cut_short()
    }

    fn repetition_begins(&self) {
        self.system.repetition_begins();
    }

    fn repetition_is_over(&self) {
        self.system.repetition_is_over();
    }

    fn heap_bytes(&self, state: &S::State) -> usize {
        self.system.heap_bytes(state)
    }
}
