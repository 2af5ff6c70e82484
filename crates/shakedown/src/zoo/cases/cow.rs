//! The copy-on-write model: what goes wrong with commits, mounts and the fsync log.

use disk::CrashMode::{Flushed, Prefix, Subsets, Torn};
use vfs::contract::Contract;

use crate::zoo::case::Case;

pub const CASES: &[Case] = &[
    Case::searched(
        "cow-tail-kept",
        "old bytes beyond the end of a file are seen when it grows again",
        ["model:cow?flaw=tail-kept", "model:cow"],
        "contents",
        Flushed,
        ("create,write,truncate", 4),
    ),
    Case::searched(
        "cow-unmount-forgets",
        "an unmount writes nothing",
        ["model:cow?flaw=unmount-forgets", "model:cow"],
        "usable",
        Flushed,
        ("create,sync", 3),
    ),
    Case::searched(
        "cow-no-barrier",
        "the superblock may reach the disk before its trees",
        ["model:cow?flaw=no-barrier", "model:cow"],
        "recovery-fails",
        Subsets,
        ("create,sync", 6),
    ),
    Case::searched(
        "cow-super-not-flushed",
        "sync returns before the superblock is durable",
        ["model:cow?flaw=super-not-flushed", "model:cow"],
        "pinned-name",
        Flushed,
        ("create,sync", 6),
    ),
    Case::searched(
        "cow-super-not-flushed-data",
        "the same, for a file that grew since the last sync",
        ["model:cow?flaw=super-not-flushed", "model:cow"],
        "pinned-size",
        Flushed,
        ("create,write,sync", 5),
    ),
    Case::searched(
        "cow-overwrite",
        "a changed node is written over the committed one",
        ["model:cow?flaw=overwrite", "model:cow"],
        "recovery-fails",
        Prefix,
        ("create,sync", 6),
    ),
    Case::searched(
        "cow-reuse-freed",
        "a block that was freed is written again before the commit",
        ["model:cow?flaw=reuse-freed", "model:cow"],
        "recovery-fails",
        Prefix,
        ("create,sync", 6),
    ),
    Case::searched(
        "cow-super-unchecked",
        "a mount takes the newest superblock even if half of it is old",
        ["model:cow?flaw=super-unchecked", "model:cow"],
        "recovery-fails",
        Torn,
        ("create,sync", 6),
    ),
    Case::searched(
        "cow-generation-unchecked",
        "an older node passes for one whose write was lost",
        ["model:cow?flaw=generation-unchecked", "model:cow?commit=verify"],
        "pinned-name",
        Subsets,
        ("create,rename,sync", 6),
    ),
    Case::searched(
        "cow-data-unchecked",
        "a tree is used though its data is not there",
        ["model:cow?flaw=data-unchecked", "model:cow?commit=verify"],
        "one-moment-contents",
        Subsets,
        ("create,write,sync", 6),
    ),
    Case::searched(
        "cow-generation-reused",
        "a mount takes nodes that a crash left for its own",
        ["model:cow?flaw=generation-reused", "model:cow?commit=verify"],
        "never-held",
        Subsets,
        ("create,mkdir,sync", 6),
    ),
    Case::searched(
        "cow-stale-log",
        "a commit keeps the log, and a mount replays what is out of date",
        ["model:cow?flaw=stale-log", "model:cow?log=on"],
        "pinned-name",
        Flushed,
        ("create,unlink,fsync", 7),
    ),
    Case::searched(
        "cow-log-one-name",
        "fsync logs one name of a file that has several",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
        Flushed,
        ("create,link,fsync", 7),
    ),
    Case::searched(
        "cow-log-forgets-rename",
        "fsync of a renamed file keeps the old name too",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
        Flushed,
        ("create,rename,fsync", 6),
    ),
    Case::searched(
        "cow-log-forgets-unlink",
        "fsync of a file that lost a name brings the name back",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
        Flushed,
        ("create,link,unlink,fsync", 7),
    ),
    Case::searched(
        "cow-log-forgets-renamed-parent",
        "a file is found below the old name of its directory",
        ["model:cow?flaw=log-forgets-renamed-parent", "model:cow?log=on"],
        "pinned-name",
        Flushed,
        ("create,mkdir,rename,fsync", 5),
    ),
    Case::searched(
        "cow-log-forgets-taken-name",
        "fsync of a file loses the one that had its name before",
        ["model:cow?flaw=log-forgets-taken-name", "model:cow?log=on"],
        "rename-atomic",
        Flushed,
        ("create,rename,fsync", 6),
    ),
    Case::searched(
        "cow-log-skips-logged-dir",
        "fsync of a directory does nothing if it is a logged parent",
        ["model:cow?flaw=log-skips-logged-dir", "model:cow?log=on"],
        "pinned-name",
        Flushed,
        ("create,mkdir,fsync", 6),
    ),
    Case {
        faults: 1,
        ..Case::searched(
            "cow-abort-keeps-changes",
            "an op that runs out of memory leaves half of it done (JFS)",
            ["model:cow?flaw=abort-keeps-changes", "model:cow"],
            "fault",
            Subsets,
            ("create,link,rename,sync", 4),
        )
    },
    Case {
        contract: Some(Contract::Ordered),
        ..Case::searched(
            "cow-log-reorders",
            "one file may be newer than another (the log allows it)",
            ["model:cow?log=on", "model:cow"],
            "one-moment",
            Flushed,
            ("create,fsync", 6),
        )
    },
    Case::scripted(
        "cow-log-forgets-mode",
        "fsync does not log what chmod changed",
        ["model:cow?flaw=log-forgets-mode", "model:cow?log=on"],
        "pinned-attributes",
        r#"
            create("/a")
            sync()
            chmod("/a", mode=0600)
            fsync("/a")
        "#,
    ),
    Case::searched(
        "cow-replay-not-committed",
        "a mount lets go of the log before it commits what it replayed",
        ["model:cow?flaw=replay-not-committed", "model:cow?log=on"],
        "recovery-unstable",
        Flushed,
        ("create,fsync", 5),
    ),
    Case::searched(
        "cow-replay-forgets-blocks",
        "a mount writes over blocks of the log that it replays",
        ["model:cow?flaw=replay-forgets-blocks", "model:cow?log=on"],
        "shared-block",
        Flushed,
        ("create,write,fsync", 5),
    ),
    Case::searched(
        "cow-replay-keeps-room",
        "a mount that replays the log keeps the room that it held back",
        ["model:cow?flaw=replay-keeps-room", "model:cow?log=on"],
        "usable",
        Flushed,
        ("create,fsync", 4),
    ),
    Case::scripted(
        "cow-super-not-flushed-content",
        "sync returns too early, for a file that was overwritten",
        ["model:cow?flaw=super-not-flushed", "model:cow"],
        "pinned-content",
        r#"
            create("/a")
            write("/a", offset=0, len=1, fill=1)
            sync()
            write("/a", offset=0, len=1, fill=2)
            sync()
        "#,
    ),
    Case::searched(
        "cow-generation-unchecked-nameless",
        "an older node passes for the new one, without a name",
        ["model:cow?flaw=generation-unchecked", "model:cow?commit=verify"],
        "nameless-node",
        Subsets,
        ("create,sync", 4),
    ),
    Case::searched(
        "cow-generation-unchecked-extents",
        "an older node passes for the new one of the extent tree",
        ["model:cow?flaw=generation-unchecked", "model:cow?commit=verify"],
        "unallocated-block",
        Subsets,
        ("create,unlink,sync", 5),
    ),
    Case::scripted(
        "cow-stale-log-second-name",
        "an old log is replayed, and a directory has two names",
        ["model:cow?flaw=stale-log", "model:cow?log=on"],
        "sound-names",
        r#"
            mkdir("/a")
            create("/a/a")
            fsync("/a/a")
            rename("/a", "/b")
            fsync("/b")
        "#,
    ),
];
