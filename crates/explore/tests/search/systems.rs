//! The systems that the tests search: philosophers with forks (symmetric), arbitrary graphs (several outcomes an
//! action), and all numbers (infinite). Beside them, a brute-force answer to what can be reached and a replayer of
//! traces that shares nothing with the search.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use explore::{Budget, Move, Order, Property, Report, Search, Step, Stepped, System};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub const DEADLOCK: Property = Property::critical("deadlock");
pub const BAD_STATE: Property = Property::critical("bad-state");
pub const BAD_ACTION: Property = Property::not_critical("bad-action");

/// The orders that exhaust a space.
pub const EXHAUSTIVE: [Order; 4] =
    [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst, Order::IterativeDeepening(2)];

pub fn states(most: u64) -> Budget {
    Budget { states: Some(most), ..Budget::default() }
}

pub fn depth(most: u32) -> Budget {
    Budget { depth: Some(most), ..Budget::default() }
}

/// Philosophers around a table: 0 thinks, 1 holds the left fork, 2 holds both. Turning the table changes nothing.
pub struct Forks(pub usize);

impl Forks {
    fn left_is_free(&self, at: &[u8], who: usize) -> bool {
        at[who] == 0 && at[(who + self.0 - 1) % self.0] != 2
    }

    fn right_is_free(&self, at: &[u8], who: usize) -> bool {
        at[(who + 1) % self.0] == 0
    }
}

impl System for Forks {
    type State = Vec<u8>;
    type Action = usize;
    type Evidence = Vec<u8>;

    fn initial(&self) -> Vec<Vec<u8>> {
        vec![vec![0; self.0]]
    }

    fn actions(&self, at: &Vec<u8>, actions: &mut Vec<usize>) {
        actions.extend((0..self.0).filter(|&who| match at[who] {
            0 => self.left_is_free(at, who),
            1 => self.right_is_free(at, who),
            _ => true,
        }));
    }

    fn apply(&self, at: &Vec<u8>, who: &usize, step: &mut Step<'_, Self>) {
        let mut next = at.clone();
        next[*who] = (next[*who] + 1) % 3;
        step.leads_to(next);
    }

    fn encode(&self, at: &Vec<u8>, bytes: &mut Vec<u8>) {
        bytes.extend(at);
    }

    fn canonical(&self, at: &Vec<u8>, bytes: &mut Vec<u8>) {
        let turned = |by: usize| [&at[by..], &at[..by]].concat();
        bytes.extend((0..self.0).map(turned).min().expect("somebody sits there"));
    }

    fn inspect(&self, at: &Vec<u8>, enabled: usize, step: &mut Step<'_, Self>) {
        if enabled == 0 {
            step.violated(DEADLOCK, || at.clone());
        }
    }

    fn score(&self, at: &Vec<u8>) -> i64 {
        at.iter().map(|&holds| i64::from(holds == 1)).sum()
    }
}

/// Any graph: `edges[state][action]` lists the outcomes. It remembers every look at a state.
#[derive(Default)]
pub struct Graph {
    pub edges: Vec<Vec<Vec<u32>>>,
    pub initial: Vec<u32>,
    pub bad_states: Vec<u32>,
    /// Pairs of a state and the position of an action.
    pub bad_actions: Vec<(u32, u32)>,
    /// Bytes that every encoded state ends with, to get beyond what is stored in a slot of the visited set.
    pub padding: usize,
    pub looks: Mutex<Vec<u32>>,
}

impl Graph {
    pub fn new(edges: &[&[&[u32]]]) -> Self {
        let edges = edges.iter().map(|actions| actions.iter().map(|outcomes| outcomes.to_vec()).collect()).collect();
        Self { edges, initial: vec![0], ..Self::default() }
    }

    /// States in a row.
    pub fn chain(len: u32) -> Self {
        let edges = (1..=len).map(|next| if next < len { vec![vec![next]] } else { Vec::new() }).collect();
        Self { edges, initial: vec![0], ..Self::default() }
    }

