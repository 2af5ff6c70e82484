//! Ops in few words, so that a table of cases stays readable.

use vfs::{
    Credentials, Data, Errno, Fallocate, Fd, File, Op, OpenFlags, Outcome, Path, Rename, Value, WriteAt, WriteVia,
};

pub fn path(text: &str) -> Path {
    Path::new(text).expect("test paths are absolute")
}

/// `3` is a slot, `"/f"` a path.
pub trait IntoFile {
    fn file(self) -> File;
}

impl IntoFile for &str {
    fn file(self) -> File {
        File::Path(path(self))
    }
}

impl IntoFile for u8 {
    fn file(self) -> File {
        File::Fd(Fd(self))
    }
}

pub fn open(text: &str, flags: OpenFlags, fd: u8) -> Op {
    Op::Open { path: path(text), flags, mode: 0o644, fd: Fd(fd) }
}

pub fn open_mode(text: &str, flags: OpenFlags, mode: u32) -> Op {
    Op::Open { path: path(text), flags, mode, fd: Fd(1) }
}

pub fn close(fd: u8) -> Op {
    Op::Close { fd: Fd(fd) }
}

pub fn create(text: &str) -> Op {
    create_mode(text, 0o644)
}

pub fn create_mode(text: &str, mode: u32) -> Op {
    Op::Create { path: path(text), mode }
}

pub fn read(target: impl IntoFile, offset: u64, len: u64) -> Op {
    Op::Read { file: target.file(), offset, len }
}

fn write_via(target: impl IntoFile, at: WriteAt, len: u64, fill: u8, via: WriteVia) -> Op {
    Op::Write { file: target.file(), at, data: Data { len, fill }, via }
}

pub fn write(target: impl IntoFile, offset: u64, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::Offset(offset), len, fill, WriteVia::Buffered)
}

pub fn append(target: impl IntoFile, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::End, len, fill, WriteVia::Buffered)
}

pub fn write_mapped(target: impl IntoFile, offset: u64, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::Offset(offset), len, fill, WriteVia::Mmap)
}

pub fn append_mapped(target: impl IntoFile, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::End, len, fill, WriteVia::Mmap)
}

pub fn write_direct(target: impl IntoFile, offset: u64, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::Offset(offset), len, fill, WriteVia::Direct)
}

pub fn append_direct(target: impl IntoFile, len: u64, fill: u8) -> Op {
    write_via(target, WriteAt::End, len, fill, WriteVia::Direct)
}

pub fn truncate(target: impl IntoFile, size: u64) -> Op {
    Op::Truncate { file: target.file(), size }
}

pub fn fallocate(target: impl IntoFile, how: Fallocate, offset: u64, len: u64) -> Op {
    Op::Fallocate { file: target.file(), how, offset, len }
}

pub fn mkdir(text: &str) -> Op {
    mkdir_mode(text, 0o755)
}

pub fn mkdir_mode(text: &str, mode: u32) -> Op {
    Op::Mkdir { path: path(text), mode }
}

pub fn rmdir(text: &str) -> Op {
    Op::Rmdir { path: path(text) }
}

pub fn unlink(text: &str) -> Op {
    Op::Unlink { path: path(text) }
}

pub fn rename(from: &str, to: &str) -> Op {
    Op::Rename { from: path(from), to: path(to), how: Rename::Replace }
}

pub fn rename_new(from: &str, to: &str) -> Op {
    Op::Rename { from: path(from), to: path(to), how: Rename::NoReplace }
}

pub fn exchange(from: &str, to: &str) -> Op {
    Op::Rename { from: path(from), to: path(to), how: Rename::Exchange }
}

pub fn link(from: &str, to: &str) -> Op {
    Op::Link { from: path(from), to: path(to) }
}

pub fn symlink(target: &str, text: &str) -> Op {
    Op::Symlink { target: target.into(), path: path(text) }
}

pub fn chmod(text: &str, mode: u32) -> Op {
    Op::Chmod { path: path(text), mode }
}

pub fn chown(text: &str, uid: impl Into<Option<u32>>, gid: impl Into<Option<u32>>) -> Op {
    Op::Chown { path: path(text), uid: uid.into(), gid: gid.into() }
}

pub fn setxattr(text: &str, name: &str, len: u64) -> Op {
    Op::Setxattr { path: path(text), name: name.into(), value: Data { len, fill: 7 } }
}

pub fn removexattr(text: &str, name: &str) -> Op {
    Op::Removexattr { path: path(text), name: name.into() }
}

pub fn fsync(target: impl IntoFile) -> Op {
    Op::Fsync { file: target.file() }
}

pub fn fdatasync(target: impl IntoFile) -> Op {
    Op::Fdatasync { file: target.file() }
}

pub fn msync(target: impl IntoFile, offset: u64, len: u64) -> Op {
    Op::Msync { file: target.file(), offset, len }
}

pub const DONE: Outcome = Ok(Value::Done);

#[expect(clippy::unnecessary_wraps, reason = "it stands for an outcome")]
pub fn count(bytes: u64) -> Outcome {
    Ok(Value::Count(bytes))
}

/// Bytes that were read, as runs of (length, fill).
#[expect(clippy::unnecessary_wraps, reason = "it stands for an outcome")]
pub fn bytes(runs: &[(usize, u8)]) -> Outcome {
    Ok(Value::Bytes(runs.iter().flat_map(|&(len, fill)| vec![fill; len]).collect()))
}

pub fn fails(errno: Errno) -> Outcome {
    Err(errno)
}

/// A user who owns nothing unless a case says so.
pub fn user() -> Credentials {
    Credentials { uid: 1000, gid: 1000, groups: vec![2000] }
}

/// Another one.
pub fn stranger() -> Credentials {
    Credentials { uid: 1001, gid: 1001, groups: vec![1000] }
}
