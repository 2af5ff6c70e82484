//! How many states more than one task has seen: work that was done twice.

use serde::{Deserialize, Serialize};

/// What tasks have seen together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Different states.
    pub states_distinct: u64,
    /// Those that more than one task has seen.
    pub states_shared: u64,
    /// Their share of all different states.
    pub overlap: f64,
}

/// Compares the states of tasks, each a list of hashes without repetitions.
pub fn overlap(tasks: &[Vec<u64>]) -> Overlap {
    let mut all: Vec<u64> = tasks.iter().flatten().copied().collect();
    all.sort_unstable();
    let mut overlap = Overlap::default();
    for same in all.chunk_by(|one, other| one == other) {
        overlap.states_distinct += 1;
        overlap.states_shared += u64::from(same.len() > 1);
    }
    overlap.overlap = overlap.states_shared as f64 / overlap.states_distinct.max(1) as f64;
    overlap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_several_have_seen_is_shared_once() {
        let found = overlap(&[vec![1, 2, 3], vec![2, 4], vec![2, 5]]);
        assert_eq!(found, Overlap { states_distinct: 5, states_shared: 1, overlap: 0.2 });
        assert_eq!(overlap(&[]), Overlap::default());
        assert_eq!(overlap(&[vec![1], vec![1]]), Overlap { states_distinct: 1, states_shared: 1, overlap: 1.0 });
    }
}
