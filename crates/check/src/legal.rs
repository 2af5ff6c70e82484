//! Where a target may legally differ from the reference: the one place, each difference with its reason.
//!
//! - **Usable capacity.** A real disk fills up and a real format has a largest file; the reference has neither limit.
//!   `ENOSPC` and `EDQUOT` are accepted from an op that may need room ([`may_need_room`]), `EFBIG` from one that makes
//!   a file longer than the target grants to every file
//!   ([`Target::file_bytes_granted`](crate::Target::file_bytes_granted)), where the reference succeeded. The op must
//!   then have changed nothing: the tree is compared as after every op. It is no excuse for a file system that
//!   overwrites in place and says so to refuse what takes away or changes what is there
//!   ([`Target::needs_room_to_free`](crate::Target::needs_room_to_free)), nor for any to have no room for the first
//!   name of all; nor for one that takes all its room from one supply to have none where a new file of a quarter of its
//!   disk finds some (`fullness.rs`). That leaves attributes, for which a format has a place of its own. One of which
//!   nothing is known has room, for attributes too, as long as little was asked of it since it was made
//!   ([`Target::room_granted`](crate::Target::room_granted)). After a recovery there is less excuse (`room.rs`). How
//!   often it was needed is counted.
//! - **A full disk takes what fits.** write(2) may write less than it was asked to if there is no room for all of it.
//!   It counts as a write of what was written, if to go on with the rest fails for want of room; else it is wrong.
//! - **A directory that is not empty** cannot be replaced; rename(2) says `ENOTEMPTY` or `EEXIST`, as POSIX has it, and
//!   xfs says the latter.
//! - **Block size.** Collapsing and inserting a range needs whole blocks, and how large a block is the format decides.
//!   Ranges that are whole blocks of one and not of another are not asked for: neither answer is wrong.
//! - **Conventions** that a target declares: how it counts the links of a directory, whether permission bits are kept
//!   or come from the mount, and whether letters are told apart by their case. Each is exact and has its reason in
//!   [`vfs::conventions`].
//! - **A file system that was hurt.** A target that says so ([`Target::may_shut_down`](crate::Target::may_shut_down))
//!   may refuse every op after a request has failed, until it is mounted again: Linux file systems go read-only
//!   (`EROFS`) or shut down (`EIO`, `ESHUTDOWN`, `EUCLEAN`), because nobody knows what the disk holds. Nothing may have
//!   changed by an op that was refused. One that has shut down may refuse to be read as well, or have dropped what it
//!   could not write, so that a name leads to nothing that is still there (`ENOENT`, by f2fs). Where reading the tree
//!   says that, ops may say it too.
//! - **One that has given up shows what it had in memory.** Where a target says that it could be written to when it was
//!   mounted and cannot any more ([`Target::has_given_up`](crate::Target::has_given_up)), it may have stopped in the
//!   middle of the op in which it gave up: btrfs aborts its transaction then, and memory has what the op had done so
//!   far. None of that comes to the disk. Later ops find what was shown at that moment, and change nothing of it.
//! - **A mount after that is a recovery.** What was only in memory when the file system gave up is gone, so what is
//!   mounted again is judged as after a power cut: what was pinned must be there.
//! - **`sync` cannot say that it failed**: sync(2) returns nothing, and neither does an unmount. Once a request has
//!   failed, both pin nothing. `syncfs` and `fsync` can say so, and are taken at their word.
//! - **A failure is told once.** When a persistence call has said that it failed, later ones may succeed and promise
//!   nothing of what was done before: Linux reports an error to those who had a file open when it happened, and once
//!   ("after an error has been reported on one request, subsequent requests on the same file descriptor should return
//!   0", Documentation/filesystems/vfs.rst). What was pinned before the failure stays pinned. Nobody can say what of a
//!   later change rests on an earlier one that is gone, so that nothing is pinned until the next mount.
//!
//! Not legal, but no damage either, is an op that was done as a whole and says that it failed, while a request or an
//! allocation of this very op fails (`failed-but-done`, which is not critical; [`done_when_failed`] says which ops). It
//! is reported, and the search goes on from what was done. Every other op that fails and is seen is `fault`.
//!
//! - **A file that was made but could not be opened stays.** open(2) makes the name, then opens what it leads to. If
//!   there is no memory for the second, Linux says `ENOMEM` and takes nothing back (seen with ext4). No other errno
//!   will do.
//! - **A file that was cut or made longer stays so.** truncate(2) sets the size and then does what follows from it. If
//!   that fails, ext4, xfs and btrfs say so and do not set the size back. POSIX does not say what a `truncate` that
//!   failed leaves, and a caller can look. The whole change must be there.
//!
//! Two targets that are compared with each other have the same excuse of usable capacity: the one that did the op is
//! put back. Both may have it for the same op, one with `ENOSPC` and the other with `EFBIG`. Whether a file gets longer
//! is seen by the trees then. A file without a name is in none, so `EFBIG` is excused where an op through a slot asks
//! for more and changes nothing that can be seen. And
//!
//! - **Names that belong to the file system.** What mkfs or fsck of a guest or of the host puts into the root is left
//!   out where the tree is read, each name with its reason (`posix::Hidden`), or because whoever describes the file
//!   system says so: what was moved to `lost+found` is lost to its user, whatever it is. Ops on such a name are not
//!   asked for.
//! - **`lost+found`** of other targets, an empty directory of the root as mkfs makes it, belongs to fsck too. Who was
//!   made with one has it left out of its tree, with the link that it adds to the root, and ops on it are not asked
//!   for. One that is not empty shows, and so does one with another owner, with attributes, or with links that it
//!   should not have. Where an op makes a directory of that name, it is one like any other.
//! - **Direct reads and writes** of anything but whole blocks, be it through a slot that was opened for them, are not
//!   asked for: some refuse them, and some do them in another way (btrfs, nilfs2).
//! - **A directory opened with `O_DIRECT`.** Linux asks whether the node's mapping has direct I/O, which is there for
//!   the sake of files: where directories are cached like files (ext2, f2fs, minix, nilfs2) they can be opened so,
//!   elsewhere that is `EINVAL`. open(2) says nothing of it, so it is not asked for. A file is: who cannot do direct
//!   I/O says so ([`Target::offers`](crate::Target::offers)).

