//! How the structures look on the disk. Every function here takes any bytes and panics at none.

use super::layout::{Addr, BLOCK, NIDS};

/// The bytes of one block.
pub(super) type Bytes = [u8; BLOCK];

/// Addresses in an inode.
pub(super) const INDEX: usize = 4;
/// Addresses in a direct node, which has no name and no size.
pub(super) const DIRECT: usize = 11;
/// Direct nodes of a file.
pub(super) const CHILDREN: usize = 3;
/// Names start in one of so many slots of a dentry block.
pub(super) const SLOTS: usize = 4;
/// Letters in a slot.
const SLOT_LETTERS: usize = 2;
/// A name may take all slots of a block.
pub(super) const NAME_MAX: usize = SLOTS * SLOT_LETTERS;
/// Entries of a journal block.
pub(super) const JOURNAL: usize = 8;

const PACK_MAGIC: u8 = 0xf2;
const FSYNC_MARK: u8 = 1;

/// The number of a node; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nid(pub(super) u8);

impl Nid {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ROOT: Self = Self(1);

    pub(super) fn index(self) -> usize {
        usize::from(self.0) % NIDS
    }

    pub(super) fn bit(self) -> u16 {
        1 << self.index()
    }

    /// Whether there can be such a node.
    pub(super) fn exists(self) -> bool {
        (1..NIDS).contains(&usize::from(self.0))
    }
}

/// What a node block is, with the byte that says so: one that no dentry block starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// The number is not in use.
    #[default]
    Free = 0,
    File = 0xf1,
    Dir = 0xd1,
    /// More addresses of a file.
    Direct = 0xe1,
}

/// A name of at most [`NAME_MAX`] bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileName {
    len: u8,
    bytes: [u8; NAME_MAX],
}

impl FileName {
    /// `None` if it is too long or empty.
    pub fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; NAME_MAX];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        let len = u8::try_from(name.len()).ok().filter(|len| *len > 0)?;
        Some(Self { len, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).min(NAME_MAX)]
    }
}

/// A node, in memory or in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub role: Role,
    /// The directory that an inode has its name in; the inode that a direct node belongs to.
    pub owner: Nid,
    /// The name of an inode.
    pub name: FileName,
    /// The direct nodes of a file.
    pub children: [Nid; CHILDREN],
    /// Bytes of a file.
    pub size: u16,
    /// Blocks of a file, dentry blocks of a directory: at most [`INDEX`] in an inode.
    pub index: [Addr; DIRECT],
}

impl Node {
    /// How many addresses there can be.
    pub fn room(&self) -> usize {
        if self.role == Role::Direct { DIRECT } else { INDEX }
    }
}

/// What a node block says beside its node: when it was written and what follows it in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub nid: Nid,
    /// The inode that the node belongs to.
    pub ino: Nid,
    /// The checkpoint after which it was written.
    pub version: u32,
    /// Whether an `fsync` ends here.
    pub fsync: bool,
    /// The segment of the block that comes next in the log.
    pub next_segment: u8,
}

