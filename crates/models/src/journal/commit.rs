//! From memory to the disk: commits, which make the running transaction durable in the log, and checkpoints, which
//! bring it home and give the log space back.
//!
//! Where a flush stands, the disk must not reorder: what the commit record commits is on the medium before the record;
//! what a checkpoint wrote is there before the tail moves past the log's copies; and the journal superblock is there
//! before the space that it gives up is written again.

use disk::{Block, Disk, IoError};
use smallvec::{SmallVec, smallvec};
use vfs::Errno;

use super::{
    DataMode, Flaw, Journal, io,
    layout::{BLOCK_BITMAP, BLOCK_BYTES, Content, JOURNAL_SUPER},
    memory::{AtCommit, Logged, Memory, Page, Transaction},
    record::{Record, RecordKind, TRANSACTION_BLOCKS_MAX, Tag, escape},
};
use crate::nodes::Ino;

/// Which file data a commit must take to the disk, whatever the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// None: the commit only makes room.
    Nothing,
    /// That of one file.
    File(Ino),
    /// All.
    Everything,
}

impl Journal {
    /// Makes everything durable that was done so far, with as much of the data as is wanted.
    pub(super) fn commit(self, memory: &mut Memory, disk: &mut Disk, wanted: Wanted) -> Result<(), Errno> {
        self.try_commit(memory, disk, wanted).map_err(io)
    }

    /// The commit record is the last request, so whatever fails leaves the transaction uncommitted, to be tried again.
    fn try_commit(self, memory: &mut Memory, disk: &mut Disk, wanted: Wanted) -> Result<(), IoError> {
        if memory.is_running() && memory.leaving {
            self.checkpoint(memory, disk, self.variant.layout.log)?;
            self.mark(disk, false)?;
            memory.leaving = false;
        }
        if memory.is_running() && self.variant.layout.log - memory.log.blocks_used() < TRANSACTION_BLOCKS_MAX {
            self.checkpoint(memory, disk, TRANSACTION_BLOCKS_MAX)?;
        }
        if self.is(Flaw::DataAfterCommit) {
            self.commit_transaction(memory, disk)?;
            if self.write_data(memory, disk, wanted)? { disk.flush() } else { Ok(()) }
        } else {
            let wrote = self.write_data(memory, disk, wanted)?;
            if memory.is_running() {
                self.commit_transaction(memory, disk)
            } else if wrote {
                disk.flush()
            } else {
                Ok(())
            }
        }
    }

    /// Writes data home, and says whether it wrote any. Ordered data is all on its way before its metadata commits.
    fn write_data(self, memory: &mut Memory, disk: &mut Disk, wanted: Wanted) -> Result<bool, IoError> {
        let mut wrote = false;
        if self.is(Flaw::BitmapUnjournaled)
            && let Some(bitmap) = memory.running.remove(BLOCK_BITMAP)
        {
            disk.write(BLOCK_BITMAP, &bitmap)?;
            wrote = true;
        }
        let (mode, running) = (self.variant.data, memory.is_running());
        let must_write = |page: &Page| {
            mode == DataMode::Ordered
                || wanted == Wanted::Everything
                || wanted == Wanted::File(page.ino)
                || running && page.at_commit == AtCommit::Write
        };
        for (block, page) in memory.dirty.iter() {
            if must_write(page) {
                disk.write(block, &page.content)?;
                wrote = true;
            } else if running && page.at_commit == AtCommit::Clear && !self.is(Flaw::StaleData) {
                disk.discard(block, 1)?;
            }
        }
        memory.dirty.retain(|_, page| !must_write(page));
        Ok(wrote)
    }