use vfs::{
    Data, Errno, Fallocate, Fd, File, NodeKind, Op, OpKind, OpenFlags, Outcome, Reference, Rename, Tree, Value,
    WriteAt, WriteVia, open::OpenFiles,
};

use crate::{size::fits, state::Foreseen};

/// How two outcomes of one op go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// They are the same.
    Same,
    /// The target refused what the reference did, and may: the reference must not have done it.
    Refused,
    /// They differ.
    Differ,
}

/// Compares what an op came to with what the reference, which was like `before`, makes of it.
pub(crate) fn compare(refusing: Refusing<'_>, outcome: &Outcome, before: &Reference, expected: &Foreseen) -> Agreement {
    let growth = || match makes_longer(before, &expected.reference) {
        _ if fits(refusing.op, &before.tree(), refusing.file_bytes_granted) => Growth::Granted,
        true => Growth::Longer,
        false => Growth::None,
    };
    match (outcome, &expected.outcome) {
        (outcome, expected) if is_same(refusing.op, outcome, expected) => Agreement::Same,
        (outcome, Ok(_)) if refusing.has_no_room(outcome, growth) => Agreement::Refused,
        _ => Agreement::Differ,
    }
}

/// Whether two outcomes of an op say the same.
pub(crate) fn is_same(op: &Op, one: &Outcome, other: &Outcome) -> bool {
    let is_not_empty = |outcome: &Outcome| matches!(outcome, Err(Errno::ENOTEMPTY | Errno::EEXIST));
    let replaces = matches!(op, Op::Rename { how: Rename::Replace, .. });
    one == other || (replaces && is_not_empty(one) && is_not_empty(other))
}

