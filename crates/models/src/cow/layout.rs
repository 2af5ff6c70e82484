//! Where everything lies on the disk, and the bytes of it.
//!
//! Two superblocks of two sectors each, written in turn; after them blocks of one sector that are a tree node, data or
//! free. A node has a checksum, the generation in which it was written, its level and up to four items. The checksum
//! is seeded with the place, so that a block in the wrong place is no valid node. Because a superblock has two sectors,
//! a power cut can leave half of one; its checksum says so.

use disk::{Block, BlockSize, Disk, Geometry};
use smallvec::SmallVec;
use vfs::Errno;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::item::{ITEM_BYTES, Inode, Item, ItemKind, NAME_BYTES_MAX, Pointer};
use crate::nodes::{Kind, io};

/// The bytes of a block: of a sector of the disk, of a tree node, and of an extent of data.
pub const BLOCK_BYTES: usize = 64;
/// The sectors of a superblock.
const SUPER_SECTORS: u32 = 2;
/// The first block that trees and data may have.
pub(super) const BLOCKS_FIRST: u32 = 2 * SUPER_SECTORS;
/// The items of a node.
pub(super) const FANOUT: usize = 4;
/// The levels of a tree, more than a disk of a few blocks can hold.
const LEVELS_MAX: u8 = 8;

const MAGIC: [u8; 4] = *b"cow1";
const NODE_HEADER_BYTES: usize = 9;
/// The bytes of a superblock.
pub(super) const SUPER_BYTES: usize = SUPER_SECTORS as usize * BLOCK_BYTES;

/// The block of a file's content.
pub(super) type Page = [u8; BLOCK_BYTES];

pub(super) fn geometry(blocks: u32) -> Geometry {
    let block_size = BlockSize::new(64).unwrap_or(BlockSize::SECTOR);
    Geometry { block_size, blocks }
}

/// The checksum of what lies in a block.
pub(super) fn checksum(content: &[u8], block: Block) -> u32 {
    let [a, b, c, d, ..] = xxh3_64_with_seed(content, u64::from(block.0)).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Where everything begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// Which write of a superblock this is: the highest is the newest.
    pub sequence: u32,
    /// The generation of the trees.
    pub generation: u32,
    pub files: Pointer,
    pub extents: Pointer,
    pub log: Option<Pointer>,
}

impl Superblock {
    /// Where the superblock with this sequence number goes: over the older one of the two.
    pub fn place(sequence: u32) -> Block {
        Block(sequence % 2 * SUPER_SECTORS)
    }

    pub fn encode(&self) -> [u8; SUPER_BYTES] {
        let mut bytes = [0; SUPER_BYTES];
        bytes[4..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..21].copy_from_slice(&self.files.encode());
        let second = &mut bytes[BLOCK_BYTES..];
        second[..5].copy_from_slice(&self.extents.encode());
        second[5..10].copy_from_slice(&self.log.unwrap_or(Pointer::NOWHERE).encode());
        let sum = checksum(&bytes[4..], Self::place(self.sequence));
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; SUPER_BYTES], place: Block, verified: bool) -> Option<Self> {
        let right = bytes[4..8] == MAGIC && (!verified || number(bytes, 0) == checksum(&bytes[4..], place));
        let pointer = |at: usize| bytes[at..at + 5].try_into().ok().map(Pointer::decode);
        let superblock = Self {
            sequence: number(bytes, 8),
            generation: number(bytes, 12),
            files: pointer(16)?,
            extents: pointer(BLOCK_BYTES)?,
            log: pointer(BLOCK_BYTES + 5).filter(|log| *log != Pointer::NOWHERE),
        };
        (right && Self::place(superblock.sequence) == place).then_some(superblock)
    }

    /// The valid superblocks of a disk, the newest first.
    pub fn read_all(disk: &Disk, verified: bool) -> Result<SmallVec<[Self; 2]>, Errno> {
        let mut found = SmallVec::new();
        for place in [Self::place(0), Self::place(1)] {
            let mut bytes = [0; SUPER_BYTES];
            disk.read(place, &mut bytes).map_err(io)?;
            found.extend(Self::decode(&bytes, place, verified));
        }
        found.sort_by_key(|superblock: &Self| std::cmp::Reverse(superblock.sequence));
        Ok(found)
    }
}

