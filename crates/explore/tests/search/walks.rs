//! Random walks sample, repeat themselves by seed, and always end.

use explore::{Budget, Limit, Order, Search, SearchError};

use crate::systems::{BAD_STATE, Graph, NUMBERS, depth, follow, states};

fn looks(graph: &Graph, seed: u64) -> Vec<u32> {
    let budget = Budget { depth: Some(30), ..states(500) };
    Search::new(graph).order(Order::RandomWalk).seed(seed).budget(budget).run().unwrap();
    graph.take_looks()
}

#[test]
fn the_seed_decides_where_a_walk_goes() {
    let graph = Graph::random(3, 1000);
    let first = looks(&graph, 1);
    assert_eq!(first, looks(&graph, 1));
    assert_ne!(first, looks(&graph, 2));
    for pair in first.windows(2) {
        let moves = graph.edges[pair[0] as usize].iter().flatten().any(|next| *next == pair[1]);
        assert!(moves || graph.initial.contains(&pair[1]), "{pair:?} is a move or the start of a walk");
    }
}

#[test]
fn a_walk_needs_a_budget_and_cannot_be_resumed() {
    let graph = Graph::chain(3);
    let walk = |budget| Search::new(&graph).order(Order::RandomWalk).budget(budget);
    assert!(matches!(walk(depth(3)).run(), Err(SearchError::WalkWithoutBudget)));
    let resumed = walk(states(10)).resume("nowhere".as_ref()).run();
    assert!(matches!(resumed, Err(SearchError::WalkResumed)));
}

#[test]
fn a_shallow_violation_is_found_and_traced() {
    let graph = Graph { bad_states: vec![9, 12], ..Graph::new(&[&[&[1, 2]], &[&[3]], &[&[3]], &[&[4, 9]], &[]]) };
    let mut graph = graph;
    graph.edges.resize(13, Vec::new());
    for threads in [1, 2] {
        let walk = Search::new(&graph).order(Order::RandomWalk).threads(threads).budget(states(300));
        let report = walk.run().unwrap();
        let [violation] = &report.violations[..] else { panic!("one property") };
        assert_eq!((violation.property, violation.evidence, violation.trace.len()), (BAD_STATE, 9, 3));
        assert_eq!(follow(&graph, violation.initial, &violation.trace), (9, None));
        assert_eq!(violation.count, graph.take_looks().iter().filter(|state| **state == 9).count() as u64);
        assert!(!report.complete && report.states <= 6);
        assert!(report.limits.iter().any(|limit| matches!(limit, Limit::Sampled(walks) if *walks > 1)));
    }
}

#[test]
fn a_walk_looks_at_the_state_at_its_depth_bound() {
    let graph = Graph { bad_states: vec![4], ..Graph::chain(8) };
    for (bound, found) in [(0, 0), (3, 0), (4, 1), (5, 1)] {
        let budget = Budget { depth: Some(bound), ..states(30) };
        let report = Search::new(&graph).order(Order::RandomWalk).budget(budget).run().unwrap();
        assert_eq!(report.violations.len(), found, "bound {bound}");
        assert_eq!((report.states, report.depth), (u64::from(bound) + 1, bound));
    }
}

#[test]
fn walks_end_even_where_there_are_fewer_states_than_asked_for() {
    let report = Search::new(&Graph::chain(4)).order(Order::RandomWalk).budget(states(1000)).run().unwrap();
    assert_eq!((report.states, report.states_revisited), (4, 996));
    assert!(report.limits.contains(&Limit::States(1000)));
}

#[test]
fn walks_end_when_memory_is_used_up() {
    let memory = Budget { memory_bytes: Some(1 << 20), ..states(u64::MAX) };
    let report = Search::new(&NUMBERS).order(Order::RandomWalk).budget(memory).run().unwrap();
    assert!(report.limits.contains(&Limit::Memory(1 << 20)), "{:?}", report.limits);
}
