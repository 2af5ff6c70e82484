//! Every way to remember states gives the same search, up to what it says it may omit.

use explore::{Limit, Order, Search, VisitedKind};

use crate::systems::{Graph, counted};

const BITS: VisitedKind = VisitedKind::Bitstate { bits_log2: 22, hashes: 3 };

fn medium(padding: usize) -> Graph {
    // Sparse random graphs fall apart; an edge to the next state holds this one together.
    let mut graph = Graph { padding, ..Graph::random(7, 5000) };
    for (next, actions) in (1..5000).zip(&mut graph.edges) {
        actions.push(vec![next]);
    }
    graph
}

#[test]
fn all_kinds_agree_where_there_is_room() {
    for padding in [0, 20, 400] {
        let graph = medium(padding);
        for kind in [VisitedKind::Exact, VisitedKind::Hash64, VisitedKind::Hash128, BITS] {
            for threads in [1, 2] {
                let report = Search::new(&graph).visited(kind).threads(threads).run().unwrap();
                let outcomes = graph.edges.iter().flatten().map(Vec::len).sum::<usize>() as u64;
                assert_eq!(report.states, 5000, "{kind:?}");
                assert_eq!(report.states + report.states_revisited, outcomes + 2, "{kind:?}: 2 initial states");
                assert_eq!(counted(&report), graph.violation_counts(), "{kind:?}");
            }
        }
    }
}

#[test]
fn only_exact_storage_is_complete() {
    let graph = medium(0);
    let exact = Search::new(&graph).run().unwrap();
    assert!(exact.complete && exact.limits.is_empty());
    assert_eq!(exact.omitted_states_expected, None);
    let mut expected = Vec::new();
    for kind in [BITS, VisitedKind::Hash64, VisitedKind::Hash128] {
        let report = Search::new(&graph).visited(kind).run().unwrap();
        assert!(!report.complete, "{kind:?}");
        let [limit @ Limit::Lossy(says)] = &report.limits[..] else { panic!("{kind:?}: {:?}", report.limits) };
        assert!(limit.cuts_the_search() && says.contains("expected to be omitted"), "{says}");
        expected.extend(report.omitted_states_expected);
    }
    assert!(expected[0] > expected[1] && expected[1] > expected[2] && expected[2] > 0.0, "{expected:?}");
}

#[test]
fn a_bitstate_table_that_is_too_small_says_so() {
    let graph = Graph::chain(1 << 14);
    let full = Search::new(&graph).run().unwrap().states;
    let wide = Search::new(&graph).visited(VisitedKind::Bitstate { bits_log2: 20, hashes: 2 }).run().unwrap();
    let small = Search::new(&graph).visited(VisitedKind::Bitstate { bits_log2: 8, hashes: 2 }).run().unwrap();
    assert!(small.states < full, "a chain breaks at the first state that is omitted");
    let [wide, small] = [wide, small].map(|report| report.omitted_states_expected.unwrap() / report.states as f64);
    assert!(small > 10.0 * wide && wide > 0.0, "{small} of the states against {wide}");
}

#[test]
fn the_seed_decides_which_states_a_bitstate_table_omits() {
    let graph = medium(0);
    let states = |seed| {
        let kind = VisitedKind::Bitstate { bits_log2: 12, hashes: 1 };
        Search::new(&graph).visited(kind).seed(seed).run().unwrap().states
    };
    assert_eq!(states(1), states(1));
    assert!((2..8).any(|seed| states(seed) != states(1)));
}

#[test]
fn iterative_deepening_goes_on_with_a_lossy_set() {
    for kind in [VisitedKind::Hash64, VisitedKind::Hash128, BITS] {
        let report = Search::new(&Graph::chain(50)).order(Order::IterativeDeepening(4)).visited(kind).run().unwrap();
        assert_eq!(report.states, 50, "{kind:?}");
        assert!(matches!(report.limits[..], [Limit::Lossy(_)]), "{kind:?}: {:?}", report.limits);
    }
}