    /// Up to two actions a state, up to two outcomes an action; some states and actions are bad.
    pub fn random(seed: u64, size: u32) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut below = |bound: u32| random.next_u32() % bound;
        let mut graph = Self { initial: vec![0, below(size)], ..Self::default() };
        for state in 0..size {
            let actions = (0..below(4).min(2)).map(|_| (0..below(3)).map(|_| below(size)).collect()).collect();
            graph.edges.push(actions);
            if below(5) == 0 {
                graph.bad_states.push(state);
            }
            if below(5) == 0 {
                graph.bad_actions.push((state, 0));
            }
        }
        graph
    }

    /// How far each state that can be reached is from an initial one.
    pub fn distances(&self) -> BTreeMap<u32, u32> {
        let mut distances: BTreeMap<u32, u32> = self.initial.iter().map(|&state| (state, 0)).collect();
        let mut queue: VecDeque<u32> = self.initial.iter().copied().collect();
        while let Some(state) = queue.pop_front() {
            let next_distance = distances[&state] + 1;
            for &next in self.edges[state as usize].iter().flatten() {
                distances.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    next_distance
                });
            }
        }
        distances
    }

    /// How often each property is violated in the states that can be reached.
    pub fn violation_counts(&self) -> Vec<(Property, u64)> {
        let distances = self.distances();
        let states = self.bad_states.iter().filter(|state| distances.contains_key(state)).count() as u64;
        let happens = |&&(state, action): &&(u32, u32)| {
            distances.contains_key(&state) && (action as usize) < self.edges[state as usize].len()
        };
        let actions = self.bad_actions.iter().filter(happens).count() as u64;
        [(BAD_STATE, states), (BAD_ACTION, actions)].into_iter().filter(|(_, count)| *count > 0).collect()
    }

    pub fn take_looks(&self) -> Vec<u32> {
        std::mem::take(&mut self.looks.lock().unwrap())
    }
}

impl System for Graph {
    type State = u32;
    type Action = u32;
    type Evidence = u32;

    fn initial(&self) -> Vec<u32> {
        self.initial.clone()
    }

    fn actions(&self, state: &u32, actions: &mut Vec<u32>) {
        actions.extend((0..).take(self.edges[*state as usize].len()));
    }

    fn apply(&self, state: &u32, action: &u32, step: &mut Step<'_, Self>) {
        if self.bad_actions.contains(&(*state, *action)) {
            step.violated(BAD_ACTION, || *state);
        }
        for outcome in &self.edges[*state as usize][*action as usize] {
            step.leads_to(*outcome);
        }
    }

    fn encode(&self, state: &u32, bytes: &mut Vec<u8>) {
        bytes.extend(state.to_le_bytes());
        bytes.resize(bytes.len() + self.padding, 0xaa);
    }

    fn inspect(&self, state: &u32, _: usize, step: &mut Step<'_, Self>) {
        self.looks.lock().unwrap().push(*state);
        if self.bad_states.contains(state) {
            step.violated(BAD_STATE, || *state);
        }
    }

    fn score(&self, state: &u32) -> i64 {
        i64::from(state.wrapping_mul(0x9e37_79b9) >> 24)
    }
}

/// All numbers: n leads to 2n and 2n + 1. There is no end to them.
pub struct Numbers {
    /// What a waiting number claims to hold.
    pub heap_bytes: usize,
}

pub const NUMBERS: Numbers = Numbers { heap_bytes: 0 };

impl System for Numbers {
    type State = u64;
    type Action = u64;
    type Evidence = ();

    fn initial(&self) -> Vec<u64> {
        vec![1]
    }

    fn actions(&self, _: &u64, actions: &mut Vec<u64>) {
        actions.extend([0, 1]);
    }

    fn apply(&self, n: &u64, digit: &u64, step: &mut Step<'_, Self>) {
        step.leads_to(n.wrapping_mul(2) + digit);
    }

    fn encode(&self, n: &u64, bytes: &mut Vec<u8>) {
        bytes.extend(n.to_le_bytes());
    }

    fn inspect(&self, n: &u64, _: usize, step: &mut Step<'_, Self>) {
        if n % 1000 == 999 {
            step.violated(BAD_STATE, || ());
        }
    }

    fn heap_bytes(&self, _: &u64) -> usize {
        self.heap_bytes
    }
}

/// Follows a trace. Returns the state before the last move if that move has no outcome, else the state it ends in.
pub fn follow<S: System>(system: &S, initial: usize, trace: &[Move<S::Action>]) -> (S::State, Option<S::Action>)
where
    S::Action: PartialEq,
{
    let mut state = system.initial().swap_remove(initial);
    for (number, Move { action, outcome }) in trace.iter().enumerate() {
        let mut actions = Vec::new();
        system.actions(&state, &mut actions);
        assert!(actions.contains(action), "move {number} can happen");
        let Some(outcome) = outcome else {
            assert_eq!(number + 1, trace.len(), "only the last move has no outcome");
            return (state, Some(action.clone()));
        };
        state = Stepped::by(system, &state, action).outcomes.swap_remove(*outcome);
    }
    (state, None)
}

/// What a search found, without what depends on who came first.
pub fn counted<A, E>(report: &Report<A, E>) -> Vec<(Property, u64)> {
    report.violations.iter().map(|violation| (violation.property, violation.count)).collect()
}

/// A search on one thread to its end.
pub fn run<S: System>(system: &S, order: Order) -> Report<S::Action, S::Evidence> {
    Search::new(system).order(order).run().expect("nothing can fail")
}
