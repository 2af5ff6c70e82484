//! A hash a state. Open addressing with linear probing; the hash itself is the key and the empty slot is zero.
//!
//! Most states that arrive were seen before, so looking one up takes no lock and writes nothing that another worker
//! reads. Only who adds a state locks its shard. A table that grows is replaced; whoever still reads the old one
//! misses at most what was added since, and looks again under the lock. Old tables go when nobody can be reading them.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use crossbeam_epoch::{Atomic, Guard, Owned};
use crossbeam_utils::CachePadded;

use super::{Arrival, SHARD_BITS, SHARDS, Slots, slots::Blank};

/// The slots of a new table.
const SLOTS_MIN: usize = 64;

/// A hash that a table can hold. Zero marks an empty slot.
pub(crate) trait Hash: Copy + Default + Eq + Send + 'static {
    /// Where a table keeps it.
    type Slot: Blank + Send + Sync;
    fn low(self) -> u64;
    /// The hash, or another value if its low half could be mistaken for that of an empty slot.
    fn or_nonzero(self) -> Self;
    fn to_u128(self) -> u128;
    /// What a slot holds; zero until all of a hash is there.
    fn load(slot: &Self::Slot) -> Self;
    fn store(self, slot: &Self::Slot);
}

impl Hash for u64 {
    type Slot = AtomicU64;

    fn low(self) -> u64 {
        self
    }

    fn or_nonzero(self) -> Self {
        self.max(1)
    }

    fn to_u128(self) -> u128 {
        u128::from(self)
    }

    #[inline]
    fn load(slot: &AtomicU64) -> Self {
        slot.load(Ordering::Acquire)
    }

    #[inline]
    fn store(self, slot: &AtomicU64) {
        slot.store(self, Ordering::Release);
    }
}

/// Two halves. The low one is written last and read first: while it is zero, the slot is empty.
pub(crate) struct Halves {
    low: AtomicU64,
    high: AtomicU64,
}

impl Blank for Halves {}

impl Hash for u128 {
    type Slot = Halves;

    #[expect(clippy::cast_possible_truncation, reason = "the low half is a hash too")]
    fn low(self) -> u64 {
        self as u64
    }

    fn or_nonzero(self) -> Self {
        self | u128::from(self.low() == 0)
    }

    fn to_u128(self) -> u128 {
        self
    }

    #[inline]
    fn load(slot: &Halves) -> Self {
        match slot.low.load(Ordering::Acquire) {
            0 => 0,
            low => u128::from(slot.high.load(Ordering::Relaxed)) << 64 | u128::from(low),
        }
    }

    #[inline]
    fn store(self, slot: &Halves) {
        slot.high.store((self >> 64) as u64, Ordering::Relaxed);
        slot.low.store(self.low(), Ordering::Release);
    }
}

pub(crate) struct Hashed<H: Hash> {
    shards: Box<[Shard<H>]>,
    seed: u64,
}

struct Shard<H: Hash> {
    /// Read by everybody, changed when the table grows.
    table: CachePadded<Atomic<Table<H>>>,
    /// How many states there are; locked by whoever adds one.
    len: CachePadded<Mutex<usize>>,
}

struct Table<H: Hash> {
    slots: Slots<H::Slot>,
    /// The depth of each slot's state, written before the slot is; empty unless depths are tracked.
    depths: Box<[AtomicU32]>,
}

