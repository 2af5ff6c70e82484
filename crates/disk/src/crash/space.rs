//! The combinations of pending entries as points of a space.
//!
//! Blocks that the same pending entries write form a region, whose content is that of one of its versions or the
//! durable one. (When writes can be torn, every block is a region.) A point is a vector of digits. Where the entries of
//! a region write nothing else, one digit picks the version, and versions of equal content share a value: rewriting one
//! block 20 times gives 21 choices, not 2^20. Where entries overlap in part, each has a digit of its own that says
//! whether it was taken. The hash of a point's image is a sum over regions, so points are compared without building
//! images.

use std::collections::BTreeMap;

use smallvec::{SmallVec, smallvec};

use super::{Hashes, Taken, TakenEntry};
use crate::{Block, Cut, Image, cut::Pending, image::hash_term};

/// All combinations of the pending entries of one cut.
#[derive(Debug)]
pub(crate) struct Space<'log> {
    durable: Image,
    pending: Vec<Pending<'log>>,
    /// Those whose content can differ from the durable one.
    regions: Vec<Region>,
    /// How many blocks of each entry lie in these regions.
    blocks_of: Vec<usize>,
    /// How many values each digit has.
    radices: Vec<u32>,
    /// Oldest entry first.
    steps: Vec<Step>,
    torn: bool,
    /// The entry that the last step of the log added, if it is pending.
    newest_ordinal: Option<usize>,
}

/// Blocks that the same pending entries write.
#[derive(Debug)]
struct Region {
    blocks: Vec<Block>,
    /// Oldest first.
    versions: SmallVec<[Version; 2]>,
    pick: Pick,
}

#[derive(Debug)]
enum Pick {
    /// By the value of one digit.
    Digit(usize),
    /// The newest version whose own digit is 1.
    Newest,
}

#[derive(Debug)]
struct Version {
    /// Which of the pending entries.
    ordinal: usize,
    /// What choosing it adds to the hash of the durable image; 0 if the content is the same.
    delta: u128,
    digit: usize,
    /// The value of the digit that chooses it.
    value: u32,
}

/// What taking one entry more of a prefix does to a region, in terms of [`Version::delta`].
#[derive(Debug)]
struct Step {
    ordinal: usize,
    region: usize,
    before: u128,
    after: u128,
}

/// A prefix, and how far away it is.
pub(crate) struct NearestPrefix {
    /// How many entries it takes.
    taken: usize,
    /// How many regions differ.
    pub(crate) deviations: usize,
}

impl<'log> Space<'log> {
    pub(crate) fn new(cut: &Cut<'log>, torn: bool) -> Self {
        let durable = cut.durable().clone();
        let pending = cut.pending_entries().to_vec();
        let newest_ordinal = pending.len().checked_sub(1).filter(|last| pending[*last].index.0 + 1 == cut.position().0);
        let groups = group_blocks(&pending, torn);
        let mut regions_of = vec![0_u32; pending.len()];
        groups.iter().flat_map(|(ordinals, _)| ordinals).for_each(|ordinal| regions_of[*ordinal] += 1);

        let blocks_of = vec![0; pending.len()];
        let (regions, radices, steps) = (Vec::new(), Vec::new(), Vec::new());
        let mut space = Self { durable, pending, regions, blocks_of, radices, steps, torn, newest_ordinal };
        let mut own_digits = vec![None; regions_of.len()];
        for (ordinals, blocks) in groups {
            let alone = torn || ordinals.iter().all(|ordinal| regions_of[*ordinal] == 1);
            let own_digits = if alone { None } else { Some(&mut own_digits[..]) };
            space.add_region(&ordinals, blocks, own_digits);
        }
        space.steps.sort_by_key(|step| step.ordinal);
        space
    }