/// One block of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub generation: u32,
    /// 0 for a leaf.
    pub level: u8,
    pub entries: SmallVec<[Item; FANOUT]>,
}

impl Node {
    pub fn encode(generation: u32, level: u8, entries: &[Item], block: Block) -> Page {
        let mut bytes = [0; BLOCK_BYTES];
        bytes[4..8].copy_from_slice(&generation.to_le_bytes());
        bytes[8] = level << 4 | u8::try_from(entries.len()).unwrap_or(0);
        let places = bytes[NODE_HEADER_BYTES..].chunks_exact_mut(ITEM_BYTES);
        places.zip(entries).for_each(|(place, entry)| entry.encode(place));
        let sum = checksum(&bytes[4..], block);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The node in a block; `None` if there is none.
    pub fn decode(bytes: &[u8], block: Block) -> Option<Self> {
        if number(bytes, 0) != checksum(&bytes[4..], block) {
            return None;
        }
        let (level, count) = (bytes[8] >> 4, usize::from(bytes[8] & 0xf));
        if level >= LEVELS_MAX || !(1..=FANOUT).contains(&count) {
            return None;
        }
        let places = bytes[NODE_HEADER_BYTES..].chunks_exact(ITEM_BYTES).take(count);
        let entries = places.map(Item::decode).collect::<Option<_>>()?;
        Some(Self { generation: number(bytes, 4), level, entries })
    }

    /// Reads the node that a pointer leads to.
    pub fn read(disk: &Disk, pointer: Pointer, generation_verified: bool) -> Result<Self, Errno> {
        disk.allocate().map_err(io)?;
        let node = Self::decode(disk.try_block(pointer.block).map_err(io)?, pointer.block).ok_or(Errno::EUCLEAN)?;
        if generation_verified && node.generation != pointer.check {
            return Err(Errno::EUCLEAN);
        }
        Ok(node)
    }
}

/// What lies in a block, for people.
pub(super) fn block_name(block: Block) -> String {
    match block.0 {
        0..BLOCKS_FIRST => {
            format!("superblock {}, sector {}", block.0 / SUPER_SECTORS, block.0 % SUPER_SECTORS)
        }
        number => format!("block {number}"),
    }
}

/// What its content says, for people.
pub(super) fn block_content(block: Block, content: &[u8]) -> String {
    let pointer = |at: usize| content[at..at + 5].try_into().map_or(Pointer::NOWHERE, Pointer::decode);
    if block.0 < BLOCKS_FIRST {
        return match block.0 % SUPER_SECTORS {
            0 => format!(
                "write {} of a superblock, generation {}, files at {}",
                number(content, 8),
                number(content, 12),
                pointer(16).block
            ),
            _ if pointer(5) == Pointer::NOWHERE => format!("extents at {}, no log", pointer(0).block),
            _ => format!("extents at {}, log at {}", pointer(0).block, pointer(5).block),
        };
    }
    match Node::decode(content, block) {
        Some(Node { generation, level: 0, entries }) => format!("leaf of generation {generation}: {}", say(&entries)),
        Some(Node { generation, level, entries }) => {
            let children = entries.iter().map(|entry| Pointer::decode(entry.value).block.to_string());
            format!(
                "node of level {level}, generation {generation}: children at {}",
                children.collect::<Vec<_>>().join(", ")
            )
        }
        None => format!("data of fill {}", content[0]),
    }
}

fn say(entries: &[Item]) -> String {
    let word = |item: &Item| {
        let (object, offset) = (item.key.object, item.key.offset);
        match item.key.kind {
            ItemKind::Inode => match Inode::decode(item.value) {
                Inode { kind: Kind::Dir, .. } => format!("{object} is a directory"),
                Inode { links, size, .. } => format!("{object} is a file of {size} bytes, link count {links}"),
            },
            ItemKind::Entry => {
                format!(
                    "{:?} in {object} is {}",
                    item.key.name(&mut [0; NAME_BYTES_MAX]).unwrap_or("?"),
                    item.child().0
                )
            }
            ItemKind::Extent => format!("data {offset} of {object} at {}", Pointer::decode(item.value).block),
            ItemKind::NodeBlocks => format!("nodes of group {object}"),
            ItemKind::DataBlocks => format!("data of group {object}"),
        }
    };
    entries.iter().map(word).collect::<Vec<_>>().join("; ")
}
