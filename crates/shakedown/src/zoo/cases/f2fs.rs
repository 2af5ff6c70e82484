//! The log-structured model: what goes wrong with segments, checkpoints and roll-forward.
//!
//! But for the first, which is a published bug in its published geometry, the segments are few and small, so that they
//! fill up, die and are cleaned within a few ops.

use disk::CrashMode::{Flushed, Prefix, Subsets};

use crate::zoo::case::Case;

/// The geometry without a flaw.
const SMALL: &str = "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4";

pub const CASES: &[Case] = &[
    Case {
        files: Some(1),
        ..Case::searched(
            "f2fs-reuse-immediate",
            "a segment that the last checkpoint needs is written again (MC3)",
            ["model:f2fs?reuse=immediate", "model:f2fs"],
            "contents",
            Prefix,
            ("create,write,truncate,unlink,sync", 6),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-versions-off",
            "SIT and NAT are updated in place, before their checkpoint (MC3)",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,versions=off", SMALL],
            "lost-block",
            Prefix,
            ("create,sync", 7),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-barrier-off",
            "a checkpoint's last block may reach the disk first (nobarrier)",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,barrier=off", SMALL],
            "bad-node",
            Subsets,
            ("mkdir,sync", 6),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-footer-unchecked",
            "half a checkpoint passes for a whole one",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,footer=unchecked", SMALL],
            "sit-mismatch",
            Subsets,
            ("create,mkdir,sync", 6),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-fsync-unordered",
            "fsync writes the node while the data is still in the cache",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,fsync=unordered", SMALL],
            "contents",
            Subsets,
            ("create,write,fsync", 4),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-rename-forgotten",
            "fsync after a rename brings the old name back",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=rename", SMALL],
            "pinned-name",
            Prefix,
            ("default,-link", 4),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-rename-forgotten-twice",
            "the same, for a file that roll-forward has under both names",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=rename", SMALL],
            "double-nid",
            Prefix,
            ("create,rename,fsync", 5),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-parent-forgotten",
            "fsync of a file in a directory that no checkpoint knows",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=parent", SMALL],
            "pinned-name",
            Prefix,
            ("create,mkdir,fsync", 5),
        )
    },
    Case {
        files: Some(1),
        ..Case::searched(
            "f2fs-nids-immediate",
            "a removed node's number is given out before a checkpoint",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,nids=immediate", SMALL],
            "pinned-name",
            Flushed,
            ("create,mkdir,unlink,fsync", 6),
        )
    },
    Case {
        files: Some(1),
        ..Case::searched(
            "f2fs-stale-chain",
            "node blocks that an earlier mount left pass for new ones",
            [
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=8,forgets=version",
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=8",
            ],
            "lost-nid",
            Subsets,
            ("create,write,fsync", 5),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-summary-forgotten",
            "a full segment gets no summary; cleaning goes by an old one",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=summary", SMALL],
            "ssa-mismatch",
            Prefix,
            ("create,write,sync", 5),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-versions-off-dead-block",
            "the same; a block that nothing uses stays valid",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,versions=off", SMALL],
            "dead-block",
            Subsets,
            ("create,sync", 4),
        )
    },
    Case {
        files: Some(2),
        ..Case::searched(
            "f2fs-versions-off-dead-nid",
            "the same; a node that nothing uses stays in the NAT",
            ["model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,versions=off", SMALL],
            "dead-nid",
            Subsets,
            ("create,sync", 4),
        )
    },
    Case {
        files: Some(1),
        faults: 1,
        ..Case::searched(
            "f2fs-memory-unchecked",
            "a truncation that gets no memory reports success",
            ["model:f2fs?memory=unchecked", "model:f2fs"],
            "fault",
            Prefix,
            ("default,-link", 3),
        )
    },
];
