//! Whether a side that says that it is full is.
//!
//! A file system keeps room for itself, loses some to fragments and counts blocks in its own way, so nobody else can
//! tell whether the last of them are to be had. But one that has no room for a small thing has none for a new file
//! that takes a quarter of its disk. That is tried on a copy. One that never overwrites may have no room until it has
//! tidied up, and tidy up when it likes, so nothing is tried there.

use disk::OpIndex;
use vfs::{Data, File, Op, OpenFlags, Outcome, Path, Tree, Value, WriteAt, WriteVia};

use super::{Side, state::Compared};

/// How many bytes the side with this number took for a new file, though it had no room for the op; `None` if it was
/// right.
pub(super) fn found_room(
    side: &dyn Side,
    before: &Compared,
    number: usize,
    (op, index): (&Op, OpIndex),
) -> Option<u64> {
    let mut state = before.now.sides[number].clone();
    let bytes = state.bytes() / 4;
    if side.needs_room_to_free() || need(op)? > bytes / 2 {
        return None;
    }
    let mut run = |op: &Op| side.run(&mut state, op, index);
    let path = new_name_beside(op, &before.now.tree)?;
    run(&Op::Create { path: path.clone(), mode: 0o644 }).ok()?;
    let (file, data) = (File::Path(path), Data { len: bytes, fill: 1 });
    let all: Outcome = Ok(Value::Count(bytes));
    let write = Op::Write { file: file.clone(), at: WriteAt::Offset(0), data, via: WriteVia::Buffered };
    (run(&write) == all && run(&Op::Fsync { file }).is_ok()).then_some(bytes)
}

/// How many bytes of room an op needs besides what a name or a node takes; `None` if formats have other limits for it.
fn need(op: &Op) -> Option<u64> {
    match op {
        Op::Create { .. } | Op::Mkdir { .. } | Op::Rename { .. } => Some(0),
        Op::Open { flags, .. } if flags.contains(OpenFlags::CREAT) => Some(0),
        Op::Symlink { target, .. } => Some(target.len() as u64),
        // Where there are no holes, all up to there.
        Op::Write { at: WriteAt::Offset(offset), data, .. } => offset.checked_add(data.len),
        Op::Write { at: WriteAt::End, data, .. } => Some(data.len),
        Op::Truncate { size, .. } => Some(*size),
        Op::Fallocate { offset, len, .. } => offset.checked_add(*len),
        _ => None,
    }
}

/// A name that is as long as the one that the op makes and in the same directory, and that nothing has.
fn new_name_beside(op: &Op, tree: &Tree) -> Option<Path> {
    let made = match op {
        Op::Create { path, .. } | Op::Mkdir { path, .. } | Op::Symlink { path, .. } | Op::Open { path, .. } => {
            Some(path)
        }
        Op::Rename { to, .. } => Some(to),
        _ => None,
    };
    let (dir, len) = match made {
        Some(path) => (path.parent()?, path.as_str().len() - path.as_str().rfind('/')? - 1),
        None => (Path::root(), 1),
    };
    let names = ('a'..='z').map(|letter| dir.join(&letter.to_string().repeat(len)));
    names.into_iter().find(|path| tree.lookup(path).is_none())
}
