//! What the trees are made of: items, sorted by (object, kind, offset), as in btrfs.
//!
//! A node of the file system is an inode item, one entry item for each name in it if it is a directory, and one extent
//! item for each block of data if it is a file. The key of an entry holds the whole name, so that names are at most
//! six bytes and never collide.

use std::sync::Arc;

use disk::Block;

use crate::nodes::{Ino, Kind};

/// The longest name: it must fit into the offset of a key.
pub(super) const NAME_BYTES_MAX: usize = 6;
/// The bytes of a key on disk: the object, the kind, and an offset of the size of a name.
const KEY_BYTES: usize = 2 + NAME_BYTES_MAX;
/// The bytes of a value on disk.
const VALUE_BYTES: usize = 5;
/// The bytes of an item on disk.
pub(super) const ITEM_BYTES: usize = KEY_BYTES + VALUE_BYTES;

/// The bytes after a key.
pub(super) type Value = [u8; VALUE_BYTES];

/// What an item says of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum ItemKind {
    /// A node: its kind, links and size.
    Inode = 1,
    /// A name in a directory; the offset is the name.
    Entry = 2,
    /// A block of a file; the offset counts blocks.
    Extent = 3,
    /// Which blocks of a group hold tree nodes; the object is the group.
    NodeBlocks = 4,
    /// Which blocks of a group hold data.
    DataBlocks = 5,
}

impl ItemKind {
    fn decode(byte: u8) -> Option<Self> {
        [Self::Inode, Self::Entry, Self::Extent, Self::NodeBlocks, Self::DataBlocks]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub object: u8,
    pub kind: ItemKind,
    /// At most what fits into the bytes of a name.
    pub offset: u64,
}

impl Key {
    pub fn inode(ino: Ino) -> Self {
        Self { object: number(ino), kind: ItemKind::Inode, offset: 0 }
    }

    pub fn extent(ino: Ino, index: u32) -> Self {
        Self { object: number(ino), kind: ItemKind::Extent, offset: u64::from(index) }
    }

    /// The key of a name that is not too long.
    pub fn entry(dir: Ino, name: &str) -> Self {
        let bytes = name.bytes().chain(std::iter::repeat(0)).take(NAME_BYTES_MAX);
        let offset = bytes.fold(0, |offset, byte| offset << 8 | u64::from(byte));
        Self { object: number(dir), kind: ItemKind::Entry, offset }
    }

    /// The name in the key of an entry; `None` if no file can have that name.
    pub fn name(self, buffer: &mut [u8; NAME_BYTES_MAX]) -> Option<&str> {
        *buffer = self.offset_bytes();
        let len = buffer.iter().rposition(|byte| *byte != 0)? + 1;
        let name = std::str::from_utf8(&buffer[..len]).ok()?;
        (!name.contains(['/', '\0']) && !matches!(name, "." | "..")).then_some(name)
    }

    fn offset_bytes(self) -> [u8; NAME_BYTES_MAX] {
        let [_, _, bytes @ ..] = self.offset.to_be_bytes();
        bytes
    }

    /// The node that the item belongs to.
    pub fn ino(self) -> Ino {
        Ino(u32::from(self.object))
    }
}

/// Inode numbers are given out here and never exceed a byte; a number from elsewhere that does is no node at all.
fn number(ino: Ino) -> u8 {
    u8::try_from(ino.0).unwrap_or(0)
}

/// One fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub key: Key,
    pub value: Value,
}

impl Item {
    pub fn encode(&self, bytes: &mut [u8]) {
        bytes[0] = self.key.object;
        bytes[1] = self.key.kind as u8;
        bytes[2..KEY_BYTES].copy_from_slice(&self.key.offset_bytes());
        bytes[KEY_BYTES..ITEM_BYTES].copy_from_slice(&self.value);
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let key = Key {
            object: *bytes.first()?,
            kind: ItemKind::decode(*bytes.get(1)?)?,
            offset: bytes.get(2..KEY_BYTES)?.iter().fold(0, |offset, byte| offset << 8 | u64::from(*byte)),
        };
        Some(Self { key, value: bytes.get(KEY_BYTES..ITEM_BYTES)?.try_into().ok()? })
    }

