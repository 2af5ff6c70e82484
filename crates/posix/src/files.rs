//! The executor: one op, the system calls that it means, its outcome.

use std::{
    collections::BTreeMap,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use rustix::{
    fs::{Mode, OFlags, open, sync},
    io,
};
use vfs::{Fd, File, Op, OpenFlags, Outcome, Path, Value, WriteVia};

use crate::{errno, paths, transfer};

/// The file system at the root directory of the calling thread, with the slots that ops have filled.
#[derive(Debug, Default)]
pub struct Files {
    slots: BTreeMap<Fd, OwnedFd>,
}

impl Files {
    /// No slot is filled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does an op. To remount and to crash is not in the power of a system call on files: both only close all slots
    /// here, and the caller does the rest.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn apply(&mut self, op: &Op) -> Outcome {
        self.run(op).map_err(errno)
    }

    /// Empties all slots.
    pub fn close_all(&mut self) {
        self.slots.clear();
    }

    fn run(&mut self, op: &Op) -> io::Result<Value> {
        if let Some(result) = paths::run(op) {
            return result.map(|()| Value::Done);
        }
        match op {
            Op::Open { path, flags, mode, fd } => {
                let file = open_path(path, *flags, *mode)?;
                self.slots.insert(*fd, file);
            }
            Op::Close { fd } => drop(self.slots.remove(fd).ok_or(io::Errno::BADF)?),
            Op::Create { path, mode } => {
                open_path(path, OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::WRONLY, *mode)?;
            }
            Op::Sync => sync(),
            Op::Syncfs => transfer::syncfs(open_path(&Path::root(), OpenFlags::RDONLY, 0)?.as_raw_fd())?,
            Op::Remount | Op::Crash => self.close_all(),
            Op::Truncate { file: File::Path(path), size } => transfer::truncate(path.as_str(), *size)?,
            _ => return self.run_on_file(op),
        }
        Ok(Value::Done)
    }

    /// Ops that work on an open file, or open one for a moment.
    fn run_on_file(&self, op: &Op) -> io::Result<Value> {
        let done = |()| Value::Done;
        match op {
            Op::Read { file, offset, len } => {
                self.on(file, OpenFlags::RDONLY, |fd| transfer::read(fd, *offset, *len)).map(Value::Bytes)
            }
            Op::Write { file, at, data, via: WriteVia::Mmap } => {
                self.on(file, OpenFlags::RDWR, |fd| transfer::write_mapped(fd, *at, *data)).map(Value::Count)
            }
            Op::Write { file, at, data, via } => {
                self.on(file, OpenFlags::WRONLY, |fd| transfer::write(fd, *at, *data, *via)).map(Value::Count)
            }
            Op::Truncate { file, size } => {
                self.on(file, OpenFlags::WRONLY, |fd| transfer::ftruncate(fd, *size)).map(done)
            }
            Op::Fallocate { file, how, offset, len } => {
                self.on(file, OpenFlags::WRONLY, |fd| transfer::fallocate(fd, *how, *offset, *len)).map(done)
            }
            Op::Fsync { file } => self.on(file, OpenFlags::RDONLY, transfer::fsync).map(done),
            Op::Fdatasync { file } => self.on(file, OpenFlags::RDONLY, transfer::fdatasync).map(done),
            Op::Msync { file, offset, len } => {
                self.on(file, OpenFlags::RDWR, |fd| transfer::msync(fd, *offset, *len)).map(done)
            }
            _ => unreachable!("{op} works on no file, and was done before"),
        }
    }

    fn on<R>(&self, file: &File, flags: OpenFlags, work: impl FnOnce(RawFd) -> io::Result<R>) -> io::Result<R> {
        match file {
            // An empty slot goes to the kernel too, as a descriptor that never is: in which order a call finds its
            // arguments wrong is the kernel's to say.
            File::Fd(fd) => work(self.slots.get(fd).map_or(-1, AsRawFd::as_raw_fd)),
            File::Path(path) => work(open_path(path, flags, 0)?.as_raw_fd()),
        }
    }
}

fn open_path(path: &Path, flags: OpenFlags, mode: u32) -> io::Result<OwnedFd> {
    open(path.as_str(), OFlags::from_bits_retain(flags.0) | OFlags::CLOEXEC, Mode::from_bits_retain(mode))
}