/// A write of which only a part was done: that part, and the rest.
pub(crate) fn in_part(op: &Op, outcome: &Outcome) -> Option<(Op, Op)> {
    let (Op::Write { file, at, data, via }, Ok(Value::Count(count))) = (op, outcome) else { return None };
    if *count == 0 || *count >= data.len {
        return None;
    }
    let write = |at, len| Op::Write { file: file.clone(), at, data: Data { len, ..*data }, via: *via };
    let behind = match at {
        WriteAt::Offset(offset) => WriteAt::Offset(offset + count),
        WriteAt::End => WriteAt::End,
    };
    Some((write(*at, *count), write(behind, data.len - count)))
}

/// Whether an op may need room on the disk that it had not been granted before.
#[expect(clippy::match_same_arms, reason = "each arm has its own reason")]
fn may_need_room(op: &Op) -> bool {
    match op.kind() {
        // A new name needs room in its directory, and mostly a node.
        OpKind::Create | OpKind::Mkdir | OpKind::Symlink | OpKind::Link => true,
        // Only one that creates, or that truncates.
        OpKind::Open => matches!(op, Op::Open { flags, .. } if flags.0 & (OpenFlags::CREAT | OpenFlags::TRUNC).0 != 0),
        // Data needs blocks. So does a longer file where a format has no holes (FAT), and a hole that splits an extent.
        OpKind::Write | OpKind::Fallocate | OpKind::Setxattr => true,
        // What never overwrites must write the new metadata before it can free the old: btrfs and F2FS give `ENOSPC`
        // even for unlink, and so do the models that are made after them. POSIX lists it for none of these but rename,
        // and forbids it for none, since an op may fail for errors that are not listed.
        OpKind::Truncate | OpKind::Unlink | OpKind::Rmdir | OpKind::Rename => true,
        OpKind::Chmod | OpKind::Chown | OpKind::Removexattr => true,
        // Whatever they make durable was granted its room by the op that made it: file systems that put allocation off
        // reserve for it. fsync(2) knows `ENOSPC` only from those that do not, as NFS, and loses data by it.
        OpKind::Fsync | OpKind::Fdatasync | OpKind::Msync | OpKind::Sync | OpKind::Syncfs => false,
        // They change nothing.
        OpKind::Read | OpKind::Close => false,
        // Everything that is there has its room.
        OpKind::Remount | OpKind::Crash => false,
    }
}

/// Room that is reserved behind the end counts against the largest file too, though the file gets no longer.
fn reserves_beyond_the_end(op: &Op) -> bool {
    matches!(op, Op::Fallocate { how: Fallocate::KeepSize | Fallocate::ZeroRangeKeepSize, .. })
}

/// Whether a file is longer afterwards, be it one that has only slots left.
fn makes_longer(before: &Reference, after: &Reference) -> bool {
    let len = |reference: &Reference, id| match &reference.node(id)?.kind {
        NodeKind::File(bytes) => Some(bytes.len()),
        NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
    };
    let named = after.tree();
    let open = after.open_files().values().map(|file| file.node);
    named.nodes.keys().copied().chain(open).any(|id| len(after, id) > len(before, id).or(Some(0)))
}

/// Whether a file system that was hurt may answer so.
pub(crate) fn may_say_when_hurt(errno: Errno) -> bool {
    matches!(errno, Errno::EROFS | Errno::EIO | Errno::ESHUTDOWN | Errno::EUCLEAN)
}

/// Whether a file system that was hurt may answer so when it is read as a whole.
pub(crate) fn may_be_unreadable_when_hurt(errno: Errno) -> bool {
    may_say_when_hurt(errno) || errno == Errno::ENOENT
}

/// An op that is done in two parts, and says with this that the second failed: what was done then, as ops. What could
/// not be opened is closed again, and slots are as they were (`open`).
pub(crate) fn done_when_failed(op: &Op, errno: Errno, open: &OpenFiles) -> Option<Vec<Op>> {
    match op {
        Op::Truncate { .. } => Some(vec![op.clone()]),
        Op::Create { .. } if errno == Errno::ENOMEM => Some(vec![op.clone()]),
        Op::Open { path, flags, mode, .. } if errno == Errno::ENOMEM && flags.contains(OpenFlags::CREAT) => {
            let fd = (0..=u8::MAX).map(Fd).find(|fd| !open.contains_key(fd))?;
            Some(vec![Op::Open { path: path.clone(), flags: *flags, mode: *mode, fd }, Op::Close { fd }])
        }
        _ => None,
    }
}