impl<H: Hash> Hashed<H> {
    pub fn new(track_depths: bool, seed: u64) -> Self {
        let shard = || Shard {
            table: CachePadded::new(Atomic::new(Table::new(SLOTS_MIN, track_depths))),
            len: CachePadded::new(Mutex::new(0)),
        };
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
    pub fn prefetch(&self, hash: H, pinned: &Guard) {
        self.shard(hash).table(pinned).slots.prefetch(hash.low());
    }

    #[inline]
    pub fn insert(&self, hash: H, depth: u32, pinned: &Guard) -> Arrival {
        let (shard, hash) = (self.shard(hash), hash.or_nonzero());
        if shard.table(pinned).knows(hash, depth) { Arrival::Seen } else { shard.add(hash, depth, pinned) }
    }

    pub fn bytes(&self) -> u64 {
        let pinned = crossbeam_epoch::pin();
        self.shards.iter().map(|shard| shard.table(&pinned).bytes()).sum::<usize>() as u64
    }

    /// Every state with its depth, for a checkpoint.
    pub fn for_each(&self, mut visit: impl FnMut(u128, u32)) {
        let pinned = crossbeam_epoch::pin();
        for shard in &self.shards {
            shard.table(&pinned).for_each(|hash, depth| visit(hash.to_u128(), depth.unwrap_or(0)));
        }
    }
}

impl<H: Hash> Shard<H> {
    #[inline]
    fn table<'g>(&self, pinned: &'g Guard) -> &'g Table<H> {
        let table = self.table.load(Ordering::Acquire, pinned);
        #[expect(unsafe_code, reason = "the price of looking up without a lock")]
        // SAFETY: a shard has a table from the beginning, each fully made before it was stored with release ordering.
        // One that is replaced is destroyed only after every guard that was pinned at that time is gone.
        unsafe {
            table.deref()
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.len.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a state that was not there a moment ago, or brings it nearer.
    fn add(&self, hash: H, depth: u32, pinned: &Guard) -> Arrival {
        let mut len = self.lock();
        let mut table = self.table(pinned);
        if *len * 4 >= table.slots.len() * 3 {
            self.replace(table.grown(), pinned);
            table = self.table(pinned);
        }
        let arrival = table.add(hash, depth);
        *len += usize::from(arrival == Arrival::New);
        arrival
    }

    /// Puts a larger table in the place of the present one. The caller holds the lock.
    fn replace(&self, table: Table<H>, pinned: &Guard) {
        let old = self.table.swap(Owned::new(table), Ordering::AcqRel, pinned);
        #[expect(unsafe_code, reason = "the price of looking up without a lock")]
        // SAFETY: nobody can find the old table any more, and only one thread, which holds the lock, took it out.
        unsafe {
            pinned.defer_destroy(old);
        }
        // A table is large: do not wait for more garbage before it goes.
        pinned.flush();
    }
}

impl<H: Hash> Drop for Shard<H> {
    fn drop(&mut self) {
        let table = std::mem::replace(&mut *self.table, Atomic::null());
        #[expect(unsafe_code, reason = "the price of looking up without a lock")]
        // SAFETY: borrowed exclusively, and a shard always has a table.
        unsafe {
            drop(table.into_owned());
        }
    }
}

impl<H: Hash> Table<H> {
    fn new(slots: usize, track_depths: bool) -> Self {
        let depths = if track_depths { slots } else { 0 };
        Self { slots: Slots::new(slots), depths: (0..depths).map(|_| AtomicU32::new(0)).collect() }
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<H::Slot>() + self.depths.len() * size_of::<u32>()
    }

    /// The slot of this hash, or the empty one where it belongs; and whether it is there.
    #[inline]
    fn find(&self, hash: H) -> (usize, bool) {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let mut at = hash.low() as usize & mask;
        loop {
            let found = H::load(&self.slots[at]);
            if found == hash || found == H::default() {
                return (at, found == hash);
            }
            at = (at + 1) & mask;
        }
    }

    /// Whether this state was seen as near to the root. In a table that is being replaced, depths may be larger than
    /// they are by now, and states may be missing, but what it knows is true.
    #[inline]
    fn knows(&self, hash: H, depth: u32) -> bool {
        let (at, there) = self.find(hash);
        there && self.depths.get(at).is_none_or(|known| known.load(Ordering::Relaxed) <= depth)
    }

    /// Only under the shard's lock.
    fn add(&self, hash: H, depth: u32) -> Arrival {
        let (at, there) = self.find(hash);
        let known = self.depths.get(at);
        if there {
            let than = known.map_or(0, |known| known.fetch_min(depth, Ordering::Relaxed));
            return if depth < than { Arrival::Nearer { than } } else { Arrival::Seen };
        }
        if let Some(known) = known {
            known.store(depth, Ordering::Relaxed);
        }
        hash.store(&self.slots[at]);
        Arrival::New
    }

    /// A table of twice the size with the same states. Only under the shard's lock.
    fn grown(&self) -> Self {
        let table = Self::new(self.slots.len() * 2, !self.depths.is_empty());
        self.for_each(|hash, depth| {
            table.add(hash, depth.unwrap_or(0));
        });
        table
    }

    fn for_each(&self, mut visit: impl FnMut(H, Option<u32>)) {
        for (at, slot) in self.slots.iter().enumerate() {
            let hash = H::load(slot);
            if hash != H::default() {
                visit(hash, self.depths.get(at).map(|depth| depth.load(Ordering::Relaxed)));
            }
        }
    }
}
