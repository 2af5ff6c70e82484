//! Ops as system calls, made by one thread that has changed its root directory.
//!
//! The thread first takes a file-system context of its own (`unshare(CLONE_FS)`), so its root and its umask are not
//! those of the test process, and then enters the directory under test with `chroot`: no path, absolute symlinks
//! included, can lead out. It becomes another user for one op at a time by changing its effective ids with raw system
//! calls, which on Linux concern the calling thread alone.

#![expect(unsafe_code, reason = "system calls are what this file is about")]

use std::{
    collections::BTreeMap,
    ffi::CString,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
};

use libc::{c_int, c_long, off_t};
use vfs::{
    Credentials, Data, Errno, Fallocate, Fd, File, Op, OpenFlags, Outcome, Path, Rename, Value, WriteAt, WriteVia,
};

/// Direct transfers and mappings need aligned memory and offsets.
const PAGE: usize = 4096;

/// The file system below a directory, seen by a thread that cannot see anything else.
pub struct Kernel {
    slots: BTreeMap<Fd, OwnedFd>,
}

impl Kernel {
    /// Shuts the calling thread into the directory. There is no way back; use a thread of its own.
    pub fn enter(dir: &std::path::Path, umask: u32) -> io::Result<Self> {
        let dir = CString::new(dir.as_os_str().as_bytes())?;
        // SAFETY: these calls take a valid string and no other memory.
        unsafe {
            check(libc::unshare(libc::CLONE_FS).into())?;
            check(libc::chroot(dir.as_ptr()).into())?;
            check(libc::chdir(c"/".as_ptr()).into())?;
            libc::umask(umask);
        }
        Ok(Self { slots: BTreeMap::new() })
    }

    /// Does an op as this caller.
    pub fn apply(&mut self, caller: &Credentials, op: &Op) -> Outcome {
        become_user(caller).expect("root may become anybody");
        let result = self.run(op);
        become_user(&Credentials::default()).expect("the saved ids are root's");
        result.map_err(|error| errno(&error))
    }

    fn run(&mut self, op: &Op) -> io::Result<Value> {
        match op {
            Op::Open { path, flags, mode, fd } => {
                let file = open(path, *flags, *mode)?;
                self.slots.insert(*fd, file);
            }
            Op::Close { fd } => drop(self.slots.remove(fd).ok_or_else(bad_slot)?),
            Op::Create { path, mode } => {
                open(path, OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::WRONLY, *mode)?;
            }
            Op::Read { file, offset, len } => {
                return self.on(file, OpenFlags::RDONLY, |fd| read(fd, *offset, *len));
            }
            Op::Write { file, at, data, via: WriteVia::Mmap } => {
                return self.on(file, OpenFlags::RDWR, |fd| write_mapped(fd, *at, *data));
            }
            Op::Write { file, at, data, via } => {
                return self.on(file, OpenFlags::WRONLY, |fd| write(fd, *at, *data, *via));
            }
            Op::Truncate { file: File::Path(path), size } => {
                let path = text(path.as_str())?;
                // SAFETY: the string outlives the call.
                check(unsafe { libc::truncate(path.as_ptr(), signed(*size)) }.into())?;
            }
            Op::Truncate { file: File::Fd(fd), size } => {
                // SAFETY: no memory is passed.
                check(unsafe { libc::ftruncate(self.slot(*fd), signed(*size)) }.into())?;
            }
            Op::Fallocate { file, how, offset, len } => {
                return self.on(file, OpenFlags::WRONLY, |fd| {
                    // SAFETY: no memory is passed.
                    check(unsafe { libc::fallocate(fd, fallocate_mode(*how), signed(*offset), signed(*len)) }.into())?;
                    Ok(Value::Done)
                });
            }
            Op::Fsync { file } | Op::Fdatasync { file } => {
                return self.on(file, OpenFlags::RDONLY, |fd| {
                    let sync = if matches!(op, Op::Fsync { .. }) { libc::fsync } else { libc::fdatasync };
                    // SAFETY: no memory is passed.
                    check(unsafe { sync(fd) }.into())?;
                    Ok(Value::Done)
                });
            }
            Op::Msync { file, offset, len } => {
                return self.on(file, OpenFlags::RDONLY, |fd| {
                    let mapping = Mapping::new(fd, *offset, *len, libc::PROT_READ)?;
                    // SAFETY: the mapping is alive.
                    check(unsafe { libc::msync(mapping.start, mapping.len, libc::MS_SYNC) }.into())?;
                    Ok(Value::Done)
                });
            }
            // Nothing of what is durable can be seen here, and a sync of the machine's disks would take long.
            Op::Sync | Op::Syncfs => {}
            Op::Remount | Op::Crash => self.slots.clear(),
            _ => by_path(op)?,
        }
        Ok(Value::Done)
    }

