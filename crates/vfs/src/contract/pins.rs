//! What each persistence call pins when it returns, and the floors that all pins together set.
//!
//! A pin says: the recovered value is the one at the pin or a later one. So what a sequence of pins amounts to is, for
//! each name and attribute, the latest moment at which it was pinned: its floor.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use super::{
    Contract,
    chain::Chain,
    history::{Event, Record},
    things::{self, Thing},
};
use crate::{Node, NodeId, NodeKind, Op, OpenFlags, Tree, Value, WriteAt, WriteVia};

/// A directory and a component.
pub(super) type Name = (NodeId, Arc<str>);

/// Every byte and the size.
const WHOLE: Range<u64> = 0..u64::MAX;

#[derive(Clone, Debug)]
pub(super) enum Pin {
    /// Every name and attribute. A synchronous mount cannot see stores through a mapping, and pins all but those.
    Everything { synchronous: bool },
    /// A range of the content, perhaps the other attributes, and the names with those of the directories above; the
    /// names perhaps only if none was pinned since the file was created.
    File { node: NodeId, range: Range<u64>, attributes: bool, names: Vec<Name>, only_if_new: bool },
    /// Every name in it, present and absent, and perhaps its attributes.
    Directory { node: NodeId, attributes: bool },
}

impl Pin {
    /// What it says of the file itself.
    pub fn without_names(&self) -> Self {
        match self.clone() {
            Self::File { node, range, attributes, only_if_new, .. } => {
                Self::File { node, range, attributes, names: Vec::new(), only_if_new }
            }
            pin => pin,
        }
    }

    /// What it says of the file's names.
    pub fn names_only(&self) -> Self {
        match self.clone() {
            Self::File { node, names, only_if_new, .. } => {
                Self::File { node, range: 0..0, attributes: false, names, only_if_new }
            }
            pin => pin,
        }
    }
}

/// What is pinned when the event returns. `flags` are those of the slot that a write goes through.
pub(super) fn of(event: &Event, subject: Option<NodeId>, flags: OpenFlags, synchronous: bool) -> Vec<Pin> {
    if event.outcome.is_err() {
        return Vec::new();
    }
    let own = match &event.op {
        Op::Sync | Op::Syncfs | Op::Remount | Op::Crash => Some(Pin::Everything { synchronous: false }),
        op => subject.and_then(|node| of_subject(event, op, node, flags)),
    };
    let by_mount = (synchronous && !stores_through_mapping(&event.op)).then_some(Pin::Everything { synchronous: true });
    own.into_iter().chain(by_mount).collect()
}

fn of_subject(event: &Event, op: &Op, node: NodeId, flags: OpenFlags) -> Option<Pin> {
    let directory = event.after.node(node).is_some_and(|node| node.is_dir());
    let file = |range, attributes| Pin::File {
        node,
        range,
        attributes,
        names: names_with_those_above(&event.after, node),
        only_if_new: !attributes,
    };
    match op {
        Op::Fsync { .. } if directory => Some(Pin::Directory { node, attributes: true }),
        Op::Fdatasync { .. } if directory => Some(Pin::Directory { node, attributes: false }),
        Op::Fsync { .. } => Some(file(WHOLE, true)),
        Op::Fdatasync { .. } => Some(file(WHOLE, false)),
        // Through a mapping of what was opened for reading, Linux syncs nothing.
        Op::Msync { .. } if !flags.writes() => None,
        Op::Msync { offset, len, .. } => Some(file(*offset..offset.saturating_add(*len), false)),
        Op::Write { at, .. } if flags.contains(OpenFlags::DSYNC) && !stores_through_mapping(op) => {
            let Ok(Value::Count(count)) = event.outcome else { return None };
            let offset = match at {
                WriteAt::Offset(offset) if !flags.contains(OpenFlags::APPEND) => *offset,
                _ => size(&event.after, node)?.saturating_sub(count),
            };
            Some(file(offset..offset.saturating_add(count), flags.contains(OpenFlags::SYNC)))
        }
        _ => None,
    }
}

