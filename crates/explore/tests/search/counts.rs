//! Golden counts. They were worked out by a separate enumeration; a change of any of them is a defect, or a
//! change of the model that wants an explanation.

use explore::{Order, Search};

use crate::systems::{DEADLOCK, EXHAUSTIVE, Forks, counted};

struct Golden {
    philosophers: usize,
    symmetry: bool,
    states: u64,
    revisited: u64,
    deadlocks: u64,
}

const fn golden(philosophers: usize, symmetry: bool, states: u64, revisited: u64, deadlocks: u64) -> Golden {
    Golden { philosophers, symmetry, states, revisited, deadlocks }
}

/// Five philosophers make states short enough to live in a slot of the visited set, eight do not.
const GOLDEN: [Golden; 6] = [
    golden(3, false, 14, 14, 1),
    golden(3, true, 6, 6, 1),
    golden(5, false, 82, 184, 1),
    golden(5, true, 18, 40, 1),
    golden(8, false, 1154, 4815, 1),
    golden(8, true, 151, 630, 1),
];

#[test]
fn every_order_on_any_number_of_threads_counts_the_same() {
    for Golden { philosophers, symmetry, states, revisited, deadlocks } in GOLDEN {
        for order in EXHAUSTIVE {
            for threads in [1, 2, 4] {
                let forks = Forks(philosophers);
                let report = Search::new(&forks).symmetry(symmetry).order(order).threads(threads).run().unwrap();
                let case = format!("{philosophers} symmetry={symmetry} {order:?} threads={threads}");
                assert!(report.complete, "{case}: {:?}", report.limits);
                assert_eq!(report.states, states, "{case}");
                let violated: Vec<_> = report.violations.iter().map(|violation| violation.property).collect();
                assert_eq!(violated, [DEADLOCK], "{case}");
                // A bounded search expands a state again when it finds a shorter way, so it comes by more often.
                if matches!(order, Order::IterativeDeepening(_)) {
                    assert!(report.states_revisited >= revisited, "{case}");
                } else {
                    assert_eq!(report.states_revisited, revisited, "{case}");
                    assert_eq!(counted(&report), [(DEADLOCK, deadlocks)], "{case}");
                }
            }
        }
    }
}

#[test]
fn symmetry_merges_whole_orbits_only() {
    // Burnside: each of the four turns of a table of five leaves two states alone, "all think" and "all hold one".
    let all = Search::new(&Forks(5)).symmetry(false).run().unwrap().states;
    let orbits = Search::new(&Forks(5)).symmetry(true).run().unwrap().states;
    assert_eq!(orbits, (all + 4 * 2) / 5);
}
