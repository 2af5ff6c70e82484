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
//! One of which nothing is known cannot be asked so, but it must have room at first: until all that was asked of it
//! comes to what it grants ([`Target::room_granted`]), and while it has few names and few attributes, since formats
//! have places of their own for them, which may be small.
//!
//! [`Target::has_one_supply`]: crate::Target::has_one_supply
//! [`Target::room_granted`]: crate::Target::room_granted

use vfs::{Data, Errno, File, Node, Op, OpenFlags, Outcome, Path, Tree, Value, WriteAt, WriteVia};

/// What an op may take besides its bytes: formats have large blocks, and write new ones before they free the old.
const OP_BYTES: u64 = 16 << 10;
/// Names of so many bytes take as much again. FAT has 16 entries of one for the longest, in a root of fixed size.
const NAME_BYTES: u64 = 64;
/// As many nodes as any format has, the root among them: a disk may be made with as few as that.
const NODES_FEW: usize = 4;
/// As many bytes of attributes as any format has that has some: ext2 has a block for them, of 1 KiB.
const XATTR_BYTES_FEW: u64 = 512;

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

/// Whether a target that looks like `tree` must have room for an op: it has granted some, of which so much was used.
pub(crate) fn has_room(op: &Op, tree: &Tree, (used, granted): (u64, u64)) -> bool {
    let more = if let Op::Setxattr { name, value, .. } = op { name.len() as u64 + value.len } else { 0 };
    let xattrs = || tree.nodes.values().map(|node| xattr_bytes(node)).sum::<u64>();
    used.saturating_add(uses(op)) <= granted
        && tree.nodes.len() <= NODES_FEW
        && xattrs().saturating_add(more) <= XATTR_BYTES_FEW
}

fn xattr_bytes(node: &Node) -> u64 {
    node.xattrs.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
}

/// How much of what was granted an op uses up.
pub(crate) fn uses(op: &Op) -> u64 {
    let names: u64 = op.paths().iter().map(|path| path.as_str().len() as u64).sum();
    let bytes = if let Op::Setxattr { value, .. } = op { value.len } else { need(op).unwrap_or(0) };
    (OP_BYTES * (1 + names / NAME_BYTES)).saturating_add(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_system_has_room_for_a_little() {
        let mut reference = vfs::Reference::new();
        for op in ["create(\"/a\")", "setxattr(\"/a\", \"user.a\", len=500, fill=1)"] {
            reference.apply(&op.parse().unwrap()).unwrap();
        }
        let tree = reference.tree();
        let granted = 64 << 10;
        let long = format!("create(\"/{}\")", "n".repeat(255));
        for (op, used, expected) in [
            ("write(\"/a\", offset=0, len=4096, fill=1)", 0, true),
            ("write(\"/a\", offset=0, len=49152, fill=1)", 0, true),
            ("write(\"/a\", offset=1, len=49152, fill=1)", 0, false),
            ("truncate(\"/a\", size=65536)", 0, false),
            ("chmod(\"/a\", mode=0600)", 48 << 10, true),
            ("chmod(\"/a\", mode=0600)", 49 << 10, false),
            ("setxattr(\"/a\", \"user.b\", len=8, fill=1)", 0, false),
            (long.as_str(), 0, false),
        ] {
            let op = op.parse().unwrap();
            assert_eq!(has_room(&op, &tree, (used, granted)), expected, "{op}");
            assert!(!has_room(&op, &tree, (used, 0)), "nothing was granted");
        }
        for name in ["b", "c", "d"] {
            reference.apply(&format!("create(\"/{name}\")").parse().unwrap()).unwrap();
        }
        assert!(!has_room(&"create(\"/e\")".parse().unwrap(), &reference.tree(), (0, granted)), "it has many names");
    }
}