    fn slot(&self, fd: Fd) -> RawFd {
        self.slots.get(&fd).map_or(-1, AsRawFd::as_raw_fd)
    }

    fn on(&self, file: &File, flags: OpenFlags, work: impl FnOnce(RawFd) -> io::Result<Value>) -> io::Result<Value> {
        match file {
            File::Fd(fd) => work(self.slot(*fd)),
            File::Path(path) => work(open(path, flags, 0)?.as_raw_fd()),
        }
    }
}

/// Ops that need no open file.
fn by_path(op: &Op) -> io::Result<()> {
    let [first, second] = match op {
        Op::Rename { from, to, .. } | Op::Link { from, to } => [from.as_str(), to.as_str()],
        Op::Symlink { target, path } => [target, path.as_str()],
        Op::Setxattr { path, name, .. } | Op::Removexattr { path, name } => [path.as_str(), name],
        _ => [op.paths().first().map_or("", |path| path.as_str()), ""],
    };
    let (first, second) = (text(first)?, text(second)?);
    let (p, q) = (first.as_ptr(), second.as_ptr());
    // SAFETY: both strings outlive the calls, and the value's length is its own.
    let result = unsafe {
        match op {
            Op::Mkdir { mode, .. } => libc::mkdir(p, *mode),
            Op::Rmdir { .. } => libc::rmdir(p),
            Op::Unlink { .. } => libc::unlink(p),
            Op::Rename { how, .. } => libc::renameat2(libc::AT_FDCWD, p, libc::AT_FDCWD, q, rename_flags(*how)),
            Op::Link { .. } => libc::link(p, q),
            Op::Symlink { .. } => libc::symlink(p, q),
            Op::Chmod { mode, .. } => libc::chmod(p, *mode),
            Op::Chown { uid, gid, .. } => libc::chown(p, uid.unwrap_or(u32::MAX), gid.unwrap_or(u32::MAX)),
            Op::Setxattr { value, .. } => {
                let bytes = vec![value.fill; value.len.try_into().expect("attribute values are short")];
                libc::setxattr(p, q, bytes.as_ptr().cast(), bytes.len(), 0)
            }
            Op::Removexattr { .. } => libc::removexattr(p, q),
            _ => unreachable!("{op:?} works on a file"),
        }
    };
    check(result.into()).map(drop)
}

