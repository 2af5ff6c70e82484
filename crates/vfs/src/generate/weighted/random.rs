//! Random choices that follow from a seed.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// A source of random choices.
pub(super) struct Random(Pcg64Mcg);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A number below `bound`, which is not 0. The bias of the remainder is far below what could be noticed.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    /// One of these.
    pub fn among<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).expect("below a usize")]
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A number from 0 up to 1.
    pub fn share(&mut self) -> f64 {
        /// As many bits as the number holds exactly.
        const BITS: u32 = 53;
        (self.0.next_u64() >> (u64::BITS - BITS)) as f64 / (1u64 << BITS) as f64
    }
}
