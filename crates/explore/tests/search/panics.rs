//! A panic of the system ends the search on all threads and is reported with the way to it.

use std::sync::Once;

use explore::{Budget, Limit, Order, PanicReport, Report, Search, SearchError, Step, System};

use crate::systems::{EXHAUSTIVE, follow, states};

/// Where the system panics when it meets a number of at least `from`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Starting,
    Applying,
    Listing,
    Looking,
    Encoding,
    Scoring,
    Measuring,
}

/// All numbers from 1 or 2 on, until it panics. The first action does nothing.
struct Fragile {
    panics: Panics,
    from: u64,
}

impl Fragile {
    fn touch(&self, panics: Panics, n: u64) {
        assert!(panics != self.panics || n < self.from, "on purpose: {n}");
    }
}

impl System for Fragile {
    type State = u64;
    type Action = u64;
    type Evidence = ();

    fn initial(&self) -> Vec<u64> {
        self.touch(Panics::Starting, 1);
        vec![1, 2]
    }

    fn actions(&self, n: &u64, actions: &mut Vec<u64>) {
        self.touch(Panics::Listing, *n);
        actions.extend([9, 0, 1]);
    }

    fn apply(&self, n: &u64, digit: &u64, step: &mut Step<'_, Self>) {
        if *digit < 2 {
            let next = n.wrapping_mul(2) + digit;
            self.touch(Panics::Applying, next);
            // The outcome that matters is not the first.
            step.leads_to(1);
            step.leads_to(next);
        }
    }

    fn encode(&self, n: &u64, bytes: &mut Vec<u8>) {
        self.touch(Panics::Encoding, *n);
        bytes.extend(n.to_le_bytes());
    }

    fn inspect(&self, n: &u64, _: usize, _: &mut Step<'_, Self>) {
        self.touch(Panics::Looking, *n);
    }

    fn score(&self, n: &u64) -> i64 {
        self.touch(Panics::Scoring, *n);
        i64::try_from(n % 97).expect("small")
    }

    fn heap_bytes(&self, n: &u64) -> usize {
        self.touch(Panics::Measuring, *n);
        0
    }
}

/// Keeps the panics that a test asks for out of its output.
fn quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let on_purpose = info.payload_as_str().is_some_and(|message| message.starts_with("on purpose"));
            if !on_purpose {
                loud(info);
            }
        }));
    });
}

fn panic_of(report: Report<u64, ()>) -> PanicReport<u64> {
    assert!(report.limits.contains(&Limit::Panic) && !report.complete, "{:?}", report.limits);
    report.panic.expect("reported")
}

/// The trace must lead to the number that the message names.
fn assert_traced(fragile: &Fragile, panic: &PanicReport<u64>, case: &str) {
    let named: u64 = panic.message.strip_prefix("on purpose: ").expect("its message").parse().expect("a number");
    let safe = Fragile { panics: fragile.panics, from: u64::MAX };
    let reached = match follow(&safe, panic.initial, &panic.trace) {
        (before, Some(digit)) => before * 2 + digit,
        (at, None) => at,
    };
    assert_eq!(reached, named, "{case}: {panic:?}");
    let in_an_action = matches!(fragile.panics, Panics::Applying | Panics::Encoding | Panics::Scoring);
    assert_eq!(panic.trace.last().is_some_and(|last| last.outcome.is_none()), in_an_action, "{case}: {panic:?}");
}

#[test]
fn a_panic_anywhere_ends_all_workers_and_is_traced() {
    quietly();
    for panics in [Panics::Applying, Panics::Listing, Panics::Looking, Panics::Encoding, Panics::Measuring] {
        let fragile = Fragile { panics, from: 50 };
        for order in EXHAUSTIVE {
            for threads in [1, 3] {
                let case = format!("{panics:?} {order:?} {threads}");
                // The budget makes the search measure after every expansion; it is never used up.
                let search = Search::new(&fragile).order(order).threads(threads).budget(states(u64::MAX));
                assert_traced(&fragile, &panic_of(search.run().unwrap()), &case);
            }
        }
    }
}

#[test]
fn a_panic_while_scoring_ends_all_workers_and_is_traced() {
    quietly();
    for threads in [1, 3] {
        let fragile = Fragile { panics: Panics::Scoring, from: 50 };
        let search = Search::new(&fragile).order(Order::BestFirst).threads(threads);
        assert_traced(&fragile, &panic_of(search.run().unwrap()), "while expanding");

        let fragile = Fragile { panics: Panics::Scoring, from: 2 };
        let search = Search::new(&fragile).order(Order::BestFirst).threads(threads);
        let panic = panic_of(search.run().unwrap());
        assert_eq!((panic.message.as_str(), panic.initial, panic.trace.len()), ("on purpose: 2", 1, 0));
    }
}

#[test]
fn a_panic_on_a_walk_is_traced() {
    quietly();
    for panics in [Panics::Applying, Panics::Listing, Panics::Looking] {
        let fragile = Fragile { panics, from: 50 };
        for threads in [1, 3] {
            let budget = Budget { depth: Some(100), ..states(1_000_000) };
            let search = Search::new(&fragile).order(Order::RandomWalk).threads(threads).budget(budget);
            assert_traced(&fragile, &panic_of(search.run().unwrap()), &format!("{panics:?} {threads}"));
        }
    }
}

#[test]
fn a_search_that_panicked_leaves_no_checkpoint_that_skips_the_panic() {
    quietly();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("panicked");
    let fragile = Fragile { panics: Panics::Looking, from: 50 };
    panic_of(Search::new(&fragile).checkpoint(&file, "fragile").run().unwrap());
    assert!(!file.exists());
}

#[test]
fn a_panic_before_the_first_action_is_reported() {
    quietly();
    for order in EXHAUSTIVE.into_iter().chain([Order::RandomWalk]) {
        let run = |panics, from| {
            let fragile = Fragile { panics, from };
            panic_of(Search::new(&fragile).order(order).threads(2).budget(states(100)).run().unwrap())
        };
        let making = run(Panics::Starting, 0);
        assert_eq!((making.message.as_str(), making.trace.len()), ("on purpose: 1", 0), "{order:?}");
        let encoding = run(Panics::Encoding, 1);
        assert!(encoding.trace.is_empty() && encoding.message.starts_with("on purpose: "), "{order:?}: {encoding:?}");
    }
}

#[test]
fn a_system_without_initial_states_is_refused() {
    struct Nothing;
    impl System for Nothing {
        type State = u8;
        type Action = u8;
        type Evidence = ();
        fn initial(&self) -> Vec<u8> {
            Vec::new()
        }
        fn actions(&self, _: &u8, _: &mut Vec<u8>) {}
        fn apply(&self, _: &u8, _: &u8, _: &mut Step<'_, Self>) {}
        fn encode(&self, _: &u8, _: &mut Vec<u8>) {}
    }
    for order in EXHAUSTIVE.into_iter().chain([Order::RandomWalk]) {
        let refused = Search::new(&Nothing).order(order).budget(states(100)).run();
        assert!(matches!(refused, Err(SearchError::NoInitialState)), "{order:?}");
    }
}