pub(super) fn stores_through_mapping(op: &Op) -> bool {
    matches!(op, Op::Write { via: WriteVia::Mmap, .. })
}

fn size(tree: &Tree, node: NodeId) -> Option<u64> {
    match &tree.node(node)?.kind {
        NodeKind::File(bytes) => Some(bytes.len() as u64),
        NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
    }
}

fn names_with_those_above(tree: &Tree, node: NodeId) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let mut wanted = BTreeSet::from([node]);
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        for (dir, entries) in tree.nodes.iter().filter_map(|(id, dir)| Some((*id, dir.entries()?))) {
            let here = entries.iter().filter(|(_, child)| **child == node);
            let before = names.len();
            names.extend(here.map(|(name, _)| (dir, name.clone())));
            if names.len() > before && wanted.insert(dir) {
                next.push(dir);
            }
        }
    }
    names
}

/// The latest moment at which each name and attribute was pinned.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors {
    everything: usize,
    names: BTreeMap<Name, usize>,
    directories: BTreeMap<NodeId, usize>,
    attributes: BTreeMap<NodeId, usize>,
    /// Pinned ranges of contents.
    ranges: BTreeMap<NodeId, Vec<(Range<u64>, usize)>>,
    /// Files with stores through a mapping that only an explicit call pins, and the floor of their bytes until then.
    mapped: BTreeMap<NodeId, usize>,
    /// Nodes of which some name was pinned since they were made.
    named: BTreeSet<NodeId>,
}

impl Floors {
    /// The floors that a contract sets after these ops: `synced` trusts only calls that pin everything.
    pub fn new(contract: Contract, base: &Tree, returned: &[Arc<Record>]) -> Self {
        Self::trusting(base, returned, |_, pin| {
            let trusted = contract >= Contract::Fsynced || matches!(pin, Pin::Everything { synchronous: false });
            trusted.then(|| pin.clone())
        })
    }

    /// The floors that pins set after these ops, as far as they are trusted.
    pub fn trusting(base: &Tree, returned: &[Arc<Record>], trusted: impl Fn(&Record, &Pin) -> Option<Pin>) -> Self {
        let mut floors = Self { named: base.nodes.keys().copied().collect(), ..Self::default() };
        for (at, record) in (1..).zip(returned) {
            for pin in &record.pins {
                if let Some(pin) = trusted(record, pin) {
                    floors.raise(&pin, at);
                }
                floors.note_names(pin, &record.event.after);
            }
            if let Some(node) = record.subject.filter(|_| stores_through_mapping(&record.event.op)) {
                let floor = floors.everything;
                floors.mapped.entry(node).or_insert(floor);
            }
        }
        floors
    }

    fn raise(&mut self, pin: &Pin, at: usize) {
        match pin {
            Pin::Everything { synchronous } => {
                let (mapped, mut ranges) = (std::mem::take(&mut self.mapped), std::mem::take(&mut self.ranges));
                *self = Self { everything: at, named: std::mem::take(&mut self.named), ..Self::default() };
                if *synchronous {
                    ranges.retain(|node, _| mapped.contains_key(node));
                    (self.mapped, self.ranges) = (mapped, ranges);
                }
            }
            Pin::Directory { node, attributes } => {
                self.directories.insert(*node, at);
                if *attributes {
                    self.attributes.insert(*node, at);
                }
            }
            Pin::File { node, range, attributes, names, only_if_new } => {
                if !range.is_empty() {
                    self.ranges.entry(*node).or_default().push((range.clone(), at));
                }
                if *range == WHOLE {
                    self.mapped.remove(node);
                }
                if *attributes {
                    self.attributes.insert(*node, at);
                }
                if !only_if_new || !self.named.contains(node) {
                    self.names.extend(names.iter().map(|name| (name.clone(), at)));
                }
            }
        }
    }

