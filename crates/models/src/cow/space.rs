//! Which blocks are in use, in memory as a set and on disk as the items of the extent tree.
//!
//! As in the free-space tree of btrfs, an item is a bitmap of one group of blocks; here there are two for each group,
//! nodes and data apart.

use disk::Block;

use super::{
    item::{Item, ItemKind, Items, Key},
    layout::BLOCKS_FIRST,
};

/// The most blocks of a disk: a set of them is one word.
pub const BLOCKS_MAX: u32 = u64::BITS;
/// The blocks that one item of the extent tree speaks of.
const GROUP_BLOCKS: u32 = 16;

/// A set of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks(pub u64);

impl Blocks {
    pub fn contains(self, block: Block) -> bool {
        block.0 < BLOCKS_MAX && self.0 & 1 << block.0 != 0
    }

    /// Adds a block that the disk has; whether it was not there before.
    pub fn insert(&mut self, block: Block) -> bool {
        let is_new = !self.contains(block);
        self.0 |= 1 << (block.0 % BLOCKS_MAX);
        is_new
    }

    /// The first block that trees and data may have and that is not in the set.
    pub fn first_free(self, blocks: u32) -> Option<Block> {
        (BLOCKS_FIRST..blocks).map(Block).find(|block| !self.contains(*block))
    }

    /// How many blocks are not in the set.
    pub fn free(self, blocks: u32) -> usize {
        (BLOCKS_FIRST..blocks).filter(|block| !self.contains(Block(*block))).count()
    }

    pub fn iter(self) -> impl Iterator<Item = Block> {
        (0..BLOCKS_MAX).map(Block).filter(move |block| self.contains(*block))
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        let mut set = Self::default();
        for block in blocks {
            set.insert(block);
        }
        set
    }
}

/// The items of the extent tree, always the same number of them.
pub(super) fn items(nodes: Blocks, data: Blocks, blocks: u32) -> Items {
    let item = |group: u32, kind, set: Blocks| {
        let [low, high, ..] = (set.0 >> (group * GROUP_BLOCKS)).to_le_bytes();
        let key = Key { object: u8::try_from(group).unwrap_or(0), kind, offset: 0 };
        Item { key, value: [low, high, 0, 0, 0] }
    };
    let both = |group| [item(group, ItemKind::NodeBlocks, nodes), item(group, ItemKind::DataBlocks, data)];
    (0..blocks.div_ceil(GROUP_BLOCKS)).flat_map(both).collect::<Vec<_>>().into()
}

/// What the items of an extent tree say is in use.
pub(super) fn in_use(items: &Items) -> Blocks {
    let bits = |item: &Item| {
        let bits = u64::from(u16::from_le_bytes([item.value[0], item.value[1]]));
        bits.checked_shl(u32::from(item.key.object) * GROUP_BLOCKS).unwrap_or(0)
    };
    Blocks(items.as_slice().iter().map(bits).fold(0, |all, bits| all | bits))
}
