//! What can be searched: the [`System`] trait and the [`Step`] through which a system answers.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Something with states, searched exhaustively.
///
/// A system is deterministic: the same state has the same actions in the same order, and applying one of them leads
/// to the same states in the same order. Traces are kept as positions in these lists and are replayed through them.
/// Several workers call a system at the same time.
pub trait System: Sync {
    /// One configuration of the system.
    type State: Clone + Send;
    /// Something that can happen.
    type Action: Clone + Send;
    /// What a violation carries for whoever reports it.
    type Evidence: Clone + Send;

    /// Where the search starts.
    fn initial(&self) -> Vec<Self::State>;

    /// Appends everything that can happen in `state`.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);

    /// Says through `step` which states `action` leads to (none, one, or several where chance decides) and which
    /// properties it violates.
    fn apply(&self, state: &Self::State, action: &Self::Action, step: &mut Step<'_, Self>);

    /// Appends the bytes that decide the future of `state`. Two states with equal bytes are one state.
    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>);

    /// Appends the bytes of a representative of all states that a symmetry makes equivalent to `state`. Equal bytes
    /// must mean that the futures are equal up to the symmetry; that equivalent states get equal bytes is desirable
    /// and not required.
    fn canonical(&self, state: &Self::State, bytes: &mut Vec<u8>) {
        self.encode(state, bytes);
    }

    /// Looks at a state once, when it is expanded; `enabled` actions can happen in it.
    fn inspect(&self, state: &Self::State, enabled: usize, step: &mut Step<'_, Self>) {
        let _ = (state, enabled, step);
    }

    /// Whether there is nothing to search for any more once this is violated: what the system runs on is gone.
    fn ends_with(&self, property: Property) -> bool {
        let _ = property;
        false
    }

    /// How promising a state is; a best-first search takes the highest first.
    fn score(&self, state: &Self::State) -> i64 {
        let _ = state;
        0
    }

    /// The search is told to end now. A system whose `apply` can take long may return early from those under way, with
    /// only a part of what they lead to, and say so ([`System::was_cut_short`]).
    fn interrupt(&self) {}

    /// No `apply` of the search is under way any more. What is asked from now on, such as the way to a violation once
    /// more, is to be answered in full.
    fn interrupt_is_over(&self) {}

    /// Whether an `apply` returned early. What was being expanded then is expanded again if the search is resumed.
    fn was_cut_short(&self) -> bool {
        false
    }

    /// What is asked from now on was asked before: a waiting state is made again from its links, or the way to a
    /// violation is gone once more. A system that counts its work leaves that out.
    fn repetition_begins(&self) {}

    /// What is asked from now on is new.
    fn repetition_is_over(&self) {}

    /// Bytes that a waiting state holds besides its own size, for the memory budget.
    fn heap_bytes(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }
}

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something is lost or wrong.
    Critical,
    /// Worth knowing, and nothing is lost.
    NotCritical,
}

/// One thing that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Property {
    /// Its name, in kebab case.
    pub name: &'static str,
    /// How bad a violation of it is.
    pub severity: Severity,
}

impl Property {
    /// A property whose violation loses something.
    pub const fn critical(name: &'static str) -> Self {
        Self { name, severity: Severity::Critical }
    }

    /// A property whose violation is worth knowing.
    pub const fn not_critical(name: &'static str) -> Self {
        Self { name, severity: Severity::NotCritical }
    }
}

/// What one look at a state or one action came to.
pub struct Step<'a, S: System + ?Sized> {
    pub(crate) outcomes: Vec<S::State>,
    pub(crate) found: Vec<Found<S::Evidence>>,
    /// How deep the shallowest known violation of each property lies. Evidence can be dear, so it is only asked for
    /// when it would be kept.
    shallowest: &'a HashMap<Property, u32>,
    depth: u32,
}

/// A violation as a system reported it, with evidence if it is the shallowest so far.
pub(crate) struct Found<E> {
    pub property: Property,
    pub evidence: Option<E>,
}

impl<'a, S: System + ?Sized> Step<'a, S> {
    pub(crate) fn new(shallowest: &'a HashMap<Property, u32>, depth: u32, outcomes: Vec<S::State>) -> Self {
        Self { outcomes, found: Vec::new(), shallowest, depth }
    }

    /// The action leads to this state.
    pub fn leads_to(&mut self, state: S::State) {
        self.outcomes.push(state);
    }

    /// Lets a system answer that this one stands around, and that has the same states and evidence.
    pub fn of<W>(&mut self, answer: impl FnOnce(&mut Step<'_, W>))
    where
        W: System<State = S::State, Evidence = S::Evidence>,
    {
        let mut inner = Step::new(self.shallowest, self.depth, std::mem::take(&mut self.outcomes));
        inner.found = std::mem::take(&mut self.found);
        answer(&mut inner);
        (self.outcomes, self.found) = (inner.outcomes, inner.found);
    }

    /// The action (or the state itself) violates `property`. The evidence is made only if it will be kept.
    pub fn violated(&mut self, property: Property, evidence: impl FnOnce() -> S::Evidence) {
        let keep = self.shallowest.get(&property).is_none_or(|&depth| self.depth < depth)
            && !self.found.iter().any(|found| found.property == property);
        self.found.push(Found { property, evidence: keep.then(evidence) });
    }
}

/// What an action or a look at a state came to, outside of a search.
pub struct Stepped<S: System + ?Sized> {
    /// Where the action leads.
    pub outcomes: Vec<S::State>,
    /// What is violated.
    pub violations: Vec<(Property, S::Evidence)>,
}

impl<S: System> Stepped<S> {
    /// Makes an action happen in a state.
    pub fn by(system: &S, state: &S::State, action: &S::Action) -> Self {
        Self::of(|step| system.apply(state, action, step))
    }

    /// Looks at a state as a search does when it expands it.
    pub fn at(system: &S, state: &S::State) -> Self {
        let mut actions = Vec::new();
        system.actions(state, &mut actions);
        Self::of(|step| system.inspect(state, actions.len(), step))
    }

    fn of(fill: impl FnOnce(&mut Step<'_, S>)) -> Self {
        let nothing_known = HashMap::new();
        let mut step = Step::new(&nothing_known, 0, Vec::new());
        fill(&mut step);
        let with_evidence = |found: Found<S::Evidence>| Some((found.property, found.evidence?));
        Self { outcomes: step.outcomes, violations: step.found.into_iter().filter_map(with_evidence).collect() }
    }
}
