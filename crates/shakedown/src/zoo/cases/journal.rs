//! The journaling model: what goes wrong with commits, checkpoints, replay and the check that replays.

use disk::CrashMode::{Off, Subsets, Torn};
use vfs::contract::Contract;

use crate::zoo::case::{
    Case,
    Ops::{Script, Set},
};

/// A block of a directory that is freed, given to a file, and still in the log.
const DIR_BECOMES_DATA: &str = r#"
    create("/a")
    mkdir("/b")
    sync()
    rmdir("/b")
    write("/a", offset=0, len=32, fill=7)
    fsync("/a")
"#;

pub const CASES: &[Case] = &[
    Case {
        name: "journal-no-barrier",
        about: "the commit record may reach the disk before what it commits",
        wrong: "model:journal?flaw=no-barrier",
        right: "model:journal",
        property: "free-inode-in-use",
        crash: Subsets,
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "journal-data-after-commit",
        about: "metadata commits before its data (ext4 until 2016)",
        wrong: "model:journal?flaw=data-after-commit",
        right: "model:journal",
        property: "contents",
        crash: Subsets,
        ops: Set("create,write,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "journal-bitmap-unjournaled",
        about: "the block bitmap is written home without the journal (Recon)",
        wrong: "model:journal?flaw=bitmap-unjournaled",
        right: "model:journal",
        property: "free-block-in-use",
        crash: Subsets,
        ops: Set("create,mkdir,rmdir,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "journal-tail-before-checkpoint",
        about: "the tail moves before the checkpoint is flushed (jbd until 2011)",
        wrong: "model:journal?flaw=tail-before-checkpoint",
        right: "model:journal?log=11",
        property: "pinned-name",
        crash: Subsets,
        ops: Set("create,sync"),
        depth: Some(8),
        ..Case::BASE
    },
    Case {
        name: "journal-reuse-before-superblock",
        about: "log space is used again before it is given up (jbd until 2012)",
        wrong: "model:journal?flaw=reuse-before-superblock",
        right: "model:journal?log=11",
        property: "recovery-fails",
        crash: Subsets,
        ops: Set("create,sync"),
        depth: Some(8),
        ..Case::BASE
    },
    Case {
        name: "journal-checkpoint-lost",
        about: "a checkpoint forgets a block (Recon, IRON)",
        wrong: "model:journal?flaw=checkpoint-lost",
        right: "model:journal?log=11",
        property: "free-inode-in-use",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "journal-checkpoint-misdirected",
        about: "a checkpoint writes a block beside its place (Recon, IRON)",
        wrong: "model:journal?flaw=checkpoint-misdirected",
        right: "model:journal?log=11",
        property: "usable",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "journal-misdirected-tree",
        about: "the same, seen without a power cut",
        wrong: "model:journal?flaw=checkpoint-misdirected",
        right: "model:journal?log=11",
        property: "tree",
        crash: Off,
        ops: Set("create,remount"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "journal-misdirected-blocks",
        about: "the same, when it hits an inode of another file",
        wrong: "model:journal?flaw=checkpoint-misdirected",
        right: "model:journal?log=11",
        property: "double-block",
        crash: Off,
        ops: Set("create,write,fsync,remount"),
        depth: Some(4),
        ..Case::BASE
    },
    Case {
        name: "journal-first-and-last-sequence",
        about: "a transaction with its first and last block passes (JFS, FiSC)",
        wrong: "model:journal?flaw=first-and-last-sequence",
        right: "model:journal",
        property: "free-inode-in-use",
        crash: Torn,
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "journal-unescape-wrong-block",
        about: "replay puts the magic number back in the wrong place (jbd)",
        wrong: "model:journal?flaw=unescape-wrong-block",
        right: "model:journal?data=journal",
        property: "contents",
        crash: Subsets,
        ops: Set("create,write,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "journal-clean-too-early",
        about: "an unmount says clean before its work is done (JFS, ext3)",
        wrong: "model:journal?flaw=clean-too-early",
        right: "model:journal",
        property: "pinned-name",
        crash: Subsets,
        ops: Set("create,remount,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "journal-replay-clears-first",
        about: "replay clears the journal before it flushes (e2fsck, FiSC)",
        wrong: "model:journal?flaw=replay-clears-first",
        right: "model:journal",
        property: "recovery-interrupted",
        crash: Subsets,
        ops: Set("create,sync"),
        depth: Some(6),
        recovery_crashes: true,
        ..Case::BASE
    },
    Case {
        name: "journal-fsck-clears-first",
        about: "the same in a check that only replays",
        wrong: "model:journal?flaw=replay-clears-first,fsck=fast",
        right: "model:journal?fsck=fast",
        property: "recovery-interrupted",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(4),
        recovery_crashes: true,
        ..Case::BASE
    },
    Case {
        name: "journal-fsck-clean-too-early",
        about: "a check says clean before it has replayed (ext3, FiSC)",
        wrong: "model:journal?flaw=clean-too-early,fsck=full",
        right: "model:journal?fsck=full",
        property: "recovery-interrupted",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(4),
        recovery_crashes: true,
        ..Case::BASE
    },
    Case {
        name: "journal-fsck-skips-inodes",
        about: "a full check leaves inodes in the log, and loses them (JFS)",
        wrong: "model:journal?flaw=fsck-skips-inodes,fsck=fast",
        right: "model:journal?fsck=fast",
        property: "fsck-disagrees",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(4),
        ..Case::BASE
    },
    Case {
        name: "journal-lookup-skips-block",
        about: "out of memory, a lookup says that there is no such name (ext2)",
        wrong: "model:journal?flaw=lookup-skips-block",
        right: "model:journal",
        property: "fault",
        crash: Off,
        ops: Set("create,rename,remount"),
        depth: Some(4),
        faults: 1,
        ..Case::BASE
    },
    Case {
        name: "journal-reuse-before-commit",
        about: "a block that was freed gets new data before the commit",
        wrong: "model:journal?flaw=reuse-before-commit",
        right: "model:journal?log=24,blocks=3",
        property: "contents",
        crash: Subsets,
        ops: Script(
            r#"
            create("/a")
            write("/a", offset=0, len=32, fill=7)
            create("/b")
            sync()
            unlink("/a")
            write("/b", offset=0, len=32, fill=9)
            fsync("/b")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "journal-revoke-unwritten",
        about: "freed metadata is not revoked: replay writes it over new data",
        wrong: "model:journal?flaw=revoke-unwritten",
        right: "model:journal?blocks=2",
        property: "contents",
        crash: Subsets,
        ops: Script(DIR_BECOMES_DATA),
        ..Case::BASE
    },
    Case {
        name: "journal-revoke-ignored",
        about: "replay does not look at revoke records",
        wrong: "model:journal?flaw=revoke-ignored",
        right: "model:journal?blocks=2",
        property: "contents",
        crash: Subsets,
        ops: Script(DIR_BECOMES_DATA),
        ..Case::BASE
    },
    Case {
        name: "journal-stale-data",
        about: "a new file shows what its blocks held before (ext3 writeback)",
        wrong: "model:journal?flaw=stale-data",
        right: "model:journal?data=writeback,blocks=2",
        property: "no-foreign-data",
        crash: Subsets,
        ops: Script(
            r#"
            create("/a")
            write("/a", offset=0, len=32, fill=7)
            sync()
            unlink("/a")
            create("/b")
            write("/b", offset=0, len=32, fill=9)
            fsync("/")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "journal-data-not-journaled",
        about: "contents may be newer than names (data=ordered allows it)",
        wrong: "model:journal?data=ordered",
        right: "model:journal?data=journal",
        property: "one-moment-contents",
        contract: Some(Contract::Prefix),
        ops: Set("create,write,sync"),
        depth: Some(6),
        ..Case::BASE
    },
];
