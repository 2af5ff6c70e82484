//! hfsplus, the file system of the Macintosh. Debian has no program that makes it and none that checks it, so an empty
//! volume is put together here: a header and its copy, a bitmap, and two trees of which one is empty.
//!
//! Everything on disk is big-endian. The layout is that of Apple's Technical Note 1150, without a journal.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use vfs::{Conventions, DirLinks, OpKind, OwnAttributes, generate::OpSet};

use super::{ALL_OPS, ALL_WAYS, ATTRIBUTES, FALLOCATE, Kind, Making};

/// The kernel mounts what was not unmounted read-only, unless it is told to take it as it is: nobody here repairs it.
pub(super) const HFSPLUS: Kind = Kind {
    name: "hfsplus",
    kib_min: 2 << 10,
    making: Making::Ours(make),
    checking: None,
    mount_options: "force",
    hidden: &[],
    emptied: &[],
    ways: ALL_WAYS,
    exchanges: false,
    ops: ALL_OPS.without(ATTRIBUTES).without(FALLOCATE).without(OpSet::of(&[OpKind::Link])),
    fallocate: &[],
    conventions: Conventions {
        dir_links: DirLinks::AlwaysOne,
        own_attributes: OwnAttributes::Named(&["osx.com.apple.FinderInfo"]),
        ..Conventions::POSIX
    },
};

/// An allocation block, and a node of a tree.
const BLOCK: u32 = 4096;
const NODE: usize = BLOCK as usize;
/// Where things lie, in blocks. The header is in the first block and its copy in the last.
const BITMAP: u32 = 1;
const EXTENTS: u32 = 2;
const EXTENTS_LEN: u32 = 1;
const CATALOG: u32 = EXTENTS + EXTENTS_LEN;
const CATALOG_LEN: u32 = 16;
const FIRST_FREE: u32 = CATALOG + CATALOG_LEN;
const HEADER_AT: u64 = 1024;
/// Seconds since 1904: the moment at which guests mount.
const NOW: u32 = 3_082_844_800;
const ROOT_PARENT: u32 = 1;
const ROOT: u32 = 2;
const FIRST_USER_NODE: u32 = 16;
const VOLUME: &str = "shakedown";
/// Nodes of trees.
const HEADER_NODE: u8 = 1;
const LEAF_NODE: u8 = 0xff;
const BIG_KEYS: u32 = 2;
const VARIABLE_KEYS: u32 = 4;
/// Names are compared as they are written, not without regard to case.
const HFSX_BINARY: u8 = 0xbc;

fn make(file: &File, bytes: u64) -> io::Result<()> {
    let blocks = u32::try_from(bytes / u64::from(BLOCK)).unwrap_or(u32::MAX);
    let header = volume_header(blocks);
    file.write_all_at(&header, HEADER_AT)?;
    file.write_all_at(&header, bytes - 1024)?;
    file.write_all_at(&bitmap(blocks), at(BITMAP))?;
    let extents = Tree { depth: 0, root: 0, records: 0, leaf: 0, key_len_max: 10, nodes: EXTENTS_LEN, used: 1 };
    file.write_all_at(&extents.header_node(BIG_KEYS, 0), at(EXTENTS))?;
    let catalog = Tree { depth: 1, root: 1, records: 2, leaf: 1, key_len_max: 516, nodes: CATALOG_LEN, used: 2 };
    file.write_all_at(&catalog.header_node(BIG_KEYS | VARIABLE_KEYS, HFSX_BINARY), at(CATALOG))?;
    file.write_all_at(&catalog_leaf(), at(CATALOG + 1))
}

fn at(block: u32) -> u64 {
    u64::from(block) * u64::from(BLOCK)
}

/// Bytes that are appended field by field.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn zeros(self, count: usize) -> Self {
        self.bytes(&vec![0; count])
    }

    fn byte(self, number: u8) -> Self {
        self.bytes(&[number])
    }

    fn short(self, number: u16) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    fn long(self, number: u32) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    fn longs(self, numbers: &[u32]) -> Self {
        numbers.iter().fold(self, |record, number| record.long(*number))
    }

    /// A name: its length, then UTF-16.
    fn name(self, name: &str) -> Self {
        let units: Vec<u16> = name.encode_utf16().collect();
        let count = u16::try_from(units.len()).unwrap_or(u16::MAX);
        units.into_iter().fold(self.short(count), Self::short)
    }

    /// A special file: its size, and the one extent that it has.
    fn fork(self, start: u32, len: u32) -> Self {
        let size = at(len);
        self.bytes(&size.to_be_bytes()).longs(&[BLOCK, len, start, len]).zeros(56)
    }
}

