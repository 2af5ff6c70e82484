//! The set of states that were seen: exact, hashed or one bit each.
//!
//! All kinds answer the same question: was this state seen, and if so, as near to the root? The depth is remembered
//! only in a depth-bounded search, where a state that is reached again nearer the root must be expanded again, or
//! the search would miss what lies behind it.

mod bitstate;
mod exact;
mod hashed;
mod slots;

use crossbeam_epoch::Guard;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use self::slots::{Prefetch, Slots};
pub(crate) use self::{bitstate::Bitstate, exact::Exact, hashed::Hashed};

/// Shards of a set, each behind its own lock. More than workers, so that two rarely meet, and few enough that the
/// table of each grows beyond a huge page.
const SHARD_BITS: u32 = 4;
const SHARDS: usize = 1 << SHARD_BITS;

/// How visited states are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisitedKind {
    /// All bytes of every state: nothing is ever mistaken.
    Exact,
    /// A 64-bit hash of each state.
    Hash64,
    /// A 128-bit hash of each state.
    Hash128,
    /// `hashes` bits of a table of `2^bits_log2` bits for each state (SPIN's supertrace).
    Bitstate {
        /// Size of the table, as a power of two.
        bits_log2: u8,
        /// How many bits stand for a state.
        hashes: u8,
    },
}

/// What the set knew of a state that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Never seen.
    New,
    /// Seen, but farther from the root.
    Nearer {
        /// How far.
        than: u32,
    },
    /// Seen.
    Seen,
}

/// A visited set that any number of workers use at once.
pub(crate) enum Visited {
    Exact(Exact),
    Hash64(Hashed<u64>),
    Hash128(Hashed<u128>),
    Bitstate(Bitstate),
}

impl Visited {
    pub fn new(kind: VisitedKind, depths: bool, seed: u64) -> Self {
        match kind {
            VisitedKind::Exact => Visited::Exact(Exact::new(depths)),
            VisitedKind::Hash64 => Visited::Hash64(Hashed::new(depths, seed)),
            VisitedKind::Hash128 => Visited::Hash128(Hashed::new(depths, seed)),
            VisitedKind::Bitstate { bits_log2, hashes } => Visited::Bitstate(Bitstate::new(bits_log2, hashes, seed)),
        }
    }

    /// The hash by which this set finds a state.
    #[inline]
    pub fn hash(&self, bytes: &[u8]) -> u128 {
        match self {
            Visited::Exact(_) => Exact::hash(bytes),
            Visited::Hash64(set) => u128::from(xxh3_64_with_seed(bytes, set.seed())),
            Visited::Hash128(set) => xxh3_128_with_seed(bytes, set.seed()),
            Visited::Bitstate(set) => xxh3_128_with_seed(bytes, set.seed()),
        }
    }

    /// Keeps the tables that are there now in place, for a few look-ups; later ones should be pinned anew.
    pub fn pin() -> Guard {
        crossbeam_epoch::pin()
    }

    /// Adds a state; `hash` is that of `bytes`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "64-bit sets were given 64-bit hashes")]
    pub fn insert(&self, hash: u128, bytes: &[u8], depth: u32, pinned: &Guard) -> Arrival {
        match self {
            Visited::Exact(set) => set.insert(hash, bytes, depth, pinned),
            Visited::Hash64(set) => set.insert(hash as u64, depth, pinned),
            Visited::Hash128(set) => set.insert(hash, depth, pinned),
            Visited::Bitstate(set) => set.insert(hash),
        }
    }

    /// Tells the processor that this state will be asked for in a moment.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "64-bit sets were given 64-bit hashes")]
    pub fn prefetch(&self, hash: u128, pinned: &Guard) {
        match self {
            Visited::Exact(set) => set.prefetch(hash, pinned),
            Visited::Hash64(set) => set.prefetch(hash as u64, pinned),
            Visited::Hash128(set) => set.prefetch(hash, pinned),
            Visited::Bitstate(_) => {}
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Visited::Exact(set) => set.bytes(),
            Visited::Hash64(set) => set.bytes(),
            Visited::Hash128(set) => set.bytes(),
            Visited::Bitstate(set) => set.bytes(),
        }
    }