/// What is known when a target does not do an op that the reference, or another target, did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusing<'a> {
    pub op: &'a Op,
    /// Whether there was no name at all before it, nor anything open; nor, where room is not free at once when
    /// something is removed, any other op.
    pub is_first: bool,
    /// Whether so little was asked of the target since it was made that it must have room, see `fullness::has_room`.
    pub has_room: bool,
    /// Whether the target may need room for anything that it changes.
    pub needs_room_to_free: bool,
    /// See [`Target::file_bytes_granted`](crate::Target::file_bytes_granted).
    pub file_bytes_granted: u64,
}

impl Refusing<'_> {
    /// Whether it may say so for want of room. `growth` is asked where the op was done.
    pub fn has_no_room(self, outcome: &Outcome, growth: impl FnOnce() -> Growth) -> bool {
        let Self { op, is_first, has_room, needs_room_to_free, .. } = self;
        let only_changes = matches!(op.kind(), OpKind::Unlink | OpKind::Rmdir | OpKind::Chmod | OpKind::Chown);
        match outcome {
            Err(Errno::ENOSPC | Errno::EDQUOT) if has_room || is_first && makes_a_name(op) => false,
            Err(Errno::ENOSPC | Errno::EDQUOT) if only_changes => needs_room_to_free,
            Err(Errno::ENOSPC | Errno::EDQUOT) => may_need_room(op),
            Err(Errno::EFBIG) => match growth() {
                Growth::Granted => false,
                growth => reserves_beyond_the_end(op) || growth >= least_growth(op),
            },
            _ => false,
        }
    }
}

/// Whether a file gets longer by an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Growth {
    /// No file gets larger than is granted to every file.
    Granted,
    /// No file gets longer.
    None,
    /// Nothing that can be seen changes.
    Unseen,
    /// One does.
    Longer,
}

impl Growth {
    /// By the trees before and after it; one op changes one file.
    pub fn between(before: &Tree, after: &Tree) -> Self {
        match after.file_bytes() > before.file_bytes() {
            true => Self::Longer,
            false if after.same_as(before) => Self::Unseen,
            false => Self::None,
        }
    }
}

/// Whether a file would get longer by an op that no target did. A slot leads nowhere here, so that what is reached
/// through one is unseen.
pub(crate) fn growth_by_reference(op: &Op, before: &Tree) -> Growth {
    let mut reference = Reference::from_tree(before);
    let _ = reference.apply(op);
    Growth::between(before, &reference.tree())
}

/// What must be seen for a file to count as longer. One that is reached through a slot may have no name any more, and
/// then no tree shows it.
fn least_growth(op: &Op) -> Growth {
    let may_be_unseen = match op {
        Op::Write { file: File::Fd(_), data, .. } => data.len > 0,
        Op::Truncate { file: File::Fd(_), size } => *size > 0,
        Op::Fallocate { file: File::Fd(_), .. } => true,
        _ => false,
    };
    if may_be_unseen { Growth::Unseen } else { Growth::Longer }
}

/// Whether an op makes a name and nothing more than that needs.
fn makes_a_name(op: &Op) -> bool {
    matches!(op.kind(), OpKind::Create | OpKind::Mkdir | OpKind::Symlink | OpKind::Open)
}

/// Whether an op that succeeds pins nothing after a request has failed: it has no way to say that it failed, or another
/// persistence call has said so (`was_told`).
pub(crate) fn promises_nothing(op: &Op, was_told: bool) -> bool {
    matches!(op, Op::Sync | Op::Remount) || (was_told && op.is_persistence())
}

/// A block is at least as large as the smallest, and whole blocks of the largest are whole blocks of all.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=4096;

