//! All bytes of every state.
//!
//! Each shard is a table of 8-byte slots that point into an arena of records. A slot holds 24 bits of the hash, so
//! that a probe looks at the arena only when the state is almost certainly the one it is looking for. A record is
//! the length, the depth where depths are tracked, and the bytes.

use std::sync::{Mutex, PoisonError};

use crossbeam_epoch::Guard;
use crossbeam_utils::CachePadded;
use xxhash_rust::xxh3::xxh3_64;

use super::{Arrival, Hashed, Prefetch, SHARD_BITS, SHARDS, Slots};

pub(crate) struct Exact {
    /// States of up to [`SHORT_MAX`] bytes: their hash is reversible, so that it stands for the state itself.
    short: Hashed<u64>,
    /// All others.
    shards: Box<[CachePadded<Shard>]>,
    track_depths: bool,
}

struct Shard {
    table: Mutex<Table>,
    prefetch: Prefetch<u64>,
}

struct Table {
    slots: Slots<u64>,
    len: usize,
    arena: Arena,
}

/// One byte of the eight holds the length.
const SHORT_MAX: usize = 7;
/// Marks the hash of a short state.
const SHORT: u128 = 1 << 64;

/// The low bits of a slot: the record's place in the arena plus one.
const PLACE_BITS: u32 = 40;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Bits of the hash that a slot repeats. They lie between those that choose the shard (the top) and those that
/// choose the slot (the bottom).
fn tag(hash: u64) -> u64 {
    (hash >> (64 - SHARD_BITS - 24)) << PLACE_BITS
}

