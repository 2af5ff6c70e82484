//! What a guest's disk does with requests.

use disk::{Block, BlockSize, Disk, Image};

/// Where a guest's requests go. Sectors are the blocks of our disks; `false` is what the guest sees as an I/O error.
pub trait Storage {
    /// Reads whole sectors.
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool;
    /// Writes whole sectors. What can only be read refuses.
    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        let _ = (sector, data);
        false
    }
    /// Gives up sectors; refused likewise.
    fn discard(&mut self, sector: u64, count: u32) -> bool {
        let _ = (sector, count);
        false
    }
    /// Makes everything durable, which what can only be read is.
    fn flush(&mut self) -> bool {
        true
    }
}

/// The sector of a guest's disk, which is the block of ours: what is written atomically.
pub(crate) const SECTOR: BlockSize = BlockSize::SECTOR;

fn block(sector: u64) -> Option<Block> {
    u32::try_from(sector).ok().map(Block)
}

/// The disk of the state under check: every request is logged there, and fails where it is told to.
#[derive(Debug)]
pub struct Live<'d> {
    pub(crate) disk: &'d mut Disk,
    flushes_are_lies: bool,
    requests: u32,
    /// Which requests failed, by their number since this was made.
    pub failed: Vec<u32>,
}

impl<'d> Live<'d> {
    /// Requests are counted from now on. Flushes that are lies are answered and ignored.
    pub fn new(disk: &'d mut Disk, flushes_are_lies: bool) -> Self {
        Self { disk, flushes_are_lies, requests: 0, failed: Vec::new() }
    }

    fn count(&mut self, went_well: bool) -> bool {
        if !went_well {
            self.failed.push(self.requests);
        }
        self.requests += 1;
        went_well
    }
}

impl Storage for Live<'_> {
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
        let done = block(sector).is_some_and(|block| self.disk.read(block, data).is_ok());
        self.count(done)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        let done = block(sector).is_some_and(|block| self.disk.write(block, data).is_ok());
        self.count(done)
    }

    fn discard(&mut self, sector: u64, count: u32) -> bool {
        let done = block(sector).is_some_and(|block| self.disk.discard(block, count).is_ok());
        self.count(done)
    }

    fn flush(&mut self) -> bool {
        let done = self.flushes_are_lies || self.disk.flush().is_ok();
        self.count(done)
    }
}

/// An image takes requests without a trace of them.
impl Storage for Image {
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
        block(sector).is_some_and(|block| Self::read(self, block, data).is_ok())
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        block(sector).is_some_and(|block| Self::write(self, block, data).is_ok())
    }

    fn discard(&mut self, sector: u64, count: u32) -> bool {
        Storage::write(self, sector, &vec![0; count as usize * SECTOR.bytes()])
    }
}

/// Storage on which what was done before is done again: the requests fail that failed then.
#[derive(Debug)]
pub struct Again<'f, S> {
    /// Where the others go.
    pub storage: S,
    requests: u32,
    failed: &'f [u32],
}

impl<'f, S> Again<'f, S> {
    /// No request fails.
    pub fn new(storage: S) -> Self {
        Self { storage, requests: 0, failed: &[] }
    }

    /// From now on, requests are counted anew, and these fail.
    pub fn fail(&mut self, failed: &'f [u32]) {
        (self.requests, self.failed) = (0, failed);
    }

    fn fails(&mut self) -> bool {
        self.requests += 1;
        self.failed.contains(&(self.requests - 1))
    }
}

impl<S: Storage> Storage for Again<'_, S> {
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
        !self.fails() && self.storage.read(sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        !self.fails() && self.storage.write(sector, data)
    }

    fn discard(&mut self, sector: u64, count: u32) -> bool {
        !self.fails() && self.storage.discard(sector, count)
    }

    fn flush(&mut self) -> bool {
        !self.fails() && self.storage.flush()
    }
}

/// Reads for somebody who only looks: it is recorded, and never fails.
fn look(disk: &Disk, sector: u64, data: &mut [u8]) -> bool {
    let geometry = disk.geometry();
    let Some(first) = block(sector).filter(|first| geometry.blocks_of(*first, data.len()).is_ok()) else {
        return false;
    };
    for (block, part) in (first.0..).map(Block).zip(data.chunks_mut(geometry.block_size.bytes())) {
        part.copy_from_slice(disk.block(block));
    }
    true
}

/// A disk that is looked at: reads are recorded but never fail. What threads of the kernel write meanwhile, they write:
/// one of btrfs commits when it is time to, whoever looks.
#[derive(Debug)]
pub struct Looked<'d> {
    disk: &'d mut Disk,
    flushes_are_lies: bool,
}

impl<'d> Looked<'d> {
    /// Flushes that are lies are lies for whoever looks, too.
    pub fn new(disk: &'d mut Disk, flushes_are_lies: bool) -> Self {
        Self { disk, flushes_are_lies }
    }

    fn live(&mut self) -> Live<'_> {
        Live::new(self.disk, self.flushes_are_lies)
    }
}

impl Storage for Looked<'_> {
    fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
        look(self.disk, sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> bool {
        self.live().write(sector, data)
    }

    fn discard(&mut self, sector: u64, count: u32) -> bool {
        self.live().discard(sector, count)
    }

    fn flush(&mut self) -> bool {
        self.live().flush()
    }
}

#[cfg(test)]
mod tests {
    use disk::{Failing, Fault, Faults, Geometry};

    use super::*;

    #[test]
    fn a_flush_that_is_a_lie_is_one_while_somebody_looks() {
        let image = Image::zeroed(Geometry { block_size: SECTOR, blocks: 8 });
        for flushes_are_lies in [false, true] {
            let mut disk = Disk::new(image.clone());
            let mut looked = Looked::new(&mut disk, flushes_are_lies);
            assert!(looked.write(1, &[1; 512]) && looked.flush());
            assert_eq!(disk.log().pending().is_empty(), !flushes_are_lies);
        }
    }

    #[test]
    fn what_failed_once_fails_again_and_leaves_the_same_bytes() {
        let image = Image::zeroed(Geometry { block_size: SECTOR, blocks: 8 });
        let mut disk = Disk::new(image.clone());
        let mut faults = Faults::new();
        faults.push(Fault { what: Failing::Write, after: 1 });
        disk.arm(faults);
        let work = |storage: &mut dyn Storage| {
            let mut seen = [0; 512];
            let read = storage.read(3, &mut seen);
            let written: Vec<bool> = (1..4).map(|fill| storage.write(u64::from(fill), &[fill; 512])).collect();
            (read, written, storage.discard(1, 1), storage.flush(), storage.read(1 << 40, &mut seen))
        };
        let mut live = Live::new(&mut disk, false);
        let first = work(&mut live);
        let failed = live.failed;
        assert_eq!(first, (true, vec![true, false, true], true, true, false));
        assert_eq!(failed, [2, 6]);
        let mut again = Again::new(image);
        again.fail(&failed);
        assert_eq!(work(&mut again), first);
        assert_eq!(again.storage.hash(), disk.image().hash());
        assert_eq!(disk.log().entries().count(), 4, "what failed is not in the log");
    }
}
