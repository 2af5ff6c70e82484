//! Random walks: from an initial state, one random move after the other, again and again.
//!
//! Walk number n draws from a generator seeded by the search's seed and n, so a walk is the same on any thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering,
};

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    budget::Limit,
    links::{Link, LinkId, LinkLog},
    system::{Step, System},
    visited::{Arrival, Visited},
    worker::{Findings, Shared},
};

/// How far a walk goes when no depth was asked for.
const DEPTH_DEFAULT: u32 = 1000;

/// One thread that walks.
pub(crate) struct Walker<'a, 'w, S: System> {
    pub shared: &'a Shared<'a, S>,
    pub links: &'w mut LinkLog,
    pub findings: &'w mut Findings<S::Evidence>,
}

impl<S: System> Walker<'_, '_, S> {
    /// Walks until the budget is used up.
    pub fn run(&mut self) {
        let initial = self.shared.guarded(LinkId::NONE, || self.shared.system.initial()).unwrap_or_default();
        while !self.shared.pool.stopped() {
            let walk = self.shared.counters.walks.fetch_add(1, Ordering::Relaxed);
            let mut random = Pcg64Mcg::seed_from_u64(self.shared.seed ^ walk.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let start = below(&mut random, initial.len());
            let mut path = Path { root: position(start), moves: Vec::new(), acting: None };
            let walked = catch_unwind(AssertUnwindSafe(|| self.walk(initial[start].clone(), &mut random, &mut path)));
            if let Err(payload) = walked {
                let link = path.record(self.links);
                self.shared.report_panic(payload.as_ref(), link, path.acting);
            }
            // Nothing waits that could be dropped: what a walk keeps is what it remembers.
            if let Some(most) = self.shared.budget.memory_bytes.filter(|most| self.shared.visited.bytes() >= *most) {
                self.shared.stop(Limit::Memory(most));
            }
        }
    }

    fn walk(&mut self, mut state: S::State, random: &mut Pcg64Mcg, path: &mut Path) {
        let system = self.shared.system;
        let (mut actions, mut bytes) = (Vec::new(), Vec::new());
        let bound = self.shared.budget.depth.unwrap_or(DEPTH_DEFAULT);
        for depth in 0..=bound {
            self.arrive(&state, depth, &mut bytes);
            actions.clear();
            system.actions(&state, &mut actions);
            let mut step = Step::new(&self.findings.shallowest, depth, Vec::new());
            system.inspect(&state, actions.len(), &mut step);
            let found = step.found;
            self.report(found, depth, path, None);
            if actions.is_empty() || depth == bound || self.shared.pool.stopped() {
                return;
            }
            let choice = below(random, actions.len());
            path.acting = Some(position(choice));
            let mut step = Step::new(&self.findings.shallowest, depth + 1, Vec::new());
            system.apply(&state, &actions[choice], &mut step);
            let (found, mut outcomes) = (step.found, step.outcomes);
            path.acting = None;
            self.report(found, depth + 1, path, Some(position(choice)));
            if outcomes.is_empty() {
                return;
            }
            let outcome = below(random, outcomes.len());
            path.moves.push((position(choice), position(outcome)));
            state = outcomes.swap_remove(outcome);
        }
    }

    fn arrive(&self, state: &S::State, depth: u32, bytes: &mut Vec<u8>) {
        bytes.clear();
        self.shared.key(state, bytes);
        let counters = &self.shared.counters;
        match self.shared.visited.insert(self.shared.visited.hash(bytes), bytes, depth, &Visited::pin()) {
            Arrival::New => {
                counters.states.fetch_add(1, Ordering::Relaxed);
                counters.depth.fetch_max(u64::from(depth), Ordering::Relaxed);
            }
            Arrival::Nearer { .. } | Arrival::Seen => {
                counters.revisited.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Every arrival counts: a system may not have as many distinct states, and walks would never end.
        let arrivals = counters.states.load(Ordering::Relaxed) + counters.revisited.load(Ordering::Relaxed);
        if let Some(most) = self.shared.budget.states.filter(|most| arrivals >= *most) {
            self.shared.stop(Limit::States(most));
        }
    }

    fn report(&mut self, found: Vec<crate::system::Found<S::Evidence>>, depth: u32, path: &Path, action: Option<u32>) {
        if found.is_empty() {
            return;
        }
        self.shared.counters.violations.fetch_add(found.len() as u64, Ordering::Relaxed);
        let link =
            if found.iter().any(|found| found.evidence.is_some()) { path.record(self.links) } else { LinkId::NONE };
        let is_the_end = found.iter().any(|found| self.shared.system.ends_with(found.property));
        self.findings.add(found, depth, link, action);
        if is_the_end {
            self.shared.stop(Limit::CannotGoOn);
        } else if self.shared.until_violation {
            self.shared.stop(Limit::UntilViolation);
        }
    }
}

/// The moves of a walk so far. They become links only when there is something to trace.
struct Path {
    root: u32,
    moves: Vec<(u32, u32)>,
    /// The action under way, so that a panic can be traced.
    acting: Option<u32>,
}

impl Path {
    fn record(&self, links: &mut LinkLog) -> LinkId {
        let mut parent = links.push(Link { parent: LinkId::NONE, action: self.root, outcome: 0 });
        for &(action, outcome) in &self.moves {
            parent = links.push(Link { parent, action, outcome });
        }
        parent
    }
}

/// A number below `bound`. The bias of the remainder is far below what a walk could notice.
fn below(random: &mut Pcg64Mcg, bound: usize) -> usize {
    usize::try_from(random.next_u64() % bound as u64).expect("below a usize")
}

fn position(index: usize) -> u32 {
    u32::try_from(index).expect("a state has fewer actions than that")
}
