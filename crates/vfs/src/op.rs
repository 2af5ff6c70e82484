//! The operation vocabulary: everything that a file system can be asked, as plain data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Errno, Path};

/// What an op returned: a value or an errno.
pub type Outcome = Result<Value, Errno>;

/// What a successful op returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Success, and nothing more to say.
    Done,
    /// That many bytes were written.
    Count(u64),
    /// The bytes that were read.
    Bytes(Vec<u8>),
}

/// A slot for an open file. Slots are named by the workload, not by the kernel, so that a trace means the same on
/// every target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fd(pub u8);

/// How an op names the file that it works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum File {
    /// By path: the op opens the file, does its work and closes it again.
    Path(Path),
    /// Through a slot that an earlier `open` filled.
    Fd(Fd),
}

/// Bytes to be stored: `len` times the byte `fill`. Enough to tell writes apart, short enough to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Data {
    /// How many bytes.
    pub len: u64,
    /// The value of each.
    pub fill: u8,
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteAt {
    /// At this byte offset.
    Offset(u64),
    /// At the end, as with `O_APPEND`.
    End,
}

/// Which way a write takes to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteVia {
    /// `pwrite`.
    Buffered,
    /// Stores through a shared mapping; the file is extended first where the range reaches past its end.
    Mmap,
    /// `O_DIRECT`.
    Direct,
}

/// What `fallocate` does to its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallocate {
    /// Reserve space and extend the file.
    Allocate,
    /// Reserve space, keep the size.
    KeepSize,
    /// Make a hole (keeps the size).
    PunchHole,
    /// Zero the range and extend the file.
    ZeroRange,
    /// Zero the range, keep the size.
    ZeroRangeKeepSize,
    /// Remove the range and close the gap.
    CollapseRange,
    /// Insert a hole and move what follows.
    InsertRange,
}

/// What `rename` does when the new name exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rename {
    /// Replace it.
    Replace,
    /// Fail with `EEXIST`.
    NoReplace,
    /// Exchange the two.
    Exchange,
}

/// The flags of `open`, by the bits that Linux uses on x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// Open for reading.
    pub const RDONLY: Self = Self(0);
    /// Open for writing.
    pub const WRONLY: Self = Self(0o1);
    /// Open for both.
    pub const RDWR: Self = Self(0o2);
    /// Create the file if it is missing.
    pub const CREAT: Self = Self(0o100);
    /// With `CREAT`: fail if it exists.
    pub const EXCL: Self = Self(0o200);
    /// Cut an existing file to nothing.
    pub const TRUNC: Self = Self(0o1000);
    /// Every write goes to the end.
    pub const APPEND: Self = Self(0o2000);
    /// A write returns when the data is durable.
    pub const DSYNC: Self = Self(0o10000);
    /// Bypass the page cache.
    pub const DIRECT: Self = Self(0o40000);
    /// Fail unless it is a directory.
    pub const DIRECTORY: Self = Self(0o200_000);
    /// Fail if the last component is a symlink.
    pub const NOFOLLOW: Self = Self(0o400_000);
    /// A write returns when data and metadata are durable (includes the bit of `DSYNC`).
    pub const SYNC: Self = Self(0o4_010_000);

    /// Whether all bits of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for OpenFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One file-system operation with all its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Open, and perhaps create, a file; the slot `fd` holds it until `close`.
    Open { path: Path, flags: OpenFlags, mode: u32, fd: Fd },
    /// Empty a slot.
    Close { fd: Fd },
    /// `open(O_CREAT|O_EXCL|O_WRONLY)` and close.
    Create { path: Path, mode: u32 },
    /// Read a range; the outcome carries the bytes.
    Read { file: File, offset: u64, len: u64 },
    /// Store bytes.
    Write {
        file: File,
        at: WriteAt,
        #[serde(flatten)]
        data: Data,
        via: WriteVia,
    },
    /// Set the size.
    Truncate { file: File, size: u64 },
    /// Change the allocation of a range.
    Fallocate { file: File, how: Fallocate, offset: u64, len: u64 },
    /// Make a directory.
    Mkdir { path: Path, mode: u32 },
    /// Remove an empty directory.
    Rmdir { path: Path },
    /// Remove a name of anything but a directory.
    Unlink { path: Path },
    /// Give something another name.
    Rename { from: Path, to: Path, how: Rename },
    /// Give a file one more name.
    Link { from: Path, to: Path },
    /// Make a symlink that says `target`.
    Symlink { target: Arc<str>, path: Path },
    /// Change permission bits.
    Chmod { path: Path, mode: u32 },
    /// Change owner or group; `None` leaves it.
    Chown { path: Path, uid: Option<u32>, gid: Option<u32> },
    /// Set an extended attribute (created or replaced).
    Setxattr {
        path: Path,
        name: Arc<str>,
        #[serde(flatten)]
        value: Data,
    },
    /// Remove an extended attribute.
    Removexattr { path: Path, name: Arc<str> },
    /// Make a file or directory durable.
    Fsync { file: File },
    /// Make a file's data durable.
    Fdatasync { file: File },
    /// Make a mapped range durable.
    Msync { file: File, offset: u64, len: u64 },
    /// Make everything durable.
    Sync,
    /// Make this file system durable.
    Syncfs,
    /// Unmount and mount again.
    Remount,
    /// Cut the power, recover and go on with what was recovered.
    Crash,
}
