//! Attributes and numbers in the words of the FUSE protocol.

use std::time::Duration;

use fuser::{FileAttr, FileType, INodeNo};
use vfs::{Node, NodeId, NodeKind, Special, contents::BLOCK_SIZE};

use crate::times::Times;

/// How long the kernel may keep what it was told. Nothing changes behind its back but by a restore, which tells it.
pub const KEPT: Duration = Duration::from_secs(1 << 30);

/// `st_blocks` counts in these.
const STAT_BLOCK: u64 = 512;

/// The kernel's number of a node: the root is 1.
pub fn ino(id: NodeId) -> INodeNo {
    INodeNo(u64::from(id.0) + 1)
}

/// The node of a number. What is no node's number is one that no node has yet.
pub fn id(ino: INodeNo) -> NodeId {
    NodeId(ino.0.checked_sub(1).and_then(|id| u32::try_from(id).ok()).unwrap_or(u32::MAX))
}

/// An errno as `fuser` takes it.
pub fn errno(errno: vfs::Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.number())
}

/// The type of a node.
pub fn file_type(kind: &NodeKind) -> FileType {
    match kind {
        NodeKind::File(_) => FileType::RegularFile,
        NodeKind::Dir(_) => FileType::Directory,
        NodeKind::Symlink(_) => FileType::Symlink,
        NodeKind::Special(Special::Fifo) => FileType::NamedPipe,
        NodeKind::Special(Special::Socket) => FileType::Socket,
        NodeKind::Special(Special::CharDevice(_)) => FileType::CharDevice,
        NodeKind::Special(Special::BlockDevice(_)) => FileType::BlockDevice,
    }
}

/// Everything that `stat` shows.
pub fn attributes(id: NodeId, node: &Node, times: &Times) -> FileAttr {
    let (size, blocks, rdev) = match &node.kind {
        NodeKind::File(contents) => (contents.size(), contents.blocks(), 0),
        NodeKind::Dir(entries) => (entries.len() as u64, 0, 0),
        NodeKind::Symlink(target) => (crate::names::bytes(target).len() as u64, 0, 0),
        NodeKind::Special(Special::Fifo | Special::Socket) => (0, 0, 0),
        NodeKind::Special(Special::CharDevice(device) | Special::BlockDevice(device)) => (0, 0, *device),
    };
    FileAttr {
        ino: ino(id),
        size,
        blocks: blocks * (BLOCK_SIZE / STAT_BLOCK),
        atime: times.accessed.system(),
        mtime: times.modified.system(),
        ctime: times.changed.system(),
        crtime: times.created.system(),
        kind: file_type(&node.kind),
        perm: u16::try_from(node.mode & 0o7777).unwrap_or(0),
        nlink: node.nlink,
        uid: node.uid,
        gid: node.gid,
        rdev,
        blksize: u32::try_from(BLOCK_SIZE).unwrap_or(0),
        flags: 0,
    }
}