    /// How likely it is that at least one state was taken for another, and how that was reckoned.
    pub fn omission(&self, states: u64) -> Option<Omission> {
        match self {
            Visited::Exact(_) => None,
            Visited::Hash64(_) => Some(Omission::by_collision(states, 64)),
            Visited::Hash128(_) => Some(Omission::by_collision(states, 128)),
            Visited::Bitstate(set) => Some(set.omission(states)),
        }
    }
}

/// What a lossy set may have missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Omission {
    /// The chance that a state that arrives now is taken for a known one.
    pub per_state: f64,
    /// The expected number of states taken for others so far.
    pub states_expected: f64,
}

impl Omission {
    /// The birthday bound for `bits` bits.
    fn by_collision(states: u64, bits: i32) -> Self {
        let states = states as f64;
        let per_state = states * 0.5f64.powi(bits);
        Self { per_state, states_expected: per_state * states / 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [VisitedKind; 4] = [
        VisitedKind::Exact,
        VisitedKind::Hash64,
        VisitedKind::Hash128,
        VisitedKind::Bitstate { bits_log2: 24, hashes: 3 },
    ];

    #[test]
    fn every_kind_knows_what_it_saw() {
        for kind in KINDS {
            let set = Visited::new(kind, false, 7);
            for n in 0..50_000u32 {
                let bytes = n.to_le_bytes();
                assert_eq!(set.insert(set.hash(&bytes), &bytes, 0, &Visited::pin()), Arrival::New, "{kind:?} {n}");
            }
            for n in 0..50_000u32 {
                let bytes = n.to_le_bytes();
                assert_eq!(set.insert(set.hash(&bytes), &bytes, 0, &Visited::pin()), Arrival::Seen, "{kind:?} {n}");
            }
        }
    }

    #[test]
    fn of_many_workers_that_bring_a_state_one_finds_it_new() {
        // Small enough to be quick, large enough that every table grows while others read it.
        const STATES: u64 = 40_000;
        for kind in KINDS {
            let set = Visited::new(kind, true, 7);
            let bring = |n: u64| {
                let bytes = n.to_le_bytes();
                set.insert(set.hash(&bytes), &bytes, 0, &Visited::pin())
            };
            let count_new = || (0..STATES).filter(|n| bring(*n) == Arrival::New).count();
            let new: usize = std::thread::scope(|scope| {
                let workers: Vec<_> = (0..4).map(|_| scope.spawn(count_new)).collect();
                workers.into_iter().map(|worker| worker.join().expect("no panic")).sum()
            });
            assert_eq!(new as u64, STATES, "{kind:?}");
        }
    }

    #[test]
    fn a_state_nearer_the_root_is_told_apart() {
        for kind in [VisitedKind::Exact, VisitedKind::Hash64, VisitedKind::Hash128] {
            let set = Visited::new(kind, true, 7);
            let insert = |depth| set.insert(set.hash(b"state"), b"state", depth, &Visited::pin());
            assert_eq!(insert(9), Arrival::New);
            assert_eq!(insert(9), Arrival::Seen);
            assert_eq!(insert(4), Arrival::Nearer { than: 9 });
            assert_eq!(insert(5), Arrival::Seen);
        }
    }

    #[test]
    fn exact_tells_states_of_any_length_apart() {
        let set = Visited::new(VisitedKind::Exact, true, 0);
        let long = vec![1u8; 300_000];
        for bytes in [&b""[..], b"\0", b"\0\0", &long, &long[1..]] {
            assert_eq!(set.insert(set.hash(bytes), bytes, 3, &Visited::pin()), Arrival::New);
            assert_eq!(set.insert(set.hash(bytes), bytes, 3, &Visited::pin()), Arrival::Seen);
        }
    }

    #[test]
    fn a_small_bitstate_table_omits_about_as_many_as_it_says() {
        let set = Visited::new(VisitedKind::Bitstate { bits_log2: 16, hashes: 2 }, false, 1);
        let arrivals = 20_000u64;
        let new = (0..arrivals)
            .filter(|n| set.insert(set.hash(&n.to_le_bytes()), &n.to_le_bytes(), 0, &Visited::pin()) == Arrival::New)
            .count() as u64;
        let said = set.omission(new).expect("lossy").states_expected;
        let omitted = (arrivals - new) as f64;
        assert!(omitted > 500.0, "the table is small enough to omit: {omitted}");
        assert!((said / omitted - 1.0).abs() < 0.2, "said {said}, omitted {omitted}");
    }
}
