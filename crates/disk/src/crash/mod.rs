//! Crash states: the images that a power cut at one position of a log may leave.
//!
//! Every mode allows the durable image plus some of what is pending, and each allows all that the one before it does:
//! `flushed` ⊂ `prefix` ⊂ `subsets` ⊂ `torn`. A mode's states are produced once each, the kindest first: a deviation
//! is a region of the disk that differs from the nearest prefix, so the prefixes come before all else.

mod along;
mod partial;
mod points;
mod space;
mod taken;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::{Cut, DiskLog, EntryIndex, Image, Position};
pub use along::CrashesAlong;
pub use partial::{Interrupted, interrupted};
use points::{Points, Wanted};
use space::Space;
pub use taken::{Taken, TakenEntry};

/// Which pending entries a power cut may leave on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashMode {
    /// The power is never cut.
    Off,
    /// None: the kindest disk, whose cache is lost as a whole.
    Flushed,
    /// Those up to some moment: a disk that keeps the order.
    Prefix,
    /// Any of them: a disk that reorders.
    Subsets,
    /// Any blocks of any of them: a disk that reorders and tears.
    Torn,
}

/// A crash mode that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use crash mode {0:?}: it is one of off, flushed, prefix, subsets, torn")]
pub struct UnknownCrashMode(String);

impl CrashMode {
    /// Every mode, from none to the harshest.
    pub const ALL: [Self; 5] = [Self::Off, Self::Flushed, Self::Prefix, Self::Subsets, Self::Torn];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Flushed => "flushed",
            Self::Prefix => "prefix",
            Self::Subsets => "subsets",
            Self::Torn => "torn",
        }
    }
}

impl std::fmt::Display for CrashMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for CrashMode {
    type Err = UnknownCrashMode;

    fn from_str(text: &str) -> Result<Self, UnknownCrashMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownCrashMode(text.to_owned()))
    }
}

/// How many crash states to produce, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Modes `subsets` and `torn` with more combinations than this at one position give a sample of this size.
    pub states_max: usize,
    /// The seed of the sample.
    pub seed: u64,
    /// Only the states that were not crash states one position earlier. A caller that visits every position with it
    /// judges each state of the log once for each entry that can bring it about. Where the states of the earlier
    /// position are too many to be listed, a state that equals one of them by coincidence may come again.
    pub only_new: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { states_max: 4096, seed: 0, only_new: false }
    }
}

/// An image that a power cut may leave.
#[derive(Clone, Debug)]
pub struct CrashState {
    /// When the power was cut; with the times of the ops it tells which had returned.
    pub position: Position,
    /// What recovery finds.
    pub image: Image,
    /// The pending entries that reached the medium.
    pub taken: Taken,
}

/// The crash states at one position, each built when it is asked for.
#[derive(Debug)]
pub struct CrashStates<'log> {
    position: Position,
    sampled: bool,
    combinations: u64,
    states: States<'log>,
}

#[derive(Debug)]
enum States<'log> {
    /// Images, each with the number of pending entries that it took.
    Prefixes {
        pending: SmallVec<[EntryIndex; 4]>,
        images: smallvec::IntoIter<[(Image, usize); 2]>,
    },
    Points {
        space: Box<Space<'log>>,
        points: Points,
        next: usize,
    },
}

type Hashes = HashSet<u128, FixedState>;

/// The crash states at a position of a log.
///
/// # Panics
/// The position is not one of [`DiskLog::positions`].
pub fn crash_states(log: &DiskLog, position: Position, mode: CrashMode, limits: Limits) -> CrashStates<'_> {
    if limits.only_new && position > *log.positions().start() {
        let mut along = CrashesAlong::new(log, Position(position.0 - 1), mode, limits);
        along.next().expect("the position is in the log")
    } else {
        log.cut(position).crash_states(mode, limits)
    }
}

impl<'log> Cut<'log> {
    /// All crash states at this moment.
    fn crash_states(&self, mode: CrashMode, limits: Limits) -> CrashStates<'log> {
        match mode {
            CrashMode::Off => self.no_states(),
            CrashMode::Flushed => self.durable_state(),
            CrashMode::Prefix => self.prefix_states(0..self.pending().len() + 1, Hashes::default()),
            CrashMode::Subsets | CrashMode::Torn => self.combined_states(None, mode, limits),
        }
    }

    fn no_states(&self) -> CrashStates<'log> {
        self.prefix_states(0..0, Hashes::default())
    }

    /// The one that lost all that is pending.
    fn durable_state(&self) -> CrashStates<'log> {
        self.prefix_states(0..1, Hashes::default())
    }

    /// The one that lost nothing; `visible` is its image.
    fn visible_state(&self, visible: Image) -> CrashStates<'log> {
        let pending: SmallVec<[EntryIndex; 4]> = self.pending().map(|(index, _)| index).collect();
        let images = SmallVec::from_iter([(visible, pending.len())]).into_iter();
        let states = States::Prefixes { pending, images };
        CrashStates { position: self.position(), sampled: false, combinations: 1, states }
    }

    /// The states that take the first `n` pending entries, for each `n` in `counts`, without the old ones.
    fn prefix_states(&self, counts: std::ops::Range<usize>, old: Hashes) -> CrashStates<'log> {
        let combinations = counts.len() as u64;
        let mut images: SmallVec<[(Image, usize); 2]> = self.prefix_images(counts.clone()).zip(counts).collect();
        if images.len() > 1 || !old.is_empty() {
            let mut seen = old;
            images.retain(|(image, _)| seen.insert(image.hash()));
        }
        let most_taken = images.last().map_or(0, |(_, count)| *count);
        let pending = self.pending().take(most_taken).map(|(index, _)| index).collect();
        let states = States::Prefixes { pending, images: images.into_iter() };
        CrashStates { position: self.position(), sampled: false, combinations, states }
    }

    fn combined_states(&self, before: Option<&Self>, mode: CrashMode, limits: Limits) -> CrashStates<'log> {
        let torn = mode == CrashMode::Torn;
        let space = Space::new(self, torn);
        let old = before.and_then(|before| Space::new(before, torn).all_hashes(limits.states_max));
        let takes = before.and_then(|_| space.newest_ordinal());
        let combinations = space.combinations();
        let sampled = combinations > limits.states_max as u64;
        let wanted = Wanted { takes, old: old.as_ref() };
        let points = if sampled { Points::sample(&space, limits, wanted) } else { Points::exhaustive(&space, wanted) };
        let states = States::Points { space: Box::new(space), points, next: 0 };
        CrashStates { position: self.position(), sampled, combinations, states }
    }
}

impl CrashStates<'_> {
    /// Whether the states are a sample of those that exist.
    pub fn sampled(&self) -> bool {
        self.sampled
    }

    /// How many combinations of pending entries the mode allows here (before equal images and old ones are left out);
    /// `u64::MAX` stands for that many or more.
    pub fn combinations(&self) -> u64 {
        self.combinations
    }
}

impl Iterator for CrashStates<'_> {
    type Item = CrashState;

    fn next(&mut self) -> Option<CrashState> {
        let (image, taken) = match &mut self.states {
            States::Prefixes { pending, images } => {
                let (image, count) = images.next()?;
                (image, Taken::whole(pending[..count].iter().copied()))
            }
            States::Points { space, points, next } => {
                let (point, hash) = points.get(*next)?;
                *next += 1;
                (space.image(point, hash), space.taken(point))
            }
        };
        Some(CrashState { position: self.position, image, taken })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.states {
            States::Prefixes { images, .. } => images.len(),
            States::Points { points, next, .. } => points.len() - next,
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for CrashStates<'_> {}