/// A permutation of the 64-bit numbers that mixes well (multiplications by odd numbers and xor-shifts can all be
/// undone), and so a hash that never takes one state for another. Only zero becomes zero.
#[inline]
fn mix(mut packed: u64) -> u64 {
    packed = (packed ^ packed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    packed = (packed ^ packed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    packed ^ packed >> 31
}

fn unmix(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 31 ^ hash >> 62).wrapping_mul(0x3196_42b2_d24d_8ec3);
    hash = (hash ^ hash >> 27 ^ hash >> 54).wrapping_mul(0x96de_1b17_3f11_9089);
    hash ^ hash >> 30 ^ hash >> 60
}

impl Exact {
    pub fn new(track_depths: bool) -> Self {
        let shard = || {
            let table = Mutex::new(Table { slots: Slots::none(), len: 0, arena: Arena::default() });
            CachePadded::new(Shard { table, prefetch: Prefetch::nowhere() })
        };
        Self { short: Hashed::new(track_depths, 0), shards: (0..SHARDS).map(|_| shard()).collect(), track_depths }
    }

    #[inline]
    pub fn hash(bytes: &[u8]) -> u128 {
        if bytes.len() <= SHORT_MAX {
            // Never zero, since a zero slot is an empty one.
            let start = bytes.len() as u64 + 1;
            SHORT | u128::from(mix(bytes.iter().fold(start, |packed, byte| packed << 8 | u64::from(*byte))))
        } else {
            u128::from(xxh3_64(bytes))
        }
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Shard {
        &self.shards[(hash >> (64 - SHARD_BITS)) as usize]
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the hash")]
    pub fn prefetch(&self, hash: u128, pinned: &Guard) {
        if hash & SHORT != 0 {
            self.short.prefetch(hash as u64, pinned);
        } else {
            self.shard(hash as u64).prefetch.slot(hash as u64);
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the hash")]
    pub fn insert(&self, hash: u128, bytes: &[u8], depth: u32, pinned: &Guard) -> Arrival {
        if hash & SHORT != 0 {
            return self.short.insert(hash as u64, depth, pinned);
        }
        let hash = hash as u64;
        let shard = self.shard(hash);
        let mut table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len * 8 >= table.slots.len() * 5 {
            table.grow(self.track_depths);
            shard.prefetch.moved(&mut table.slots);
        }
        table.insert(hash, bytes, self.track_depths.then_some(depth))
    }

    pub fn bytes(&self) -> u64 {
        let table_bytes = |shard: &CachePadded<Shard>| {
            let table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.slots.len() * 8 + table.arena.bytes()
        };
        self.short.bytes() + self.shards.iter().map(table_bytes).sum::<usize>() as u64
    }

    /// Every state with its depth, for a checkpoint.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u32)) {
        self.short.for_each(|hash, depth| {
            let packed = unmix(u64::try_from(hash).expect("a short state's hash has 64 bits"));
            // The length plus one stands before the bytes.
            let len = (7 - packed.leading_zeros() as usize / 8).min(SHORT_MAX);
            visit(&packed.to_be_bytes()[8 - len..], depth);
        });
        for shard in &self.shards {
            let table = shard.table.lock().unwrap_or_else(PoisonError::into_inner);
            for slot in table.slots.iter().filter(|slot| **slot != 0) {
                let record = table.arena.record(slot & PLACE_MASK, self.track_depths);
                visit(record.bytes, record.depth);
            }
        }
    }
}

impl Table {
    #[inline]
    fn insert(&mut self, hash: u64, bytes: &[u8], depth: Option<u32>) -> Arrival {
        let mask = self.slots.len() - 1;
        let tag = tag(hash);
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                self.slots[at] = tag | self.arena.push(bytes, depth);
                self.len += 1;
                return Arrival::New;
            }
            if slot & !PLACE_MASK == tag {
                let record = self.arena.record(slot & PLACE_MASK, depth.is_some());
                if record.bytes == bytes {
                    return match depth {
                        Some(depth) if depth < record.depth => {
                            let than = record.depth;
                            self.arena.set_depth(slot & PLACE_MASK, depth);
                            Arrival::Nearer { than }
                        }
                        _ => Arrival::Seen,
                    };
                }
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self, depths: bool) {
        let size = (self.slots.len() * 2).max(64);
        let mask = size - 1;
        let mut slots = Slots::new(size);
        for slot in self.slots.iter().filter(|slot| **slot != 0) {
            let hash = xxh3_64(self.arena.record(slot & PLACE_MASK, depths).bytes);
            #[expect(clippy::cast_possible_truncation, reason = "masked")]
            let mut at = hash as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

/// Records in pages, so that growing never copies what is there.
#[derive(Default)]
struct Arena {
    pages: Vec<Vec<u8>>,
    bytes: usize,
}

struct Record<'a> {
    bytes: &'a [u8],
    depth: u32,
}

/// A page holds many records; one record that is larger gets a page of its own.
const PAGE_BITS: u32 = 16;
const PAGE_SIZE: usize = 1 << PAGE_BITS;
/// Lengths below this take one byte; longer ones take this mark and four bytes.
const LONG: u8 = u8::MAX;

impl Arena {
    /// Stores a record and returns its place plus one, which is never zero.
    fn push(&mut self, bytes: &[u8], depth: Option<u32>) -> u64 {
        let size = bytes.len() + 9;
        if self.pages.last().is_none_or(|page| page.capacity() - page.len() < size || page.len() >= PAGE_SIZE - 1) {
            self.pages.push(Vec::with_capacity(PAGE_SIZE.max(size)));
            self.bytes += PAGE_SIZE.max(size);
        }
        let number = self.pages.len() - 1;
        let page = &mut self.pages[number];
        let place = (number << PAGE_BITS) + page.len();
        match u8::try_from(bytes.len()) {
            Ok(len) if len < LONG => page.push(len),
            _ => {
                page.push(LONG);
                let len = u32::try_from(bytes.len()).expect("a state is smaller than 4 GiB");
                page.extend_from_slice(&len.to_le_bytes());
            }
        }
        if let Some(depth) = depth {
            page.extend_from_slice(&depth.to_le_bytes());
        }
        page.extend_from_slice(bytes);
        place as u64 + 1
    }

    #[inline]
    fn at(place: u64) -> (usize, usize) {
        let place = usize::try_from(place - 1).expect("an arena fits into memory");
        (place >> PAGE_BITS, place & (PAGE_SIZE - 1))
    }

    #[inline]
    fn record(&self, place: u64, depths: bool) -> Record<'_> {
        let (page, at) = Self::at(place);
        let rest = &self.pages[page][at..];
        let (len, rest) = match rest[0] {
            LONG => (read_u32(&rest[1..]) as usize, &rest[5..]),
            len => (usize::from(len), &rest[1..]),
        };
        if depths {
            Record { depth: read_u32(rest), bytes: &rest[4..4 + len] }
        } else {
            Record { depth: 0, bytes: &rest[..len] }
        }
    }

    fn set_depth(&mut self, place: u64, depth: u32) {
        let (page, at) = Self::at(place);
        let rest = &mut self.pages[page][at..];
        let start = if rest[0] == LONG { 5 } else { 1 };
        rest[start..start + 4].copy_from_slice(&depth.to_le_bytes());
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_short_state_can_be_undone() {
        assert_eq!(mix(0), 0);
        for n in (0..1_000_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            assert_eq!(unmix(mix(n)), n);
        }
    }

    #[test]
    fn all_states_come_back_for_a_checkpoint() {
        let set = Exact::new(true);
        let states = [&b""[..], b"\0", b"seven b", b"eight by", b"and a rather longer state"];
        for (depth, bytes) in (0..).zip(states) {
            set.insert(Exact::hash(bytes), bytes, depth, &crossbeam_epoch::pin());
        }
        let mut back = Vec::new();
        set.for_each(|bytes, depth| back.push((depth, bytes.to_vec())));
        back.sort();
        assert_eq!(back, (0..).zip(states.map(<[u8]>::to_vec)).collect::<Vec<_>>());
    }
}