    /// What an entry leads to.
    pub fn child(&self) -> Ino {
        Ino(u32::from(self.value[0]))
    }
}

/// The value of an entry.
pub(super) fn leads_to(ino: Ino) -> Value {
    [number(ino), 0, 0, 0, 0]
}

/// The value of an inode item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub kind: Kind,
    pub links: u8,
    pub size: u16,
    /// Permission bits.
    pub mode: u16,
}

impl Inode {
    /// Without content, and with one name.
    pub fn new(kind: Kind) -> Self {
        Self { kind, links: 1, size: 0, mode: u16::try_from(kind.mode()).unwrap_or(0) }
    }

    pub fn encode(self) -> Value {
        let [low, high] = self.size.to_le_bytes();
        let [mode_low, mode_high] = self.mode.to_le_bytes();
        [u8::from(self.kind == Kind::Dir) | mode_high << 1, self.links, low, high, mode_low]
    }

    pub fn decode([dir, links, low, high, mode_low]: Value) -> Self {
        let kind = if dir & 1 == 0 { Kind::File } else { Kind::Dir };
        let mode = u16::from_le_bytes([mode_low, dir >> 1 & 1]);
        Self { kind, links, size: u16::from_le_bytes([low, high]), mode }
    }
}

/// A block and a number that its content must agree with: for a node its generation, for data the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub block: Block,
    pub check: u32,
}

impl Pointer {
    /// To no block: the data is still in memory, or there is no such tree.
    pub const NOWHERE: Self = Self { block: Block(0), check: 0 };

    pub fn encode(self) -> Value {
        let [a, b, c, d] = self.check.to_le_bytes();
        [u8::try_from(self.block.0).unwrap_or(0), a, b, c, d]
    }

    pub fn decode([block, check @ ..]: Value) -> Self {
        Self { block: Block(u32::from(block)), check: u32::from_le_bytes(check) }
    }
}

/// Items in the order of their keys, each key once. A clone shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Items(Arc<Vec<Item>>);

impl Items {
    pub fn as_slice(&self) -> &[Item] {
        &self.0
    }

    pub fn get(&self, key: Key) -> Option<Value> {
        self.0.binary_search_by_key(&key, |item| item.key).ok().map(|at| self.0[at].value)
    }

    pub fn put(&mut self, key: Key, value: Value) {
        let items = Arc::make_mut(&mut self.0);
        match items.binary_search_by_key(&key, |item| item.key) {
            Ok(at) => items[at].value = value,
            Err(at) => items.insert(at, Item { key, value }),
        }
    }

    pub fn remove(&mut self, key: Key) {
        if let Ok(at) = self.0.binary_search_by_key(&key, |item| item.key) {
            Arc::make_mut(&mut self.0).remove(at);
        }
    }

    pub fn retain(&mut self, keep: impl FnMut(&Item) -> bool) {
        Arc::make_mut(&mut self.0).retain(keep);
    }

    pub fn inode(&self, ino: Ino) -> Option<Inode> {
        self.get(Key::inode(ino)).map(Inode::decode)
    }

    /// The items of one kind that an object has.
    pub fn of(&self, ino: Ino, kind: ItemKind) -> &[Item] {
        let object = number(ino);
        let start = self.0.partition_point(|item| (item.key.object, item.key.kind) < (object, kind));
        let end = self.0.partition_point(|item| (item.key.object, item.key.kind) <= (object, kind));
        &self.0[start..end]
    }

    /// All items of one kind.
    pub fn all(&self, kind: ItemKind) -> impl Iterator<Item = &Item> {
        self.0.iter().filter(move |item| item.key.kind == kind)
    }

    /// The names of a node, in the order of their keys.
    pub fn names(&self, ino: Ino) -> impl Iterator<Item = &Item> {
        self.all(ItemKind::Entry).filter(move |item| item.child() == ino)
    }
}

impl From<Vec<Item>> for Items {
    /// The items must be in order.
    fn from(items: Vec<Item>) -> Self {
        Self(Arc::new(items))
    }
}
