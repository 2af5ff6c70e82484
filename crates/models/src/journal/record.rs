//! The blocks of the journal: its superblock, and the records in its log.
//!
//! A transaction in the log is a descriptor, a copy of each block that the descriptor names, perhaps a revoke record,
//! and a commit record, all with the transaction's sequence number except the copies, which are bare content. A copy
//! that begins like a record is escaped: its first bytes are replaced, and the descriptor says so.

use std::fmt;

use disk::Block;
use smallvec::SmallVec;

use super::layout::{BLOCK_BYTES, Content, Layout, ZEROS, pointer};

/// How every block of the journal begins that is not a copy. Real magic numbers are chosen so that they hardly ever
/// occur in data; this one is what the first write of every workload stores, so that escaping is tried all the time.
const MAGIC: [u8; 4] = [1; 4];
const HEADER_BYTES: usize = 10;

/// The most blocks in one transaction: what the largest op changes, with some room to join several.
pub(super) const TAGS_MAX: usize = 8;
/// The most revoked blocks in one transaction.
pub(super) const REVOKES_MAX: usize = BLOCK_BYTES - HEADER_BYTES;
/// The most blocks of the log that a transaction takes: descriptor, copies, revoke record, commit record.
pub const TRANSACTION_BLOCKS_MAX: u8 = 11;
const _: () = assert!(TRANSACTION_BLOCKS_MAX as usize == TAGS_MAX + 3, "one block each of the other three");

/// The copy had the magic number, which must be put back.
const ESCAPED: u8 = 1;

/// The journal superblock: where replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalSuper {
    /// The sequence number of the oldest transaction that is still needed, or of the next one.
    pub sequence: u32,
    /// Where in the log that transaction begins.
    pub tail: u8,
}

impl JournalSuper {
    pub fn encode(self) -> Content {
        let mut content = header(4, self.sequence);
        content[HEADER_BYTES - 1] = self.tail;
        content
    }

    pub fn decode(content: &Content, layout: Layout) -> Option<Self> {
        let found = Self { sequence: sequence(content), tail: content[HEADER_BYTES - 1] };
        (found.encode() == *content && found.tail < layout.log).then_some(found)
    }
}

impl fmt::Display for JournalSuper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replay begins at log block {} with transaction {}", self.tail, self.sequence)
    }
}

/// Which block a copy is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub home: Block,
    pub escaped: bool,
}

/// A block of the log that is not a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Which transaction it belongs to.
    pub sequence: u32,
    pub kind: RecordKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Copies of these blocks follow.
    Descriptor(SmallVec<[Tag; TAGS_MAX]>),
    /// Copies of these blocks in this transaction and in earlier ones must not be replayed.
    Revoke(SmallVec<[Block; TAGS_MAX]>),
    /// The transaction is complete.
    Commit,
}

impl Record {
    pub fn encode(&self) -> Content {
        match &self.kind {
            RecordKind::Descriptor(tags) => {
                let flags = |tag: &Tag| if tag.escaped { ESCAPED } else { 0 };
                list(1, self.sequence, tags.iter().map(|tag| [pointer(tag.home), flags(tag)]))
            }
            RecordKind::Revoke(blocks) => list(2, self.sequence, blocks.iter().map(|block| [pointer(*block)])),
            RecordKind::Commit => header(3, self.sequence),
        }
    }

    /// What a block of the log says; `None` if it is no record, or a damaged one.
    pub fn decode(content: &Content) -> Option<Self> {
        let count = usize::from(content[HEADER_BYTES - 1]);
        let rest = &content[HEADER_BYTES..];
        let block = |number: u8| Block(u32::from(number));
        let kind = match content[4] {
            1 if count <= TAGS_MAX => {
                let tag = |pair: &[u8]| Tag { home: block(pair[0]), escaped: pair[1] == ESCAPED };
                RecordKind::Descriptor(rest[..2 * count].chunks_exact(2).map(tag).collect())
            }
            2 if count <= REVOKES_MAX => {
                RecordKind::Revoke(rest[..count].iter().map(|number| block(*number)).collect())
            }
            3 => RecordKind::Commit,
            _ => return None,
        };
        let found = Self { sequence: sequence(content), kind };
        (found.encode() == *content).then_some(found)
    }
}

/// The copy of a block as it goes to the log, and whether it had to be escaped.
pub(super) fn escape(content: &Content) -> (Content, bool) {
    if !content.starts_with(&MAGIC) {
        return (*content, false);
    }
    let mut copy = *content;
    copy[..MAGIC.len()].fill(0);
    (copy, true)
}

/// Puts back what escaping took away.
pub(super) fn unescape(copy: &mut Content) {
    copy[..MAGIC.len()].copy_from_slice(&MAGIC);
}

fn header(kind: u8, sequence: u32) -> Content {
    let mut content = ZEROS;
    content[..4].copy_from_slice(&MAGIC);
    content[4] = kind;
    content[5..9].copy_from_slice(&sequence.to_le_bytes());
    content
}

fn sequence(content: &Content) -> u32 {
    u32::from_le_bytes([content[5], content[6], content[7], content[8]])
}

fn list<const BYTES: usize>(kind: u8, sequence: u32, items: impl ExactSizeIterator<Item = [u8; BYTES]>) -> Content {
    let mut content = header(kind, sequence);
    content[HEADER_BYTES - 1] = u8::try_from(items.len()).expect("a block holds few items");
    for (place, item) in content[HEADER_BYTES..].chunks_exact_mut(BYTES).zip(items) {
        place.copy_from_slice(&item);
    }
    content
}
