//! A search within a depth bound sees exactly the states that are that near, whatever it meets first.

use std::collections::BTreeSet;

use explore::{Limit, Order, Search};

use crate::systems::{EXHAUSTIVE, Graph, depth};

/// State 4 is found at the end of the long way first or at the end of the short one, and state 6 is within the bound
/// only behind the short one.
fn detour(long_way_last: bool) -> Graph {
    let (first, second): (&[u32], &[u32]) = if long_way_last { (&[7], &[1]) } else { (&[1], &[7]) };
    Graph::new(&[&[first, second], &[&[2]], &[&[3]], &[&[4]], &[&[5]], &[&[6]], &[], &[&[4]]])
}

#[test]
fn a_state_reached_again_nearer_the_root_is_expanded_again() {
    let mut looks_at_4 = BTreeSet::new();
    for long_way_last in [false, true] {
        let graph = detour(long_way_last);
        let report = Search::new(&graph).budget(depth(4)).run().unwrap();
        assert_eq!(report.states, 8);
        assert!(report.complete);
        let looks = graph.take_looks();
        assert!(looks.contains(&6), "the last state of the short way");
        looks_at_4.insert(looks.iter().filter(|state| **state == 4).count());
    }
    assert_eq!(looks_at_4, BTreeSet::from([1, 2]), "one of the two orders takes the long way first");
}

#[test]
fn without_a_bound_every_state_is_expanded_once() {
    for long_way_last in [false, true] {
        let graph = detour(long_way_last);
        assert!(Search::new(&graph).run().unwrap().complete);
        let mut looks = graph.take_looks();
        looks.sort_unstable();
        assert_eq!(looks, (0..8).collect::<Vec<_>>());
    }
}

#[test]
fn every_bound_and_order_agrees_with_brute_force() {
    for seed in 0..200 {
        // Half of them with states too long for a slot of the visited set.
        let padding = if seed % 2 == 0 { 0 } else { 30 };
        let graph = Graph { padding, ..Graph::random(seed, 16) };
        let distances = graph.distances();
        for bound in 0..=6 {
            let near: BTreeSet<u32> = distances.iter().filter(|(_, at)| **at <= bound).map(|(s, _)| *s).collect();
            let goes_on = |state: &u32| distances[state] == bound && !graph.edges[*state as usize].is_empty();
            for order in EXHAUSTIVE {
                let threads = 1 + usize::from(seed % 8 < 2);
                let case = format!("seed {seed}, bound {bound}, {order:?}, {threads} threads");
                let report = Search::new(&graph).order(order).threads(threads).budget(depth(bound)).run().unwrap();
                assert_eq!(report.states, near.len() as u64, "{case}");
                assert_eq!(graph.take_looks().into_iter().collect::<BTreeSet<_>>(), near, "{case}");
                assert!(report.complete && report.depth <= bound, "{case}: {:?}", report.limits);
                let said = report.limits.contains(&Limit::Depth(bound));
                assert!(said || !near.iter().any(goes_on), "{case}: what was cut off is said");
                if order == Order::BreadthFirst && threads == 1 {
                    assert_eq!(said, near.iter().any(goes_on), "{case}");
                    assert_eq!(Some(report.depth), near.iter().map(|state| distances[state]).max(), "{case}");
                }
            }
        }
    }
}

#[test]
fn iterative_deepening_ends_when_nothing_is_cut_off() {
    for seed in 0..100 {
        let graph = Graph::random(seed, 16);
        for by in [0, 1, 3, u32::MAX - 1] {
            let report = Search::new(&graph).order(Order::IterativeDeepening(by)).run().unwrap();
            assert_eq!(report.states, graph.distances().len() as u64, "seed {seed}, by {by}");
            assert!(report.complete && report.limits.is_empty(), "seed {seed}, by {by}: {:?}", report.limits);
        }
    }
}

#[test]
fn iterative_deepening_goes_hardly_deeper_than_the_farthest_state() {
    for seed in 0..100 {
        let graph = Graph::random(seed, 200);
        let farthest = graph.distances().into_values().max().expect("an initial state");
        let report = Search::new(&graph).order(Order::IterativeDeepening(2)).run().unwrap();
        assert!(report.depth <= farthest + 2, "seed {seed}: {} where {farthest} is enough", report.depth);
    }
}

#[test]
fn iterative_deepening_respects_the_depth_asked_for() {
    let report = Search::new(&Graph::chain(20)).order(Order::IterativeDeepening(4)).budget(depth(9)).run().unwrap();
    assert_eq!((report.states, report.limits), (10, vec![Limit::Depth(9)]));
}
