//! A hash a state. Open addressing with linear probing; the hash itself is the key and the empty slot is zero.

use std::sync::{Mutex, PoisonError};

use super::{Arrival, Prefetch, SHARD_BITS, SHARDS, Slots};

/// A hash that a table can hold.
pub(crate) trait Hash: Copy + Default + Eq + Send {
    const EMPTY: Self;
    const WIDTH: usize;
    fn low(self) -> u64;
    /// The hash, or another value if it is the one that marks an empty slot.
    fn or_nonzero(self) -> Self;
    fn to_u128(self) -> u128;
}

impl Hash for u64 {
    const EMPTY: u64 = 0;
    const WIDTH: usize = 8;

    fn low(self) -> u64 {
        self
    }

    fn or_nonzero(self) -> Self {
        self.max(1)
    }

    fn to_u128(self) -> u128 {
        u128::from(self)
    }
}

impl Hash for u128 {
    const EMPTY: u128 = 0;
    const WIDTH: usize = 16;

    #[expect(clippy::cast_possible_truncation, reason = "the low half is a hash too")]
    fn low(self) -> u64 {
        self as u64
    }

    fn or_nonzero(self) -> Self {
        self.max(1)
    }

    fn to_u128(self) -> u128 {
        self
    }
}

pub(crate) struct Hashed<H> {
    shards: Box<[Shard<H>]>,
    seed: u64,
}

struct Shard<H> {
    table: Mutex<Table<H>>,
    prefetch: Prefetch<H>,
}

struct Table<H> {
    slots: Slots<H>,
    /// The depth of each slot's state; empty unless depths are tracked.
    depths: Vec<u32>,
    track_depths: bool,
    len: usize,
}

impl<H: Hash> Hashed<H> {
    pub fn new(track_depths: bool, seed: u64) -> Self {
        let table = || Mutex::new(Table { slots: Slots::none(), depths: Vec::new(), track_depths, len: 0 });
        let shard = || Shard { table: table(), prefetch: Prefetch::nowhere() };
        Self { shards: (0..SHARDS).map(|_| shard()).collect(), seed }
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    fn shard(&self, hash: H) -> &Shard<H> {
        &self.shards[(hash.low() >> (64 - SHARD_BITS)) as usize]
    }

    #[inline]
    pub fn prefetch(&self, hash: H) {
        self.shard(hash).prefetch.slot(hash.low());
    }

    #[inline]
    pub fn insert(&self, hash: H, depth: u32) -> Arrival {
        let shard = self.shard(hash);
        let mut table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len * 4 >= table.slots.len() * 3 {
            table.grow();
            shard.prefetch.moved(&mut table.slots);
        }
        table.insert(hash.or_nonzero(), depth)
    }

    pub fn bytes(&self) -> u64 {
        let table_bytes = |shard: &Shard<H>| {
            let table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.slots.len() * H::WIDTH + table.depths.len() * 4
        };
        self.shards.iter().map(table_bytes).sum::<usize>() as u64
    }

    /// Every state with its depth, for a checkpoint.
    pub fn for_each(&self, mut visit: impl FnMut(u128, u32)) {
        for shard in &self.shards {
            let table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, slot) in table.slots.iter().enumerate().filter(|(_, slot)| **slot != H::EMPTY) {
                visit(slot.to_u128(), table.depths.get(at).copied().unwrap_or(0));
            }
        }
    }
}

impl<H: Hash> Table<H> {
    #[inline]
    fn insert(&mut self, hash: H, depth: u32) -> Arrival {
        let at = self.find(hash);
        if self.slots[at] == H::EMPTY {
            self.slots[at] = hash;
            self.len += 1;
            if self.track_depths {
                self.depths[at] = depth;
            }
            return Arrival::New;
        }
        if self.track_depths && depth < self.depths[at] {
            return Arrival::Nearer { than: std::mem::replace(&mut self.depths[at], depth) };
        }
        Arrival::Seen
    }

    /// The slot of this hash, or the empty one where it belongs.
    #[inline]
    fn find(&self, hash: H) -> usize {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let mut at = hash.low() as usize & mask;
        while self.slots[at] != H::EMPTY && self.slots[at] != hash {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let slots = std::mem::replace(&mut self.slots, Slots::new(size));
        let depths = std::mem::replace(&mut self.depths, vec![0; if self.track_depths { size } else { 0 }]);
        for (from, hash) in slots.iter().copied().enumerate().filter(|(_, hash)| *hash != H::EMPTY) {
            let at = self.find(hash);
            self.slots[at] = hash;
            if self.track_depths {
                self.depths[at] = depths[from];
            }
        }
    }
}
