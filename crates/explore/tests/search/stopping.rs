//! A search can be ended from outside, and tells how far it is while it runs.

use std::time::Duration;

use explore::{Limit, Order, Progress, Search, Stop};

use crate::systems::{Graph, NUMBERS};

#[test]
fn another_thread_ends_the_search() {
    for threads in [1, 3] {
        for order in [Order::DepthFirst, Order::BreadthFirst, Order::IterativeDeepening(5)] {
            let stop = Stop::default();
            let (started, has_started) = std::sync::mpsc::channel();
            let report = std::thread::scope(|scope| {
                let stop = &stop;
                scope.spawn(move || {
                    has_started.recv().expect("a first sign of life");
                    stop.stop();
                });
                let search = Search::new(&NUMBERS).order(order).threads(threads).stop(stop.clone());
                search
                    .progress(Duration::ZERO, move |_| {
                        let _already_stopped = started.send(());
                    })
                    .run()
                    .unwrap()
            });
            assert!(report.limits.contains(&Limit::Interrupted), "{order:?} {:?}", report.limits);
            assert!(!report.complete && report.states > 1);
            assert!(stop.is_stopped());
        }
    }
}

#[test]
fn a_search_that_is_over_sooner_is_not_interrupted() {
    let report = Search::new(&Graph::chain(3)).stop(Stop::default()).run().unwrap();
    assert!(report.complete);
}

const GROWING: [fn(&Progress) -> u64; 4] =
    [|now| now.states, |now| now.states_revisited, |now| now.violations, |now| now.depth.into()];

#[test]
fn progress_only_grows() {
    for threads in [1, 3] {
        let stop = Stop::default();
        let mut events: Vec<Progress> = Vec::new();
        let search = Search::new(&NUMBERS).order(Order::BreadthFirst).threads(threads).stop(stop.clone());
        let report = search
            .progress(Duration::ZERO, |progress| {
                events.push(*progress);
                if events.len() == 6 {
                    stop.stop();
                }
            })
            .run()
            .unwrap();
        assert!(events.len() >= 6);
        assert!(events.is_sorted_by_key(|event| event.elapsed));
        for grows in GROWING {
            assert!(events.is_sorted_by_key(grows), "{events:?}");
        }
        let last = events.last().unwrap();
        assert!(last.states > 1000 && last.states <= report.states);
        assert!(last.waiting > 0 && last.memory_bytes > 0 && last.violations > 0);
        assert_eq!(last.transitions, last.states + last.states_revisited);
    }
}
