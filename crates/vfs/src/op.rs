//! The operation vocabulary: everything that a file system can be asked, as plain data.
//!
//! An op has two written forms that say the same with the same keys: one line of text (`text.rs`) and JSON
//! (`json.rs`).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Errno, Fallocate, OpKind, OpenFlags, Path, Rename, WriteVia, tree::Sentence};

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
    /// The bytes that were read. In JSON they are runs of equal bytes: `{"bytes":[{"len":512,"fill":2}]}`.
    #[serde(with = "crate::json::runs")]
    Bytes(Vec<u8>),
}

/// What the op did, in words that follow it: `read("/a", offset=0, len=4) read 4 bytes of fill 2`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("succeeded"),
            Self::Count(1) => f.write_str("wrote 1 byte"),
            Self::Count(count) => write!(f, "wrote {count} bytes"),
            Self::Bytes(bytes) => write!(f, "read {}", Sentence(bytes)),
        }
    }
}

/// A slot for an open file. Slots are named by the workload, not by the kernel, so that a trace means the same on
/// every target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fd(pub u8);

/// How an op names the file that it works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WriteAt {
    /// At this byte offset.
    Offset(u64),
    /// At the end, as with `O_APPEND`.
    End,
}

/// One file-system operation with all its arguments.
///
/// ```
/// # use vfs::Op;
/// let text = r#"write("/a/f", offset=4096, len=512, fill=2)"#;
/// let json = r#"{"op":"write","file":"/a/f","offset":4096,"len":512,"fill":2}"#;
/// let op: Op = text.parse().unwrap();
/// assert_eq!(op.to_string(), text);
/// assert_eq!(serde_json::to_string(&op).unwrap(), json);
/// assert_eq!(serde_json::from_str::<Op>(json).unwrap(), op);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Open, and perhaps create, a file; the slot `fd` holds it until `close`.
    Open {
        /// What to open.
        path: Path,
        /// How to open it.
        flags: OpenFlags,
        /// The permission bits of a file that is created.
        mode: u32,
        /// The slot to fill.
        fd: Fd,
    },
    /// Empty a slot.
    Close {
        /// The slot.
        fd: Fd,
    },
    /// `open(O_CREAT|O_EXCL|O_WRONLY)` and close.
    Create {
        /// The new name.
        path: Path,
        /// Its permission bits.
        mode: u32,
    },
    /// Read a range; the outcome carries the bytes.
    Read {
        /// What to read.
        file: File,
        /// The first byte.
        offset: u64,
        /// How many bytes at most.
        len: u64,
    },
    /// Store bytes.
    Write {
        /// Where to store them.
        file: File,
        /// At which place in the file.
        at: WriteAt,
        /// The bytes.
        data: Data,
        /// By which means.
        via: WriteVia,
    },
    /// Set the size.
    Truncate {
        /// Of which file.
        file: File,
        /// The new size in bytes.
        size: u64,
    },
    /// Change the allocation of a range.
    Fallocate {
        /// Of which file.
        file: File,
        /// What happens to the range.
        how: Fallocate,
        /// Its first byte.
        offset: u64,
        /// Its length in bytes.
        len: u64,
    },
    /// Make a directory.
    Mkdir {
        /// The new name.
        path: Path,
        /// Its permission bits.
        mode: u32,
    },
    /// Remove an empty directory.
    Rmdir {
        /// Which one.
        path: Path,
    },
    /// Remove a name of anything but a directory.
    Unlink {
        /// The name.
        path: Path,
    },
    /// Give something another name.
    Rename {
        /// The old name.
        from: Path,
        /// The new name.
        to: Path,
        /// What happens if the new name exists.
        how: Rename,
    },
    /// Give a file one more name.
    Link {
        /// A name that it has.
        from: Path,
        /// The additional one.
        to: Path,
    },
    /// Make a symlink.
    Symlink {
        /// What it says; it need not exist, nor be absolute.
        target: Arc<str>,
        /// The new name.
        path: Path,
    },
    /// Change permission bits.
    Chmod {
        /// Of what.
        path: Path,
        /// The new bits.
        mode: u32,
    },
    /// Change owner or group.
    Chown {
        /// Of what.
        path: Path,
        /// The new owner; `None` leaves it.
        uid: Option<u32>,
        /// The new group; `None` leaves it.
        gid: Option<u32>,
    },
    /// Set an extended attribute (created or replaced).
    Setxattr {
        /// Of what.
        path: Path,
        /// The attribute, with its namespace: `user.a`.
        name: Arc<str>,
        /// Its new value.
        value: Data,
    },
    /// Remove an extended attribute.
    Removexattr {
        /// Of what.
        path: Path,
        /// The attribute.
        name: Arc<str>,
    },
    /// Make a file or directory durable.
    Fsync {
        /// Which one.
        file: File,
    },
    /// Make a file's data durable.
    Fdatasync {
        /// Which file.
        file: File,
    },
    /// Make a mapped range durable.
    Msync {
        /// Of which file.
        file: File,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
    /// Make everything durable.
    Sync,
    /// Make this file system durable.
    Syncfs,
    /// Unmount and mount again.
    Remount,
    /// Cut the power, recover and go on with what was recovered.
    Crash,
}

