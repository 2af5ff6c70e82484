//! Where everything lies on the disk, and what the bytes of each block mean.
//!
//! ```text
//! 0            1             2             3 4          5                   6 ...  6+log ...
//! superblock   block bitmap  inode bitmap  inode table  journal superblock  log    data area
//! ```
//!
//! A block has 32 bytes and is the unit that the disk writes atomically. Every number fits into one or two bytes. An
//! inode has one direct pointer and one to an indirect block, so that the second block of a file already needs the
//! indirect one: small searches reach all of it.

use disk::{Block, BlockSize, Geometry, Image};

use super::record::JournalSuper;
use crate::nodes::{Ino, Kind};

/// Bytes in a block.
pub const BLOCK_BYTES: usize = BLOCK_SIZE as usize;
/// The same, as sizes are stored.
pub(super) const BLOCK_SIZE: u16 = 32;
/// What a block holds.
pub(super) type Content = [u8; BLOCK_BYTES];
/// A block full of zeros.
pub(super) const ZEROS: Content = [0; BLOCK_BYTES];

pub(super) const SUPER: Block = Block(0);
pub(super) const BLOCK_BITMAP: Block = Block(1);
pub(super) const INODE_BITMAP: Block = Block(2);
pub(super) const INODE_TABLE: Block = Block(3);
pub(super) const JOURNAL_SUPER: Block = Block(5);
pub(super) const LOG: Block = Block(6);

/// Inodes are numbered from 1, so that 0 can stand for none.
pub(super) const ROOT: Ino = Ino(1);
pub(super) const INODES: u32 = 8;
const INODE_BYTES: usize = 8;
pub(super) const INODES_PER_BLOCK: u32 = 4;

/// The longest name.
pub(super) const NAME_BYTES_MAX: usize = 6;
const ENTRY_BYTES: usize = NAME_BYTES_MAX + 2;
/// Names in a block of a directory.
pub(super) const ENTRIES_PER_BLOCK: usize = BLOCK_BYTES / ENTRY_BYTES;

/// Blocks that a file can have: the direct one, and those that the indirect block lists.
pub(super) const FILE_BLOCKS_MAX: usize = 1 + BLOCK_BYTES;
/// Bytes that a file can have.
pub(super) const FILE_BYTES_MAX: u64 = (FILE_BLOCKS_MAX * BLOCK_BYTES) as u64;

/// The sizes of the parts whose size is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blocks of the log.
    pub log: u8,
    /// Blocks of the data area, the root directory's first block among them.
    pub data: u8,
}

impl Layout {
    /// The first block of the data area.
    pub(super) fn data_start(self) -> Block {
        Block(LOG.0 + u32::from(self.log))
    }

    /// The blocks of the data area.
    pub(super) fn data_blocks(self) -> impl DoubleEndedIterator<Item = Block> {
        let start = self.data_start().0;
        (start..start + u32::from(self.data)).map(Block)
    }

    /// Where a data block stands in the bitmap; `None` for a block outside the data area.
    pub(super) fn data_index(self, block: Block) -> Option<usize> {
        let index = block.0.checked_sub(self.data_start().0)?;
        (index < u32::from(self.data)).then_some(index as usize)
    }

    /// Whether the journal may hold copies of this block.
    pub(super) fn is_home(self, block: Block) -> bool {
        (BLOCK_BITMAP.0..JOURNAL_SUPER.0).contains(&block.0) || self.data_index(block).is_some()
    }

    /// The block of the log at an index, counted around its end.
    pub(super) fn log_block(self, index: u32) -> Block {
        Block(LOG.0 + index % u32::from(self.log))
    }

    /// The shape of the disk.
    pub(super) fn geometry(self) -> Geometry {
        let block_size = BlockSize::new(u32::from(BLOCK_SIZE)).expect("a power of two");
        Geometry { block_size, blocks: self.data_start().0 + u32::from(self.data) }
    }

    /// A fresh file system: a clean superblock, an empty log, an empty root directory.
    pub(super) fn format(self) -> Image {
        let mut image = Image::zeroed(self.geometry());
        let root = Inode { kind: Kind::Dir, links: 1, size: BLOCK_SIZE, direct: self.data_start(), indirect: NONE };
        let mut table = ZEROS;
        Inode::store(&mut table, ROOT, Some(root));
        let mut bitmap = ZEROS;
        set_bit(&mut bitmap, 0, true);
        let contents = [
            (SUPER, Super { clean: true }.encode(self)),
            (BLOCK_BITMAP, bitmap),
            (INODE_BITMAP, bitmap),
            (INODE_TABLE, table),
            (JOURNAL_SUPER, JournalSuper { sequence: 1, tail: 0 }.encode()),
        ];
        for (block, content) in contents {
            image.write(block, &content).expect("the disk has these blocks");
        }
        image
    }
}

/// One bit of a bitmap.
pub(super) fn get_bit(bitmap: &Content, bit: usize) -> bool {
    bitmap[bit / 8] & 1 << (bit % 8) != 0
}

/// Sets or clears one bit of a bitmap.
pub(super) fn set_bit(bitmap: &mut Content, bit: usize, value: bool) {
    let mask = 1 << (bit % 8);
    bitmap[bit / 8] = if value { bitmap[bit / 8] | mask } else { bitmap[bit / 8] & !mask };
}

