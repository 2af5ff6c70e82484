//! Violations are all counted, and each property keeps its shallowest trace, which can be followed.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use explore::{Budget, Limit, Order, Property, Search, Step, Stepped, System};

use crate::{
    checkpoints::fresh,
    systems::{BAD_ACTION, BAD_STATE, DEADLOCK, EXHAUSTIVE, Forks, Graph, counted, follow, run, states},
};

#[test]
fn counts_add_up_over_threads() {
    for seed in 0..60 {
        let graph = Graph::random(seed, 60);
        for order in [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst] {
            for threads in [1, 2, 4] {
                let report = Search::new(&graph).order(order).threads(threads).run().unwrap();
                assert_eq!(counted(&report), graph.violation_counts(), "seed {seed} {order:?} {threads}");
            }
        }
    }
}

#[test]
fn breadth_first_gives_a_shortest_trace() {
    for seed in 0..100 {
        let graph = Graph::random(seed, 60);
        let distances = graph.distances();
        for violation in run(&graph, Order::BreadthFirst).violations {
            let state_distances = graph.bad_states.iter().filter_map(|state| distances.get(state).copied());
            let happening = graph.bad_actions.iter().filter(|(state, _)| !graph.edges[*state as usize].is_empty());
            let shortest = match violation.property {
                BAD_STATE => state_distances.min(),
                _ => happening.filter_map(|(state, _)| distances.get(state).map(|at| at + 1)).min(),
            };
            assert_eq!(u32::try_from(violation.trace.len()).ok(), shortest, "seed {seed} {:?}", violation.property);
        }
    }
}

#[test]
fn a_shallower_trace_replaces_a_deeper_one() {
    // Both branches end in a bad state; whichever is taken first, the short one stays.
    for branches in [[1, 4], [4, 1]] {
        let [first, second] = branches.map(|start| [start]);
        let mut graph = Graph::new(&[&[&first, &second], &[&[2]], &[&[3]], &[], &[&[5]], &[]]);
        graph.bad_states = vec![3, 5];
        let report = run(&graph, Order::DepthFirst);
        assert_eq!(counted(&report), [(BAD_STATE, 2)]);
        assert_eq!((report.violations[0].evidence, report.violations[0].trace.len()), (5, 2));
    }
}

#[test]
fn the_shallowest_trace_of_all_parts_of_a_search_stays() {
    // The deep branch is taken first and saved with its violation; the shallow one is found after resuming.
    let mut graph = Graph::new(&[&[&[4], &[1]], &[&[2]], &[&[3]], &[&[5]], &[&[6]], &[], &[]]);
    graph.bad_states = vec![3, 6];
    let file = fresh("shallowest");
    let search = |most| Search::new(&graph).checkpoint(&file, "test").budget(states(most));
    let first = search(6).run().unwrap();
    assert_eq!((first.violations[0].evidence, first.violations[0].trace.len()), (3, 3));
    let last = search(100).resume(&file).run().unwrap();
    assert_eq!(counted(&last), [(BAD_STATE, 2)]);
    assert_eq!((last.violations[0].evidence, last.violations[0].trace.len()), (6, 2));
}

/// A chain of violations that counts how often evidence was made.
struct Dear {
    len: u32,
    made: AtomicU64,
}

impl System for Dear {
    type State = u32;
    type Action = ();
    type Evidence = u32;

    fn initial(&self) -> Vec<u32> {
        vec![0]
    }

    fn actions(&self, state: &u32, actions: &mut Vec<()>) {
        actions.extend((*state < self.len).then_some(()));
    }

    fn apply(&self, state: &u32, (): &(), step: &mut Step<'_, Self>) {
        for _twice in 0..2 {
            step.violated(BAD_ACTION, || {
                self.made.fetch_add(1, Ordering::Relaxed);
                *state
            });
        }
        step.leads_to(state + 1);
    }

    fn encode(&self, state: &u32, bytes: &mut Vec<u8>) {
        bytes.extend(state.to_le_bytes());
    }
}

