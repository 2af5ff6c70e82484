//! What follows a recovery, remembered by what recovery left.
//!
//! Many crash states recover to the same file system: an interrupted checkpoint counts for nothing, however far it got.
//! What comes up from its disk when the power goes once more, and from the disk that a thorough check left, is found
//! out once for all of them; and so is a first use, which works on the disk and on what is in memory. What they read
//! is remembered too, since the recoveries that they belong to are known by their reads.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use disk::{Image, ReadSet};
use foldhash::fast::FixedState;
use vfs::Tree;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    probe::Refused,
    target::{Finding, Target},
};

/// Beyond so many of a kind (a few kilobytes each), what follows a recovery is run each time.
const SEQUELS_MAX: usize = 1 << 15;

/// From what a file system comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// From what recovery left: it is recovered once more.
    Recovery,
    /// From what a thorough check left: it is mounted.
    Check,
}

/// What came up from a disk.
pub(super) struct Risen {
    /// What fsck found, and what kept it from being found out.
    pub findings: Vec<Finding>,
    /// What a user sees, or why there is nothing to see.
    pub tree: Result<Tree, String>,
    /// What was read of the disk.
    pub reads: ReadSet,
}

/// How a first use went.
pub(super) struct Used {
    pub wrong: Option<Finding>,
    /// The ops that there was no room for.
    pub refused: Vec<Refused>,
    /// What was read of the disk as recovery left it, in this order.
    pub reads: Vec<ReadSet>,
}

/// The file system that a recovery left: its disk and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Left(u128);

impl Left {
    pub fn new<T: Target>(target: &T, mounted: &T::Mounted, image: &Image) -> Self {
        let mut bytes = image.hash().to_le_bytes().to_vec();
        target.encode(mounted, &mut bytes);
        Self(xxh3_128(&bytes))
    }
}

/// What is known.
#[derive(Default)]
pub(super) struct Sequels {
    risen: Known<(Origin, u128), Risen>,
    used: Known<Left, Used>,
}

impl Sequels {
    /// What comes up from a disk.
    pub fn rising(&self, from: Origin, image: &Image, run: impl FnOnce() -> Risen) -> Arc<Risen> {
        self.risen.of((from, image.hash()), run)
    }

    /// How a first use goes.
    pub fn using(&self, left: Left, run: impl FnOnce() -> Used) -> Arc<Used> {
        self.used.of(left, run)
    }
}

struct Known<K, V>(Mutex<HashMap<K, Arc<V>, FixedState>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V> Known<K, V> {
    /// What belongs to a key, which is found out if it is not known.
    fn of(&self, key: K, run: impl FnOnce() -> V) -> Arc<V> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return Arc::clone(known);
        }
        let found = Arc::new(run());
        let mut known = known();
        if known.len() < SEQUELS_MAX {
            known.insert(key, Arc::clone(&found));
        }
        found
    }
}
