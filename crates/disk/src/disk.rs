//! What a file system talks to: it reads, writes and flushes; the disk remembers.
//!
//! A disk is a log, which knows what readers see after each request. It is part of every state of a search, so a clone
//! shares everything and costs a few reference counts. Recording, faults and corruption are off unless asked for and
//! then cost a branch.

use crate::{
    Block, Corruptor, CrashMode, DiskLog, Entry, EntryKind, Failing, Faults, Geometry, Image, IoCounts, IoError,
    OpIndex, Position, ReadSet, UnseenAllocations, content_hash, faults::ArmedFaults, read_set::Recorder,
};

/// A disk with a volatile cache.
#[derive(Clone, Debug)]
pub struct Disk {
    log: DiskLog,
    op: Option<OpIndex>,
    recorder: Option<Box<Recorder>>,
    faults: Option<Box<ArmedFaults>>,
    corruptor: Option<Corruptor>,
    lacks_writes: bool,
    met_faults: bool,
}

impl Disk {
    /// A disk with this content, all of it durable, and a cache that holds any number of writes.
    pub fn new(image: Image) -> Self {
        Self::with_cache(image, None)
    }

    /// As [`Disk::new`] with a cache of so many entries; see [`DiskLog::new`].
    pub fn with_cache(image: Image, cache: Option<usize>) -> Self {
        let log = DiskLog::new(image, cache);
        Self { log, op: None, recorder: None, faults: None, corruptor: None, lacks_writes: false, met_faults: false }
    }

    /// The same with a cache of so many entries, all of it durable, and without the log of how it came there.
    #[must_use]
    pub fn all_durable(&self, cache: Option<usize>) -> Self {
        let (lacks_writes, met_faults) = (self.lacks_writes, self.met_faults);
        Self { lacks_writes, met_faults, ..Self::with_cache(self.image().clone(), cache) }
    }

    /// The shape of the disk.
    pub fn geometry(&self) -> Geometry {
        self.log.base().geometry()
    }

    /// What readers see now.
    pub fn image(&self) -> &Image {
        self.log.visible()
    }

    /// What led here.
    pub fn log(&self) -> &DiskLog {
        &self.log
    }

    /// Now, on the clock of the log.
    pub fn position(&self) -> Position {
        self.log.position()
    }

    /// Tags what follows with the op that is under way; `None` for background work.
    pub fn set_op(&mut self, op: Option<OpIndex>) {
        self.op = op;
    }

    /// Reads one or more whole blocks.
    ///
    /// # Errors
    /// The buffer does not fit the disk, or a fault was injected.
    pub fn read(&self, block: Block, buffer: &mut [u8]) -> Result<(), IoError> {
        let count = self.geometry().blocks_of(block, buffer.len())?;
        self.fault(Failing::Read)?;
        self.image().read(block, buffer)?;
        if self.recorder.is_some() {
            (block.0..block.0 + count).for_each(|block| self.record_read(Block(block)));
        }
        Ok(())
    }

    /// Reads one block without copying it.
    ///
    /// # Errors
    /// There is no such block, or a fault was injected.
    pub fn try_block(&self, block: Block) -> Result<&[u8], IoError> {
        self.geometry().check_range(block, 1)?;
        self.fault(Failing::Read)?;
        Ok(self.block(block))
    }

    /// Reads one block that must exist, without copying it and without ever failing: injected faults pass it by.
    ///
    /// # Panics
    /// There is no such block.
    pub fn block(&self, block: Block) -> &[u8] {
        self.record_read(block);
        self.image().block(block)
    }

    /// All of it, for a reader that cannot be watched: it counts as having read everything.
    pub fn everything(&self) -> &Image {
        if let Some(recorder) = &self.recorder {
            recorder.read_everything();
        }
        self.image()
    }

    /// Writes one or more whole blocks. They are pending until a flush.
    ///
    /// # Errors
    /// The data does not fit the disk, or a fault was injected; nothing was changed.
    pub fn write(&mut self, block: Block, data: &[u8]) -> Result<(), IoError> {
        self.write_as(block, data, |block, data| EntryKind::Write { block, data: data.into() })
    }

    /// Writes one or more whole blocks and returns when they are durable. Earlier writes stay pending.
    ///
    /// # Errors
    /// The data does not fit the disk, or a fault was injected; nothing was changed.
    pub fn write_fua(&mut self, block: Block, data: &[u8]) -> Result<(), IoError> {
        self.write_as(block, data, |block, data| EntryKind::Fua { block, data: data.into() })
    }

    /// Gives up blocks: from now on they read as zeros.
    ///
    /// # Errors
    /// There are not so many blocks, or a fault was injected; nothing was changed.
    pub fn discard(&mut self, block: Block, count: u32) -> Result<(), IoError> {
        self.geometry().check_range(block, count)?;
        self.may_write()?;
        self.overwrite(block, count);
        self.do_entry(EntryKind::Discard { block, count })
    }

