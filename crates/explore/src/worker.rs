//! One worker: takes a waiting state, applies every action, keeps what is new.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Instant,
};

use crossbeam_epoch::Guard;
use rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    budget::{Budget, Limit},
    frontier::{Frontier, Waiting},
    links::{Link, LinkId, LinkLog},
    pool::Pool,
    progress::{Counters, replace},
    system::{Found, Property, Step, System},
    visited::{Arrival, Visited},
    walk::Walker,
};

/// A worker adds its counts to the shared ones, and looks at the memory in use, after this many expansions. It adds
/// them at every tick too, so that slow systems are seen to go on; budgets are left alone then, since when one ends a
/// search must not depend on the clock.
const EXPANSIONS_PER_COUNT: u32 = 64;

/// What all workers of a search share.
pub(crate) struct Shared<'a, S: System> {
    pub system: &'a S,
    pub symmetry: bool,
    pub until_violation: bool,
    pub budget: Budget,
    pub seed: u64,
    pub shuffle: bool,
    pub pool: Pool<S::State>,
    pub visited: Visited,
    pub counters: Counters,
    /// How many states are known when the search is saved the next time, if that goes by states.
    pub save_at: Option<AtomicU64>,
    /// Counts how often somebody looked at the counters.
    pub tick: AtomicU32,
    pub limits: Mutex<Vec<Limit>>,
    pub panic: Mutex<Option<PanicAt>>,
}

/// Where and with which message the system panicked.
pub(crate) struct PanicAt {
    pub message: String,
    pub link: LinkId,
    pub action: Option<u32>,
}

impl<S: System> Shared<'_, S> {
    /// Ends the search because of a limit.
    pub fn stop(&self, limit: Limit) {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if !limits.contains(&limit) {
            limits.push(limit);
        }
        drop(limits);
        self.pool.stop();
    }

    /// Whether something is done at a number of states, so that they are counted one by one.
    fn goes_by_states(&self) -> bool {
        self.budget.states.is_some() || self.save_at.is_some()
    }

    /// Whether the workers have left for good.
    pub fn is_over(&self) -> bool {
        let has_met_limit = !self.limits.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        has_met_limit || self.pool.is_finished()
    }

    /// Ends the search because the system panicked.
    pub fn report_panic(&self, payload: &(dyn std::any::Any + Send), link: LinkId, action: Option<u32>) {
        let message = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap_or_else(|| "a panic without a message".to_owned());
        let mut panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        panic.get_or_insert(PanicAt { message, link, action });
        drop(panic);
        self.stop(Limit::Panic);
    }

    /// Does what calls the system outside of any action; `None` if the system panicked, which ends the search.
    pub fn guarded<R>(&self, link: LinkId, work: impl FnOnce() -> R) -> Option<R> {
        let done = catch_unwind(AssertUnwindSafe(work));
        done.inspect_err(|payload| self.report_panic(payload.as_ref(), link, None)).ok()
    }

    /// The initial states as work.
    pub fn start(&self, links: &mut LinkLog) -> Vec<Waiting<S::State>> {
        let mut work = Vec::new();
        let mut bytes = Vec::new();
        let initial = self.guarded(LinkId::NONE, || self.system.initial()).unwrap_or_default();
        for (number, state) in (0u32..).zip(initial) {
            let link = links.push(Link { parent: LinkId::NONE, action: number, outcome: 0 });
            bytes.clear();
            if self.guarded(link, || self.key(&state, &mut bytes)).is_none() {
                break;
            }
            if self.visited.insert(self.visited.hash(&bytes), &bytes, 0, &Visited::pin()) == Arrival::New {
                self.counters.states.fetch_add(1, Ordering::Relaxed);
                self.counters.at_depth_bound.fetch_add(u64::from(self.budget.depth == Some(0)), Ordering::Relaxed);
                work.push(Waiting { state, link, depth: 0 });
            }
        }
        work
    }

    /// What a state costs that waits.
    fn bytes_of(&self, state: &S::State) -> u64 {
        (size_of::<Waiting<S::State>>() + self.system.heap_bytes(state)) as u64
    }

    /// The bytes under which a state is remembered.
    #[inline]
    pub fn key(&self, state: &S::State, bytes: &mut Vec<u8>) {
        if self.symmetry { self.system.canonical(state, bytes) } else { self.system.encode(state, bytes) }
    }
}

/// The violations that a worker met, one entry a property.
pub(crate) struct Findings<E> {
    pub best: HashMap<Property, Finding<E>>,
    pub shallowest: HashMap<Property, u32>,
}

