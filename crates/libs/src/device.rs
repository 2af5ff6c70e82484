//! The block device that a library is given in place of its own: our disk.
//!
//! While an op or a recovery runs, requests go to the disk and are logged. While somebody only looks, nothing may
//! change the disk, but a mount may write (a dirty flag, a mount count): such writes go to a copy that is thrown
//! away.

use std::{cell::Cell, rc::Rc};

use disk::{Block, Disk, Geometry, IoError};

/// How many requests a library may make in one session (a mount, one op or one look, an unmount) before they fail. A
/// damaged disk can send a library round in circles for ever; a sound one needs a small part of this.
const REQUESTS_MAX: u32 = 1 << 18;

/// A disk as a library sees it.
pub(crate) struct Device<'d> {
    access: Access<'d>,
    requests: Cell<u32>,
    /// Whether the work of the session is done.
    ending: Rc<Cell<bool>>,
}

enum Access<'d> {
    /// Requests are what they are.
    Live(&'d mut Disk),
    /// The disk is only looked at.
    Look {
        /// What is looked at. All reads go here as well, since this is where they are recorded.
        disk: &'d Disk,
        /// What the disk would be after the writes so far.
        copy: Option<Box<Disk>>,
    },
}

impl<'d> Device<'d> {
    /// A device that does what it is asked.
    pub fn live(disk: &'d mut Disk) -> Self {
        Self { access: Access::Live(disk), requests: Cell::new(0), ending: Rc::default() }
    }

    /// A device that leaves the disk as it is.
    pub fn look(disk: &'d Disk) -> Self {
        Self { access: Access::Look { disk, copy: None }, requests: Cell::new(0), ending: Rc::default() }
    }

    /// To be set when the work of the session is done, and only the unmount is left.
    pub fn ending(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.ending)
    }

    pub fn is_live(&self) -> bool {
        matches!(self.access, Access::Live(_))
    }

    pub fn geometry(&self) -> Geometry {
        match &self.access {
            Access::Live(disk) => disk.geometry(),
            Access::Look { disk, .. } => disk.geometry(),
        }
    }

    pub fn read(&self, block: Block, buffer: &mut [u8]) -> Result<(), IoError> {
        self.count(IoError::Read)?;
        match &self.access {
            Access::Live(disk) => disk.read(block, buffer),
            Access::Look { disk, copy } => {
                disk.read(block, buffer)?;
                copy.as_ref().map_or(Ok(()), |copy| copy.image().read(block, buffer))
            }
        }
    }

    pub fn write(&mut self, block: Block, data: &[u8]) -> Result<(), IoError> {
        self.count(IoError::Write)?;
        self.writable().write(block, data)
    }

    pub fn write_fua(&mut self, block: Block, data: &[u8]) -> Result<(), IoError> {
        self.count(IoError::Write)?;
        self.writable().write_fua(block, data)
    }

    pub fn flush(&mut self) -> Result<(), IoError> {
        self.count(IoError::Flush)?;
        match &mut self.access {
            Access::Live(disk) => disk.flush(),
            Access::Look { .. } => Ok(()),
        }
    }

    /// Before each request. No request of the unmount fails by injection: an op that has returned cannot fail any more.
    fn count(&self, error: IoError) -> Result<(), IoError> {
        if self.ending.get()
            && let Access::Live(disk) = &self.access
        {
            disk.hold_faults();
        }
        let requests = self.requests.get();
        self.requests.set(requests.saturating_add(1));
        if requests < REQUESTS_MAX { Ok(()) } else { Err(error) }
    }

    fn writable(&mut self) -> &mut Disk {
        match &mut self.access {
            Access::Live(disk) => disk,
            Access::Look { disk, copy } => copy.get_or_insert_with(|| Box::new(Disk::new(disk.image().clone()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use disk::{BlockSize, Image};

    use super::*;

    #[test]
    fn a_library_that_goes_round_in_circles_is_stopped() {
        let disk = Disk::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 }));
        let device = Device::look(&disk);
        assert!((0..REQUESTS_MAX).all(|_| device.read(Block(0), &mut [0; 4]).is_ok()));
        assert_eq!(device.read(Block(0), &mut [0; 4]), Err(IoError::Read));
    }

    #[test]
    fn a_look_sees_its_own_writes_and_leaves_the_disk_alone() {
        let mut disk = Disk::new(Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 4 }));
        disk.write(Block(1), b"real").unwrap();
        disk.record_reads();
        let mut device = Device::look(&disk);
        device.write(Block(1), b"mine").unwrap();
        device.flush().unwrap();
        let mut seen = [0; 8];
        device.read(Block(0), &mut seen).unwrap();
        assert_eq!(&seen, b"\0\0\0\0mine");
        assert_eq!(disk.image().block(Block(1)), b"real");
        assert_eq!(disk.take_reads().unwrap().0.len(), 2, "reads are recorded where they were asked");
    }
}