    /// Remembers which nodes have a name that was pinned, whether the pin is trusted or not: what a later call pins
    /// depends on what was asked, not on who is believed.
    fn note_names(&mut self, pin: &Pin, tree: &Tree) {
        match pin {
            Pin::Everything { .. } => self.named = tree.nodes.keys().copied().collect(),
            Pin::Directory { node, .. } => {
                let entries = tree.node(*node).and_then(|dir| dir.entries());
                self.named.extend(entries.into_iter().flat_map(|entries| entries.values()));
            }
            Pin::File { node, names, only_if_new, .. } => {
                if !only_if_new || !self.named.contains(node) {
                    self.named.insert(*node);
                    for name in names {
                        self.named.extend(tree.node(name.0).and_then(|dir| dir.entries()?.get(&name.1)));
                    }
                }
            }
        }
    }

    /// Whether every pin on a single name or node holds at a moment: what it pinned has a value then that it has at the
    /// pin or later. A node that does not exist has no value.
    pub fn hold_at(&self, chain: &Chain, at: usize) -> bool {
        let holds = |thing: &Thing, floor: usize| {
            let value = thing.value_in(chain.tree(at));
            at >= floor || (floor..=chain.end()).any(|late| thing.value_in(chain.tree(late)) == value)
        };
        let states = |node: NodeId| (0..=chain.end()).filter_map(move |moment| Some(&**chain.tree(moment).node(node)?));
        let in_directory = |(dir, floor): (&NodeId, &usize)| {
            let names: BTreeSet<&Arc<str>> =
                states(*dir).filter_map(Node::entries).flat_map(|entries| entries.keys()).collect();
            names.into_iter().all(|name| holds(&Thing::Name(*dir, name.clone()), *floor))
        };
        let of_node = |(node, floor): (&NodeId, &usize)| {
            things::attributes(*node, states(*node)).iter().all(|thing| holds(thing, *floor))
        };
        // What a pinned content is at that moment is judged with the content; here, that the file exists.
        let of_content = |(node, pins): (&NodeId, &Vec<(Range<u64>, usize)>)| {
            let exists = |moment: usize| chain.tree(moment).node(*node).is_some();
            pins.iter().all(|(_, floor)| at >= *floor || exists(at) || (*floor..=chain.end()).any(|late| !exists(late)))
        };
        self.names.iter().all(|((dir, name), floor)| holds(&Thing::Name(*dir, name.clone()), *floor))
            && self.directories.iter().all(in_directory)
            && self.attributes.iter().all(of_node)
            && self.ranges.iter().all(of_content)
    }

    /// The last moment at which everything was pinned.
    pub fn everything(&self) -> usize {
        self.everything
    }

    pub fn name(&self, name: &Name) -> usize {
        let own = self.names.get(name).copied();
        let by_directory = self.directories.get(&name.0).copied();
        own.max(by_directory).unwrap_or(self.everything)
    }

    pub fn attributes(&self, node: NodeId) -> usize {
        self.attributes.get(&node).copied().unwrap_or(self.everything)
    }

    /// The floor of the byte at an offset.
    pub fn byte(&self, node: NodeId, offset: u64) -> usize {
        let in_range = self.ranges(node).iter().filter(|(range, _)| range.contains(&offset)).map(|(_, at)| *at);
        in_range.max().unwrap_or(0).max(self.byte_lowest(node))
    }

    /// The floor of the size as a whole.
    pub fn size(&self, node: NodeId) -> usize {
        let whole = self.ranges(node).iter().filter(|(range, _)| *range == WHOLE).map(|(_, at)| *at);
        whole.max().unwrap_or(0).max(self.everything)
    }

    /// A moment from which on every byte and the size are as pinned.
    pub fn content(&self, node: NodeId) -> usize {
        self.ranges(node).iter().map(|(_, at)| *at).max().unwrap_or(0).max(self.everything)
    }

    /// A moment before which no byte's floor lies.
    pub fn byte_lowest(&self, node: NodeId) -> usize {
        self.mapped.get(&node).copied().unwrap_or(self.everything)
    }

    /// Every pinned range of a file since everything was pinned.
    pub fn ranges(&self, node: NodeId) -> &[(Range<u64>, usize)] {
        self.ranges.get(&node).map_or(&[], Vec::as_slice)
    }
}
