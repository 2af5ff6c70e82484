//! What must hold of the metadata: between names and inodes, and between the trees and the extent tree.

use check::Finding;
use disk::Block;
use explore::Property;

use super::{
    Cow,
    item::{Inode, Item, ItemKind, NAME_BYTES_MAX},
    memory::Memory,
    space::Blocks,
};
use crate::nodes::{Ino, Kind};

/// A name leads to a node that does not exist.
pub const DANGLING_NAME: Property = Property::critical("dangling-name");
/// A node has no name: nobody can reach it or free it.
pub const NAMELESS_NODE: Property = Property::critical("nameless-node");
/// A file has another number of names than it counts.
pub const MISCOUNTED_LINKS: Property = Property::critical("miscounted-links");
/// A block is in use and the extent tree calls it free: the next commit may overwrite it.
pub const UNALLOCATED_BLOCK: Property = Property::critical("unallocated-block");
/// A block is used for two things.
pub const SHARED_BLOCK: Property = Property::critical("shared-block");
/// A block is allocated and nothing uses it: room is lost, data is not.
pub const LEAKED_BLOCK: Property = Property::not_critical("leaked-block");

impl Cow {
    pub(super) fn findings(memory: &Memory) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut find = |property, detail| findings.push(Finding { property, detail });
        Self::check_names(memory, &mut find);
        Self::check_blocks(memory, &mut find);
        findings
    }

    fn check_names(memory: &Memory, find: &mut dyn FnMut(Property, String)) {
        let items = &memory.items;
        for entry in items.all(ItemKind::Entry) {
            let (name, child) = (entry.key.name(&mut [0; NAME_BYTES_MAX]).unwrap_or("?").to_owned(), entry.child().0);
            if items.inode(entry.child()).is_none() {
                find(DANGLING_NAME, format!("{name:?} leads to node {child}, which does not exist"));
            }
            if items.inode(entry.key.ino()).is_none_or(|dir| dir.kind != Kind::Dir) {
                let dir = entry.key.object;
                find(DANGLING_NAME, format!("{name:?} is in node {dir}, which is no directory"));
            }
        }
        for inode in items.all(ItemKind::Inode) {
            Self::check_links(memory, inode, find);
        }
    }

    fn check_links(memory: &Memory, inode: &Item, find: &mut dyn FnMut(Property, String)) {
        let Ino(number) = inode.key.ino();
        let Inode { links, .. } = Inode::decode(inode.value);
        let names = memory.items.names(Ino(number)).count() + usize::from(Ino(number) == Self::ROOT);
        match names {
            0 => find(NAMELESS_NODE, format!("node {number} has no name")),
            names if names != usize::from(links) => {
                find(MISCOUNTED_LINKS, format!("node {number} has {names} names and counts {links}"));
            }
            _ => {}
        }
    }

    /// The trees as committed, and the data as it is now, which a commit may come to share with them.
    fn check_blocks(memory: &Memory, find: &mut dyn FnMut(Property, String)) {
        let mut seen = Blocks::default();
        let nodes = memory.files.blocks().chain(memory.extents.blocks());
        for block in nodes.chain(memory.data_blocks()) {
            if !seen.insert(block) {
                find(SHARED_BLOCK, format!("block {block} is used for two things"));
            }
            if !memory.used.contains(block) {
                find(UNALLOCATED_BLOCK, format!("block {block} is in use, but free in the extent tree"));
            }
        }
        if memory.is_clean() {
            let is_leaked = |block: &Block| !seen.contains(*block) && block.0 >= super::layout::BLOCKS_FIRST;
            for block in memory.used.iter().filter(is_leaked) {
                find(LEAKED_BLOCK, format!("block {block} is allocated, but nothing uses it"));
            }
        }
    }
}
