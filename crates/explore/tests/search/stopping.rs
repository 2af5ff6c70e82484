//! A search can be ended from outside, and tells how far it is while it runs.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use explore::{Limit, Order, Progress, Search, Step, Stop, System};

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

/// A state with many actions, of which the first one takes until the search is told to end.
#[derive(Default)]
struct Slow {
    asked: Stop,
    told: AtomicBool,
    applied: AtomicU32,
}

/// Far more than a search needs to pass on that it is to end.
const PATIENCE: Duration = Duration::from_secs(20);

impl System for Slow {
    type State = u32;
    type Action = u32;
    type Evidence = ();

    fn initial(&self) -> Vec<u32> {
        vec![0]
    }

    fn actions(&self, _: &u32, actions: &mut Vec<u32>) {
        actions.extend(0..100);
    }

    fn apply(&self, _: &u32, action: &u32, step: &mut Step<'_, Self>) {
        self.applied.fetch_add(1, Ordering::Relaxed);
        self.asked.stop();
        let start = Instant::now();
        while !self.told.load(Ordering::Relaxed) {
            assert!(start.elapsed() < PATIENCE, "nobody says that somebody asked");
            std::thread::sleep(Duration::from_millis(1));
        }
        step.leads_to(action + 1);
    }

    fn encode(&self, state: &u32, bytes: &mut Vec<u8>) {
        bytes.extend(state.to_le_bytes());
    }

    fn interrupt(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    fn was_cut_short(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }
}

#[test]
fn what_is_cut_short_is_not_gone_on_with() {
    let slow = Slow::default();
    let report = Search::new(&slow).stop(slow.asked.clone()).run().unwrap();
    assert_eq!((report.states, report.complete), (1, false), "the state is to be expanded again");
    assert_eq!(slow.applied.into_inner(), 1, "what comes of further actions would be thrown away");
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