/// The shallowest occurrence of a violation, and how many there were.
pub(crate) struct Finding<E> {
    pub count: u64,
    pub depth: u32,
    pub link: LinkId,
    /// The position of the action that violated it; `None` if the state itself did.
    pub action: Option<u32>,
    pub evidence: E,
}

/// How often a property was violated, all workers together, and the shallowest occurrence.
pub(crate) struct Occurrences<'a, E> {
    pub count: u64,
    pub shallowest: &'a Finding<E>,
}

/// The violations that the workers met.
pub(crate) fn occurrences<'a, E>(all: impl Iterator<Item = &'a Findings<E>>) -> HashMap<Property, Occurrences<'a, E>> {
    let mut occurrences = HashMap::new();
    for (property, finding) in all.flat_map(|findings| &findings.best) {
        let known = occurrences.entry(*property).or_insert(Occurrences { count: 0, shallowest: finding });
        known.count += finding.count;
        if finding.depth < known.shallowest.depth {
            known.shallowest = finding;
        }
    }
    occurrences
}

impl<E> Findings<E> {
    pub fn new() -> Self {
        Self { best: HashMap::new(), shallowest: HashMap::new() }
    }

    /// Adds what a step reported.
    pub fn add(&mut self, found: Vec<Found<E>>, depth: u32, link: LinkId, action: Option<u32>) {
        for Found { property, evidence } in found {
            match evidence {
                Some(evidence) => {
                    self.shallowest.insert(property, depth);
                    let count = self.best.get(&property).map_or(0, |finding| finding.count) + 1;
                    self.best.insert(property, Finding { count, depth, link, action, evidence });
                }
                None => {
                    if let Some(finding) = self.best.get_mut(&property) {
                        finding.count += 1;
                    }
                }
            }
        }
    }
}

/// A state that an action led to, before it is known whether it is new.
struct Candidate<S> {
    state: S,
    hash: u128,
    bytes: std::ops::Range<usize>,
    action: u32,
    outcome: u32,
}

/// One thread of a search.
pub(crate) struct Worker<'a, S: System> {
    shared: &'a Shared<'a, S>,
    pub frontier: Frontier<S::State>,
    pub links: LinkLog,
    pub findings: Findings<S::Evidence>,
    /// When it left with something left to do.
    pub stands_since: Option<Instant>,
    random: Pcg64Mcg,
    /// The action under way, so that a panic can be traced.
    acting: Option<u32>,
    tally: Tally,
    // Buffers that are reused from one expansion to the next.
    actions: Vec<S::Action>,
    candidates: Vec<Candidate<S::State>>,
    outcomes: Vec<S::State>,
    bytes: Vec<u8>,
}

/// A worker's counts since it last added them to the shared ones.
#[derive(Default)]
struct Tally {
    /// Since it last looked after the budgets.
    expansions: u32,
    /// The tick at which it last added.
    tick: u32,
    states: u64,
    revisited: u64,
    violations: u64,
    depth: u32,
    /// A difference, which wraps below zero.
    at_depth_bound: u64,
    /// What the state cost that was looked at last, for all that wait.
    waiting_each: u64,
    waiting_last: u64,
    waiting_bytes_last: u64,
    link_bytes_last: u64,
}

impl<'a, S: System> Worker<'a, S> {
    pub fn new(shared: &'a Shared<'a, S>, number: usize, links: LinkLog, frontier: Frontier<S::State>) -> Self {
        Self {
            shared,
            frontier,
            links,
            findings: Findings::new(),
            stands_since: None,
            random: Pcg64Mcg::seed_from_u64(shared.seed.wrapping_add(number as u64)),
            acting: None,
            tally: Tally::default(),
            actions: Vec::new(),
            candidates: Vec::new(),
            outcomes: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Walks at random until the search is over.
    pub fn walk(&mut self) {
        Walker { shared: self.shared, links: &mut self.links, findings: &mut self.findings }.run();
    }

    /// Works until the workers are stopped, or nothing is left to do.
    pub fn run(&mut self) {
        loop {
            if self.frontier.len() == 0 {
                let Some(batch) = self.shared.pool.take() else { return };
                for waiting in batch {
                    self.guarded(waiting.link, |worker| worker.push(waiting));
                }
            }
            while !self.shared.pool.stopped() {
                let Some(waiting) = self.frontier.pop() else { break };
                self.guarded(waiting.link, |worker| {
                    worker.expand(&waiting);
                    worker.acting = None;
                    worker.tally.expansions += 1;
                    if worker.tally.expansions >= EXPANSIONS_PER_COUNT || worker.shared.goes_by_states() {
                        worker.count(&waiting.state);
                    } else if worker.tally.tick != worker.shared.tick.load(Ordering::Relaxed) {
                        worker.tally.waiting_each = worker.shared.bytes_of(&waiting.state);
                        worker.add_to_shared_counts();
                    }
                });
                if self.is_cut_short() {
                    self.guarded(waiting.link, |worker| worker.push(waiting));
                    break;
                }
                if self.shared.pool.is_hungry() && self.frontier.len() > 1 {
                    self.shared.pool.give(self.frontier.split_half());
                }
            }
            self.add_to_shared_counts();
            // Who was stopped with states that wait may go on: what becomes of them must not depend on when that was.
            if self.frontier.len() > 0 {
                self.stands_since = Some(Instant::now());
                return;
            }
            self.check_memory();
        }
    }

    /// Does what calls the system. A panic of the system at `link`, in the action under way, ends the search.
    #[inline]
    fn guarded(&mut self, link: LinkId, work: impl FnOnce(&mut Self)) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            self.shared.report_panic(payload.as_ref(), link, self.acting);
        }
    }

