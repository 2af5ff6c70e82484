//! The names of a directory, in one of two forms that read the same.
//!
//! *Few*: one map. To copy it before a change costs little, and checks never have more.
//!
//! *Many*: what a directory becomes that grows large, as those of a mounted reference may. Names are kept by their hash
//! in a map that clones share, so a change after a clone copies a part, and what differs between two clones is found
//! without looking at what they share. Seen as a map it is made whole at first use, and kept so until it changes.

use std::{
    collections::{BTreeMap, btree_map},
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::{Arc, OnceLock},
};

use xxhash_rust::xxh3::xxh3_64;

use crate::{NodeId, Radix};

/// The most names that are kept in one map. To copy so many takes about as long as one request of a kernel.
const FEW_MAX: usize = 128;

type Map = BTreeMap<Arc<str>, NodeId>;

/// The names of a directory, without `.` and `..`. See the [module](self).
#[derive(Clone)]
pub struct Entries(Form);

#[derive(Clone)]
enum Form {
    Few(Map),
    Many(Box<Many>),
}

/// The names of one hash.
type Slot = Arc<[(Arc<str>, NodeId)]>;

/// Names by hash. With 2^16 slots, a million names are some 16 a slot.
#[derive(Clone, Default)]
struct Many {
    slots: Radix<Slot>,
    len: usize,
    whole: OnceLock<Arc<Map>>,
}

fn slot(name: &str) -> u32 {
    let [low, high, ..] = xxh3_64(name.as_bytes()).to_le_bytes();
    u16::from_le_bytes([low, high]).into()
}

impl Many {
    fn in_slot(&self, slot: u32) -> &[(Arc<str>, NodeId)] {
        self.slots.get(slot).map_or(&[], |names| names)
    }

    fn get(&self, name: &str) -> Option<(&Arc<str>, &NodeId)> {
        self.in_slot(slot(name)).iter().find(|(known, _)| **known == *name).map(|(known, id)| (known, id))
    }

    /// Puts a name in or takes it out; returns what it led to.
    fn set(&mut self, name: &str, entry: Option<(Arc<str>, NodeId)>) -> Option<NodeId> {
        let old = self.get(name).map(|(_, id)| *id);
        let (slot, is_there) = (slot(name), entry.is_some());
        let others = self.in_slot(slot).iter().filter(|(known, _)| **known != *name).cloned();
        let names: Slot = others.chain(entry).collect();
        if names.is_empty() {
            self.slots.remove(slot);
        } else {
            self.slots.insert(slot, names);
        }
        self.len = self.len + usize::from(is_there) - usize::from(old.is_some());
        self.whole.take();
        old
    }

    fn whole(&self) -> &Map {
        self.whole.get_or_init(|| Arc::new(self.slots.iter().flat_map(|(_, names)| names.iter().cloned()).collect()))
    }
}

impl Entries {
    /// No names.
    pub const fn new() -> Self {
        Self(Form::Few(Map::new()))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Few(names) => names.len(),
            Form::Many(names) => names.len,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The node that a name leads to.
    pub fn get(&self, name: &str) -> Option<&NodeId> {
        match &self.0 {
            Form::Few(names) => names.get(name),
            Form::Many(names) => names.get(name).map(|(_, id)| id),
        }
    }

    /// A name as it is kept, with the node that it leads to.
    pub fn get_key_value(&self, name: &str) -> Option<(&Arc<str>, &NodeId)> {
        match &self.0 {
            Form::Few(names) => names.get_key_value(name),
            Form::Many(names) => names.get(name),
        }
    }

    /// Whether there is such a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Puts a name in; returns the node that it led to before.
    pub fn insert(&mut self, name: Arc<str>, id: NodeId) -> Option<NodeId> {
        match &mut self.0 {
            Form::Few(names) => {
                let old = names.insert(name, id);
                if names.len() > FEW_MAX {
                    *self = Self::from(std::mem::take(names));
                }
                old
            }
            Form::Many(names) => names.set(&Arc::clone(&name), Some((name, id))),
        }
    }

    /// Takes a name out; returns the node that it led to.
    pub fn remove(&mut self, name: &str) -> Option<NodeId> {
        match &mut self.0 {
            Form::Few(names) => names.remove(name),
            Form::Many(names) => names.set(name, None),
        }
    }

    /// The names that lead somewhere else in the two, or are in one only. What two clones share is not looked at, but
    /// for the few names that one map holds.
    pub fn differences(&self, other: &Self) -> Vec<Arc<str>> {
        let (ours, theirs) = self.unshared(other);
        let changed = ours.into_iter().filter(|(name, id)| other.get(name) != Some(*id));
        let added = theirs.into_iter().filter(|(name, _)| !self.contains_key(name));
        changed.chain(added).map(|(name, _)| Arc::clone(name)).collect()
    }

    fn unshared<'a>(&'a self, other: &'a Self) -> (Vec<Entry<'a>>, Vec<Entry<'a>>) {
        let (Form::Many(ours), Form::Many(theirs)) = (&self.0, &other.0) else {
            return (self.iter().collect(), other.iter().collect());
        };
        let slots = ours.slots.differences(&theirs.slots, Arc::ptr_eq);
        let names = |many: &'a Many| slots.iter().flat_map(|slot| many.in_slot(*slot)).map(|(name, id)| (name, id));
        (names(ours).collect(), names(theirs).collect())
    }
}

