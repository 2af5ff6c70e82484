//! The disk as the seekable stream of bytes that `fatfs` works on.
//!
//! The library writes a directory entry field by field, and its documentation recommends a buffer below it. This one
//! holds one sector: what is changed in it goes to the disk when the library turns to another sector or flushes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use disk::{Block, IoError};

use crate::device::Device;

/// The bytes of a device.
pub(super) struct Stream<'d> {
    device: Device<'d>,
    at: u64,
    sector: Vec<u8>,
    /// Which sector that is.
    held: Option<u32>,
    changed: bool,
}

/// A failure of the device, as the library passes it on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct DeviceFailed(IoError);

impl From<IoError> for DeviceFailed {
    fn from(error: IoError) -> Self {
        Self(error)
    }
}

impl<'d> Stream<'d> {
    pub fn new(device: Device<'d>) -> Self {
        let sector = vec![0; device.geometry().block_size.bytes()];
        Self { device, at: 0, sector, held: None, changed: false }
    }

    /// Hands the changed sector to the disk, without a flush.
    pub fn write_back(&mut self) -> io::Result<()> {
        if let (Some(held), true) = (self.held, self.changed) {
            self.device.write(Block(held), &self.sector).map_err(failed)?;
            self.changed = false;
        }
        Ok(())
    }

    /// Holds the sector of the present position; the bytes from there to its end, none at the end of the disk.
    fn turn(&mut self) -> io::Result<usize> {
        if self.at >= self.len() {
            return Ok(self.sector.len());
        }
        let size = self.sector.len() as u64;
        let sector = u32::try_from(self.at / size).unwrap_or(u32::MAX);
        if self.held != Some(sector) {
            self.write_back()?;
            self.held = None;
            self.device.read(Block(sector), &mut self.sector).map_err(failed)?;
            self.held = Some(sector);
        }
        Ok(usize::try_from(self.at % size).unwrap_or(0))
    }

    fn len(&self) -> u64 {
        self.device.geometry().bytes() as u64
    }
}

fn failed(error: IoError) -> io::Error {
    io::Error::other(DeviceFailed::from(error))
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.turn()?;
        let count = buffer.len().min(self.sector.len() - start);
        buffer[..count].copy_from_slice(&self.sector[start..start + count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let start = self.turn()?;
        let count = data.len().min(self.sector.len() - start);
        self.sector[start..start + count].copy_from_slice(&data[..count]);
        self.changed |= count > 0;
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_back()?;
        self.device.flush().map_err(failed)
    }
}

impl Seek for Stream<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.len().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
