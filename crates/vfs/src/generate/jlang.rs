//! J-lang, the language in which `CrashMonkey` writes workloads down, and what its calls mean in our ops.
//!
//! A call of J-lang names files by path, but works on the file that was opened last under that name: so do these ops,
//! through slots. What a call does beyond its name is that of the program that `CrashMonkey` makes of it: a `dwrite`
//! opens the file anew with `O_DIRECT|O_SYNC` and closes it, a `mmapwrite` allocates, stores and calls `msync` on the
//! first 8192 bytes of its range.

mod parse;

use std::collections::BTreeMap;

use crate::{Data, Fallocate, Fd, File, Op, OpenFlags, Path, Rename, WriteAt, WriteVia};

pub use parse::{ParseJlangError, is_jlang, parse};

/// How many files have a slot.
const SLOTS: usize = 1 << u8::BITS;
/// How much of a mapping is made durable.
const MSYNC_LEN: u64 = 8192;
/// The one attribute that is set and removed, and its value.
const XATTR: (&str, Data) = ("user.xattr1", Data { len: 4, fill: b'v' });
/// Files are opened like this, and directories.
pub(super) const OPEN_FILE: OpenFlags = OpenFlags(OpenFlags::RDWR.0 | OpenFlags::CREAT.0);
const OPEN_DIR: OpenFlags = OpenFlags(OpenFlags::RDONLY.0 | OpenFlags::DIRECTORY.0);
const OPEN_DIRECT: OpenFlags = OpenFlags(OpenFlags::RDWR.0 | OpenFlags::DIRECT.0 | OpenFlags::SYNC.0);
/// The permission bits of everything that is made.
pub(super) const MODE: u32 = 0o777;

/// One call of J-lang. Those that are for `CrashMonkey` alone (`none`, `checkpoint`) are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// `open F flags mode`
    Open(Path, OpenFlags, u32),
    /// `opendir D mode`
    OpenDir(Path),
    /// `close F`
    Close(Path),
    /// `mkdir D mode`
    Mkdir(Path, u32),
    /// `rmdir D`
    Rmdir(Path),
    /// `unlink F`, and `remove F`, which is the same for what is no directory
    Unlink(Path),
    /// `link A B`
    Link(Path, Path),
    /// `symlink A B`
    Symlink(Path, Path),
    /// `rename A B`
    Rename(Path, Path),
    /// `write F offset len`
    Write(Path, Range),
    /// `dwrite F offset len`
    Dwrite(Path, Range),
    /// `mmapwrite F offset len`
    Mmapwrite(Path, Range),
    /// `falloc F mode offset len`
    Falloc(Path, Fallocate, Range),
    /// `truncate F len`
    Truncate(Path, u64),
    /// `fsetxattr F`
    Fsetxattr(Path),
    /// `removexattr F`
    Removexattr(Path),
    /// `fsync F`
    Fsync(Path),
    /// `fdatasync F`
    Fdatasync(Path),
    /// `sync`
    Sync,
}

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte. One that J-lang has as a negative number wraps around: no file system takes it, the call fails.
    pub offset: u64,
    /// How many.
    pub len: u64,
}

/// A call that cannot be an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The file that it works on was not opened.
    #[error("{0:?} is not open here")]
    NotOpen(Path),
    /// It opens one more file than there are slots.
    #[error("{0:?} is one file more than the {SLOTS} that a workload can open")]
    NoSlot(Path),
}

/// Turns calls into ops, one workload at a time.
#[derive(Debug, Default)]
pub struct Lowering {
    /// The slot of everything that ever was open, and whether it is.
    slots: BTreeMap<Path, (Fd, bool)>,
    fill: u8,
    ops: Vec<Op>,
}

impl Lowering {
    /// The ops so far.
    pub fn finish(self) -> Vec<Op> {
        self.ops
    }

