//! The journaling model: what goes wrong with commits, checkpoints, replay and the check that replays.

use disk::CrashMode::{Off, Prefix, Subsets, Torn};
use vfs::contract::Contract;

use crate::zoo::case::Case;

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
    Case::searched(
        "journal-no-barrier",
        "the commit record may reach the disk before what it commits",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "free-inode-in-use",
        Subsets,
        ("create,sync", 6),
    ),
    Case::searched(
        "journal-data-after-commit",
        "metadata commits before its data",
        ["model:journal?flaw=data-after-commit", "model:journal"],
        "contents",
        Subsets,
        ("create,write,sync", 5),
    ),
    Case::searched(
        "journal-bitmap-unjournaled",
        "the block bitmap is written home without the journal (Recon)",
        ["model:journal?flaw=bitmap-unjournaled", "model:journal"],
        "free-block-in-use",
        Subsets,
        ("create,mkdir,rmdir,sync", 5),
    ),
    Case::searched(
        "journal-tail-before-checkpoint",
        "the tail moves before the checkpoint is flushed",
        ["model:journal?flaw=tail-before-checkpoint", "model:journal?log=11"],
        "pinned-name",
        Subsets,
        ("create,sync", 8),
    ),
    Case::searched(
        "journal-reuse-before-superblock",
        "log space is used again before it is given up (jbd2, Recon)",
        ["model:journal?flaw=reuse-before-superblock", "model:journal?log=11"],
        "recovery-fails",
        Subsets,
        ("create,sync", 8),
    ),
    Case::searched(
        "journal-checkpoint-lost",
        "a checkpoint forgets a block (Recon)",
        ["model:journal?flaw=checkpoint-lost", "model:journal?log=11"],
        "free-inode-in-use",
        Subsets,
        ("create,mkdir,sync", 5),
    ),
    Case::searched(
        "journal-checkpoint-misdirected",
        "a checkpoint writes a block beside its place (Recon)",
        ["model:journal?flaw=checkpoint-misdirected", "model:journal?log=11"],
        "usable",
        Subsets,
        ("create,mkdir,sync", 5),
    ),
    Case::searched(
        "journal-misdirected-tree",
        "the same, seen without a power cut",
        ["model:journal?flaw=checkpoint-misdirected", "model:journal?log=11"],
        "tree",
        Off,
        ("create,remount", 6),
    ),
    Case::searched(
        "journal-misdirected-blocks",
        "the same, when it hits an inode of another file",
        ["model:journal?flaw=checkpoint-misdirected", "model:journal?log=11"],
        "double-block",
        Off,
        ("create,write,fsync,remount", 4),
    ),
    Case::searched(
        "journal-first-and-last-sequence",
        "a transaction with its first and last block passes (JFS, FiSC)",
        ["model:journal?flaw=first-and-last-sequence", "model:journal"],
        "free-inode-in-use",
        Torn,
        ("create,sync", 6),
    ),
    Case::searched(
        "journal-unescape-wrong-block",
        "replay puts the magic number back in the wrong place (ext3)",
        ["model:journal?flaw=unescape-wrong-block", "model:journal?data=journal"],
        "contents",
        Subsets,
        ("create,write,sync", 5),
    ),
    Case::searched(
        "journal-clean-too-early",
        "an unmount says clean before its work is done (JFS, ext3)",
        ["model:journal?flaw=clean-too-early", "model:journal"],
        "pinned-name",
        Subsets,
        ("create,remount,sync", 6),
    ),
    Case {
        recovery_crashes: true,
        ..Case::searched(
            "journal-replay-clears-first",
            "replay clears the journal before it flushes (e2fsck, FiSC)",
            ["model:journal?flaw=replay-clears-first", "model:journal"],
            "recovery-interrupted",
            Subsets,
            ("create,sync", 6),
        )
    },
    Case {
        recovery_crashes: true,
        ..Case::searched(
            "journal-fsck-clears-first",
            "the same in a check that only replays",
            ["model:journal?flaw=replay-clears-first,fsck=fast", "model:journal?fsck=fast"],
            "recovery-interrupted",
            Subsets,
            ("create,mkdir,sync", 4),
        )
    },
    Case {
        recovery_crashes: true,
        ..Case::searched(
            "journal-fsck-clean-too-early",
            "a check says clean before it has replayed (ext3, FiSC)",
            ["model:journal?flaw=clean-too-early,fsck=full", "model:journal?fsck=full"],
            "recovery-interrupted",
            Subsets,
            ("create,mkdir,sync", 4),
        )
    },
    Case::searched(
        "journal-fsck-skips-inodes",
        "a full check leaves inodes in the log, and loses them (JFS)",
        ["model:journal?flaw=fsck-skips-inodes,fsck=fast", "model:journal?fsck=fast"],
        "fsck-disagrees",
        Subsets,
        ("create,mkdir,sync", 4),
    ),
    Case {
        faults: 1,
        ..Case::searched(
            "journal-lookup-skips-block",
            "out of memory, a lookup says that there is no such name (ext2)",
            ["model:journal?flaw=lookup-skips-block", "model:journal"],
            "fault",
            Off,
            ("create,rename,remount", 4),
        )
    },
    Case::scripted(
        "journal-reuse-before-commit",
        "a block that was freed gets new data before the commit",
        ["model:journal?flaw=reuse-before-commit", "model:journal?log=24,blocks=3"],
        "contents",
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
    Case::scripted(
        "journal-revoke-unwritten",
        "freed metadata is not revoked: replay writes it over new data",
        ["model:journal?flaw=revoke-unwritten", "model:journal?blocks=2"],
        "contents",
        DIR_BECOMES_DATA,
    ),
    Case::scripted(
        "journal-revoke-ignored",
        "replay does not look at revoke records",
        ["model:journal?flaw=revoke-ignored", "model:journal?blocks=2"],
        "contents",
        DIR_BECOMES_DATA,
    ),
    Case::scripted(
        "journal-stale-data",
        "a new file shows what its blocks held before (data=writeback)",
        ["model:journal?flaw=stale-data", "model:journal?data=writeback,blocks=2"],
        "no-foreign-data",
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
    Case {
        contract: Some(Contract::Prefix),
        ..Case::searched(
            "journal-data-not-journaled",
            "contents may be newer than names (data=ordered allows it)",
            ["model:journal?data=ordered", "model:journal?data=journal"],
            "one-moment-contents",
            Prefix,
            ("create,write,sync", 6),
        )
    },
    Case::searched(
        "journal-grow-refused",
        "a truncate that makes a file larger is refused",
        ["model:journal?flaw=grow-refused", "model:journal"],
        "outcome",
        Off,
        ("create,truncate", 4),
    ),
    Case::searched(
        "journal-grow-too-large",
        "a file of a size that every file may have is too large, it says",
        ["model:journal?flaw=grow-too-large", "model:journal"],
        "outcome",
        Off,
        ("create,truncate", 4),
    ),
    Case {
        faults: 1,
        ..Case::searched(
            "journal-truncate-fails-late",
            "out of memory, a truncate says that it failed, and was done",
            ["model:journal?flaw=truncate-fails-late", "model:journal"],
            "failed-but-done",
            Off,
            ("create,truncate", 4),
        )
    },
    Case::searched(
        "journal-replay-expects-work",
        "replay panics where nothing was committed yet",
        ["model:journal?flaw=replay-expects-work", "model:journal"],
        "recovery-panics",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-replay-uses-clock",
        "replay depends on something that is not on the disk",
        ["model:journal?flaw=replay-uses-clock", "model:journal"],
        "recovery-nondeterministic",
        Subsets,
        ("create,sync", 4),
    ),
    Case {
        faults: 1,
        ..Case::searched(
            "journal-panics-without-memory",
            "an op takes it for granted that there is memory (JFS, FiSC)",
            ["model:journal?flaw=panics-without-memory", "model:journal"],
            "panic",
            Off,
            ("create,sync", 4),
        )
    },
    Case::searched(
        "journal-fua-undeclared",
        "the model says that it makes no FUA writes",
        ["model:journal?flaw=fua-undeclared", "model:journal"],
        "undeclared-fua",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-clean-too-early-unstable",
        "an unmount says clean too early; two recoveries differ",
        ["model:journal?flaw=clean-too-early", "model:journal"],
        "recovery-unstable",
        Subsets,
        ("create,write,remount", 4),
    ),
    Case::searched(
        "journal-no-barrier-bad-inode",
        "no barrier: the root's inode is what the log held there before",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "bad-inode",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-leaked-block",
        "no barrier: the inode is lost that has an allocated block",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "leaked-block",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-leaked-inode",
        "no barrier: an allocated inode is empty",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "leaked-inode",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-dangling-name",
        "no barrier: the inode is lost to which a name leads",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "dangling-name",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-bad-entry",
        "no barrier: a directory block is what the log held there before",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "bad-entry",
        Subsets,
        ("create,rename,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-double-name",
        "no barrier: the root gets a name",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "double-name",
        Subsets,
        ("create,mkdir,sync", 4),
    ),
    Case::searched(
        "journal-no-barrier-wrong-links",
        "no barrier: a name is lost that an inode counts",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "wrong-links",
        Subsets,
        ("create,mkdir,link,sync", 4),
    ),
    Case::scripted(
        "journal-no-barrier-bad-pointer",
        "no barrier: an indirect block is what the log held there before",
        ["model:journal?flaw=no-barrier", "model:journal"],
        "bad-pointer",
        r#"
            create("/a")
            sync()
            write("/a", offset=32, len=1, fill=1)
            sync()
        "#,
    ),
    Case::scripted(
        "journal-no-barrier-root-lost",
        "no barrier: the inode bitmap replaces the root's inode",
        ["model:journal?flaw=no-barrier,log=11", "model:journal?log=11"],
        "root-lost",
        r#"
            mkdir("/a")
            sync()
            rmdir("/a")
            sync()
            create("/a")
            sync()
        "#,
    ),
    Case::searched(
        "journal-no-barrier-repaired",
        "no barrier: the full check finds damage after every replay",
        ["model:journal?flaw=no-barrier,fsck=full", "model:journal?fsck=full"],
        "repaired",
        Subsets,
        ("create,sync", 4),
    ),
    Case::scripted(
        "journal-no-barrier-op-atomic",
        "no barrier: what is left after repairs is half of an op",
        ["model:journal?flaw=no-barrier,fsck=full", "model:journal?fsck=full"],
        "op-atomic",
        r#"
            mkdir("/a")
            create("/a/a")
            link("/a/a", "/b")
            sync()
        "#,
    ),
    Case::scripted(
        "journal-no-barrier-exchange",
        "no barrier: of an exchange, one name is new and one is old",
        ["model:journal?flaw=no-barrier,fsck=full,log=11", "model:journal?fsck=full,log=11"],
        "exchange-atomic",
        r#"
            mkdir("/d")
            create("/a")
            create("/d/b")
            sync()
            rename("/a", "/d/b", how=exchange)
            sync()
            rename("/a", "/d/b", how=exchange)
            sync()
        "#,
    ),
];