    /// Makes everything durable that was written so far.
    ///
    /// # Errors
    /// A fault was injected; nothing became durable.
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.fault(Failing::Flush)?;
        self.do_entry(EntryKind::Flush)
    }

    /// Announces that the file system allocates memory, which may fail as requests do. Costs nothing unless faults are
    /// armed.
    ///
    /// # Errors
    /// A fault was injected.
    pub fn allocate(&self) -> Result<(), IoError> {
        self.fault(Failing::Allocation)
    }

    /// For a file system that allocates where nobody can ask [`Disk::allocate`]: what is done about the allocations
    /// that it makes from now on. Whoever runs it lets one fail if need be, and says afterwards
    /// [how many there were](Disk::count_allocations).
    pub fn unseen_allocations(&self) -> UnseenAllocations {
        self.faults.as_ref().map_or(UnseenAllocations::Ignored, |faults| faults.unseen())
    }

    /// Counts such allocations, up to the one that failed. They are numbered through from one call to the next.
    pub fn count_allocations(&self, count: u64) {
        if let Some(faults) = &self.faults {
            faults.count_unseen(count);
        }
    }

    /// Does again what another disk logged, as background work.
    ///
    /// # Errors
    /// The entry does not fit the disk.
    pub fn repeat(&mut self, entry: &Entry) -> Result<(), IoError> {
        self.do_entry(entry.kind.clone())
    }

    /// Puts another run of the same requests in the place of those that led here: the same blocks were asked for in the
    /// same order, but what was written differs in bytes that no two runs have in common, such as times. `run` is
    /// everything since `from`; what the log has forgotten of that is forgotten again. Positions keep their meaning.
    ///
    /// # Errors
    /// A request does not fit the disk.
    pub fn retell(&mut self, from: &Image, run: &[EntryKind]) -> Result<(), IoError> {
        self.log.retell(from, run)
    }

    /// Goes back to an earlier position. A recording that is under way ends: what it saw may be undone.
    ///
    /// # Panics
    /// The position is not one of [`DiskLog::positions`].
    pub fn rollback(&mut self, position: Position) {
        if position != self.position() {
            self.log.rollback(position);
            self.recorder = None;
        }
    }

    /// Forgets the positions before now, see [`DiskLog::settle`].
    pub fn settle(&mut self) {
        self.log.settle(self.log.position());
    }

    /// A hash of everything that decides what can be read from now on, before and after a crash of this mode. It leaves
    /// out positions, op tags, recordings and armed faults.
    pub fn fingerprint(&self, mode: CrashMode) -> u128 {
        if mode == CrashMode::Off {
            return self.image().hash();
        }
        let of_cut = self.log.cut(self.position()).fingerprint(mode);
        let mut both = [0; 32];
        both[..16].copy_from_slice(&self.image().hash().to_le_bytes());
        both[16..].copy_from_slice(&of_cut.to_le_bytes());
        content_hash(&both)
    }

    /// Begins to record which blocks are read, see [`ReadSet`].
    pub fn record_reads(&mut self) {
        self.recorder = Some(Box::new(Recorder::new(self.image())));
    }

    /// Ends the recording; `None` if there was none.
    pub fn take_reads(&mut self) -> Option<ReadSet> {
        self.recorder.take().map(|recorder| recorder.finish())
    }

    /// Arms faults and counts requests from now on.
    pub fn arm(&mut self, faults: Faults) {
        self.met_faults |= !faults.is_empty();
        self.faults = Some(Box::new(ArmedFaults::new(faults)));
    }

    /// Disarms faults; the requests since they were armed.
    pub fn disarm(&mut self) -> IoCounts {
        self.faults.take().map_or_else(IoCounts::default, |faults| faults.done())
    }

    /// Lets no more requests fail, and counts none, until faults are armed anew: what follows is not to be tried.
    pub fn hold_faults(&self) {
        if let Some(faults) = &self.faults {
            faults.hold();
        }
    }

    /// Whether a write has failed, so that what lies here is not what a file system has made of it.
    pub fn lacks_writes(&self) -> bool {
        self.lacks_writes
    }

    /// Whether anything was ever to fail, so that a file system may not have been able to leave what it wanted to.
    pub fn met_faults(&self) -> bool {
        self.met_faults
    }

    /// The requests since faults were armed.
    pub fn io_counts(&self) -> IoCounts {
        self.faults.as_ref().map_or_else(IoCounts::default, |faults| faults.done())
    }

    /// Lets one of the coming writes go wrong in silence; `None` takes it back.
    pub fn corrupt(&mut self, corruptor: Option<Corruptor>) {
        self.corruptor = corruptor;
    }

    fn write_as(&mut self, block: Block, data: &[u8], kind: impl Fn(Block, &[u8]) -> EntryKind) -> Result<(), IoError> {
        let geometry = self.geometry();
        let count = geometry.blocks_of(block, data.len())?;
        self.may_write()?;
        if let Some((block, data)) = Corruptor::corrupt(&mut self.corruptor, geometry, block, data) {
            self.overwrite(block, count);
            self.do_entry(kind(block, &data))?;
        }
        Ok(())
    }

    fn may_write(&mut self) -> Result<(), IoError> {
        let may = self.fault(Failing::Write);
        self.lacks_writes |= may.is_err();
        may
    }

    fn do_entry(&mut self, kind: EntryKind) -> Result<(), IoError> {
        self.log.push(Entry { kind, op: self.op })
    }

    fn fault(&self, what: Failing) -> Result<(), IoError> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.next(what))
    }

    fn record_read(&self, block: Block) {
        if let Some(recorder) = &self.recorder {
            recorder.read(block, self.image().block(block));
        }
    }

    fn overwrite(&mut self, block: Block, count: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.overwrite(block, count);
        }
    }
}
