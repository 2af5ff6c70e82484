//! The dining philosophers: their states can be counted on paper, and whether they can deadlock is known.

use explore::{Report, Search};
use models::philosophers::{DEADLOCK, ForkOrder, PHILOSOPHERS_MAX, Philosophers};

fn search(seats: u32, order: ForkOrder) -> Report<u8, String> {
    let table = Philosophers::new(seats, order).expect("a table of this size");
    let report = Search::new(&table).run().expect("nothing can fail");
    assert!(report.complete);
    report
}

/// Every fork lies on the table or is held by one of its two neighbours: three ways each, and a state is no more than
/// that. If all take the left fork first and put it back first, one combination cannot come about: everybody with just
/// the right one, since the last to get there would have had both, and one of the two is the right one of a neighbour.
/// With one philosopher the other way round, all combinations can.
#[test]
fn golden_counts() {
    for seats in 3..=8 {
        let combinations = 3_u64.pow(seats);
        assert_eq!(search(seats, ForkOrder::LeftFirst).states, combinations - 1, "{seats}");
        assert_eq!(search(seats, ForkOrder::LastRightFirst).states, combinations, "{seats}");
    }
}

#[test]
fn they_deadlock_if_all_take_the_left_fork_first() {
    for seats in 3..=8 {
        let report = search(seats, ForkOrder::LeftFirst);
        let [violation] = &report.violations[..] else { panic!("{:?}", report.violations) };
        assert_eq!((violation.property, violation.count), (DEADLOCK, 1));
        assert!(violation.evidence.starts_with(&format!("all {seats} hold one fork")), "{}", violation.evidence);
        let mut movers: Vec<u8> = violation.trace.iter().map(|a_move| a_move.action).collect();
        movers.sort_unstable();
        movers.dedup();
        assert_eq!(movers.len(), seats as usize, "everybody has to take part");
    }
}

#[test]
fn they_do_not_if_the_last_takes_the_right_fork_first() {
    (3..=8).for_each(|seats| assert!(search(seats, ForkOrder::LastRightFirst).violations.is_empty(), "{seats}"));
}

#[test]
fn tables_that_fit() {
    let fits = |seats| Philosophers::new(seats, ForkOrder::LeftFirst).is_some();
    assert_eq!([0, 1, 2, PHILOSOPHERS_MAX, PHILOSOPHERS_MAX + 1].map(fits), [false, false, true, true, false]);
}
