//! A map from small numbers that a clone shares and a change copies only in part.
//!
//! It is a tree of fixed arrays: four bits of the key choose a slot on each level, so it is as high as the largest key
//! needs. A clone is one reference count; a change copies the arrays on the way to one slot, if they are shared. What
//! two maps share they have in the same place, so their differences are found without looking at it.

use std::sync::Arc;

const BITS: u32 = 4;
const FAN: usize = 1 << BITS;
/// The numbers of the slots of an array.
const SLOTS: std::ops::Range<u32> = 0..1 << BITS;
/// The levels that a key of 32 bits needs.
const HEIGHT_MAX: u32 = u32::BITS / BITS;

#[derive(Clone, Debug)]
enum Level<T> {
    Branch([Option<Arc<Level<T>>>; FAN]),
    Leaf([Option<T>; FAN]),
}

/// A map from `u32`. See the [module](self).
#[derive(Clone, Debug)]
pub struct Radix<T> {
    root: Option<Arc<Level<T>>>,
    /// Levels of branches above the leaves.
    height: u32,
    len: usize,
}

impl<T> Default for Radix<T> {
    fn default() -> Self {
        Self { root: None, height: 0, len: 0 }
    }
}

fn slot(key: u32, level: u32) -> usize {
    (key >> (level * BITS)) as usize & (FAN - 1)
}

/// The lowest key of a slot on this level, in the subtree where `key` stands.
fn first_of(key: u32, level: u32, slot: u32) -> u32 {
    let below = (level + 1) * BITS;
    let above = key.checked_shr(below).map_or(0, |above| above << below);
    above | slot << (level * BITS)
}

impl<T> Radix<T> {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn covers(&self, key: u32) -> bool {
        self.height + 1 >= HEIGHT_MAX || key >> ((self.height + 1) * BITS) == 0
    }

    /// What stands under the key.
    pub fn get(&self, key: u32) -> Option<&T> {
        if !self.covers(key) {
            return None;
        }
        let mut level = self.height;
        let mut node = self.root.as_ref()?;
        loop {
            match &**node {
                Level::Leaf(slots) => return slots[slot(key, 0)].as_ref(),
                Level::Branch(slots) => node = slots[slot(key, level)].as_ref()?,
            }
            level -= 1;
        }
    }

    /// The first key from this one on, with what stands under it.
    pub fn next_from(&self, key: u32) -> Option<(u32, &T)> {
        if !self.covers(key) {
            return None;
        }
        next(self.root.as_deref()?, self.height, key)
    }

    /// Everything, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        std::iter::successors(self.next_from(0), |(key, _)| self.next_from(key.checked_add(1)?))
    }
}

/// The first key of a subtree that is not below `key`. Bits of `key` above the subtree are those of its place.
fn next<T>(node: &Level<T>, level: u32, key: u32) -> Option<(u32, &T)> {
    let slots_left = SLOTS.skip(slot(key, level));
    let mut keys = slots_left.map(|slot| first_of(key, level, slot).max(key));
    match node {
        Level::Leaf(slots) => keys.find_map(|key| Some((key, slots[slot(key, 0)].as_ref()?))),
        Level::Branch(slots) => keys.find_map(|key| next(slots[slot(key, level)].as_deref()?, level - 1, key)),
    }
}

impl<T: Clone> Radix<T> {
    /// What stands under the key, to be changed.
    pub fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        self.get(key)?;
        let mut level = self.height;
        let mut node = Arc::make_mut(self.root.as_mut()?);
        loop {
            match node {
                Level::Leaf(slots) => return slots[slot(key, 0)].as_mut(),
                Level::Branch(slots) => node = Arc::make_mut(slots[slot(key, level)].as_mut()?),
            }
            level -= 1;
        }
    }

    /// Puts something under a key; returns what stood there.
    pub fn insert(&mut self, key: u32, value: T) -> Option<T> {
        if self.root.is_none() {
            self.height = 0;
        }
        while !self.covers(key) {
            let mut slots = [const { None }; FAN];
            slots[0] = self.root.take();
            if slots[0].is_some() {
                self.root = Some(Arc::new(Level::Branch(slots)));
            }
            self.height += 1;
        }
        let mut level = self.height;
        let mut place = &mut self.root;
        loop {
            let node = place.get_or_insert_with(|| {
                Arc::new(if level == 0 {
                    Level::Leaf([const { None }; FAN])
                } else {
                    Level::Branch([const { None }; FAN])
                })
            });
            match Arc::make_mut(node) {
                Level::Leaf(slots) => {
                    let old = slots[slot(key, 0)].replace(value);
                    self.len += usize::from(old.is_none());
                    return old;
                }
                Level::Branch(slots) => place = &mut slots[slot(key, level)],
            }
            level -= 1;
        }
    }

    /// Takes a key away; returns what stood there.
    pub fn remove(&mut self, key: u32) -> Option<T> {
        self.get(key)?;
        self.len -= 1;
        take(&mut self.root, self.height, key)
    }
}

