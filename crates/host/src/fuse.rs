//! A disk as a file that FUSE serves: just as much of the protocol as one file needs.
//!
//! The file is the root of its file system, so there is no name to look up. It is opened for direct transfers: what is
//! asked of it is asked of us, and nothing is remembered in between. The connection is read by whoever gives its worker
//! a batch, on the same thread, so that a request is answered by the disk of the state under check and nobody else.
//! When the connection is closed, on purpose or because this process died, all who wait for the file get an error.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guest::Storage;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, read, write},
};

/// The most that one request transfers.
const TRANSFER_MAX: u32 = 1 << 20;
/// Of a request, beside the bytes to be written.
const HEADER: usize = 40;
const BUFFER: usize = TRANSFER_MAX as usize + PAGE as usize;
const SECTOR: u32 = 512;
/// [`SECTOR`] as the length of memory.
const SECTOR_LEN: usize = SECTOR as usize;
const PAGE: u32 = 4096;

const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const DESTROY: u32 = 38;
const BATCH_FORGET: u32 = 42;
const FALLOCATE: u32 = 43;

/// What we say of the file when it is opened: transfer directly, and do not ask when a descriptor is closed, because a
/// process that dies would wait for the answer.
const OPEN_DIRECTLY: u32 = 1 | 1 << 5;
/// What we agree to: large writes, of as many pages as we say.
const AGREED: u32 = 1 << 5 | 1 << 22;
/// The version of the protocol that we speak.
const VERSION: (u32, u32) = (7, 31);
/// For ever: nobody else changes the file.
const VALID_SECONDS: u64 = 1 << 40;
/// A regular file that its owner may use.
const MODE: u32 = 0o100_600;

const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 16;

/// The connection over which the file is served.
#[derive(Debug)]
pub(crate) struct Connection {
    fd: OwnedFd,
    bytes: u64,
    buffer: Vec<u8>,
}

/// A request, and numbers at places of its body.
struct Request<'b> {
    opcode: u32,
    unique: u64,
    body: &'b [u8],
}

impl<'b> Request<'b> {
    fn of(bytes: &'b [u8]) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER>()?;
        let whole = Request { opcode: 0, unique: 0, body: header };
        Some(Self { opcode: whole.u32(4), unique: whole.u64(8), body: &bytes[HEADER..] })
    }

    fn u32(&self, at: usize) -> u32 {
        self.body.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    fn u64(&self, at: usize) -> u64 {
        self.body.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }
}

impl Connection {
    pub fn new(fd: OwnedFd, sectors: u64) -> Result<Self, Errno> {
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(Self { fd, bytes: sectors * u64::from(SECTOR), buffer: vec![0; BUFFER] })
    }

