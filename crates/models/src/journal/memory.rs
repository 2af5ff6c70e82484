//! What a mounted file system keeps in memory, and a crash loses.
//!
//! A block that was changed is in one of three lists until its home location is up to date. **running** and
//! **committed** hold blocks that go through the journal: those of the transaction that ops join now, and those whose
//! transaction is complete in the log but not yet checkpointed. **dirty** holds file data that does not.

use disk::Block;
use smallvec::{SmallVec, smallvec};

use super::{layout::Content, record::JournalSuper};
use crate::nodes::Ino;

/// A small map, in the order of the blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ByBlock<T>(SmallVec<[(Block, T); 4]>);

impl<T> Default for ByBlock<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T> ByBlock<T> {
    pub fn get(&self, block: Block) -> Option<&T> {
        self.place(block).ok().map(|place| &self.0[place].1)
    }

    pub fn insert(&mut self, block: Block, value: T) {
        match self.place(block) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (block, value)),
        }
    }

    pub fn remove(&mut self, block: Block) -> Option<T> {
        self.place(block).ok().map(|place| self.0.remove(place).1)
    }

    pub fn retain(&mut self, mut keep: impl FnMut(Block, &mut T) -> bool) {
        self.0.retain(|(block, value)| keep(*block, value));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Block, &T)> + DoubleEndedIterator {
        self.0.iter().map(|(block, value)| (*block, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, block: Block) -> Result<usize, usize> {
        self.0.binary_search_by_key(&block, |(block, _)| *block)
    }
}

/// A block whose newest version is complete in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub content: Content,
    /// The transaction that holds this version.
    pub sequence: u32,
}

/// File data that goes home without the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub content: Content,
    /// The file.
    pub ino: Ino,
    pub at_commit: AtCommit,
}

/// What `data=writeback` has to do before a commit about data that it does not write. What needs more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AtCommit {
    /// Nothing: what is on the disk is an older version.
    Keep,
    /// Write it: the file grows, and the disk still has what a truncation left behind its end.
    Write,
    /// Clear the block: it is new to the file, and the disk has what its last owner left.
    Clear,
}

/// A complete transaction in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    pub sequence: u32,
    /// Where in the log it begins.
    pub start: u8,
    /// How many blocks of the log it takes.
    pub blocks: u8,
}

/// The log as far as it is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Log {
    /// Where the next transaction begins.
    pub head: u8,
    /// Its sequence number.
    pub sequence: u32,
    /// Complete transactions that are not checkpointed, oldest first.
    pub transactions: SmallVec<[Transaction; 3]>,
}

impl Log {
    /// What the journal superblock has to say for these transactions to be replayed.
    pub fn tail(&self) -> JournalSuper {
        let next = JournalSuper { sequence: self.sequence, tail: self.head };
        self.transactions.first().map_or(next, |oldest| JournalSuper { sequence: oldest.sequence, tail: oldest.start })
    }

    pub fn blocks_used(&self) -> u8 {
        self.transactions.iter().map(|transaction| transaction.blocks).sum()
    }
}

/// The memory of a mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub(super) running: ByBlock<Content>,
    /// Blocks that the running transaction freed and of which the log may hold copies, in order.
    pub(super) revoked: SmallVec<[Block; 4]>,
    pub(super) committed: ByBlock<Logged>,
    pub(super) dirty: ByBlock<Page>,
    pub(super) log: Log,
    /// An unmount has begun. If it, or the mount after it, fails and use goes on, neither superblock can be relied on.
    pub(super) leaving: bool,
}

impl Memory {
    /// Nothing is changed, and the log is empty from here on.
    pub(super) fn new(JournalSuper { sequence, tail }: JournalSuper) -> Self {
        let log = Log { head: tail, sequence, transactions: SmallVec::new() };
        Self {
            running: ByBlock::default(),
            revoked: SmallVec::new(),
            committed: ByBlock::default(),
            dirty: ByBlock::default(),
            log,
            leaving: false,
        }
    }

    /// Whether there is a transaction to commit.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty() || !self.revoked.is_empty()
    }

    /// Changes a block through the journal.
    pub(super) fn put(&mut self, block: Block, content: Content) {
        self.running.insert(block, content);
        self.revoked.retain(|revoked| *revoked != block);
    }

    /// A freed block: its changes are forgotten. With `revoke`, copies of it in the log must be forgotten too.
    pub(super) fn forget(&mut self, block: Block, revoke: bool) {
        self.running.remove(block);
        self.dirty.remove(block);
        if let (true, Err(place)) = (revoke, self.revoked.binary_search(&block)) {
            self.revoked.insert(place, block);
        }
    }

    /// The running transaction is complete in the log.
    pub(super) fn turn_over(&mut self) {
        let sequence = self.log.sequence;
        for block in std::mem::take(&mut self.revoked) {
            self.committed.remove(block);
        }
        for (block, content) in std::mem::take(&mut self.running).iter() {
            self.committed.insert(block, Logged { content: *content, sequence });
        }
        self.dirty.retain(|_, page| {
            page.at_commit = AtCommit::Keep;
            true
        });
        self.log.sequence = sequence.wrapping_add(1);
    }

    /// Appends everything in memory.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let Self { running, revoked, committed, dirty, log, leaving } = self;
        bytes.push(u8::from(*leaving));
        let mut numbers: SmallVec<[u32; 24]> = smallvec![log.sequence, u32::from(log.head)];
        let lens = [log.transactions.len(), revoked.len(), running.len(), committed.len(), dirty.len()];
        numbers.extend(lens.map(|len| u32::try_from(len).unwrap_or(u32::MAX)));
        for Transaction { sequence, start, blocks } in &log.transactions {
            numbers.extend([*sequence, u32::from(*start), u32::from(*blocks)]);
        }
        numbers.extend(revoked.iter().map(|block| block.0));
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        for (block, content) in running.iter() {
            bytes.extend_from_slice(&block.0.to_le_bytes());
            bytes.extend_from_slice(content);
        }
        for (block, logged) in committed.iter() {
            bytes.extend_from_slice(&block.0.to_le_bytes());
            bytes.extend_from_slice(&logged.sequence.to_le_bytes());
            bytes.extend_from_slice(&logged.content);
        }
        for (block, page) in dirty.iter() {
            bytes.extend_from_slice(&block.0.to_le_bytes());
            bytes.extend_from_slice(&page.ino.0.to_le_bytes());
            bytes.push(page.at_commit as u8);
            bytes.extend_from_slice(&page.content);
        }
    }
}
