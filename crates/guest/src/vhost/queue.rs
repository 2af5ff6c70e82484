//! The queue of requests: three tables in the guest's memory. The driver puts a chain of descriptors into the first and
//! its number into the second; the disk puts the number into the third when the request is done.

use std::array::from_fn;

use super::VhostError;
use crate::memory::{Address, Memory};

/// Where a queue is, and how far it was followed.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub size: u16,
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
    /// How many requests were taken, modulo 2^16.
    pub taken: u16,
    /// How many were completed, modulo 2^16.
    completed: u16,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    Write,
    Flush,
    /// The data says which sectors.
    Discard,
    /// As before.
    WriteZeroes,
    /// The disk's serial number.
    Identify,
    Other(u32),
}

/// How a request ended, as the driver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Done = 0,
    Failed = 1,
    Unsupported = 2,
}

/// A request that was taken from the queue.
#[derive(Debug)]
pub(crate) struct Request {
    pub kind: RequestKind,
    pub sector: u64,
    head: u16,
    /// Address and length of each piece of the data.
    pieces: Vec<(u64, u32)>,
    status_at: u64,
}

/// Set in a descriptor that another follows.
const HAS_NEXT: u16 = 1;
/// The data of one request at most, as the disk tells the driver by its limits (64 segments).
const DATA_MAX: usize = 1 << 24;

impl Queue {
    /// Forgets where it was: the driver sets it up anew.
    pub fn restart(&mut self, taken: u16) {
        (self.taken, self.completed) = (taken, taken);
    }

    /// Takes the next request, if there is one.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<Request>, VhostError> {
        if self.size == 0 {
            return Ok(None);
        }
        let available = Address::User(self.available);
        let there = u16::from_le_bytes(memory.read_array(available.plus(2))?);
        if there == self.taken {
            return Ok(None);
        }
        let place = u64::from(self.taken % self.size);
        let head = u16::from_le_bytes(memory.read_array(available.plus(4 + 2 * place))?);
        self.taken = self.taken.wrapping_add(1);
        self.follow(memory, head).map(Some)
    }

    fn follow(&self, memory: &Memory, head: u16) -> Result<Request, VhostError> {
        let mut pieces = Vec::new();
        let mut at = head;
        loop {
            let descriptor: [u8; 16] =
                memory.read_array(Address::User(self.descriptors).plus(16 * u64::from(at % self.size)))?;
            let address = u64::from_le_bytes(from_fn(|byte| descriptor[byte]));
            let len = u32::from_le_bytes(from_fn(|byte| descriptor[8 + byte]));
            pieces.push((address, len));
            if u16::from_le_bytes([descriptor[12], descriptor[13]]) & HAS_NEXT == 0 {
                break;
            }
            if pieces.len() > usize::from(self.size) {
                return Err(VhostError::BadRequest("its descriptors go round in a circle"));
            }
            at = u16::from_le_bytes([descriptor[14], descriptor[15]]);
        }
        let (Some((status_at, _)), true) = (pieces.pop(), !pieces.is_empty()) else {
            return Err(VhostError::BadRequest("it has no header or no status"));
        };
        let (header_at, _) = pieces.remove(0);
        if pieces.iter().map(|(_, len)| *len as usize).sum::<usize>() > DATA_MAX {
            return Err(VhostError::BadRequest("it is larger than this disk allows"));
        }
        let header: [u8; 16] = memory.read_array(Address::Guest(header_at))?;
        let kind = match u32::from_le_bytes(from_fn(|byte| header[byte])) {
            0 => RequestKind::Read,
            1 => RequestKind::Write,
            4 => RequestKind::Flush,
            8 => RequestKind::Identify,
            11 => RequestKind::Discard,
            13 => RequestKind::WriteZeroes,
            other => RequestKind::Other(other),
        };
        Ok(Request { kind, sector: u64::from_le_bytes(from_fn(|byte| header[8 + byte])), head, pieces, status_at })
    }

    /// Completes a request; `stored` bytes of its data were written into the guest's memory.
    pub fn complete(
        &mut self,
        memory: &Memory,
        request: &Request,
        status: Status,
        stored: usize,
    ) -> Result<(), VhostError> {
        memory.write(Address::Guest(request.status_at), &[status as u8])?;
        let used = Address::User(self.used);
        let place = u64::from(self.completed % self.size.max(1));
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&u32::from(request.head).to_le_bytes());
        let stored = u32::try_from(stored + 1).map_err(|_| VhostError::BadRequest("it is absurdly large"))?;
        entry[4..].copy_from_slice(&stored.to_le_bytes());
        memory.write(used.plus(4 + 8 * place), &entry)?;
        self.completed = self.completed.wrapping_add(1);
        memory.write(used.plus(2), &self.completed.to_le_bytes())
    }
}

impl Request {
    /// How long its data is.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|(_, len)| *len as usize).sum()
    }

    /// Its data, as the guest has it in memory.
    pub fn data(&self, memory: &Memory) -> Result<Vec<u8>, VhostError> {
        let mut data = vec![0; self.len()];
        let mut rest = &mut data[..];
        for (address, len) in &self.pieces {
            let (piece, after) = rest.split_at_mut(*len as usize);
            memory.read(Address::Guest(*address), piece)?;
            rest = after;
        }
        Ok(data)
    }

    /// Puts data where the guest wants it.
    pub fn put(&self, memory: &Memory, data: &[u8]) -> Result<(), VhostError> {
        let mut rest = data;
        for (address, len) in &self.pieces {
            let (piece, after) = rest.split_at((*len as usize).min(rest.len()));
            memory.write(Address::Guest(*address), piece)?;
            rest = after;
        }
        Ok(())
    }
}
