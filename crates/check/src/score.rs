//! How promising a state is: by what a best-first search orders the states that wait.
//!
//! A bug that no short search meets lies off the beaten track, or where recovery has much to do. `novelty` follows the
//! first thought: a state is worth what its features are, and a feature is worth less each time that it is met.
//! `recovery` follows the second, which is that of `FiSC`. A score decides only who comes first: a search that runs to
//! its end meets the same states by any of them.

use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::{options::CheckOptions, state::State, target::Target};

/// What makes a state promising.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Score {
    /// All states are alike.
    #[default]
    None,
    /// The rarer the features of a state, the higher. They are: the kinds of the last two ops (a crash counts as one);
    /// the last op with its outcome, success or an errno; the shape of the tree; and how many writes are pending and
    /// how many ops under way. Each is worth `NEW / (n + 1)` when `n` states before had it, and a state is worth the
    /// sum.
    ///
    /// A state is scored once, when it begins to wait, so with one thread a search always goes the same way. Several
    /// threads count in an order that varies, and so may the order of the states; the set of states of a search that
    /// runs to its end does not. A search that is resumed counts from zero.
    Novelty,
    /// The more blocks recovery wrote on the way to a state, the higher: the recovery that made it; else the heaviest
    /// one of a power cut during the move that led to it. A move that made no new crash state possible passes on what
    /// the state before it had.
    Recovery,
}

/// What a feature is worth that no state had before.
const NEW: u64 = 1 << 20;
/// Features that fall on one counter are counted together, which can only change the order.
const COUNTERS: usize = 1 << 20;

/// Scores states, and counts their features if the score needs that.
pub(crate) struct Scorer {
    score: Score,
    seen: Box<[AtomicU64]>,
}

impl Scorer {
    pub fn new(score: Score) -> Self {
        let counters = if score == Score::Novelty { COUNTERS } else { 0 };
        Self { score, seen: (0..counters).map(|_| AtomicU64::new(0)).collect() }
    }

    pub fn score<T: Target>(&self, state: &State<T>, target: &T, options: &CheckOptions) -> i64 {
        match self.score {
            Score::None => 0,
            Score::Novelty => self.novelty(&state.features(target, options)),
            Score::Recovery => i64::from(state.recovery_wrote),
        }
    }

    /// What these features are worth together; from now on each is worth less.
    fn novelty(&self, features: &[Feature]) -> i64 {
        let worth = features.iter().map(|feature| NEW / (self.counter(feature).fetch_add(1, Ordering::Relaxed) + 1));
        worth.sum::<u64>().cast_signed()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder fits where its divisor came from")]
    fn counter(&self, feature: &Feature) -> &AtomicU64 {
        let (kind, value) = match *feature {
            Feature::LastOps(kinds) => (0, u128::from(u16::from_le_bytes(kinds))),
            Feature::Outcome { kind, errno } => (1, u128::from(u16::from_le_bytes([kind, errno]))),
            Feature::Shape(shape) => (2, shape),
            Feature::Unfinished { writes, ops } => (3, ((writes as u128) << 64) | ops as u128),
        };
        let mut bytes = [kind; 17];
        bytes[1..].copy_from_slice(&value.to_le_bytes());
        &self.seen[(xxh3_64(&bytes) % COUNTERS as u64) as usize]
    }
}

/// Something by which states are alike, see [`Score::Novelty`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Kinds, the last op first; 0 is none.
    LastOps([u8; 2]),
    /// The last op, and 0 for success or one more than the errno's place among all.
    Outcome { kind: u8, errno: u8 },
    /// The fingerprint of the tree's shape.
    Shape(u128),
    /// Writes that are pending and ops that are under way.
    Unfinished { writes: usize, ops: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: Feature = Feature::LastOps([1, 0]);
    const FAILED: Feature = Feature::Outcome { kind: 1, errno: 2 };
    const IDLE: Feature = Feature::Unfinished { writes: 0, ops: 0 };

    #[test]
    fn a_feature_is_worth_less_each_time_that_it_is_met() {
        let scorer = Scorer::new(Score::Novelty);
        let worth: Vec<i64> = (0..4).map(|_| scorer.novelty(&[CREATED])).collect();
        let new = NEW.cast_signed();
        assert_eq!(worth, [new, new / 2, new / 3, new / 4]);
    }

    #[test]
    fn the_rarer_state_is_worth_more() {
        let scorer = Scorer::new(Score::Novelty);
        for _ in 0..3 {
            scorer.novelty(&[CREATED, IDLE]);
        }
        let common = scorer.novelty(&[CREATED, IDLE]);
        let rare = scorer.novelty(&[FAILED, IDLE]);
        let rarest = scorer.novelty(&[Feature::Shape(7), Feature::Unfinished { writes: 1, ops: 0 }]);
        assert!(common < rare && rare < rarest, "{common} {rare} {rarest}");
    }

    #[test]
    fn features_of_different_kinds_are_counted_apart() {
        let scorer = Scorer::new(Score::Novelty);
        let alike = [
            Feature::LastOps([0, 0]),
            Feature::Outcome { kind: 0, errno: 0 },
            Feature::Shape(0),
            Feature::Unfinished { writes: 0, ops: 0 },
        ];
        assert_eq!(scorer.novelty(&alike), 4 * NEW.cast_signed());
    }
}
