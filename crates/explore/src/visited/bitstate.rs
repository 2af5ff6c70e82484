//! A few bits a state: a Bloom filter, as SPIN's bitstate search uses one.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{Arrival, Omission};

/// Locks by hash: two workers that bring the same state at once must not each set some of its bits and both find it
/// new.
const LOCK_BITS: u32 = 6;
const LOCKS: usize = 1 << LOCK_BITS;

pub(crate) struct Bitstate {
    words: Box<[AtomicU64]>,
    locks: Box<[Mutex<()>]>,
    bits_log2: u8,
    hashes: u8,
    seed: u64,
}

impl Bitstate {
    pub fn new(bits_log2: u8, hashes: u8, seed: u64) -> Self {
        let bits_log2 = bits_log2.clamp(6, 44);
        let words = (0..1usize << (bits_log2 - 6)).map(|_| AtomicU64::new(0)).collect();
        Self {
            words,
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            bits_log2,
            hashes: hashes.clamp(1, 16),
            seed,
        }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    pub fn insert(&self, hash: u128) -> Arrival {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves are two independent hashes")]
        let (mut at, stride) = (hash as u64, (hash >> 64) as u64 | 1);
        let _alone = self.locks[(stride >> (64 - LOCK_BITS)) as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = false;
        for _ in 0..self.hashes {
            // Double hashing: the k positions of a state are an arithmetic progression of its two hashes.
            let bit = at >> (64 - u32::from(self.bits_log2));
            let mask = 1u64 << (bit & 63);
            let word = &self.words[(bit >> 6) as usize];
            new |= word.fetch_or(mask, Ordering::Relaxed) & mask == 0;
            at = at.wrapping_add(stride);
        }
        if new { Arrival::New } else { Arrival::Seen }
    }

    pub fn bytes(&self) -> u64 {
        (self.words.len() * 8) as u64
    }

    /// The filling of the table is counted, not estimated; a new state is omitted if all its bits happen to be set.
    pub fn omission(&self, states: u64) -> Omission {
        let set: u64 = self.words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum();
        let filling = set as f64 / (1u64 << self.bits_log2) as f64;
        let hashes = f64::from(self.hashes);
        // While the table filled up evenly, the chance of an omission was filling^k on average over the run.
        let per_state = filling.powf(hashes);
        let average = per_state / (hashes + 1.0);
        Omission { per_state, states_expected: average * states as f64 / (1.0 - average) }
    }

    /// The words of the table, for a checkpoint.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        self.words.iter().map(|word| word.load(Ordering::Relaxed))
    }

    pub fn restore(&self, words: impl Iterator<Item = u64>) {
        for (word, value) in self.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }
}