    /// Whether what is being expanded is to be expanded again if the search is resumed.
    #[inline]
    fn is_cut_short(&self) -> bool {
        self.shared.pool.stopped() && self.shared.system.was_cut_short()
    }

    fn push(&mut self, waiting: Waiting<S::State>) {
        let system = self.shared.system;
        self.frontier.push(waiting, |state| system.score(state));
    }

    fn expand(&mut self, waiting: &Waiting<S::State>) {
        let system = self.shared.system;
        self.acting = None;
        self.actions.clear();
        system.actions(&waiting.state, &mut self.actions);
        let mut step = Step::new(&self.findings.shallowest, waiting.depth, std::mem::take(&mut self.outcomes));
        system.inspect(&waiting.state, self.actions.len(), &mut step);
        let (found, outcomes) = (step.found, step.outcomes);
        self.outcomes = outcomes;
        self.report(found, waiting, None);
        if self.shared.budget.depth.is_some_and(|bound| waiting.depth >= bound) {
            if !self.actions.is_empty() {
                self.shared.counters.cut_at_depth.store(1, Ordering::Relaxed);
            }
            return;
        }
        self.bytes.clear();
        let pinned = Visited::pin();
        self.act(waiting, &pinned);
        if self.is_cut_short() {
            // Links count outcomes, and some of these were left out. All will be met when it is expanded again.
            self.candidates.clear();
            return;
        }
        self.keep_what_is_new(waiting, &pinned);
    }

    /// Applies every action and lists where each leads, for as long as the list will be used.
    #[inline]
    fn act(&mut self, waiting: &Waiting<S::State>, pinned: &Guard) {
        let (shared, depth) = (self.shared, waiting.depth + 1);
        let actions = std::mem::take(&mut self.actions);
        let mut step = Step::new(&self.findings.shallowest, depth, std::mem::take(&mut self.outcomes));
        for (number, action) in (0u32..).zip(&actions) {
            if self.is_cut_short() {
                break;
            }
            self.acting = Some(number);
            shared.system.apply(&waiting.state, action, &mut step);
            for (outcome, state) in (0u32..).zip(step.outcomes.drain(..)) {
                let start = self.bytes.len();
                shared.key(&state, &mut self.bytes);
                let bytes = start..self.bytes.len();
                let hash = shared.visited.hash(&self.bytes[bytes.clone()]);
                shared.visited.prefetch(hash, pinned);
                self.candidates.push(Candidate { state, hash, bytes, action: number, outcome });
            }
            if !step.found.is_empty() {
                let (found, outcomes) = (step.found, step.outcomes);
                self.report(found, waiting, Some(number));
                step = Step::new(&self.findings.shallowest, depth, outcomes);
            }
        }
        self.outcomes = step.outcomes;
        self.actions = actions;
    }

