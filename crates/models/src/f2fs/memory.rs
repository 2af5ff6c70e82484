//! What is in memory while the file system is mounted: plain arrays that are copied as a whole.
//!
//! Tables and nodes are all loaded by the mount, so nothing but dentry blocks, data and summaries is read later. A
//! dirty mask says what the next checkpoint has to write.

use xxhash_rust::xxh3::xxh3_128;

use super::{
    codec::{Nid, Node, Role, Summary},
    layout::{Addr, Layout, NIDS, Spot},
    variant::Variant,
};

pub(super) const SEGMENTS: usize = Variant::SEGMENTS_MAX as usize;
pub(super) const LOGS: usize = 5;
pub(super) const SEGMENT_BLOCKS: usize = 16;

/// Where the next block of a log goes. There is always room for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    pub segment: u8,
    pub next: u8,
}

/// The memory of a mounted file system.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Of the last checkpoint, and the pack that holds it.
    pub(super) version: u32,
    pub(super) pack: u8,
    pub(super) logs: [Log; LOGS],
    /// Of the segments that the logs write; those of full segments are in the SSA.
    pub(super) summaries: [[Summary; SEGMENT_BLOCKS]; LOGS],
    /// Valid blocks of each segment.
    pub(super) sit: [u16; SEGMENTS],
    /// Where each node was last written.
    pub(super) nat: [Addr; NIDS],
    pub(super) nodes: [Node; NIDS],
    /// Segments that may be written: one bit each.
    pub(super) free: u64,
    /// Segments without a valid block that the last checkpoint still needs.
    pub(super) prefree: u64,
    pub(super) dirty_sit: u64,
    pub(super) dirty_nat: u16,
    pub(super) dirty_nodes: u16,
    /// Entries that the last checkpoint has in its journals and nowhere else.
    pub(super) sit_journal: u64,
    pub(super) nat_journal: u16,
    /// Which copy of each SIT and NAT block counts.
    pub(super) sit_versions: u16,
    pub(super) nat_versions: u8,
    /// Node numbers that may be given out.
    pub(super) free_nids: u16,
    /// Nodes that the last checkpoint knows.
    pub(super) checkpointed: u16,
    /// Whether anything was renamed since the last checkpoint.
    pub(super) renamed: bool,
    /// Whether something was written since the last flush.
    pub(super) unflushed: bool,
}

/// The numbers of the bits that are set, lowest first.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < u64::BITS).then(|| bit.to_le_bytes()[0])
    })
}

impl Memory {
    /// A file system with nothing in it, not even a root.
    pub(super) fn blank(layout: &Layout) -> Self {
        Self {
            version: 0,
            pack: 1,
            logs: [Log::default(); LOGS],
            summaries: [[Summary::default(); SEGMENT_BLOCKS]; LOGS],
            sit: [0; SEGMENTS],
            nat: [Addr::NONE; NIDS],
            nodes: [Node::default(); NIDS],
            free: u64::MAX >> (64 - u32::from(layout.segments)),
            prefree: 0,
            dirty_sit: 0,
            dirty_nat: 0,
            dirty_nodes: 0,
            sit_journal: 0,
            nat_journal: 0,
            sit_versions: 0,
            nat_versions: 0,
            free_nids: u16::MAX << 1,
            checkpointed: 0,
            renamed: false,
            unflushed: false,
        }
    }

    pub(super) fn node(&self, nid: Nid) -> &Node {
        &self.nodes[nid.index()]
    }

    /// A node that is about to change.
    pub(super) fn node_mut(&mut self, nid: Nid) -> &mut Node {
        self.dirty_nodes |= nid.bit();
        &mut self.nodes[nid.index()]
    }

    pub(super) fn is(&self, nid: Nid, role: Role) -> bool {
        nid.exists() && self.node(nid).role == role
    }

    /// Whether nothing has changed since the last checkpoint.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty_nodes == 0 && self.dirty_nat == 0 && self.dirty_sit == 0
    }

    pub(super) fn set_valid(&mut self, spot: Spot, valid: bool) {
        let (map, bit) = (&mut self.sit[usize::from(spot.segment)], 1 << spot.offset);
        *map = if valid { *map | bit } else { *map & !bit };
        self.dirty_sit |= 1 << spot.segment;
    }

    /// Everything that decides the future, as the hash of its bytes. A mask or table that follows from the rest
    /// is cheaper to add than to leave out.
    pub(super) fn hash(&self, logs: usize, layout: &Layout) -> u128 {
        let mut bytes = smallvec::SmallVec::<[u8; 1024]>::new();
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend([self.pack, self.nat_versions, u8::from(self.renamed), u8::from(self.unflushed)]);
        for mask in [self.free, self.prefree, self.dirty_sit, self.sit_journal] {
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        let masks = [self.dirty_nat, self.dirty_nodes, self.nat_journal, self.free_nids, self.checkpointed];
        for mask in masks.into_iter().chain([self.sit_versions]).chain(self.nat.map(|addr| addr.0)) {
            bytes.extend_from_slice(&mask.to_le_bytes());
        }
        for map in &self.sit[..usize::from(layout.segments)] {
            bytes.extend_from_slice(&map.to_le_bytes());
        }
        for (log, summaries) in self.logs.iter().zip(&self.summaries).take(logs) {
            bytes.extend([log.segment, log.next]);
            let written = summaries.iter().take(usize::from(log.next));
            written.for_each(|summary| bytes.extend([summary.nid.0, summary.at]));
        }
        for node in self.nodes.iter().filter(|node| node.role != Role::Free) {
            bytes.extend([node.role as u8, node.owner.0]);
            bytes.extend(node.children.map(|child| child.0));
            bytes.extend_from_slice(node.name.bytes());
            bytes.push(0);
            bytes.extend_from_slice(&node.size.to_le_bytes());
            node.index[..node.room()].iter().for_each(|addr| bytes.extend_from_slice(&addr.0.to_le_bytes()));
        }
        xxh3_128(&bytes)
    }
}