/// The bit of an inode in the inode bitmap.
pub(super) fn inode_bit(ino: Ino) -> usize {
    ino.0 as usize - 1
}

/// Whether there is such an inode.
pub(super) fn is_inode(ino: Ino) -> bool {
    (1..=INODES).contains(&ino.0)
}

/// Bytes that mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// The superblock: which file system this is, and whether it was unmounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Super {
    /// Nothing is left in the journal that would have to be replayed.
    pub clean: bool,
}

impl Super {
    const MAGIC: [u8; 4] = *b"jrnl";

    pub fn encode(self, layout: Layout) -> Content {
        let mut content = ZEROS;
        content[..4].copy_from_slice(&Self::MAGIC);
        content[4..7].copy_from_slice(&[layout.log, layout.data, u8::from(self.clean)]);
        content
    }

    pub fn decode(content: &Content, layout: Layout) -> Option<Self> {
        let found = Self { clean: content[6] == 1 };
        (found.encode(layout) == *content).then_some(found)
    }
}

/// A pointer that leads nowhere: block 0 is the superblock and never belongs to a file.
pub(super) const NONE: Block = Block(0);

/// An inode in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub kind: Kind,
    pub links: u8,
    pub size: u16,
    pub direct: Block,
    pub indirect: Block,
}

impl Inode {
    /// A new one.
    pub fn new(kind: Kind) -> Self {
        Self { kind, links: 1, size: 0, direct: NONE, indirect: NONE }
    }

    /// The block of the table that holds an inode.
    pub fn home(ino: Ino) -> Block {
        Block(INODE_TABLE.0 + (ino.0 - 1) / INODES_PER_BLOCK)
    }

    /// Whether a block is one of the table.
    pub fn is_table(block: Block) -> bool {
        (INODE_TABLE.0..JOURNAL_SUPER.0).contains(&block.0)
    }

    fn place(ino: Ino) -> std::ops::Range<usize> {
        let start = ((ino.0 - 1) % INODES_PER_BLOCK) as usize * INODE_BYTES;
        start..start + INODE_BYTES
    }

    /// Reads an inode from its block of the table; `None` is a free one.
    pub fn load(table: &Content, ino: Ino) -> Result<Option<Self>, Damaged> {
        let bytes = &table[Self::place(ino)];
        let kind = match bytes[0] {
            0 => return Ok(None),
            1 => Kind::File,
            2 => Kind::Dir,
            _ => return Err(Damaged),
        };
        let size = u16::from_le_bytes([bytes[2], bytes[3]]);
        let [direct, indirect] = [bytes[4], bytes[5]].map(|number| Block(u32::from(number)));
        Ok(Some(Self { kind, links: bytes[1], size, direct, indirect }))
    }

    /// Puts an inode into its block of the table; `None` frees it.
    pub fn store(table: &mut Content, ino: Ino, inode: Option<Self>) {
        let bytes = &mut table[Self::place(ino)];
        bytes.fill(0);
        let Some(Self { kind, links, size, direct, indirect }) = inode else { return };
        let [low, high] = size.to_le_bytes();
        let kind = if kind == Kind::File { 1 } else { 2 };
        bytes[..6].copy_from_slice(&[kind, links, low, high, pointer(direct), pointer(indirect)]);
    }

    /// How many blocks its size covers.
    pub fn blocks(self) -> usize {
        usize::from(self.size).div_ceil(BLOCK_BYTES)
    }
}

/// A block number as it is stored: one byte.
pub(super) fn pointer(block: Block) -> u8 {
    u8::try_from(block.0).expect("the layout has fewer than 256 blocks")
}

/// A name in a block of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirEntry<'a> {
    pub ino: Ino,
    pub name: &'a str,
}

impl<'a> DirEntry<'a> {
    /// Reads a slot; `None` is a free one. The inode number may be one that does not exist.
    pub fn load(content: &'a Content, slot: usize) -> Result<Option<Self>, Damaged> {
        let bytes = &content[slot * ENTRY_BYTES..][..ENTRY_BYTES];
        if bytes[0] == 0 {
            return Ok(None);
        }
        let name = bytes[2..].get(..usize::from(bytes[1])).filter(|name| !name.is_empty()).ok_or(Damaged)?;
        let name = std::str::from_utf8(name).map_err(|_| Damaged)?;
        if name.contains(['/', '\0']) || matches!(name, "." | "..") {
            return Err(Damaged);
        }
        Ok(Some(Self { ino: Ino(u32::from(bytes[0])), name }))
    }

    /// Fills a slot; `None` frees it.
    pub fn store(content: &mut Content, slot: usize, entry: Option<DirEntry<'_>>) {
        let bytes = &mut content[slot * ENTRY_BYTES..][..ENTRY_BYTES];
        bytes.fill(0);
        let Some(DirEntry { ino, name }) = entry else { return };
        bytes[0] = u8::try_from(ino.0).expect("there are few inodes");
        bytes[1] = u8::try_from(name.len()).expect("names are short");
        bytes[2..2 + name.len()].copy_from_slice(name.as_bytes());
    }
}