    /// The candidates of one expansion are looked up together: by the time the last one was made, the memory that
    /// the first one needs has arrived.
    fn keep_what_is_new(&mut self, waiting: &Waiting<S::State>, pinned: &Guard) {
        let (depth, bound) = (waiting.depth + 1, self.shared.budget.depth);
        let mut candidates = std::mem::take(&mut self.candidates);
        if self.shared.shuffle {
            shuffle(&mut candidates, self.shared.seed);
        }
        for candidate in candidates.drain(..) {
            let bytes = &self.bytes[candidate.bytes.clone()];
            let arrival = self.shared.visited.insert(candidate.hash, bytes, depth, pinned);
            match arrival {
                Arrival::New => {
                    self.tally.states += 1;
                    self.tally.depth = self.tally.depth.max(depth);
                    self.tally.at_depth_bound = self.tally.at_depth_bound.wrapping_add((bound == Some(depth)).into());
                }
                Arrival::Nearer { than } => {
                    self.tally.revisited += 1;
                    self.tally.at_depth_bound = self.tally.at_depth_bound.wrapping_sub(u64::from(bound == Some(than)));
                }
                Arrival::Seen => {
                    self.tally.revisited += 1;
                    continue;
                }
            }
            let Candidate { state, action, outcome, .. } = candidate;
            self.acting = Some(action);
            let link = self.links.push(Link { parent: waiting.link, action, outcome });
            self.push(Waiting { state, link, depth });
        }
        self.candidates = candidates;
    }

    fn report(&mut self, found: Vec<Found<S::Evidence>>, waiting: &Waiting<S::State>, action: Option<u32>) {
        if found.is_empty() {
            return;
        }
        self.tally.violations += found.len() as u64;
        let depth = waiting.depth + u32::from(action.is_some());
        let is_the_end = found.iter().any(|found| self.shared.system.ends_with(found.property));
        self.findings.add(found, depth, waiting.link, action);
        if is_the_end {
            self.shared.stop(Limit::CannotGoOn);
        } else if self.shared.until_violation {
            self.shared.stop(Limit::UntilViolation);
        }
    }

    /// Adds to the shared counts and looks after the budgets.
    fn count(&mut self, expanded: &S::State) {
        self.tally.expansions = 0;
        self.tally.waiting_each = self.shared.bytes_of(expanded);
        self.add_to_shared_counts();
        let states = self.shared.counters.states.load(Ordering::Relaxed);
        if let Some(most) = self.shared.budget.states.filter(|most| states >= *most) {
            self.shared.stop(Limit::States(most));
        }
        if self.shared.save_at.as_ref().is_some_and(|next| states >= next.load(Ordering::Relaxed)) {
            self.shared.pool.stop();
        }
        if self.links.full() {
            self.shared.stop(Limit::Memory(self.links.bytes()));
        }
        self.check_memory();
    }

    fn add_to_shared_counts(&mut self) {
        let (tally, counters) = (&mut self.tally, &self.shared.counters);
        tally.tick = self.shared.tick.load(Ordering::Relaxed);
        counters.states.fetch_add(std::mem::take(&mut tally.states), Ordering::Relaxed);
        counters.revisited.fetch_add(std::mem::take(&mut tally.revisited), Ordering::Relaxed);
        counters.violations.fetch_add(std::mem::take(&mut tally.violations), Ordering::Relaxed);
        counters.depth.fetch_max(u64::from(tally.depth), Ordering::Relaxed);
        counters.at_depth_bound.fetch_add(std::mem::take(&mut tally.at_depth_bound), Ordering::Relaxed);
        let waiting = self.frontier.len() as u64;
        replace(&counters.waiting, &mut tally.waiting_last, waiting);
        replace(&counters.waiting_bytes, &mut tally.waiting_bytes_last, waiting * tally.waiting_each);
        replace(&counters.link_bytes, &mut tally.link_bytes_last, self.links.bytes());
    }

    /// As `FiSC` did: when memory runs out, drop waiting states at random and go on.
    fn check_memory(&mut self) {
        let Some(budget) = self.shared.budget.memory_bytes else { return };
        let counters = &self.shared.counters;
        let kept = self.shared.visited.bytes() + counters.link_bytes.load(Ordering::Relaxed);
        if kept >= budget {
            self.shared.stop(Limit::Memory(budget));
        } else if kept + counters.waiting_bytes.load(Ordering::Relaxed) > budget {
            let dropped = self.frontier.drop_half(&mut self.random);
            counters.dropped.fetch_add(dropped, Ordering::Relaxed);
            self.add_to_shared_counts();
        }
    }
}

/// In an order that follows from the seed and from what is there, on whichever thread.
fn shuffle<S>(candidates: &mut [Candidate<S>], seed: u64) {
    candidates.sort_by_cached_key(|Candidate { hash, action, outcome, .. }| {
        let place = u128::from(*action) << 32 | u128::from(*outcome);
        Pcg64Mcg::new(hash ^ place ^ u128::from(seed) << 64).next_u64()
    });
}