fn is_whole(offset: u64, len: u64, block: u64) -> bool {
    offset.is_multiple_of(block) && len.is_multiple_of(block)
}

/// How the slot was opened on which an op works; no flags if it works on none that is open.
pub(crate) fn slot_of(op: &Op, open: &OpenFiles) -> OpenFlags {
    op.fd().and_then(|fd| open.get(&fd)).map_or(OpenFlags(0), |file| file.flags)
}

/// Whether what an op comes to depends on the block size of the format, or on how it does direct reads and writes.
/// `slot`: how the slot was opened on which it works, if it works on one.
pub(crate) fn depends_on_block_size(op: &Op, slot: OpenFlags) -> bool {
    let (is_direct, appends) = (slot.contains(OpenFlags::DIRECT), slot.contains(OpenFlags::APPEND));
    let block = *BLOCK_BYTES.end();
    match op {
        Op::Read { offset, len, .. } if is_direct => !is_whole(*offset, *len, block),
        Op::Write { at, data, via, .. } if *via == WriteVia::Direct || is_direct && *via == WriteVia::Buffered => {
            match at {
                WriteAt::Offset(offset) if !appends => !is_whole(*offset, data.len, block),
                // Where the end is then, nobody says here.
                WriteAt::Offset(_) | WriteAt::End => true,
            }
        }
        Op::Fallocate { how: Fallocate::CollapseRange | Fallocate::InsertRange, offset, len, .. } => {
            is_whole(*offset, *len, *BLOCK_BYTES.start()) && !is_whole(*offset, *len, block)
        }
        _ => false,
    }
}

