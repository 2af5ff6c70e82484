//! How much a target can hold, where that is less than an op can ask for.
//!
//! A guest has little memory, and what it shows of its files has to fit in. An op after which it would not is not asked
//! for: a kernel that runs out of memory by our looking at it is not to be blamed.

use vfs::{Fallocate, File, Op, Tree, WriteAt};

/// Whether a target whose files have at most so many bytes together can be asked for an op when it looks like `tree`.
pub(crate) fn fits(op: &Op, tree: &Tree, bytes_max: u64) -> bool {
    if bytes_max == u64::MAX {
        return true;
    }
    let Some((file, end)) = reach(op) else { return true };
    // What is reached through a slot has a name or not: it may be any of the files, or one more.
    let here = match file {
        File::Path(path) => tree.lookup(path).and_then(|id| tree.node(id)).map_or(0, |node| node.file_bytes()),
        File::Fd(_) => 0,
    };
    let end = match end {
        End::At(end) => end,
        End::Behind(more) => match file {
            File::Path(_) => here.saturating_add(more),
            File::Fd(_) => tree.nodes.values().map(|node| node.file_bytes()).max().unwrap_or(0).saturating_add(more),
        },
    };
    (tree.file_bytes() - here).saturating_add(end.max(here)) <= bytes_max
}

/// Where the bytes end that an op is about.
enum End {
    At(u64),
    /// So many behind the end of the file.
    Behind(u64),
}

fn reach(op: &Op) -> Option<(&File, End)> {
    let at = |offset: u64, len: u64| End::At(offset.saturating_add(len));
    match op {
        // Linux takes offsets as signed numbers: a negative one reaches nothing, since the call fails.
        Op::Write { at: WriteAt::Offset(offset), .. } | Op::Fallocate { offset, .. } | Op::Msync { offset, .. }
            if offset.cast_signed() < 0 =>
        {
            None
        }
        Op::Write { file, at: WriteAt::Offset(offset), data, .. } => Some((file, at(*offset, data.len))),
        Op::Write { file, at: WriteAt::End, data, .. } => Some((file, End::Behind(data.len))),
        Op::Truncate { file, size } => Some((file, End::At(*size))),
        Op::Fallocate { file, how: Fallocate::InsertRange, len, .. } => Some((file, End::Behind(*len))),
        Op::Fallocate { file, offset, len, .. } | Op::Msync { file, offset, len } => Some((file, at(*offset, *len))),
        // Memory is set aside for all that is asked for.
        Op::Read { file, len, .. } => Some((file, End::At(*len))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_files_come_to_counts() {
        let mut reference = vfs::Reference::new();
        for op in ["create(\"/a\")", "truncate(\"/a\", size=60)", "create(\"/b\")", "truncate(\"/b\", size=30)"] {
            reference.apply(&op.parse().unwrap()).unwrap();
        }
        let tree = reference.tree();
        for (op, expected) in [
            ("truncate(\"/a\", size=70)", true),
            ("truncate(\"/a\", size=71)", false),
            ("truncate(\"/a\", size=0)", true),
            ("truncate(fd=0, size=10)", true),
            ("truncate(fd=0, size=11)", false),
            ("write(\"/b\", offset=0, len=40, fill=1)", true),
            ("write(\"/b\", offset=1, len=40, fill=1)", false),
            ("write(\"/b\", at=end, len=10, fill=1)", true),
            ("write(\"/b\", at=end, len=11, fill=1)", false),
            ("write(\"/c\", offset=0, len=11, fill=1)", false),
            ("fallocate(\"/b\", how=allocate, offset=40, len=1)", false),
            ("fallocate(\"/b\", how=insert_range, offset=0, len=10)", true),
            ("fallocate(\"/b\", how=insert_range, offset=0, len=11)", false),
            ("read(\"/a\", offset=0, len=70)", true),
            ("read(\"/a\", offset=0, len=71)", false),
            ("unlink(\"/a\")", true),
            ("write(\"/b\", offset=0xfffffffffffff830, len=5000, fill=1)", true),
            ("write(\"/b\", offset=0x7ffffffffffff830, len=5000, fill=1)", false),
            ("fallocate(\"/b\", offset=0xfffffffffffff830, len=5000)", true),
            ("msync(\"/b\", offset=0xfffffffffffff830, len=5000)", true),
            ("fallocate(\"/b\", how=insert_range, offset=0xfffffffffffff830, len=5000)", true),
        ] {
            assert_eq!(fits(&op.parse().unwrap(), &tree, 100), expected, "{op}");
            assert!(fits(&op.parse().unwrap(), &tree, u64::MAX), "{op}");
        }
    }
}
