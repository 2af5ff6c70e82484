//! Recovery: what is complete in the log goes home, and then the log is empty.
//!
//! Three passes, as in every file system with such a journal: find the last complete transaction, collect the revoked
//! blocks, copy the rest home. A copy is skipped if a transaction that is not older than it revoked its block.

use std::sync::atomic::{AtomicU32, Ordering};

use disk::{Block, Disk, IoError};
use smallvec::SmallVec;
use vfs::Errno;

use super::{
    Flaw, FsckMode, Journal, io,
    layout::{Content, Inode, JOURNAL_SUPER},
    memory::ByBlock,
    record::{JournalSuper, Record, RecordKind, Tag, unescape},
    volume::read_block,
};

/// What [`Flaw::ReplayUsesClock`] reads: it goes on from recovery to recovery, and no disk says where it stands.
static CLOCK: AtomicU32 = AtomicU32::new(1);

/// What the complete transactions say.
struct Scan {
    /// Copies in the order of the log, each with its place there and its transaction.
    copies: Vec<(Block, Tag, u32)>,
    /// Revoked blocks with the last transaction that revoked each.
    revoked: ByBlock<u32>,
    /// The first sequence number that was not found complete.
    end: u32,
}

impl Journal {
    /// Replays the log and empties it, for a mount or for a check.
    pub(super) fn replay(self, disk: &mut Disk, by: FsckMode) -> Result<JournalSuper, Errno> {
        let scan = self.scan(disk)?;
        if self.is(Flaw::ReplayExpectsWork) {
            assert!(!scan.copies.is_empty(), "the log has a complete transaction");
        }
        let mut homes: ByBlock<Content> = ByBlock::default();
        for (place, tag, sequence) in &scan.copies {
            let is_revoked = scan.revoked.get(tag.home).is_some_and(|by| by >= sequence);
            if is_revoked && !self.is(Flaw::RevokeIgnored) {
                continue;
            }
            if by == FsckMode::Full && self.is(Flaw::FsckSkipsInodes) && Inode::is_table(tag.home) {
                continue;
            }
            let mut copy = read_block(disk, *place)?;
            if tag.escaped && !self.is(Flaw::UnescapeWrongBlock) {
                unescape(&mut copy);
            }
            homes.insert(tag.home, copy);
            if tag.escaped && self.is(Flaw::UnescapeWrongBlock) {
                unescape(&mut copy);
                disk.write(*place, &copy).map_err(io)?;
            }
        }
        // The number of the transaction that was not complete is not used again: parts of it may lie in the log.
        let unused = if self.is(Flaw::ReplayUsesClock) { CLOCK.fetch_add(1, Ordering::Relaxed) } else { 1 };
        let empty = JournalSuper { sequence: scan.end.wrapping_add(unused), tail: 0 };
        self.write_home(disk, &homes, empty).map_err(io)?;
        Ok(empty)
    }

    fn write_home(self, disk: &mut Disk, homes: &ByBlock<Content>, empty: JournalSuper) -> Result<(), IoError> {
        homes.iter().try_for_each(|(block, content)| disk.write(block, content))?;
        if !self.is(Flaw::ReplayClearsFirst) {
            disk.flush()?;
        }
        disk.write(JOURNAL_SUPER, &empty.encode())?;
        disk.flush()
    }

    /// Reads the log from its tail to the end of the last complete transaction.
    fn scan(self, disk: &Disk) -> Result<Scan, Errno> {
        let layout = self.variant.layout;
        let start = self.journal_super(disk)?;
        let mut scan = Scan { copies: Vec::new(), revoked: ByBlock::default(), end: start.sequence };
        let mut copies = Vec::new();
        let mut revokes: SmallVec<[Block; 8]> = SmallVec::new();
        let (mut index, limit) = (u32::from(start.tail), u32::from(start.tail) + u32::from(layout.log));
        while index < limit {
            let found = Record::decode(&read_block(disk, layout.log_block(index))?);
            let Some(record) = found.filter(|record| record.sequence == scan.end) else { break };
            index += 1;
            match record.kind {
                RecordKind::Descriptor(tags) => {
                    for tag in tags {
                        copies.push((layout.log_block(index), tag, record.sequence));
                        index += 1;
                    }
                }
                RecordKind::Revoke(blocks) => revokes.extend(blocks),
                RecordKind::Commit => {
                    scan.copies.append(&mut copies);
                    revokes.drain(..).for_each(|block| scan.revoked.insert(block, record.sequence));
                    scan.end = scan.end.wrapping_add(1);
                }
            }
        }
        if scan.copies.iter().all(|(_, tag, _)| layout.is_home(tag.home)) { Ok(scan) } else { Err(Errno::EUCLEAN) }
    }

    /// The journal superblock.
    pub(super) fn journal_super(self, disk: &Disk) -> Result<JournalSuper, Errno> {
        JournalSuper::decode(&read_block(disk, JOURNAL_SUPER)?, self.variant.layout).ok_or(Errno::EUCLEAN)
    }
}