    /// Adds a region; `own_digits` are those of the entries if its entries have some.
    fn add_region(&mut self, ordinals: &[usize], blocks: Vec<Block>, own_digits: Option<&mut [Option<usize>]>) {
        let mut versions: SmallVec<[Version; 2]> = smallvec![];
        let pick = if let Some(own_digits) = own_digits {
            for &ordinal in ordinals {
                let digit = *own_digits[ordinal].get_or_insert_with(|| {
                    self.radices.push(2);
                    self.radices.len() - 1
                });
                versions.push(Version { ordinal, delta: self.delta(ordinal, &blocks), digit, value: 1 });
            }
            Pick::Newest
        } else {
            let digit = self.radices.len();
            let mut values = 1;
            for &ordinal in ordinals {
                let delta = self.delta(ordinal, &blocks);
                let equal = versions.iter().find(|version| version.delta == delta).map(|version| version.value);
                let value = if delta == 0 { 0 } else { equal.unwrap_or(values) };
                values = values.max(value + 1);
                versions.push(Version { ordinal, delta, digit, value });
            }
            if values == 1 {
                // Nothing to choose, as where a fresh disk is discarded.
                return;
            }
            self.radices.push(values);
            Pick::Digit(digit)
        };
        let mut before = 0;
        for &Version { ordinal, delta: after, .. } in &versions {
            self.steps.push(Step { ordinal, region: self.regions.len(), before, after });
            self.blocks_of[ordinal] += blocks.len();
            before = after;
        }
        self.regions.push(Region { blocks, versions, pick });
    }

    /// What an entry's version of these blocks adds to the hash of the durable image.
    fn delta(&self, ordinal: usize, blocks: &[Block]) -> u128 {
        let geometry = self.durable.geometry();
        blocks.iter().fold(0, |sum: u128, &block| {
            let old = self.durable.block(block);
            let new = self.pending[ordinal].entry.content(geometry, block);
            if old == new { sum } else { sum.wrapping_add(hash_term(block, new)).wrapping_sub(hash_term(block, old)) }
        })
    }

    /// How many values each digit has.
    pub(crate) fn radices(&self) -> &[u32] {
        &self.radices
    }

    /// How many pending entries there are.
    pub(crate) fn entries(&self) -> usize {
        self.pending.len()
    }

    /// The entry that the last step of the log added, if it is pending.
    pub(crate) fn newest_ordinal(&self) -> Option<usize> {
        self.newest_ordinal
    }

    /// The number of points.
    pub(crate) fn combinations(&self) -> u64 {
        self.radices.iter().fold(1, |product: u64, radix| product.saturating_mul(u64::from(*radix)))
    }

    /// Goes to the next point in counting order, the first digit fastest; false after the last.
    pub(crate) fn advance(&self, point: &mut [u32]) -> bool {
        for (digit, radix) in point.iter_mut().zip(&self.radices) {
            *digit += 1;
            if *digit < *radix {
                return true;
            }
            *digit = 0;
        }
        false
    }

    /// The hashes of all images, unless there are more than `max` points.
    pub(crate) fn all_hashes(&self, max: usize) -> Option<Hashes> {
        if self.combinations() > max as u64 {
            return None;
        }
        let mut point = vec![0; self.radices.len()];
        let mut hashes = Hashes::default();
        loop {
            hashes.insert(self.hash(&point));
            if !self.advance(&mut point) {
                return Some(hashes);
            }
        }
    }

    /// The point that takes exactly the entries that `takes` names.
    pub(crate) fn point_taking(&self, takes: impl Fn(usize) -> bool) -> Vec<u32> {
        let mut point = vec![0; self.radices.len()];
        for version in self.regions.iter().flat_map(|region| &region.versions) {
            if takes(version.ordinal) {
                point[version.digit] = version.value;
            }
        }
        point
    }

    /// Takes the newest entry in addition to what the point takes.
    pub(crate) fn take(&self, point: &mut [u32], newest: usize) {
        for version in self.regions.iter().filter_map(|region| region.versions.last()) {
            if version.ordinal == newest {
                point[version.digit] = version.value;
            }
        }
    }

    /// The hash of the point's image.
    pub(crate) fn hash(&self, point: &[u32]) -> u128 {
        let deltas = self.regions.iter().filter_map(|region| region.chosen(point)).map(|version| version.delta);
        deltas.fold(self.durable.hash(), u128::wrapping_add)
    }

    /// Whether some region shows this entry's version.
    pub(crate) fn shows(&self, point: &[u32], ordinal: usize) -> bool {
        self.regions.iter().filter_map(|region| region.chosen(point)).any(|version| version.ordinal == ordinal)
    }

