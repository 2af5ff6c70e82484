//! A copy-on-write B-tree: no node is ever changed in its place.
//!
//! In memory a tree is its levels, each the items of its nodes in one row. A new version is made from the items that it
//! shall have: a node whose items are still the same is shared with the version before, all others are written anew,
//! and so on upwards to the root.

use std::sync::Arc;

use disk::{Block, Disk};
use vfs::Errno;

use super::{
    item::{Item, Items, Pointer},
    layout::{FANOUT, Node},
};
use crate::nodes::io;

/// A tree as it is on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// The leaves first, the root last. Shared, since many states have the same tree.
    levels: Arc<Vec<Level>>,
}

#[derive(Clone, Debug)]
struct Level {
    entries: Items,
    nodes: Vec<Place>,
}

/// A node of a level: where it is, and how many of the entries are in it.
#[derive(Clone, Copy, Debug)]
struct Place {
    pointer: Pointer,
    count: usize,
}

/// Gives a block to a node; it may be told which block a node had before it changed.
pub(super) type Allocate<'a> = dyn FnMut(Option<Block>) -> Result<Block, Errno> + 'a;

impl Tree {
    /// Reads a tree. Levels only go down and no level can have more nodes than the disk has blocks, so that it ends
    /// whatever is on the disk.
    pub fn read(disk: &Disk, root: Pointer, generation_verified: bool) -> Result<Self, Errno> {
        let mut levels: Vec<Level> = Vec::new();
        let mut pointers = vec![root];
        let mut above: Option<(u8, Items)> = None;
        loop {
            if pointers.len() > disk.geometry().blocks as usize {
                return Err(Errno::EUCLEAN);
            }
            let (mut entries, mut nodes, mut level) = (Vec::new(), Vec::new(), None);
            for (index, pointer) in pointers.iter().enumerate() {
                let node = Node::read(disk, *pointer, generation_verified)?;
                let first_fits = above.as_ref().is_none_or(|(level, keys)| {
                    node.level + 1 == *level && keys.as_slice()[index].key == node.entries[0].key
                });
                if !first_fits {
                    return Err(Errno::EUCLEAN);
                }
                level = Some(node.level);
                nodes.push(Place { pointer: *pointer, count: node.entries.len() });
                entries.extend(node.entries);
            }
            if !entries.is_sorted_by(|one: &Item, two| one.key < two.key) {
                return Err(Errno::EUCLEAN);
            }
            pointers = entries.iter().map(|entry| Pointer::decode(entry.value)).collect();
            let entries = Items::from(entries);
            levels.push(Level { entries: entries.clone(), nodes });
            match level {
                Some(level @ 1..) => above = Some((level, entries)),
                _ => break,
            }
        }
        levels.reverse();
        Ok(Self { levels: Arc::new(levels) })
    }

    /// The items in the leaves.
    pub fn items(&self) -> Items {
        self.levels.first().map_or_else(Items::default, |leaves| leaves.entries.clone())
    }

    /// Where the root is.
    pub fn root(&self) -> Pointer {
        self.levels.last().and_then(|root| root.nodes.first()).map_or(Pointer::NOWHERE, |root| root.pointer)
    }

    /// The blocks of all nodes.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.pointers().map(|pointer| pointer.block)
    }

    /// The blocks of the nodes that were not written in this generation but before.
    pub fn blocks_before(&self, generation: u32) -> impl Iterator<Item = Block> {
        self.pointers().filter(move |pointer| pointer.check != generation).map(|pointer| pointer.block)
    }

    fn pointers(&self) -> impl Iterator<Item = Pointer> {
        self.levels.iter().flat_map(|level| &level.nodes).map(|place| place.pointer)
    }

    /// The next version, with these items (at least one). Nothing is written yet.
    pub fn next(&self, items: Items, generation: u32, allocate: &mut Allocate<'_>) -> Result<Self, Errno> {
        let mut levels: Vec<Level> = Vec::new();
        let mut entries = items;
        loop {
            let level = Level::next(self.levels.get(levels.len()), entries, generation, allocate)?;
            entries = level.index();
            let is_root = level.nodes.len() <= 1;
            levels.push(level);
            if is_root {
                return Ok(Self { levels: Arc::new(levels) });
            }
        }
    }

    /// Writes the nodes of this generation.
    pub fn write(&self, disk: &mut Disk, generation: u32) -> Result<(), Errno> {
        for (height, level) in (0..).zip(self.levels.iter()) {
            let mut rest = level.entries.as_slice();
            for Place { pointer, count } in &level.nodes {
                let (entries, others) = rest.split_at(*count);
                rest = others;
                if pointer.check == generation {
                    let node = Node::encode(generation, height, entries, pointer.block);
                    disk.write(pointer.block, &node).map_err(io)?;
                }
            }
        }
        Ok(())
    }
}

impl Level {
    /// The entries that the level above has: the first key and the place of each node.
    fn index(&self) -> Items {
        let mut rest = self.entries.as_slice();
        let entry = |place: &Place| {
            let (entries, others) = rest.split_at(place.count);
            rest = others;
            Item { key: entries[0].key, value: place.pointer.encode() }
        };
        self.nodes.iter().map(entry).collect::<Vec<_>>().into()
    }

    /// Each old node keeps the range of keys that it had. Neighbours that change are divided anew among as few nodes
    /// as possible; what does not change stays where it is.
    fn next(old: Option<&Self>, entries: Items, generation: u32, allocate: &mut Allocate<'_>) -> Result<Self, Errno> {
        let mut nodes = Vec::new();
        let mut changed = Changed::default();
        let (mut start, mut old_start) = (0, 0);
        let all = entries.as_slice();
        for (index, place) in old.iter().flat_map(|old| old.nodes.iter().enumerate()) {
            let Some(old) = old else { break };
            let before = &old.entries.as_slice()[old_start..old_start + place.count];
            old_start += place.count;
            let is_last = index + 1 == old.nodes.len();
            let end = match old.entries.as_slice().get(old_start) {
                Some(next) if !is_last => all.partition_point(|entry| entry.key < next.key),
                _ => all.len(),
            };
            if all[start..end] == *before {
                changed.divide(generation, allocate, &mut nodes)?;
                nodes.push(*place);
            } else {
                changed.count += end - start;
                changed.blocks.push(place.pointer.block);
            }
            start = end;
        }
        changed.count += all.len() - start;
        changed.divide(generation, allocate, &mut nodes)?;
        Ok(Self { entries, nodes })
    }
}

/// Entries of neighbouring nodes that have to be written anew, and the blocks that these nodes had.
#[derive(Default)]
struct Changed {
    count: usize,
    blocks: Vec<Block>,
}

impl Changed {
    fn divide(&mut self, generation: u32, allocate: &mut Allocate<'_>, nodes: &mut Vec<Place>) -> Result<(), Errno> {
        let parts = self.count.div_ceil(FANOUT);
        for part in 0..parts {
            let count = self.count * (part + 1) / parts - self.count * part / parts;
            let block = allocate(self.blocks.get(part).copied())?;
            nodes.push(Place { pointer: Pointer { block, check: generation }, count });
        }
        *self = Self::default();
        Ok(())
    }
}