    /// Answers all requests that are there; how many they were.
    ///
    /// # Errors
    /// Nobody has the file any more.
    pub fn answer(&mut self, storage: &mut dyn Storage) -> Result<u32, Errno> {
        let mut count = 0;
        loop {
            match read(&self.fd, &mut self.buffer) {
                Ok(len) => {
                    let Some(request) = Request::of(&self.buffer[..len]) else { return Err(Errno::PROTO) };
                    if let Some(reply) = reply(&request, self.bytes, storage) {
                        self.send(request.unique, reply)?;
                    }
                    count += 1;
                }
                // A request that was withdrawn before it was read is no request.
                Err(Errno::INTR | Errno::NOENT) => {}
                Err(Errno::AGAIN) => return Ok(count),
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&self, unique: u64, reply: Result<Vec<u8>, Errno>) -> Result<(), Errno> {
        let (error, body) = match reply {
            Ok(body) => (0, body),
            Err(error) => (-error.raw_os_error(), Vec::new()),
        };
        let len = u32::try_from(16 + body.len()).map_err(|_| Errno::MSGSIZE)?;
        let mut message = Vec::with_capacity(16 + body.len());
        message.extend_from_slice(&len.to_ne_bytes());
        message.extend_from_slice(&error.to_ne_bytes());
        message.extend_from_slice(&unique.to_ne_bytes());
        message.extend_from_slice(&body);
        match write(&self.fd, &message) {
            // Whoever asked was killed and does not wait any more.
            Err(Errno::NOENT) => Ok(()),
            sent => sent.map(drop),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The answer to a request; `None` if it wants none.
fn reply(request: &Request<'_>, bytes: u64, storage: &mut dyn Storage) -> Option<Result<Vec<u8>, Errno>> {
    let done = |went_well: bool| if went_well { Ok(Vec::new()) } else { Err(Errno::IO) };
    Some(match request.opcode {
        FORGET | BATCH_FORGET | INTERRUPT => return None,
        INIT => Ok(agreed(request.u32(8))),
        GETATTR => Ok(attributes(bytes)),
        OPEN => Ok(numbers(&[0, 0, OPEN_DIRECTLY, 0])),
        READ => read_range(storage, request.u64(8), request.u32(16) as usize, bytes),
        WRITE => {
            let data = request.body.get(HEADER..).unwrap_or_default();
            write_range(storage, request.u64(8), data, bytes).map(|()| numbers(&[request.u32(16), 0]))
        }
        FSYNC => done(storage.flush()),
        FALLOCATE => give_up(storage, request.u64(8), request.u64(16), request.u32(24)),
        STATFS => Ok(size(bytes)),
        RELEASE | DESTROY => Ok(Vec::new()),
        _ => Err(Errno::NOSYS),
    })
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn agreed(read_ahead: u32) -> Vec<u8> {
    // Behind the flags: how many requests may be under way unasked for, the largest write, the precision of times.
    let mut body =
        numbers(&[VERSION.0, VERSION.1, read_ahead, AGREED, 16 | 12 << 16, TRANSFER_MAX, 1, TRANSFER_MAX / PAGE]);
    body.resize(64, 0);
    body
}

fn attributes(bytes: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(104);
    let sectors = bytes / u64::from(SECTOR);
    [VALID_SECONDS, 0, 1, bytes, sectors, 0, 0, 0].iter().for_each(|one| body.extend_from_slice(&one.to_ne_bytes()));
    body.extend(numbers(&[0, 0, 0, MODE, 1, 0, 0, 0, SECTOR, 0]));
    body
}

fn size(bytes: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(80);
    [bytes / u64::from(SECTOR), 0, 0, 1, 0].iter().for_each(|one| body.extend_from_slice(&one.to_ne_bytes()));
    body.extend(numbers(&[SECTOR, 255, SECTOR, 0]));
    body.resize(80, 0);
    body
}

/// The whole sectors around a range, and where in them it begins.
fn around(offset: u64, len: usize) -> (u64, usize, usize) {
    let sector = u64::from(SECTOR);
    let skip = usize::try_from(offset % sector).unwrap_or(0);
    (offset / sector, skip, (skip + len).next_multiple_of(SECTOR_LEN))
}

fn read_range(storage: &mut dyn Storage, offset: u64, len: usize, bytes: u64) -> Result<Vec<u8>, Errno> {
    let len = len.min(TRANSFER_MAX as usize).min(usize::try_from(bytes.saturating_sub(offset)).unwrap_or(0));
    let (first, skip, whole) = around(offset, len);
    let mut data = vec![0; whole];
    if len > 0 && !storage.read(first, &mut data) {
        return Err(Errno::IO);
    }
    data.drain(..skip);
    data.truncate(len);
    Ok(data)
}

/// What is written of a sector in part is written together with the rest of it.
fn write_range(storage: &mut dyn Storage, offset: u64, data: &[u8], bytes: u64) -> Result<(), Errno> {
    if offset.saturating_add(data.len() as u64) > bytes {
        return Err(Errno::FBIG);
    }
    let (first, skip, whole) = around(offset, data.len());
    let written = if skip == 0 && whole == data.len() {
        storage.write(first, data)
    } else {
        let mut sectors = vec![0; whole];
        storage.read(first, &mut sectors) && {
            sectors[skip..skip + data.len()].copy_from_slice(data);
            storage.write(first, &sectors)
        }
    };
    if written { Ok(()) } else { Err(Errno::IO) }
}

fn give_up(storage: &mut dyn Storage, offset: u64, len: u64, mode: u32) -> Result<Vec<u8>, Errno> {
    let sector = u64::from(SECTOR);
    if !offset.is_multiple_of(sector) || !len.is_multiple_of(sector) {
        return Err(Errno::OPNOTSUPP);
    }
    let count = u32::try_from(len / sector).map_err(|_| Errno::INVAL)?;
    let done = if mode == PUNCH_HOLE | KEEP_SIZE {
        storage.discard(offset / sector, count)
    } else if mode & !KEEP_SIZE == ZERO_RANGE {
        storage.write(offset / sector, &vec![0; count as usize * SECTOR_LEN])
    } else {
        return Err(Errno::OPNOTSUPP);
    };
    if done { Ok(Vec::new()) } else { Err(Errno::IO) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Bytes(Vec<u8>);

    impl Storage for Bytes {
        fn read(&mut self, sector: u64, data: &mut [u8]) -> bool {
            let at = usize::try_from(sector).unwrap() * SECTOR_LEN;
            data.copy_from_slice(&self.0[at..at + data.len()]);
            true
        }

        fn write(&mut self, sector: u64, data: &[u8]) -> bool {
            let at = usize::try_from(sector).unwrap() * SECTOR_LEN;
            self.0[at..at + data.len()].copy_from_slice(data);
            true
        }
    }

    #[test]
    fn answers_have_the_size_that_the_kernel_expects() {
        assert_eq!((agreed(0).len(), attributes(1024).len(), size(1024).len()), (64, 104, 80));
    }

    #[test]
    fn parts_of_sectors_are_read_and_written() {
        let mut disk = Bytes(vec![1; 4 * SECTOR_LEN]);
        write_range(&mut disk, 510, &[7; 4], 2048).unwrap();
        assert_eq!(&disk.0[508..516], [1, 1, 7, 7, 7, 7, 1, 1]);
        assert_eq!(read_range(&mut disk, 509, 4, 2048).unwrap(), [1, 7, 7, 7]);
        assert_eq!(read_range(&mut disk, 2047, 100, 2048).unwrap(), [1]);
        assert_eq!(write_range(&mut disk, 2047, &[1; 2], 2048), Err(Errno::FBIG));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let mut bytes = vec![0; HEADER];
        bytes[4] = 99;
        let request = Request::of(&bytes).unwrap();
        assert!(matches!(reply(&request, 0, &mut Bytes::default()), Some(Err(Errno::NOSYS))));
        assert!(Request::of(&bytes[1..]).is_none());
    }
}