    /// The prefix of the pending entries that gives the most similar image.
    pub(crate) fn nearest_prefix(&self, point: &[u32]) -> NearestPrefix {
        let found: SmallVec<[u128; 16]> =
            self.regions.iter().map(|region| region.chosen(point).map_or(0, |version| version.delta)).collect();
        let mut deviations = found.iter().filter(|delta| **delta != 0).count();
        let mut nearest = NearestPrefix { taken: 0, deviations };
        for same_entry in self.steps.chunk_by(|a, b| a.ordinal == b.ordinal) {
            for step in same_entry {
                deviations -= usize::from(step.before != found[step.region]);
                deviations += usize::from(step.after != found[step.region]);
            }
            if deviations < nearest.deviations {
                nearest = NearestPrefix { taken: same_entry[0].ordinal + 1, deviations };
            }
        }
        nearest
    }

    /// One more than the ordinal of the newest entry of which something is to be seen.
    fn newest_taken(&self, point: &[u32]) -> usize {
        let seen = self.regions.iter().filter_map(|region| region.chosen(point));
        seen.map(|version| version.ordinal + 1).max().unwrap_or(0)
    }

    /// The image, whose hash is known.
    pub(crate) fn image(&self, point: &[u32], hash: u128) -> Image {
        let mut image = self.durable.clone();
        let geometry = image.geometry();
        for region in &self.regions {
            let Some(version) = region.chosen(point) else { continue };
            for &block in &region.blocks {
                image.set_block_unhashed(block, self.pending[version.ordinal].entry.content(geometry, block));
            }
        }
        image.set_hash(hash);
        image
    }

    /// The entries that were taken, and those that may as well have been.
    pub(crate) fn taken(&self, point: &[u32]) -> Taken {
        if let NearestPrefix { taken, deviations: 0 } = self.nearest_prefix(point) {
            return Taken::whole(self.pending[..taken].iter().map(|pending| pending.index));
        }
        let newest = self.newest_taken(point);
        let mut blocks_taken: SmallVec<[SmallVec<[Block; 4]>; 8]> = smallvec![SmallVec::new(); newest];
        for region in &self.regions {
            let chosen = region.chosen(point);
            let delta = chosen.map_or(0, |version| version.delta);
            for version in region.versions.iter().take_while(|version| version.ordinal < newest) {
                let is_overwritten = chosen.is_some_and(|chosen| version.ordinal <= chosen.ordinal);
                if is_overwritten || version.delta == delta {
                    blocks_taken[version.ordinal].extend_from_slice(&region.blocks);
                }
            }
        }
        let taken = blocks_taken.into_iter().enumerate().filter_map(|(ordinal, mut blocks)| {
            let entry = self.pending[ordinal].index;
            if blocks.len() == self.blocks_of[ordinal] {
                Some(TakenEntry { entry, blocks: None })
            } else if self.torn && !blocks.is_empty() {
                blocks.sort_unstable();
                Some(TakenEntry { entry, blocks: Some(blocks.into_vec()) })
            } else {
                None
            }
        });
        Taken(taken.collect())
    }
}

impl Region {
    /// The version that the region shows; `None` for the durable content.
    fn chosen(&self, point: &[u32]) -> Option<&Version> {
        match self.pick {
            Pick::Digit(digit) if point[digit] == 0 => None,
            Pick::Digit(digit) => self.versions.iter().find(|version| version.value == point[digit]),
            Pick::Newest => self.versions.iter().rfind(|version| point[version.digit] == version.value),
        }
    }
}

/// The pending blocks, grouped by which entries write them; torn: each for itself.
fn group_blocks(pending: &[Pending<'_>], torn: bool) -> Vec<(SmallVec<[usize; 4]>, Vec<Block>)> {
    let mut writers: BTreeMap<Block, SmallVec<[usize; 4]>> = BTreeMap::new();
    for (ordinal, pending) in pending.iter().enumerate() {
        for block in pending.blocks() {
            writers.entry(block).or_default().push(ordinal);
        }
    }
    if torn {
        return writers.into_iter().map(|(block, ordinals)| (ordinals, vec![block])).collect();
    }
    let mut groups: BTreeMap<SmallVec<[usize; 4]>, Vec<Block>> = BTreeMap::new();
    for (block, ordinals) in writers {
        groups.entry(ordinals).or_default().push(block);
    }
    groups.into_iter().collect()
}