/// A name and where it leads.
type Entry<'a> = (&'a Arc<str>, &'a NodeId);

impl Default for Entries {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Entries {
    type Target = BTreeMap<Arc<str>, NodeId>;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Form::Few(names) => names,
            Form::Many(names) => names.whole(),
        }
    }
}

impl From<BTreeMap<Arc<str>, NodeId>> for Entries {
    fn from(names: BTreeMap<Arc<str>, NodeId>) -> Self {
        if names.len() <= FEW_MAX {
            return Self(Form::Few(names));
        }
        let mut many = Box::<Many>::default();
        for (name, id) in names {
            many.set(&Arc::clone(&name), Some((name, id)));
        }
        Self(Form::Many(many))
    }
}

impl FromIterator<(Arc<str>, NodeId)> for Entries {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, NodeId)>>(names: I) -> Self {
        Self::from(names.into_iter().collect::<Map>())
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = (&'a Arc<str>, &'a NodeId);
    type IntoIter = btree_map::Iter<'a, Arc<str>, NodeId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Entries {}

impl Hash for Entries {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_what_a_map_holds() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut entries, mut map) = (Entries::new(), Map::new());
            let mut before = (entries.clone(), map.clone());
            for round in 0..1500 {
                let name: Arc<str> = Arc::from(random.u16(0..600).to_string());
                if random.u8(0..10) < 7 {
                    let id = NodeId(random.u32(0..9));
                    assert_eq!(entries.insert(Arc::clone(&name), id), map.insert(name, id));
                } else {
                    assert_eq!(entries.remove(&name), map.remove(&name));
                }
                let name = random.u16(0..600).to_string();
                assert_eq!(entries.get_key_value(&name), map.get_key_value(&*name));
                assert_eq!((entries.len(), entries.is_empty()), (map.len(), map.is_empty()));
                if round % 50 == 0 {
                    assert_eq!(*entries, map);
                    assert_eq!(*before.0, before.1, "a clone does not change");
                    assert_eq!(differences(&entries, &before.0), differences_of(&map, &before.1));
                    before = (entries.clone(), map.clone());
                }
            }
            assert!(matches!(entries.0, Form::Many(_)));
            assert_eq!(entries, map.into_iter().collect());
        }
    }

    fn differences(left: &Entries, right: &Entries) -> Vec<Arc<str>> {
        let mut names = left.differences(right);
        names.sort();
        names
    }

    fn differences_of(left: &Map, right: &Map) -> Vec<Arc<str>> {
        let both: Map = left.clone().into_iter().chain(right.clone()).collect();
        both.into_keys().filter(|name| left.get(name) != right.get(name)).collect()
    }

    #[test]
    fn a_change_after_a_clone_copies_and_compares_a_part() {
        let name = |number: u32| Arc::from(number.to_string());
        let saved: Entries = (0..100_000).map(|number| (name(number), NodeId(number))).collect();
        let mut changed = saved.clone();
        changed.insert(name(100_000), NodeId(0));
        let (ours, theirs) = saved.unshared(&changed);
        assert!(ours.len() + theirs.len() < 50, "{} and {}", ours.len(), theirs.len());
        assert_eq!(saved.differences(&changed), [name(100_000)]);
    }
}