impl Op {
    /// What it does, without its arguments.
    pub fn kind(&self) -> OpKind {
        match self {
            Self::Open { .. } => OpKind::Open,
            Self::Close { .. } => OpKind::Close,
            Self::Create { .. } => OpKind::Create,
            Self::Read { .. } => OpKind::Read,
            Self::Write { .. } => OpKind::Write,
            Self::Truncate { .. } => OpKind::Truncate,
            Self::Fallocate { .. } => OpKind::Fallocate,
            Self::Mkdir { .. } => OpKind::Mkdir,
            Self::Rmdir { .. } => OpKind::Rmdir,
            Self::Unlink { .. } => OpKind::Unlink,
            Self::Rename { .. } => OpKind::Rename,
            Self::Link { .. } => OpKind::Link,
            Self::Symlink { .. } => OpKind::Symlink,
            Self::Chmod { .. } => OpKind::Chmod,
            Self::Chown { .. } => OpKind::Chown,
            Self::Setxattr { .. } => OpKind::Setxattr,
            Self::Removexattr { .. } => OpKind::Removexattr,
            Self::Fsync { .. } => OpKind::Fsync,
            Self::Fdatasync { .. } => OpKind::Fdatasync,
            Self::Msync { .. } => OpKind::Msync,
            Self::Sync => OpKind::Sync,
            Self::Syncfs => OpKind::Syncfs,
            Self::Remount => OpKind::Remount,
            Self::Crash => OpKind::Crash,
        }
    }

    /// Its name, as both written forms have it.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The paths that it mentions, in the order of its arguments. What a symlink says is text, not a path.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Open { path, .. }
            | Self::Create { path, .. }
            | Self::Mkdir { path, .. }
            | Self::Rmdir { path }
            | Self::Unlink { path }
            | Self::Symlink { path, .. }
            | Self::Chmod { path, .. }
            | Self::Chown { path, .. }
            | Self::Setxattr { path, .. }
            | Self::Removexattr { path, .. } => vec![path],
            Self::Rename { from, to, .. } | Self::Link { from, to } => vec![from, to],
            Self::Read { file, .. }
            | Self::Write { file, .. }
            | Self::Truncate { file, .. }
            | Self::Fallocate { file, .. }
            | Self::Fsync { file }
            | Self::Fdatasync { file }
            | Self::Msync { file, .. } => match file {
                File::Path(path) => vec![path],
                File::Fd(_) => vec![],
            },
            Self::Close { .. } | Self::Sync | Self::Syncfs | Self::Remount | Self::Crash => vec![],
        }
    }

    /// The slot that it works on.
    pub fn fd(&self) -> Option<Fd> {
        match self {
            Self::Open { fd, .. } | Self::Close { fd } => Some(*fd),
            Self::Read { file, .. }
            | Self::Write { file, .. }
            | Self::Truncate { file, .. }
            | Self::Fallocate { file, .. }
            | Self::Fsync { file }
            | Self::Fdatasync { file }
            | Self::Msync { file, .. } => match file {
                File::Fd(fd) => Some(*fd),
                File::Path(_) => None,
            },
            _ => None,
        }
    }

    /// Whether it has only arguments that the simplest file system has: files by path, without dots, the usual
    /// permission bits for what is new, renames that replace, buffered writes.
    pub fn is_plain(&self) -> bool {
        let has_dots = |path: &&Path| path.as_str().split('/').any(|name| matches!(name, "." | ".."));
        let ends_in_slash = |path: &&Path| path.as_str().len() > 1 && path.as_str().ends_with('/');
        let plain = match self {
            Self::Create { mode, .. } => *mode == 0o644,
            Self::Mkdir { mode, .. } => *mode == 0o755,
            Self::Chmod { mode, .. } => *mode <= 0o777,
            Self::Rename { how, .. } => *how == Rename::Replace,
            Self::Write { via, .. } => *via == WriteVia::Buffered,
            _ => true,
        };
        plain && self.fd().is_none() && !self.paths().iter().any(|path| has_dots(path) || ends_in_slash(path))
    }

    /// Whether its purpose is to make something durable. A write through `O_SYNC` does so as well, but only the file
    /// system that holds the slot can know.
    pub fn is_persistence(&self) -> bool {
        self.kind().is_persistence()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_mentioned_in_order() {
        let cases: [(&str, &[&str]); 6] = [
            ("rename(\"/b\", \"/a\")", &["/b", "/a"]),
            ("symlink(\"/t\", \"/s\")", &["/s"]),
            ("fsync(\"/f\")", &["/f"]),
            ("fsync(fd=1)", &[]),
            ("open(\"/f\", O_RDONLY, fd=1)", &["/f"]),
            ("sync()", &[]),
        ];
        for (text, expected) in cases {
            let op: Op = text.parse().unwrap();
            assert_eq!(op.paths().into_iter().map(Path::as_str).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn persistence_is_a_matter_of_kind() {
        assert!(Op::Sync.is_persistence() && Op::Remount.is_persistence());
        assert!(!Op::Crash.is_persistence() && !Op::Close { fd: Fd(0) }.is_persistence());
    }
}