    fn commit_transaction(self, memory: &mut Memory, disk: &mut Disk) -> Result<(), IoError> {
        if !memory.is_running() {
            return Ok(());
        }
        let (head, sequence) = (memory.log.head, memory.log.sequence);
        let records = self.records(memory);
        let commit = Record { sequence, kind: RecordKind::Commit }.encode();
        let blocks = u8::try_from(records.len() + 1).expect("a transaction is bounded");
        let log = (u32::from(head)..).map(|index| self.variant.layout.log_block(index));
        let placed: SmallVec<[(Block, Content); 8]> = log.zip(records.into_iter().chain([commit])).collect();
        if self.is(Flaw::FirstAndLastSequence) {
            write_in_one(disk, &placed)?;
            disk.flush()?;
        } else {
            let ((commit_block, commit), copies) = placed.split_last().expect("there is a commit record");
            for (block, content) in copies {
                disk.allocate()?;
                disk.write(*block, content)?;
            }
            if self.is(Flaw::NoBarrier) {
                disk.write(*commit_block, commit)?;
                disk.flush()?;
            } else {
                disk.flush()?;
                disk.write_fua(*commit_block, commit)?;
            }
        }
        memory.log.transactions.push(Transaction { sequence, start: head, blocks });
        memory.log.head = (head + blocks) % self.variant.layout.log;
        memory.turn_over();
        Ok(())
    }

    /// What the running transaction puts into the log before its commit record.
    fn records(self, memory: &Memory) -> SmallVec<[Content; 8]> {
        let sequence = memory.log.sequence;
        let copies: SmallVec<[(Block, (Content, bool)); 8]> =
            memory.running.iter().map(|(home, content)| (home, escape(content))).collect();
        let tags = copies.iter().map(|(home, (_, escaped))| Tag { home: *home, escaped: *escaped }).collect();
        let mut records = smallvec![Record { sequence, kind: RecordKind::Descriptor(tags) }.encode()];
        records.extend(copies.iter().map(|(_, (copy, _))| *copy));
        if !memory.revoked.is_empty() && !self.is(Flaw::RevokeUnwritten) {
            let revoked = memory.revoked.iter().copied().collect();
            records.push(Record { sequence, kind: RecordKind::Revoke(revoked) }.encode());
        }
        records
    }

    /// Takes the oldest transactions home, until so many blocks of the log are free. If it fails, memory is as before.
    pub(super) fn checkpoint(self, memory: &mut Memory, disk: &mut Disk, blocks: u8) -> Result<(), IoError> {
        let mut log = memory.log.clone();
        let mut retired: SmallVec<[u32; 4]> = SmallVec::new();
        while self.variant.layout.log - log.blocks_used() < blocks && !log.transactions.is_empty() {
            retired.push(log.transactions.remove(0).sequence);
        }
        if retired.is_empty() {
            return Ok(());
        }
        if log.transactions.is_empty() {
            log.head = 0;
        }
        let is_retired = |logged: &Logged| retired.contains(&logged.sequence);
        let homes: Vec<_> = memory.committed.iter().filter(|(_, logged)| is_retired(logged)).collect();
        for (index, (block, logged)) in homes.iter().enumerate() {
            if index == 0 && self.is(Flaw::CheckpointLost) {
                continue;
            }
            let astray = index + 1 == homes.len() && self.is(Flaw::CheckpointMisdirected);
            disk.write(if astray { self.neighbour(*block) } else { *block }, &logged.content)?;
        }
        if !self.is(Flaw::TailBeforeCheckpoint) {
            disk.flush()?;
        }
        disk.write(JOURNAL_SUPER, &log.tail().encode())?;
        if !self.is(Flaw::ReuseBeforeSuperblock) {
            disk.flush()?;
        }
        memory.committed.retain(|_, logged| !is_retired(logged));
        memory.log = log;
        Ok(())
    }

    fn neighbour(self, block: Block) -> Block {
        let last = self.variant.layout.geometry().blocks - 1;
        if block.0 < last { Block(block.0 + 1) } else { Block(block.0 - 1) }
    }
}

/// Writes blocks that follow each other with one request, or with two where the log begins again.
fn write_in_one(disk: &mut Disk, placed: &[(Block, Content)]) -> Result<(), IoError> {
    let follows = |pair: &[(Block, Content)]| pair[0].0.0 + 1 == pair[1].0.0;
    let first = 1 + placed.windows(2).take_while(|pair| follows(pair)).count();
    for part in [&placed[..first], &placed[first..]] {
        if let Some((start, _)) = part.first() {
            let mut bytes = Vec::with_capacity(part.len() * BLOCK_BYTES);
            part.iter().for_each(|(_, content)| bytes.extend_from_slice(content));
            disk.write(*start, &bytes)?;
        }
    }
    Ok(())
}