fn volume_header(blocks: u32) -> Vec<u8> {
    const HFSX: u16 = 0x4858;
    const VERSION: u16 = 5;
    const UNMOUNTED: u32 = 0x100;
    let free = blocks - FIRST_FREE - 1;
    Record::default()
        .short(HFSX)
        .short(VERSION)
        .long(UNMOUNTED)
        .bytes(b"10.0")
        .long(0)
        .longs(&[NOW, NOW, 0, NOW])
        // Files and folders, besides the root.
        .longs(&[0, 0])
        .longs(&[BLOCK, blocks, free, FIRST_FREE, BLOCK, BLOCK, FIRST_USER_NODE, 0])
        // Encodings in use: Roman.
        .longs(&[0, 1])
        .zeros(24)
        .bytes(&0x5eed_5eed_5eed_5eed_u64.to_be_bytes())
        .fork(BITMAP, 1)
        .fork(EXTENTS, EXTENTS_LEN)
        .fork(CATALOG, CATALOG_LEN)
        // Attributes and start-up file: none.
        .zeros(160)
        .0
}

/// One block holds the bits of 32768 blocks: 128 MiB.
fn bitmap(blocks: u32) -> Vec<u8> {
    let mut bits = vec![0; NODE];
    for block in (0..FIRST_FREE).chain([blocks - 1]) {
        if let Some(byte) = bits.get_mut(block as usize / 8) {
            *byte |= 0x80 >> (block % 8);
        }
    }
    bits
}

struct Tree {
    depth: u16,
    root: u32,
    records: u32,
    leaf: u32,
    key_len_max: u16,
    nodes: u32,
    used: u32,
}

impl Tree {
    /// The first node: what is known about the tree, room that nobody uses, and which nodes are in use.
    fn header_node(&self, attributes: u32, compare: u8) -> Vec<u8> {
        let about = Record::default()
            .short(self.depth)
            .longs(&[self.root, self.records, self.leaf, self.leaf])
            .short(u16::try_from(BLOCK).unwrap_or(u16::MAX))
            .short(self.key_len_max)
            .longs(&[self.nodes, self.nodes - self.used])
            .short(0)
            .long(BLOCK)
            .byte(0)
            .byte(compare)
            .long(attributes)
            .zeros(64);
        let mut in_use = vec![0; NODE - 14 - 106 - 128 - 8];
        in_use[0] = !(0xff_u8 >> self.used);
        node(HEADER_NODE, 0, &[about.0, vec![0; 128], in_use])
    }
}

/// The only leaf of the catalog: the root directory under its name, and the way back from its number to the name.
fn catalog_leaf() -> Vec<u8> {
    const FOLDER: u16 = 1;
    const FOLDER_THREAD: u16 = 3;
    const DIRECTORY: u16 = 0o40755;
    let name_bytes = u16::try_from(VOLUME.len() * 2).unwrap_or(u16::MAX);
    let folder = Record::default()
        .short(6 + name_bytes)
        .long(ROOT_PARENT)
        .name(VOLUME)
        .short(FOLDER)
        .short(0)
        .longs(&[0, ROOT, NOW, NOW, NOW, NOW, 0])
        // Owner, group, flags, mode, and what is special about it.
        .longs(&[0, 0])
        .short(0)
        .short(DIRECTORY)
        .long(1)
        .zeros(32)
        .longs(&[0, 0]);
    let thread =
        Record::default().short(6).long(ROOT).short(0).short(FOLDER_THREAD).short(0).long(ROOT_PARENT).name(VOLUME);
    node(LEAF_NODE, 1, &[folder.0, thread.0])
}

/// A node: what it is, its records from the front, and where each begins from the back.
fn node(kind: u8, height: u8, records: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
    let mut node = Record::default().longs(&[0, 0]).byte(kind).byte(height).short(count).short(0).0;
    let mut starts = Vec::new();
    for record in records {
        starts.push(node.len());
        node.extend_from_slice(record);
    }
    starts.push(node.len());
    node.resize(NODE, 0);
    for (place, start) in starts.into_iter().enumerate() {
        let end = NODE - 2 * place;
        node[end - 2..end].copy_from_slice(&u16::try_from(start).unwrap_or(u16::MAX).to_be_bytes());
    }
    node
}