    /// One more call.
    ///
    /// # Errors
    /// It works on a file that is not open, or opens one for which there is no slot.
    pub fn push(&mut self, call: Call) -> Result<(), LowerError> {
        let op = match call {
            Call::Open(path, flags, mode) => self.open(path, flags, mode)?,
            Call::OpenDir(path) => self.open(path, OPEN_DIR, 0)?,
            Call::Close(path) => self.close(&path)?,
            Call::Mkdir(path, mode) => Op::Mkdir { path, mode },
            Call::Rmdir(path) => Op::Rmdir { path },
            Call::Unlink(path) => Op::Unlink { path },
            Call::Link(from, to) => Op::Link { from, to },
            Call::Symlink(target, path) => Op::Symlink { target: target.as_str().into(), path },
            Call::Rename(from, to) => Op::Rename { from, to, how: Rename::Replace },
            Call::Write(path, range) => self.write(&path, range, WriteVia::Buffered)?,
            Call::Dwrite(path, range) => {
                let closed = self.close(&path)?;
                let opened = self.open(path.clone(), OPEN_DIRECT, 0)?;
                let written = self.write(&path, range, WriteVia::Direct)?;
                self.ops.extend([closed, opened, written]);
                self.close(&path)?
            }
            Call::Mmapwrite(path, range) => {
                let Range { offset, len } = range;
                let file = self.file(&path)?;
                let written = self.write(&path, range, WriteVia::Mmap)?;
                let how = Fallocate::Allocate;
                self.ops.extend([Op::Fallocate { file: file.clone(), how, offset, len }, written]);
                Op::Msync { file, offset, len: MSYNC_LEN }
            }
            Call::Falloc(path, how, Range { offset, len }) => {
                Op::Fallocate { file: self.file(&path)?, how, offset, len }
            }
            Call::Truncate(path, size) => Op::Truncate { file: File::Path(path), size },
            Call::Fsetxattr(path) => Op::Setxattr { path, name: XATTR.0.into(), value: XATTR.1 },
            Call::Removexattr(path) => Op::Removexattr { path, name: XATTR.0.into() },
            Call::Fsync(path) => Op::Fsync { file: self.file(&path)? },
            Call::Fdatasync(path) => Op::Fdatasync { file: self.file(&path)? },
            Call::Sync => Op::Sync,
        };
        self.ops.push(op);
        Ok(())
    }

    /// Slots are numbered in the order in which they are first used, so that workloads that begin alike have the same.
    fn open(&mut self, path: Path, flags: OpenFlags, mode: u32) -> Result<Op, LowerError> {
        let known = self.slots.get(&path).map(|(fd, _)| *fd);
        let next = || u8::try_from(self.slots.len()).map(Fd).map_err(|_| LowerError::NoSlot(path.clone()));
        let fd = known.map_or_else(next, Ok)?;
        self.slots.insert(path.clone(), (fd, true));
        Ok(Op::Open { path, flags, mode, fd })
    }

    fn close(&mut self, path: &Path) -> Result<Op, LowerError> {
        match self.slots.get_mut(path) {
            Some((fd, is_open @ true)) => {
                *is_open = false;
                Ok(Op::Close { fd: *fd })
            }
            _ => Err(LowerError::NotOpen(path.clone())),
        }
    }

    fn file(&self, path: &Path) -> Result<File, LowerError> {
        let slot = self.slots.get(path).filter(|(_, is_open)| *is_open);
        slot.map(|(fd, _)| File::Fd(*fd)).ok_or_else(|| LowerError::NotOpen(path.clone()))
    }

    /// Each write of a workload has a fill of its own, so that what is found can be told apart.
    fn write(&mut self, path: &Path, Range { offset, len }: Range, via: WriteVia) -> Result<Op, LowerError> {
        let file = self.file(path)?;
        self.fill = self.fill.wrapping_add(1).max(1);
        Ok(Op::Write { file, at: WriteAt::Offset(offset), data: Data { len, fill: self.fill }, via })
    }
}
