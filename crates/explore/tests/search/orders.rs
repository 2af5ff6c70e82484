//! In which order states are expanded, seen through the looks at them.

use explore::{Order, Search, System};

use crate::systems::{Graph, run};

/// What a best-first search must do, by scanning a list.
fn best_first(graph: &Graph) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut waiting = Vec::new();
    let mut order = Vec::new();
    let arrive = |state: u32, seen: &mut Vec<u32>, waiting: &mut Vec<u32>| {
        if !seen.contains(&state) {
            seen.push(state);
            waiting.push(state);
        }
    };
    for &state in &graph.initial {
        arrive(state, &mut seen, &mut waiting);
    }
    while let Some(best) = waiting.iter().map(|state| graph.score(state)).max() {
        let first = waiting.iter().position(|state| graph.score(state) == best).expect("it is there");
        let state = waiting.remove(first);
        order.push(state);
        for &next in graph.edges[state as usize].iter().flatten() {
            arrive(next, &mut seen, &mut waiting);
        }
    }
    order
}

#[test]
fn best_first_takes_the_highest_score_and_among_equals_the_oldest() {
    for seed in 0..40 {
        let graph = Graph::random(seed, 400);
        run(&graph, Order::BestFirst);
        assert_eq!(graph.take_looks(), best_first(&graph), "seed {seed}");
    }
}

#[test]
fn breadth_first_never_goes_back_to_a_nearer_state() {
    for seed in 0..40 {
        let graph = Graph::random(seed, 400);
        run(&graph, Order::BreadthFirst);
        let distances = graph.distances();
        assert!(graph.take_looks().is_sorted_by_key(|state| distances[state]), "seed {seed}");
    }
}

#[test]
fn depth_first_finishes_a_branch_before_it_starts_another() {
    // Two branches of three states each behind the root.
    let graph = Graph::new(&[&[&[1], &[4]], &[&[2]], &[&[3]], &[], &[&[5]], &[&[6]], &[]]);
    run(&graph, Order::DepthFirst);
    let looks = graph.take_looks();
    assert!(looks == [0, 1, 2, 3, 4, 5, 6] || looks == [0, 4, 5, 6, 1, 2, 3], "{looks:?}");
}

#[test]
fn a_shuffled_search_sees_the_same_states_in_an_order_that_follows_from_its_seed() {
    for order in [Order::DepthFirst, Order::BreadthFirst] {
        let graph = Graph::random(3, 400);
        let looks = |seed: u64| {
            let report = Search::new(&graph).order(order).seed(seed).shuffle(true).run().expect("it has a beginning");
            assert!(report.complete);
            graph.take_looks()
        };
        let sorted = |mut looks: Vec<u32>| {
            looks.sort_unstable();
            looks
        };
        let (one, same, other) = (looks(1), looks(1), looks(2));
        assert_eq!(one, same);
        assert_ne!(one, other);
        run(&graph, order);
        let listed = graph.take_looks();
        assert_ne!(one, listed);
        assert_eq!(sorted(one), sorted(listed.clone()));
        assert_eq!(sorted(other), sorted(listed));
    }
}
