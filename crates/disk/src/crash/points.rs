//! Which points of a space are produced, and in which order: all of them, or a sample.
//!
//! A sample always begins with nothing taken and everything taken. Then come the landmarks, where most bugs are:
//! every prefix, every single entry taken or lost, every single block taken or lost. What room is left is filled at
//! random, with all shares of losses from few to many.

use foldhash::fast::FixedState;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Hashes, Limits, space::Space};

/// Which points the caller wants.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Only those that show what this entry wrote.
    pub(crate) takes: Option<usize>,
    /// None that have one of these hashes.
    pub(crate) old: Option<&'a Hashes>,
}

impl Wanted<'_> {
    fn accepts(self, space: &Space<'_>, point: &[u32], hash: u128) -> bool {
        self.takes.is_none_or(|entry| space.shows(point, entry)) && self.old.is_none_or(|old| !old.contains(&hash))
    }
}

/// Chosen points with the hashes of their images, no two alike, the kindest first.
#[derive(Debug)]
pub(crate) struct Points {
    /// The digits of all points, one point after the other.
    digits: Vec<u32>,
    /// The number of digits of a point.
    width: usize,
    /// For each point its hash and the place of its digits.
    order: Vec<(u128, usize)>,
}

/// The most points for which room is made beforehand.
const EXPECTED_MAX: usize = 64;

/// How many random points are tried for each that is wanted; many may be equal to one that is there already.
const TRIES_FACTOR: usize = 8;

impl Points {
    /// All points that are wanted.
    pub(crate) fn exhaustive(space: &Space<'_>, wanted: Wanted<'_>) -> Self {
        let mut collector = Collector::new(space, wanted);
        let mut point = vec![0; space.radices().len()];
        loop {
            collector.add(&point);
            if !space.advance(&mut point) {
                return collector.kindest_first();
            }
        }
    }

    /// At most `states_max` of the points that are wanted.
    pub(crate) fn sample(space: &Space<'_>, limits: Limits, wanted: Wanted<'_>) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(limits.seed);
        let ends = [space.point_taking(|_| false), space.point_taking(|_| true)];
        let mut landmarks: Vec<Landmark> = landmarks(space).collect();
        if ends.len() + landmarks.len() > limits.states_max {
            shuffle(&mut landmarks, &mut rng);
        }
        let landmarks = landmarks.into_iter().map(|landmark| landmark.point(space));
        let random_points = std::iter::repeat_with(|| random_point(space, &ends, &mut rng));
        let tries = limits.states_max.saturating_mul(TRIES_FACTOR);

        let mut collector = Collector::new(space, wanted);
        for mut point in ends.iter().cloned().chain(landmarks).chain(random_points.take(tries)) {
            if collector.found.len() >= limits.states_max {
                break;
            }
            if let Some(entry) = wanted.takes.filter(|entry| !space.shows(&point, *entry)) {
                space.take(&mut point, entry);
            }
            collector.add(&point);
        }
        collector.kindest_first()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// A point and the hash of its image.
    pub(crate) fn get(&self, index: usize) -> Option<(&[u32], u128)> {
        let (hash, place) = *self.order.get(index)?;
        Some((&self.digits[place * self.width..][..self.width], hash))
    }
}

/// The wanted points so far.
struct Collector<'a> {
    space: &'a Space<'a>,
    wanted: Wanted<'a>,
    seen: Hashes,
    digits: Vec<u32>,
    /// The deviations and the hash of each.
    found: Vec<(usize, u128)>,
}

impl<'a> Collector<'a> {
    fn new(space: &'a Space<'a>, wanted: Wanted<'a>) -> Self {
        // Small spaces, the usual ones, then never grow a table.
        let expected = usize::try_from(space.combinations()).map_or(EXPECTED_MAX, |all| all.min(EXPECTED_MAX));
        let seen = Hashes::with_capacity_and_hasher(expected, FixedState::default());
        let digits = Vec::with_capacity(expected * space.radices().len());
        Self { space, wanted, seen, digits, found: Vec::with_capacity(expected) }
    }

    /// Adds a point if it is wanted and its image is not there yet.
    fn add(&mut self, point: &[u32]) {
        let hash = self.space.hash(point);
        if self.wanted.accepts(self.space, point, hash) && self.seen.insert(hash) {
            self.found.push((self.space.nearest_prefix(point).deviations, hash));
            self.digits.extend_from_slice(point);
        }
    }

    fn kindest_first(self) -> Points {
        let mut places: Vec<usize> = (0..self.found.len()).collect();
        places.sort_by_key(|place| self.found[*place].0);
        let order = places.into_iter().map(|place| (self.found[place].1, place)).collect();
        Points { digits: self.digits, width: self.space.radices().len(), order }
    }
}

/// A point worth judging before any random one.
#[derive(Clone, Copy)]
enum Landmark {
    /// The entries up to one.
    Prefix(usize),
    /// One entry alone.
    Only(usize),
    /// All entries but one.
    Without(usize),
    /// One digit set, all others zero.
    DigitOnly(usize, u32),
    /// One digit set, all others as if everything was taken.
    DigitChanged(usize, u32),
}

impl Landmark {
    fn point(self, space: &Space<'_>) -> Vec<u32> {
        let with_digit = |mut point: Vec<u32>, digit: usize, value| {
            point[digit] = value;
            point
        };
        match self {
            Self::Prefix(count) => space.point_taking(|ordinal| ordinal < count),
            Self::Only(entry) => space.point_taking(|ordinal| ordinal == entry),
            Self::Without(entry) => space.point_taking(|ordinal| ordinal != entry),
            Self::DigitOnly(digit, value) => with_digit(space.point_taking(|_| false), digit, value),
            Self::DigitChanged(digit, value) => with_digit(space.point_taking(|_| true), digit, value),
        }
    }
}

fn landmarks(space: &Space<'_>) -> impl Iterator<Item = Landmark> {
    let entries = 0..space.entries();
    let of_entries = entries.flat_map(|at| [Landmark::Prefix(at), Landmark::Without(at), Landmark::Only(at)]);
    let values =
        space.radices().iter().enumerate().flat_map(|(digit, radix)| (0..*radix).map(move |value| (digit, value)));
    let of_digits =
        values.flat_map(|(digit, value)| [Landmark::DigitChanged(digit, value), Landmark::DigitOnly(digit, value)]);
    of_entries.chain(of_digits)
}

/// Starts from nothing or everything taken and changes a random share of the digits.
fn random_point(space: &Space<'_>, ends: &[Vec<u32>; 2], rng: &mut Pcg64Mcg) -> Vec<u32> {
    let start = &ends[(rng.next_u32() % 2) as usize];
    let sixteenths_changed = 1 + rng.next_u32() % 15;
    let mut change = |digit: u32, radix: u32| {
        if rng.next_u32() % 16 < sixteenths_changed { rng.next_u32() % radix } else { digit }
    };
    start.iter().zip(space.radices()).map(|(digit, radix)| change(*digit, *radix)).collect()
}

fn shuffle<T>(items: &mut [T], rng: &mut Pcg64Mcg) {
    for last in (1..items.len()).rev() {
        let other = rng.next_u64() % (last as u64 + 1);
        items.swap(last, usize::try_from(other).expect("below a length"));
    }
}
