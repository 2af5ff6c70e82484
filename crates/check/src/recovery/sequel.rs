//! What follows a recovery, remembered by what recovery left.
//!
//! Many crash states recover to the same file system: an interrupted checkpoint counts for nothing, however far it got.
//! Recovering once more and a first use work on what recovery left, its disk and its memory, and so are done once for
//! all of them. What they read is remembered too, since the recoveries that they belong to are known by their reads.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use disk::{Image, ReadSet};
use foldhash::fast::FixedState;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    probe::Refused,
    target::{Finding, Target},
};

/// Beyond so many (a few kilobytes each), what follows a recovery is run each time.
const SEQUELS_MAX: usize = 1 << 15;

/// What is done after a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// It is recovered once more.
    Again,
    /// It is tried out.
    Probe,
}

/// How that went.
pub(super) struct Sequel {
    pub wrong: Option<Finding>,
    /// The ops of a first use that there was no room for.
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
pub(super) struct Sequels(Mutex<HashMap<(Step, Left), Arc<Sequel>, FixedState>>);

impl Sequels {
    /// How a step goes, which is found out if it is not known.
    pub fn of(&self, step: Step, left: Left, run: impl FnOnce() -> Sequel) -> Arc<Sequel> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&(step, left)) {
            return Arc::clone(known);
        }
        let sequel = Arc::new(run());
        let mut known = known();
        if known.len() < SEQUELS_MAX {
            known.insert((step, left), Arc::clone(&sequel));
        }
        sequel
    }
}
