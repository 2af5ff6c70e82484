//! What a search found.

use std::time::Duration;

use crate::{
    budget::Limit,
    links::{Link, LinkId, Links},
    system::{Property, Step, System},
};

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report<A, E> {
    /// Distinct states.
    pub states: u64,
    /// Arrivals at states that were known.
    pub states_revisited: u64,
    /// The deepest state.
    pub depth: u32,
    /// Whether every state within the depth bound was expanded.
    pub complete: bool,
    /// What was cut off, sampled or dropped.
    pub limits: Vec<Limit>,
    /// The violated properties: one entry each, with the shallowest trace that was met, worst first.
    pub violations: Vec<Violation<A, E>>,
    /// A panic of the system, which ended the search.
    pub panic: Option<PanicReport<A>>,
    /// With a lossy visited set: the expected number of states that were taken for others.
    pub omitted_states_expected: Option<f64>,
    /// Where the memory went.
    pub memory: MemoryUse,
    /// How long it took; the time before a resumed search was interrupted is not counted.
    pub elapsed: Duration,
}

/// Where a search's memory went, at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// The visited set.
    pub visited_bytes: u64,
    /// The links from which traces are rebuilt.
    pub link_bytes: u64,
    /// The most that the whole search had in use, waiting states included, as far as it was sampled.
    pub peak_bytes: u64,
}

/// A violated property.
#[derive(Clone, Debug)]
pub struct Violation<A, E> {
    /// What did not hold.
    pub property: Property,
    /// How often it was reported.
    pub count: u64,
    /// What the system said about the occurrence that the trace leads to.
    pub evidence: E,
    /// From an initial state to the violation. The last move is the one that violated the property, unless a state
    /// itself did.
    pub trace: Vec<Move<A>>,
    /// Which initial state the trace starts in.
    pub initial: usize,
}

/// One action of a trace and which of its outcomes was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move<A> {
    /// What happened.
    pub action: A,
    /// Which outcome it had, in the order in which the system lists them; `None` for a last move that is itself what
    /// the trace shows.
    pub outcome: Option<usize>,
}

/// A panic inside the system.
#[derive(Clone, Debug)]
pub struct PanicReport<A> {
    /// Its message.
    pub message: String,
    /// How to make it happen again. The last move is the one that panicked, unless looking at a state did.
    pub trace: Vec<Move<A>>,
    /// Which initial state the trace starts in.
    pub initial: usize,
}

/// What happened, in order.
type Moves<S> = Vec<Move<<S as System>::Action>>;

/// Re-executes links, so that positions become actions and states again.
pub(crate) struct Replayer<'a, S: System> {
    pub system: &'a S,
    pub links: &'a Links<'a>,
}

impl<S: System> Replayer<'_, S> {
    /// Which initial state a path starts in, its moves, and the state that it leads to. A system that does not repeat
    /// itself may not get there any more: then the moves end where it goes another way, and there is no state.
    pub fn replay(&self, id: LinkId) -> (usize, Moves<S>, Option<S::State>) {
        let path = self.links.path(id);
        let (first, rest) = path.split_first().expect("a path starts with its initial state");
        let initial = first.action as usize;
        let mut states = self.system.initial();
        let mut state = (initial < states.len()).then(|| states.swap_remove(initial));
        let mut moves = Vec::with_capacity(rest.len());
        for link in rest {
            let followed = state.as_ref().and_then(|state| self.follow(state, *link));
            let Some((action, next)) = followed else { return (initial, moves, None) };
            moves.push(Move { action, outcome: Some(link.outcome as usize) });
            state = Some(next);
        }
        (initial, moves, state)
    }

    /// The action at a position of a state's actions, if there is one.
    pub fn action(&self, state: &S::State, position: u32) -> Option<S::Action> {
        let mut actions = Vec::new();
        self.system.actions(state, &mut actions);
        ((position as usize) < actions.len()).then(|| actions.swap_remove(position as usize))
    }

    /// What a link does in its parent's state, if it can still be followed.
    fn follow(&self, state: &S::State, link: Link) -> Option<(S::Action, S::State)> {
        let action = self.action(state, link.action)?;
        let nothing_known = std::collections::HashMap::new();
        let mut step = Step::new(&nothing_known, 0, Vec::new());
        self.system.apply(state, &action, &mut step);
        let outcome = link.outcome as usize;
        (outcome < step.outcomes.len()).then(|| (action, step.outcomes.swap_remove(outcome)))
    }
}