fn open(path: &Path, flags: OpenFlags, mode: u32) -> io::Result<OwnedFd> {
    let path = text(path.as_str())?;
    let flags = c_int::try_from(flags.0).expect("flags are below the sign bit");
    // SAFETY: the string outlives the call, and the descriptor is owned by nobody else.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode);
        check(fd.into())?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Memory whose usable part starts at a page boundary.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(len: u64, fill: u8) -> Self {
        let memory = vec![fill; usize::try_from(len).expect("transfers are short") + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let len = self.memory.len() - PAGE;
        &mut self.memory[self.start..self.start + len]
    }
}

fn read(fd: RawFd, offset: u64, len: u64) -> io::Result<Value> {
    let mut buffer = Aligned::new(len, 0);
    let bytes = buffer.bytes();
    // SAFETY: the buffer has that length.
    let count = check(unsafe { libc::pread(fd, bytes.as_mut_ptr().cast(), bytes.len(), signed(offset)) } as c_long)?;
    Ok(Value::Bytes(bytes[..usize::try_from(count).expect("a count")].to_vec()))
}

fn write(fd: RawFd, at: WriteAt, data: Data, via: WriteVia) -> io::Result<Value> {
    let (offset, append) = match at {
        WriteAt::Offset(offset) => (offset, 0),
        WriteAt::End => (0, libc::O_APPEND),
    };
    let direct = if via == WriteVia::Direct { libc::O_DIRECT } else { 0 };
    let mut buffer = Aligned::new(data.len, data.fill);
    let bytes = buffer.bytes();
    // SAFETY: the buffer has that length; the flags are set back before the descriptor is used again.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        check(flags.into())?;
        // What cannot take a flag (a directory) cannot be written either: the write will say why.
        libc::fcntl(fd, libc::F_SETFL, flags | append | direct);
        let count = check(libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len(), signed(offset)) as c_long);
        libc::fcntl(fd, libc::F_SETFL, flags);
        Ok(Value::Count(u64::try_from(count?).expect("a count")))
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
        let skip = usize::try_from(offset % PAGE as u64).expect("less than a page");
        let len = if len == 0 { 0 } else { skip + usize::try_from(len).expect("mappings are short") };
        let page = signed(offset - offset % PAGE as u64);
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, page) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { start, len, skip }) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is used by nobody else.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

fn write_mapped(fd: RawFd, at: WriteAt, data: Data) -> io::Result<Value> {
    // SAFETY: `stat` is plain numbers; the store stays within a range that the file covers when it happens.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check(libc::fstat(fd, &raw mut stat).into())?;
        let size = u64::try_from(stat.st_size).expect("a size");
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => size,
        };
        let mapping = Mapping::new(fd, offset, data.len, libc::PROT_READ | libc::PROT_WRITE)?;
        if offset + data.len > size {
            check(libc::ftruncate(fd, signed(offset + data.len)).into())?;
        }
        mapping.start.cast::<u8>().add(mapping.skip).write_bytes(data.fill, mapping.len - mapping.skip);
    }
    Ok(Value::Count(data.len))
}

/// Gives the calling thread these effective ids. Root's ids stay saved, so it can come back.
fn become_user(caller: &Credentials) -> io::Result<()> {
    const KEEP: c_long = -1;
    // SAFETY: the groups have that length.
    unsafe {
        check(libc::syscall(libc::SYS_setresuid, KEEP, 0 as c_long, KEEP))?;
        check(libc::syscall(libc::SYS_setgroups, caller.groups.len(), caller.groups.as_ptr()))?;
        check(libc::syscall(libc::SYS_setresgid, KEEP, c_long::from(caller.gid), KEEP))?;
        check(libc::syscall(libc::SYS_setresuid, KEEP, c_long::from(caller.uid), KEEP))?;
    }
    Ok(())
}

fn check(result: c_long) -> io::Result<c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn bad_slot() -> io::Error {
    io::Error::from_raw_os_error(libc::EBADF)
}

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Linux reads the same bits as a signed number.
fn signed(number: u64) -> off_t {
    number.cast_signed()
}

/// The name of an error number. One that the vocabulary lacks would be a finding.
pub fn errno(error: &io::Error) -> Errno {
    let number = error.raw_os_error();
    let known = Errno::ALL.iter().find(|errno| Some(errno.number()) == number);
    *known.unwrap_or_else(|| panic!("the vocabulary has no name for {error}"))
}

fn rename_flags(how: Rename) -> libc::c_uint {
    match how {
        Rename::Replace => 0,
        Rename::NoReplace => libc::RENAME_NOREPLACE,
        Rename::Exchange => libc::RENAME_EXCHANGE,
    }
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
