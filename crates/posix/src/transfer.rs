//! What is done to an open file: reads, writes by all means, sizes, allocation, durability.
//!
//! Descriptors are raw here, because an op may be asked of a slot that is empty.

#![expect(unsafe_code, reason = "mappings, and descriptors that may be none, have no safe wrapper")]

use std::{ffi::CString, os::fd::RawFd};

use libc::{c_int, off_t};
use rustix::io;
use vfs::{Data, Fallocate, WriteAt, WriteVia};

use crate::FILE_BYTES_MAX;

/// Direct transfers and mappings need aligned memory and offsets.
const PAGE: usize = 4096;

/// Memory whose usable part starts at a page boundary.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(len: u64, fill: u8) -> io::Result<Self> {
        let memory = vec![fill; memory_size(len)? + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Ok(Self { memory, start })
    }

    fn bytes(&mut self) -> &mut [u8] {
        let len = self.memory.len() - PAGE;
        &mut self.memory[self.start..self.start + len]
    }
}

fn memory_size(len: u64) -> io::Result<usize> {
    usize::try_from(len).ok().filter(|_| len <= FILE_BYTES_MAX).ok_or(io::Errno::NOMEM)
}

pub(crate) fn read(fd: RawFd, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut buffer = Aligned::new(len, 0)?;
    let bytes = buffer.bytes();
    // SAFETY: the buffer has that length.
    let count = counted(unsafe { libc::pread(fd, bytes.as_mut_ptr().cast(), bytes.len(), signed(offset)) })?;
    Ok(bytes[..count].to_vec())
}

pub(crate) fn write(fd: RawFd, at: WriteAt, data: Data, via: WriteVia) -> io::Result<u64> {
    let (offset, append) = match at {
        WriteAt::Offset(offset) => (offset, 0),
        WriteAt::End => (0, libc::O_APPEND),
    };
    let wanted = append | if via == WriteVia::Direct { libc::O_DIRECT } else { 0 };
    let mut buffer = Aligned::new(data.len, data.fill)?;
    let bytes = buffer.bytes();
    // SAFETY: the buffer has that length; the flags are set back before the descriptor is used again.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        // What cannot take a flag (a directory, or no file at all) cannot be written either: the write will say why.
        if wanted != 0 {
            libc::fcntl(fd, libc::F_SETFL, flags | wanted);
        }
        let count = counted(libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len(), signed(offset)));
        if wanted != 0 {
            libc::fcntl(fd, libc::F_SETFL, flags);
        }
        Ok(count? as u64)
    }
}

/// A shared mapping of a range of a file, widened to whole pages.
struct Mapping {
    start: *mut libc::c_void,
    len: usize,
    /// Where the range starts in the mapping.
    skip: usize,
}

impl Mapping {
    fn new(fd: RawFd, offset: u64, len: u64, protection: c_int) -> io::Result<Self> {
        let skip = memory_size(offset % PAGE as u64)?;
        let len = if len == 0 { 0 } else { skip + memory_size(len)? };
        let page = signed(offset - offset % PAGE as u64);
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, page) };
        if start == libc::MAP_FAILED { Err(last_error()) } else { Ok(Self { start, len, skip }) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is used by nobody else.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

pub(crate) fn write_mapped(fd: RawFd, at: WriteAt, data: Data) -> io::Result<u64> {
    // SAFETY: `stat` is plain numbers; the store stays within a range that the file covers when it happens.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        done(libc::fstat(fd, &raw mut stat))?;
        let size = stat.st_size.cast_unsigned();
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => size,
        };
        let mapping = Mapping::new(fd, offset, data.len, libc::PROT_READ | libc::PROT_WRITE)?;
        if offset.saturating_add(data.len) > size {
            ftruncate(fd, offset.saturating_add(data.len))?;
        }
        mapping.start.cast::<u8>().add(mapping.skip).write_bytes(data.fill, mapping.len - mapping.skip);
    }
    Ok(data.len)
}

pub(crate) fn msync(fd: RawFd, offset: u64, len: u64) -> io::Result<()> {
    let mapping = Mapping::new(fd, offset, len, libc::PROT_READ)?;
    // SAFETY: the mapping is alive.
    done(unsafe { libc::msync(mapping.start, mapping.len, libc::MS_SYNC) })
}

pub(crate) fn truncate(path: &str, size: u64) -> io::Result<()> {
    let path = CString::new(path).map_err(|_| io::Errno::INVAL)?;
    // SAFETY: the string outlives the call.
    done(unsafe { libc::truncate(path.as_ptr(), signed(size)) })
}

pub(crate) fn ftruncate(fd: RawFd, size: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::ftruncate(fd, signed(size)) })
}

pub(crate) fn fallocate(fd: RawFd, how: Fallocate, offset: u64, len: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::fallocate(fd, fallocate_mode(how), signed(offset), signed(len)) })
}

pub(crate) fn fsync(fd: RawFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::fsync(fd) })
}

pub(crate) fn fdatasync(fd: RawFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::fdatasync(fd) })
}

pub(crate) fn syncfs(fd: RawFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::syncfs(fd) })
}

fn done(result: c_int) -> io::Result<()> {
    if result == -1 { Err(last_error()) } else { Ok(()) }
}

fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| last_error())
}

fn last_error() -> io::Errno {
    io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(io::Errno::IO)
}

/// Linux reads the same bits as a signed number.
fn signed(number: u64) -> off_t {
    number.cast_signed()
}

fn fallocate_mode(how: Fallocate) -> c_int {
    match how {
        Fallocate::Allocate => 0,
        Fallocate::KeepSize => libc::FALLOC_FL_KEEP_SIZE,
        Fallocate::PunchHole => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        Fallocate::ZeroRange => libc::FALLOC_FL_ZERO_RANGE,
        Fallocate::ZeroRangeKeepSize => libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
        Fallocate::CollapseRange => libc::FALLOC_FL_COLLAPSE_RANGE,
        Fallocate::InsertRange => libc::FALLOC_FL_INSERT_RANGE,
    }
}
