//! A search ends where its budget does, and says what it left out.

use std::time::Duration;

use explore::{Budget, Limit, Order, Search};

use crate::systems::{EXHAUSTIVE, Graph, NUMBERS, Numbers, depth, states};

#[test]
fn one_thread_stops_at_exactly_as_many_states() {
    for most in 1..30 {
        let report = Search::new(&Graph::chain(100)).budget(states(most)).run().unwrap();
        assert_eq!(report.states, most.max(2), "an expansion under way is finished");
        assert_eq!(report.limits, [Limit::States(most)]);
        assert!(!report.complete);
    }
}

#[test]
fn a_budget_of_states_is_overshot_by_less_than_what_each_worker_expands_at_once() {
    for order in EXHAUSTIVE {
        for threads in [1, 2, 4] {
            let search = Search::new(&NUMBERS).order(order).threads(threads).budget(states(1000));
            let report = search.run().unwrap();
            let most = 1000 + 2 * threads as u64;
            assert!((1000..most).contains(&report.states), "{order:?} {threads}: {}", report.states);
            assert!(report.limits.contains(&Limit::States(1000)) && !report.complete, "{order:?} {threads}");
        }
    }
}

#[test]
fn what_lies_beyond_the_depth_is_said_and_the_rest_is_complete() {
    let report = Search::new(&NUMBERS).budget(depth(7)).run().unwrap();
    assert_eq!((report.states, report.depth, report.complete), (255, 7, true));
    assert_eq!(report.limits, [Limit::Depth(7)]);
    assert_eq!(report.limits[0].to_string(), "states at depth 7 were not expanded");
    let beyond = Search::new(&Graph::chain(8)).budget(depth(7)).run().unwrap();
    assert_eq!(beyond.limits, [], "the last state has no actions");
}

#[test]
fn time_ends_an_endless_search() {
    let time = Duration::from_millis(50);
    for order in [Order::BreadthFirst, Order::IterativeDeepening(1), Order::RandomWalk] {
        for threads in [1, 3] {
            let budget = Budget { time: Some(time), ..Budget::default() };
            let report = Search::new(&NUMBERS).order(order).threads(threads).budget(budget).run().unwrap();
            assert!(report.limits.contains(&Limit::Time(time)), "{order:?}: {:?}", report.limits);
            assert!(!report.complete && report.elapsed >= time, "{order:?}");
        }
    }
}

const HOLDS: Numbers = Numbers { heap_bytes: 10_000 };
const MEMORY: u64 = 4 << 20;

fn squeezed(seed: u64, depth: Option<u32>) -> explore::Report<u64, ()> {
    let budget = Budget { memory_bytes: Some(MEMORY), depth, ..Budget::default() };
    Search::new(&HOLDS).order(Order::BreadthFirst).seed(seed).budget(budget).run().unwrap()
}

fn dropped(limits: &[Limit]) -> Option<u64> {
    limits.iter().find_map(|limit| if let Limit::StatesDropped(count) = limit { Some(*count) } else { None })
}

#[test]
fn waiting_states_are_dropped_when_memory_runs_out() {
    let roomy = Search::new(&HOLDS).order(Order::BreadthFirst).budget(depth(13)).run().unwrap();
    assert_eq!((roomy.states, dropped(&roomy.limits)), ((1 << 14) - 1, None));
    let report = squeezed(1, Some(13));
    let count = dropped(&report.limits).expect("a thousand waiting states fill the memory");
    assert!(report.states + count < roomy.states, "what lay behind {count} states was not seen");
    assert!(!report.complete && report.limits.contains(&Limit::Depth(13)));
    assert!(!report.limits.contains(&Limit::Memory(MEMORY)), "dropping was enough: {:?}", report.limits);
}

#[test]
fn the_seed_decides_which_states_are_dropped() {
    let result = |seed| {
        let report = squeezed(seed, Some(14));
        (report.states, dropped(&report.limits))
    };
    assert_eq!(result(1), result(1));
    assert_ne!(result(1), result(2));
}

#[test]
fn a_search_stops_when_dropping_no_longer_helps() {
    for threads in [1, 2] {
        let budget = Budget { memory_bytes: Some(MEMORY), ..Budget::default() };
        let search = Search::new(&HOLDS).order(Order::BreadthFirst).threads(threads).budget(budget);
        let report = search.run().unwrap();
        assert!(dropped(&report.limits) > Some(0), "{:?}", report.limits);
        assert!(report.limits.contains(&Limit::Memory(MEMORY)), "{:?}", report.limits);
        let kept = report.memory.visited_bytes + report.memory.link_bytes;
        assert!(kept >= MEMORY && !report.complete, "{kept} bytes of what cannot be dropped");
    }
}