fn word(bytes: &Bytes, at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn put_word(bytes: &mut Bytes, at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn long(bytes: &Bytes, at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Where the addresses of a direct node begin, and those of an inode.
const DIRECT_INDEX: usize = 10;
const INODE_INDEX: usize = 22;
/// Where an inode names its direct nodes.
const CHILD_NIDS: [usize; CHILDREN] = [19, 30, 31];

pub(super) fn encode_node(node: &Node, footer: Footer) -> Bytes {
    let mut bytes = [0; BLOCK];
    bytes[0] = node.role as u8;
    bytes[1] = footer.nid.0;
    bytes[2] = footer.ino.0;
    bytes[3] = if footer.fsync { FSYNC_MARK } else { 0 };
    bytes[4..8].copy_from_slice(&footer.version.to_le_bytes());
    bytes[8] = footer.next_segment;
    bytes[9] = node.owner.0;
    if node.role == Role::Direct {
        put_index(&mut bytes, DIRECT_INDEX, &node.index);
        return bytes;
    }
    bytes[10] = node.name.len;
    bytes[11..19].copy_from_slice(&node.name.bytes);
    put_word(&mut bytes, 20, node.size);
    put_index(&mut bytes, INODE_INDEX, &node.index[..INDEX]);
    for (at, child) in CHILD_NIDS.into_iter().zip(node.children) {
        bytes[at] = child.0;
    }
    bytes
}

fn put_index(bytes: &mut Bytes, start: usize, index: &[Addr]) {
    for (at, addr) in index.iter().enumerate() {
        put_word(bytes, start + 2 * at, addr.0);
    }
}

/// `None` if this is no node block.
pub(super) fn decode_node(bytes: &Bytes) -> Option<(Node, Footer)> {
    let role = match bytes[0] {
        0xf1 => Role::File,
        0xd1 => Role::Dir,
        0xe1 => Role::Direct,
        _ => return None,
    };
    let (nid, ino) = (Nid(bytes[1]), Nid(bytes[2]));
    if !nid.exists() || !ino.exists() || bytes[3] > FSYNC_MARK {
        return None;
    }
    let mut node = Node { role, owner: Nid(bytes[9]), ..Node::default() };
    let start = if role == Role::Direct { DIRECT_INDEX } else { INODE_INDEX };
    let room = node.room();
    for (at, addr) in node.index.iter_mut().enumerate().take(room) {
        *addr = Addr(word(bytes, start + 2 * at));
    }
    if role != Role::Direct {
        node.name.len = bytes[10];
        node.name.bytes.copy_from_slice(&bytes[11..19]);
        node.size = word(bytes, 20);
        node.children = CHILD_NIDS.map(|at| Nid(bytes[at]));
        let sound = |child: &Nid| *child == Nid::NONE || child.exists();
        if usize::from(node.name.len) > NAME_MAX || !node.children.iter().all(sound) {
            return None;
        }
    }
    let fsync = bytes[3] == FSYNC_MARK;
    Some((node, Footer { nid, ino, version: long(bytes, 4), fsync, next_segment: bytes[8] }))
}

/// For people.
pub(super) fn describe_node(bytes: &Bytes) -> Option<String> {
    let (node, footer) = decode_node(bytes)?;
    let name = String::from_utf8_lossy(node.name.bytes()).into_owned();
    let role = match node.role {
        Role::Dir => format!("directory \"{name}\""),
        Role::Direct => "more addresses".to_owned(),
        _ => format!("file \"{name}\" of {} bytes", node.size),
    };
    let mark = if footer.fsync { ", fsynced" } else { "" };
    Some(format!("node {}: {role}, after checkpoint {}{mark}", footer.nid.0, footer.version))
}

/// The entries of a SIT block (bitmaps of valid blocks) or NAT block (addresses).
pub(super) fn table(bytes: &Bytes) -> [u16; 4] {
    std::array::from_fn(|at| word(bytes, 2 * at))
}

pub(super) fn encode_table(entries: [u16; 4]) -> Bytes {
    let mut bytes = [0; BLOCK];
    for (at, entry) in entries.into_iter().enumerate() {
        put_word(&mut bytes, 2 * at, entry);
    }
    bytes
}

/// A journal: which entry of the SIT or NAT it replaces, and what it says.
pub(super) fn journal(bytes: &Bytes, count: u8) -> impl Iterator<Item = (u8, u16)> {
    (0..usize::from(count).min(JOURNAL)).map(|at| (bytes[4 * at], word(bytes, 4 * at + 2)))
}

pub(super) fn encode_journal(entries: impl Iterator<Item = (u8, u16)>) -> Bytes {
    let mut bytes = [0; BLOCK];
    for (at, (which, entry)) in entries.take(JOURNAL).enumerate() {
        bytes[4 * at] = which;
        put_word(&mut bytes, 4 * at + 2, entry);
    }
    bytes
}

/// Which node a block belongs to, and as its which block; a node block is number [`Summary::NODE`] of its own node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub nid: Nid,
    pub at: u8,
}

impl Summary {
    pub const NODE: u8 = 0xff;
}

pub(super) fn encode_summaries(summaries: &[Summary; 16]) -> Bytes {
    let mut bytes = [0; BLOCK];
    for (pair, summary) in bytes.chunks_exact_mut(2).zip(summaries) {
        pair.copy_from_slice(&[summary.nid.0, summary.at]);
    }
    bytes
}

pub(super) fn summaries(bytes: &Bytes) -> [Summary; 16] {
    std::array::from_fn(|at| Summary { nid: Nid(bytes[2 * at]), at: bytes[2 * at + 1] })
}

/// The header of a checkpoint pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub version: u32,
    pub sit_journal: u8,
    pub nat_journal: u8,
    /// Which copy of each SIT block counts, one bit each.
    pub sit_versions: u16,
    pub nat_versions: u8,
    /// Segment and next block of each log.
    pub logs: [(u8, u8); 5],
}

pub(super) fn encode_header(header: &Header) -> Bytes {
    let mut bytes = encode_footer(header.version);
    bytes[1] = header.sit_journal;
    bytes[2] = header.nat_journal;
    bytes[3] = header.nat_versions;
    put_word(&mut bytes, 8, header.sit_versions);
    for (pair, (segment, next)) in bytes[10..20].chunks_exact_mut(2).zip(header.logs) {
        pair.copy_from_slice(&[segment, next]);
    }
    bytes
}

/// The footer of a checkpoint pack.
pub(super) fn encode_footer(version: u32) -> Bytes {
    let mut bytes = [0; BLOCK];
    bytes[0] = PACK_MAGIC;
    bytes[4..8].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// The version in a header or footer, if it is one.
pub(super) fn pack_version(bytes: &Bytes) -> Option<u32> {
    (bytes[0] == PACK_MAGIC).then(|| long(bytes, 4))
}

pub(super) fn decode_header(bytes: &Bytes) -> Option<Header> {
    let logs = std::array::from_fn(|at| (bytes[10 + 2 * at], bytes[11 + 2 * at]));
    pack_version(bytes).map(|version| Header {
        version,
        sit_journal: bytes[1],
        nat_journal: bytes[2],
        nat_versions: bytes[3],
        sit_versions: word(bytes, 8),
        logs,
    })
}