#[test]
fn evidence_is_made_only_for_what_is_kept() {
    for order in [Order::DepthFirst, Order::BreadthFirst, Order::BestFirst] {
        let dear = Dear { len: 500, made: AtomicU64::new(0) };
        let report = run(&dear, order);
        assert_eq!(counted(&report), [(BAD_ACTION, 1000)]);
        assert_eq!(report.violations[0].evidence, 0);
        assert_eq!(dear.made.into_inner(), 1, "{order:?}: the first is the shallowest");
    }
    // Equally deep violations in two steps: the first is kept.
    let fork = Graph { bad_states: vec![1, 2], ..Graph::new(&[&[&[1, 2]], &[], &[]]) };
    let report = run(&fork, Order::BreadthFirst);
    assert_eq!((counted(&report), report.violations[0].evidence), (vec![(BAD_STATE, 2)], 1));
}

/// A chain whose machine is gone at one of its states.
struct Vanishing(Graph);

impl System for Vanishing {
    type State = <Graph as System>::State;
    type Action = <Graph as System>::Action;
    type Evidence = <Graph as System>::Evidence;

    fn initial(&self) -> Vec<Self::State> {
        self.0.initial()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        self.0.actions(state, actions);
    }

    fn apply(&self, state: &Self::State, action: &Self::Action, step: &mut Step<'_, Self>) {
        step.of(|inner| self.0.apply(state, action, inner));
    }

    fn encode(&self, state: &Self::State, bytes: &mut Vec<u8>) {
        self.0.encode(state, bytes);
    }

    fn inspect(&self, state: &Self::State, enabled: usize, step: &mut Step<'_, Self>) {
        step.of(|inner| self.0.inspect(state, enabled, inner));
    }

    fn ends_with(&self, property: Property) -> bool {
        property == BAD_STATE
    }
}

#[test]
fn a_search_ends_when_what_it_needs_is_gone() {
    for order in EXHAUSTIVE.into_iter().chain([Order::RandomWalk]) {
        let chain = Vanishing(Graph { bad_states: vec![10, 500], ..Graph::chain(1000) });
        let budget = Budget { time: Some(Duration::from_mins(1)), ..Budget::default() };
        let report = Search::new(&chain).order(order).budget(budget).run().unwrap();
        assert!(report.limits.contains(&Limit::CannotGoOn) && !report.complete, "{order:?}: {:?}", report.limits);
    }
}

#[test]
fn the_first_violation_is_enough_if_asked() {
    for order in EXHAUSTIVE {
        let graph = Graph { bad_states: vec![10, 500], ..Graph::chain(1000) };
        let report = Search::new(&graph).order(order).until_violation(true).run().unwrap();
        assert_eq!(counted(&report), [(BAD_STATE, 1)], "{order:?}");
        assert!(report.limits.contains(&Limit::UntilViolation) && !report.complete, "{order:?}");
        assert!(report.states < 20, "{order:?}: {}", report.states);
        assert_eq!(report.violations[0].trace.len(), 10);
    }
    let none = Search::new(&Graph::chain(50)).until_violation(true).run().unwrap();
    assert!(none.complete && none.violations.is_empty());
}

#[test]
fn traces_of_graphs_lead_to_what_they_claim() {
    for seed in 0..60 {
        let graph = Graph::random(seed, 60);
        for order in EXHAUSTIVE.into_iter().chain([Order::RandomWalk]) {
            let budget = if order == Order::RandomWalk { states(400) } else { Budget::default() };
            let report = Search::new(&graph).order(order).threads(2).budget(budget).run().unwrap();
            for violation in &report.violations {
                let (state, last) = follow(&graph, violation.initial, &violation.trace);
                assert_eq!(violation.evidence, state, "seed {seed} {order:?}");
                let again = match last {
                    Some(action) => Stepped::by(&graph, &state, &action).violations,
                    None => Stepped::at(&graph, &state).violations,
                };
                assert!(again.contains(&(violation.property, violation.evidence)), "seed {seed} {order:?}");
            }
        }
    }
}

#[test]
fn traces_are_of_real_states_with_symmetry() {
    for order in EXHAUSTIVE {
        for threads in [1, 2] {
            let forks = Forks(6);
            let report = Search::new(&forks).order(order).threads(threads).run().unwrap();
            let [violation] = &report.violations[..] else { panic!("one property") };
            assert_eq!(violation.property, DEADLOCK);
            let (state, last) = follow(&forks, violation.initial, &violation.trace);
            assert_eq!((&state, last), (&violation.evidence, None));
            assert_eq!(state, [1; 6]);
        }
    }
}