/// Takes a key out of a subtree, and the arrays that this leaves empty.
fn take<T: Clone>(place: &mut Option<Arc<Level<T>>>, level: u32, key: u32) -> Option<T> {
    let (taken, empty) = match Arc::make_mut(place.as_mut()?) {
        Level::Leaf(slots) => (slots[slot(key, 0)].take(), slots.iter().all(Option::is_none)),
        Level::Branch(slots) => (take(&mut slots[slot(key, level)], level - 1, key), slots.iter().all(Option::is_none)),
    };
    if empty {
        *place = None;
    }
    taken
}

impl<T: Clone> Radix<T> {
    /// Every key under which the two differ, by `same`, in order. What they share is not looked at.
    pub fn differences(&self, other: &Self, same: impl Fn(&T, &T) -> bool) -> Vec<u32> {
        let height = self.height.max(other.height);
        let mut keys = Vec::new();
        compare(self.raised(height).as_ref(), other.raised(height).as_ref(), (height, 0), &same, &mut keys);
        keys
    }

    fn raised(&self, height: u32) -> Option<Arc<Level<T>>> {
        let mut root = self.root.clone();
        for _ in self.height..height {
            let mut slots = [const { None }; FAN];
            slots[0] = root;
            root = Some(Arc::new(Level::Branch(slots)));
        }
        root
    }
}

fn compare<T>(
    left: Option<&Arc<Level<T>>>,
    right: Option<&Arc<Level<T>>>,
    (level, base): (u32, u32),
    same: &impl Fn(&T, &T) -> bool,
    keys: &mut Vec<u32>,
) {
    match (left, right) {
        (None, None) => return,
        (Some(left), Some(right)) if Arc::ptr_eq(left, right) => return,
        _ => {}
    }
    for key in SLOTS.map(|slot| base | slot << (level * BITS)) {
        let at = slot(key, level);
        if level > 0 {
            compare(branch(left, at), branch(right, at), (level - 1, key), same, keys);
            continue;
        }
        let equal = match (leaf(left, at), leaf(right, at)) {
            (None, None) => true,
            (Some(left), Some(right)) => same(left, right),
            _ => false,
        };
        if !equal {
            keys.push(key);
        }
    }
}

fn branch<T>(node: Option<&Arc<Level<T>>>, at: usize) -> Option<&Arc<Level<T>>> {
    match &**node? {
        Level::Branch(slots) => slots[at].as_ref(),
        Level::Leaf(_) => None,
    }
}

fn leaf<T>(node: Option<&Arc<Level<T>>>, at: usize) -> Option<&T> {
    match &**node? {
        Level::Leaf(slots) => slots[at].as_ref(),
        Level::Branch(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Keys near each other, near powers of the fan-out, and at the end of the range.
    fn key(random: &mut fastrand::Rng) -> u32 {
        match random.u8(0..4) {
            0 => random.u32(0..40),
            1 => (1 << random.u32(0..32)) - random.u32(0..2),
            2 => u32::MAX - random.u32(0..20),
            _ => random.u32(0..5000),
        }
    }

    #[test]
    fn it_is_a_map() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut radix, mut map) = (Radix::default(), BTreeMap::new());
        for value in 0..20_000 {
            let key = key(&mut random);
            if random.bool() {
                assert_eq!(radix.insert(key, value), map.insert(key, value));
            } else {
                assert_eq!(radix.remove(key), map.remove(&key));
            }
            assert_eq!(radix.len(), map.len());
            let from = self::key(&mut random);
            assert_eq!(radix.get(from), map.get(&from));
            assert_eq!(radix.next_from(from), map.range(from..).next().map(|(key, value)| (*key, value)));
        }
        assert!(radix.iter().eq(map.iter().map(|(key, value)| (*key, value))));
    }

    #[test]
    fn a_clone_keeps_what_it_had_and_differences_are_what_changed() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut radix: Radix<u32> = Radix::default();
        for round in 0..300 {
            let before = radix.clone();
            let listed: BTreeMap<u32, u32> = before.iter().map(|(key, value)| (key, *value)).collect();
            for _ in 0..random.usize(0..8) {
                let key = key(&mut random);
                match radix.get_mut(key) {
                    Some(value) if random.bool() => *value += 1,
                    Some(_) => drop(radix.remove(key)),
                    None => drop(radix.insert(key, round)),
                }
            }
            assert!(before.iter().eq(listed.iter().map(|(key, value)| (*key, value))));
            let after: BTreeMap<u32, u32> = radix.iter().map(|(key, value)| (key, *value)).collect();
            let mut expected: Vec<u32> =
                listed.keys().chain(after.keys()).filter(|key| listed.get(key) != after.get(key)).copied().collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(before.differences(&radix, u32::eq), expected);
            assert_eq!(radix.differences(&before, u32::eq), expected);
        }
    }
}
