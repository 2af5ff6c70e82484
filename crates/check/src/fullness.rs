//! Whether a target that says that it is full is.
//!
//! A file system keeps room for itself, loses some to fragments and counts blocks in its own way, so nobody else can
//! tell whether the last of them are to be had. But one that has no room for a small thing has none for a new file
//! that takes a quarter of its disk. That is tried on a copy, after a sync, since what was removed may be free only
//! then; an op that finds room after the sync was refused by rights.
//!
//! It is tried of those alone that take all their room from one supply ([`Target::has_one_supply`]): elsewhere there
//! may be room for contents and none for a name. And a refusal stands if the new file cannot even be made, for want of
//! inodes or of entries in a directory of fixed size; if only the rest of a write was refused; and where several are
//! compared, if another one is full by rights.
//!
//! [`Target::has_one_supply`]: crate::Target::has_one_supply

use vfs::{Data, Errno, File, Op, OpenFlags, Outcome, Path, Tree, Value, WriteAt, WriteVia};

/// What is written at a time: an executor has a largest transfer, and a disk may be larger than that.
const PIECE_BYTES: u64 = 1 << 20;

/// How many bytes a target takes for a new file, though it had no room for the op; `None` if it was right. `run` does
/// ops on a copy of it that looks like `tree`, whose disk has so many bytes and whose files may have so many together.
pub(crate) fn room_after_all(
    op: &Op,
    tree: &Tree,
    (disk_bytes, file_bytes_max): (u64, u64),
    mut run: impl FnMut(&Op) -> Outcome,
) -> Option<u64> {
    let bytes = (disk_bytes / 4).min(file_bytes_max.saturating_sub(tree.file_bytes()));
    if need(op)? > bytes / 2 {
        return None;
    }
    run(&Op::Sync).ok()?;
    if !is_refused(&run(op)) {
        return None;
    }
    let path = new_name_beside(op, tree)?;
    run(&Op::Create { path: path.clone(), mode: 0o644 }).ok()?;
    let file = File::Path(path);
    let mut written = 0;
    while written < bytes {
        let data = Data { len: PIECE_BYTES.min(bytes - written), fill: 1 };
        let write = Op::Write { file: file.clone(), at: WriteAt::Offset(written), data, via: WriteVia::Buffered };
        if run(&write) != Ok(Value::Count(data.len)) {
            return None;
        }
        written += data.len;
    }
    run(&Op::Fsync { file }).ok().map(|_| bytes)
}

/// What is said of room that was found after all.
pub(crate) fn tell(bytes: u64) -> String {
    format!("; a new file of {bytes} bytes finds room")
}

/// Whether an op was refused for want of room, and not because a file would be too long.
pub(crate) fn is_refused(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Errno::ENOSPC | Errno::EDQUOT))
}

/// How many bytes of room an op needs besides what a name or a node takes; `None` if formats have other limits for it.
#[expect(clippy::match_same_arms, reason = "each arm has its own reason")]
fn need(op: &Op) -> Option<u64> {
    match op {
        Op::Create { .. } | Op::Mkdir { .. } | Op::Rename { .. } | Op::Link { .. } => Some(0),
        // What never overwrites needs a block or two for what it changes, and so does an attribute that files share.
        Op::Unlink { .. } | Op::Rmdir { .. } | Op::Chmod { .. } | Op::Chown { .. } | Op::Removexattr { .. } => Some(0),
        Op::Open { flags, .. } if flags.contains(OpenFlags::CREAT) => Some(0),
        Op::Symlink { target, .. } => Some(target.len() as u64),
        // Where there are no holes, all up to there.
        Op::Write { at: WriteAt::Offset(offset), data, .. } => offset.checked_add(data.len),
        Op::Write { at: WriteAt::End, data, .. } => Some(data.len),
        Op::Truncate { size, .. } => Some(*size),
        Op::Fallocate { offset, len, .. } => offset.checked_add(*len),
        // For attributes a format has a place of its own, which may be full while the disk is not.
        _ => None,
    }
}

/// A name that is as long as the one that the op makes and in the same directory, and that nothing has.
fn new_name_beside(op: &Op, tree: &Tree) -> Option<Path> {
    let made = match op {
        Op::Create { path, .. } | Op::Mkdir { path, .. } | Op::Symlink { path, .. } | Op::Open { path, .. } => {
            Some(path)
        }
        Op::Rename { to, .. } | Op::Link { to, .. } => Some(to),
        _ => None,
    };
    let (dir, len) = match made {
        Some(path) => (path.parent()?, path.as_str().len() - path.as_str().rfind('/')? - 1),
        None => (Path::root(), 1),
    };
    let names = ('a'..='z').map(|letter| dir.join(&letter.to_string().repeat(len)));
    names.into_iter().find(|path| tree.lookup(path).is_none())
}