/// Whether an op opens a directory for direct reads and writes, and would open it without.
pub(crate) fn opens_dir_directly(op: &Op, tree: &Tree) -> bool {
    let Op::Open { path, flags, mode, fd } = op else { return false };
    let comes_to =
        |flags| Reference::from_tree(tree).apply(&Op::Open { path: path.clone(), flags, mode: *mode, fd: *fd });
    let without = OpenFlags(flags.0 & !OpenFlags::DIRECT.0);
    without != *flags && comes_to(*flags) == Err(Errno::EINVAL) && comes_to(without).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How an op that ends with `errno` agrees with the reference after a few others.
    fn agreement(before: &[&str], op: &str, errno: Errno) -> Agreement {
        agreement_with(before, op, errno, 0)
    }

    /// The same where files of so many bytes are granted.
    fn agreement_with(before: &[&str], op: &str, errno: Errno, granted: u64) -> Agreement {
        let mut reference = Reference::new();
        for earlier in before {
            reference.apply(&earlier.parse().unwrap()).unwrap();
        }
        let op: Op = op.parse().unwrap();
        let mut after = reference.clone();
        let outcome = after.apply(&op);
        let (is_first, has_room, needs_room_to_free) = (false, false, true);
        let refusing = Refusing { op: &op, is_first, has_room, needs_room_to_free, file_bytes_granted: granted };
        compare(refusing, &Err(errno), &reference, &Foreseen { reference: after, outcome })
    }

    const FILE: &str = "create(\"/f\")";
    const WRITTEN: [&str; 2] = [FILE, "write(\"/f\", offset=0, len=8, fill=1)"];

    #[test]
    fn what_may_need_room_may_find_none() {
        let ops = [
            "create(\"/g\")",
            "write(\"/f\", offset=0, len=8, fill=2)",
            "unlink(\"/f\")",
            "chmod(\"/f\", mode=0600)",
            "open(\"/f\", O_TRUNC|O_WRONLY, fd=1)",
        ];
        for op in ops {
            assert_eq!(agreement(&WRITTEN, op, Errno::ENOSPC), Agreement::Refused, "{op}");
            assert_eq!(agreement(&WRITTEN, op, Errno::EDQUOT), Agreement::Refused, "{op}");
            assert_eq!(agreement(&WRITTEN, op, Errno::EIO), Agreement::Differ, "{op}");
        }
    }

    #[test]
    fn what_needs_none_has_no_such_excuse() {
        let ops = [
            "read(\"/f\", offset=0, len=8)",
            "open(\"/f\", O_RDONLY, fd=1)",
            "fsync(\"/f\")",
            "sync()",
            "syncfs()",
            "remount()",
        ];
        for op in ops {
            assert_eq!(agreement(&WRITTEN, op, Errno::ENOSPC), Agreement::Differ, "{op}");
            assert_eq!(agreement(&WRITTEN, op, Errno::EFBIG), Agreement::Differ, "{op}");
        }
    }

    #[test]
    fn only_what_makes_a_file_longer_can_make_it_too_long() {
        let cases = [
            ("write(\"/f\", offset=7, len=2, fill=2)", Agreement::Refused),
            ("write(\"/f\", offset=0, len=8, fill=2)", Agreement::Differ),
            ("truncate(\"/f\", size=9)", Agreement::Refused),
            ("truncate(\"/f\", size=7)", Agreement::Differ),
            ("fallocate(\"/f\", how=keep_size, offset=8, len=8)", Agreement::Refused),
            ("fallocate(\"/f\", how=punch_hole, offset=0, len=4)", Agreement::Differ),
            ("create(\"/g\")", Agreement::Differ),
        ];
        for (op, expected) in cases {
            assert_eq!(agreement(&WRITTEN, op, Errno::EFBIG), expected, "{op}");
        }
    }

    #[test]
    fn what_is_granted_to_every_file_is_not_too_long() {
        for (op, most) in [
            ("write(\"/f\", offset=7, len=2, fill=2)", 9),
            ("write(\"/f\", at=end, len=2, fill=2)", 10),
            ("truncate(\"/f\", size=12)", 12),
            ("fallocate(\"/f\", how=keep_size, offset=8, len=8)", 16),
        ] {
            let agreement = |granted| agreement_with(&WRITTEN, op, Errno::EFBIG, granted);
            assert_eq!((agreement(most), agreement(most - 1)), (Agreement::Differ, Agreement::Refused), "{op}");
        }
    }

    #[test]
    fn a_file_without_a_name_can_be_too_long_too() {
        let before = [FILE, "open(\"/f\", O_RDWR, fd=1)", "unlink(\"/f\")"];
        assert_eq!(agreement(&before, "write(fd=1, offset=0, len=8, fill=1)", Errno::EFBIG), Agreement::Refused);
        assert_eq!(agreement(&before, "truncate(fd=1, size=0)", Errno::EFBIG), Agreement::Differ);
    }

    #[test]
    fn what_fails_in_the_reference_may_not_fail_for_want_of_room() {
        assert_eq!(agreement(&[FILE], FILE, Errno::EEXIST), Agreement::Same);
        assert_eq!(agreement(&[FILE], FILE, Errno::ENOSPC), Agreement::Differ);
    }

    #[test]
    fn what_was_told_once_is_not_promised_again() {
        let promises_nothing = |op: &str, was_told| promises_nothing(&op.parse().unwrap(), was_told);
        assert!(promises_nothing("sync()", false) && promises_nothing("remount()", false));
        assert!(!promises_nothing("fsync(\"/f\")", false) && !promises_nothing("syncfs()", false));
        assert!(promises_nothing("fsync(\"/f\")", true) && promises_nothing("syncfs()", true));
        assert!(!promises_nothing("create(\"/f\")", true));
    }

    #[test]
    fn ranges_that_are_whole_blocks_of_some_formats_only_are_left_out() {
        let cases = [
            ("fallocate(\"/f\", offset=2048, len=4096, how=insert_range)", true),
            ("fallocate(\"/f\", offset=4096, len=512, how=collapse_range)", true),
            ("fallocate(\"/f\", offset=4096, len=8192, how=collapse_range)", false),
            ("fallocate(\"/f\", offset=1, len=4096, how=collapse_range)", false),
            ("fallocate(\"/f\", offset=2048, len=4096, how=punch_hole)", false),
            ("write(\"/f\", offset=4096, len=8192, fill=1, via=direct)", false),
            ("write(\"/f\", offset=4096, len=1024, fill=1, via=direct)", true),
            ("write(\"/f\", at=end, len=4096, fill=1, via=direct)", true),
            ("write(\"/f\", at=end, len=1, fill=1)", false),
        ];
        for (op, expected) in cases {
            assert_eq!(depends_on_block_size(&op.parse().unwrap(), OpenFlags(0)), expected, "{op}");
        }
    }

    #[test]
    fn only_a_directory_that_could_be_opened_is_opened_directly() {
        let mut reference = Reference::new();
        for op in [FILE, "mkdir(\"/d\")", "symlink(\"d\", \"/s\")"] {
            reference.apply(&op.parse().unwrap()).unwrap();
        }
        for (path, flags, expected) in [
            ("/d", "O_RDONLY|O_DIRECT", true),
            ("/s", "O_RDONLY|O_DIRECT|O_DIRECTORY", true),
            ("/", "O_RDONLY|O_DIRECT", true),
            ("/d", "O_RDONLY|O_DIRECTORY", false),
            ("/s", "O_RDONLY|O_DIRECT|O_NOFOLLOW", false),
            ("/d", "O_RDWR|O_DIRECT", false),
            ("/d", "O_CREAT|O_RDONLY|O_DIRECT|O_DIRECTORY", false),
            ("/f", "O_RDWR|O_DIRECT", false),
            ("/g", "O_CREAT|O_RDWR|O_DIRECT", false),
        ] {
            let op = format!("open({path:?}, {flags}, fd=0)").parse().unwrap();
            assert_eq!(opens_dir_directly(&op, &reference.tree()), expected, "{path} {flags}");
        }
    }

    #[test]
    fn a_slot_can_make_reads_and_writes_direct() {
        let (direct, appending) = (OpenFlags::DIRECT, OpenFlags(OpenFlags::DIRECT.0 | OpenFlags::APPEND.0));
        let cases = [
            ("write(fd=0, offset=4096, len=1, fill=1)", OpenFlags(0), false),
            ("write(fd=0, offset=4096, len=1, fill=1)", direct, true),
            ("write(fd=0, offset=4096, len=4096, fill=1)", direct, false),
            ("write(fd=0, offset=4096, len=4096, fill=1)", appending, true),
            ("write(fd=0, offset=0, len=1, fill=1, via=mmap)", direct, false),
            ("read(fd=0, offset=1, len=4096)", direct, true),
            ("read(fd=0, offset=0, len=4096)", direct, false),
            ("read(fd=0, offset=1, len=1)", OpenFlags(0), false),
            ("truncate(fd=0, size=1)", direct, false),
        ];
        for (op, slot, expected) in cases {
            assert_eq!(depends_on_block_size(&op.parse().unwrap(), slot), expected, "{op} {slot:?}");
        }
    }

    #[test]
    fn a_directory_that_is_not_empty_has_two_names_in_a_rename_only() {
        let says_same = |op: &str| is_same(&op.parse().unwrap(), &Err(Errno::ENOTEMPTY), &Err(Errno::EEXIST));
        assert!(says_same("rename(\"/a\", \"/b\")"));
        assert!(!says_same("rename(\"/a\", \"/b\", how=no_replace)") && !says_same("rmdir(\"/a\")"));
        let replace = "rename(\"/a\", \"/b\")".parse().unwrap();
        assert!(!is_same(&replace, &Err(Errno::ENOTEMPTY), &Err(Errno::EISDIR)));
    }

    #[test]
    fn a_write_that_was_done_in_part_is_one_of_that_length_and_a_rest() {
        let in_part = |op: &str, count| in_part(&op.parse().unwrap(), &Ok(Value::Count(count)));
        let told = |op: &str, count| in_part(op, count).map(|(part, rest)| format!("{part} {rest}"));
        let (at, end) = ("write(\"/f\", offset=2, len=8, fill=1)", "write(\"/f\", at=end, len=8, fill=1)");
        let parts = "write(\"/f\", offset=2, len=3, fill=1) write(\"/f\", offset=5, len=5, fill=1)";
        assert_eq!(told(at, 3).as_deref(), Some(parts));
        let parts = "write(\"/f\", at=end, len=3, fill=1) write(\"/f\", at=end, len=5, fill=1)";
        assert_eq!(told(end, 3).as_deref(), Some(parts));
        assert_eq!((told(at, 0), told(at, 8)), (None, None));
    }

    #[test]
    fn want_of_room_is_an_excuse_for_what_may_need_some() {
        let has_no_room = |op: &str, errno, is_first, needs_room_to_free, growth| {
            let op = op.parse().unwrap();
            let refusing = Refusing { op: &op, is_first, has_room: false, needs_room_to_free, file_bytes_granted: 0 };
            let refusing_early = Refusing { has_room: true, ..refusing };
            assert!(!refusing_early.has_no_room(&Err(Errno::ENOSPC), || growth), "a new one has room: {op}");
            refusing.has_no_room(&Err(errno), || growth)
        };
        let usually = |op, errno| has_no_room(op, errno, false, false, Growth::None);
        assert!(usually("create(\"/f\")", Errno::ENOSPC));
        assert!(!usually("create(\"/f\")", Errno::EFBIG));
        assert!(!usually("create(\"/f\")", Errno::EIO));
        assert!(!usually("remount()", Errno::ENOSPC));
        assert!(!has_no_room("create(\"/f\")", Errno::ENOSPC, true, true, Growth::None), "the first name");
        for op in ["unlink(\"/f\")", "rmdir(\"/d\")", "chmod(\"/f\", mode=0600)"] {
            assert!(!usually(op, Errno::ENOSPC) && has_no_room(op, Errno::ENOSPC, false, true, Growth::None), "{op}");
        }
        for (op, growth, excused) in [
            ("truncate(\"/f\", size=9)", Growth::Longer, true),
            ("truncate(\"/f\", size=9)", Growth::Unseen, false),
            ("truncate(\"/f\", size=9)", Growth::None, false),
            ("truncate(fd=1, size=9)", Growth::Unseen, true),
            ("truncate(fd=1, size=0)", Growth::Unseen, false),
            ("truncate(fd=1, size=9)", Growth::None, false),
            ("fallocate(\"/f\", how=keep_size, offset=8, len=8)", Growth::None, true),
            ("fallocate(\"/f\", how=keep_size, offset=8, len=8)", Growth::Granted, false),
        ] {
            assert_eq!(has_no_room(op, Errno::EFBIG, false, false, growth), excused, "{op} {growth:?}");
        }
    }

    #[test]
    fn what_was_made_though_it_failed_is_no_damage_for_want_of_memory_alone() {
        let may = |op: &str, errno| done_when_failed(&op.parse().unwrap(), errno, &OpenFiles::new()).is_some();
        for op in ["create(\"/f\")", "open(\"/f\", O_CREAT|O_RDWR, fd=1)"] {
            assert!(may(op, Errno::ENOMEM) && !may(op, Errno::EIO) && !may(op, Errno::ENOSPC), "{op}");
        }
        assert!(!may("open(\"/f\", O_RDWR, fd=1)", Errno::ENOMEM) && !may("link(\"/f\", \"/g\")", Errno::ENOMEM));
        assert!(may("truncate(\"/f\", size=9)", Errno::EIO));
    }

    #[test]
    fn what_was_made_but_not_opened_leaves_slots_as_they_were() {
        let mut reference = Reference::new();
        for op in [FILE, "open(\"/f\", O_RDWR, fd=0)", "open(\"/f\", O_RDWR, fd=1)"] {
            reference.apply(&op.parse().unwrap()).unwrap();
        }
        let before = reference.open_files().clone();
        let op = "open(\"/g\", O_CREAT|O_RDWR, fd=1)".parse().unwrap();
        for part in done_when_failed(&op, Errno::ENOMEM, &before).unwrap() {
            reference.apply(&part).unwrap();
        }
        assert_eq!(*reference.open_files(), before);
        assert!(reference.tree().lookup(&vfs::Path::root().join("g")).is_some());
    }
}
