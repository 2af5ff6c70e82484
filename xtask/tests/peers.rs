//! SPIN's model of the dining philosophers has exactly the states of the mathematical one, so that comparing speeds
//! compares the same work. The yardstick is a search of a few lines that shares nothing with any of the programs.

use std::collections::BTreeSet;

use xtask::bench::philosophers::ForkOrder;
use xtask::bench::philosophers::spin::Spin;
use xtask::{process, setup};

/// Phases are 0 thinking, 1 holding the first fork, 2 eating, 3 holding the second fork only.
fn count_states(n: usize, order: ForkOrder) -> u64 {
    let forks = |i: usize| match order {
        ForkOrder::Ordered if i == n - 1 => (0, i),
        _ => (i, (i + 1) % n),
    };
    let mut seen = BTreeSet::from([vec![0u8; n]]);
    let mut pending = vec![vec![0u8; n]];
    while let Some(state) = pending.pop() {
        let mut taken = vec![false; n];
        for (i, phase) in state.iter().enumerate() {
            taken[forks(i).0] |= matches!(phase, 1 | 2);
            taken[forks(i).1] |= matches!(phase, 2 | 3);
        }
        for i in 0..n {
            let waits = (state[i] == 0 && taken[forks(i).0]) || (state[i] == 1 && taken[forks(i).1]);
            let mut next = state.clone();
            next[i] = (next[i] + 1) % 4;
            if !waits && seen.insert(next.clone()) {
                pending.push(next);
            }
        }
    }
    seen.len() as u64
}

#[test]
fn the_space_has_three_to_the_n_states_and_one_less_when_everyone_is_alike() {
    for n in 2..=8 {
        assert_eq!(count_states(n, ForkOrder::Ordered), 3u64.pow(u32::try_from(n).unwrap()));
        assert_eq!(count_states(n, ForkOrder::Naive), 3u64.pow(u32::try_from(n).unwrap()) - 1);
    }
}

#[test]
fn spin_stores_one_state_for_each() {
    if !setup::missing().is_empty() {
        assert!(!process::in_ci(), "CI must have SPIN and gcc: cargo xtask setup");
        eprintln!("skipped: needs SPIN and gcc (cargo xtask setup)");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    for n in [3, 6] {
        for order in [ForkOrder::Naive, ForkOrder::Ordered] {
            let run = Spin::build(n, order, scratch.path()).unwrap().search().unwrap();
            assert_eq!(run.states, count_states(n as usize, order), "{n} philosophers, {order:?}");
        }
    }
}
