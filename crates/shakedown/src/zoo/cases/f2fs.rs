//! The log-structured model: what goes wrong with segments, checkpoints and roll-forward.
//!
//! But for the first, which is a published bug in its published geometry, the segments are few and small, so that they
//! fill up, die and are cleaned within a few ops.

use disk::CrashMode::{Flushed, Subsets};

use crate::zoo::case::{Case, Ops::Set};

/// The geometry without a flaw.
const SMALL: &str = "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4";

pub const CASES: &[Case] = &[
    Case {
        name: "f2fs-reuse-immediate",
        about: "a segment that the last checkpoint needs is written again (MC3)",
        wrong: "model:f2fs?reuse=immediate",
        right: "model:f2fs",
        property: "contents",
        ops: Set("create,write,truncate,unlink,sync"),
        depth: Some(6),
        files: Some(1),
        ..Case::BASE
    },
    Case {
        name: "f2fs-versions-off",
        about: "SIT and NAT are updated in place, before their checkpoint (MC3)",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,versions=off",
        right: SMALL,
        property: "lost-block",
        ops: Set("create,sync"),
        depth: Some(7),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-barrier-off",
        about: "a checkpoint's last block may reach the disk first (nobarrier)",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,barrier=off",
        right: SMALL,
        property: "bad-node",
        crash: Subsets,
        ops: Set("mkdir,sync"),
        depth: Some(6),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-footer-unchecked",
        about: "half a checkpoint passes for a whole one",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,footer=unchecked",
        right: SMALL,
        property: "sit-mismatch",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(6),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-fsync-unordered",
        about: "fsync writes the node while the data is still in the cache",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,fsync=unordered",
        right: SMALL,
        property: "contents",
        crash: Subsets,
        ops: Set("create,write,fsync"),
        depth: Some(4),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-rename-forgotten",
        about: "fsync after a rename brings the old name back",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=rename",
        right: SMALL,
        property: "pinned-name",
        ops: Set("default,-link"),
        depth: Some(4),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-rename-forgotten-twice",
        about: "the same, for a file that roll-forward has under both names",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=rename",
        right: SMALL,
        property: "double-nid",
        ops: Set("create,rename,fsync"),
        depth: Some(5),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-parent-forgotten",
        about: "fsync of a file in a directory that no checkpoint knows",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=parent",
        right: SMALL,
        property: "pinned-name",
        ops: Set("create,mkdir,fsync"),
        depth: Some(5),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-nids-immediate",
        about: "a removed node's number is given out before a checkpoint",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,nids=immediate",
        right: SMALL,
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,mkdir,unlink,fsync"),
        depth: Some(6),
        files: Some(1),
        ..Case::BASE
    },
    Case {
        name: "f2fs-stale-chain",
        about: "node blocks that an earlier mount left pass for new ones",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=8,forgets=version",
        right: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=8",
        property: "lost-nid",
        crash: Subsets,
        ops: Set("create,write,fsync"),
        depth: Some(5),
        files: Some(1),
        ..Case::BASE
    },
    Case {
        name: "f2fs-summary-forgotten",
        about: "a full segment gets no summary; cleaning goes by an old one",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,forgets=summary",
        right: SMALL,
        property: "ssa-mismatch",
        ops: Set("create,write,sync"),
        depth: Some(5),
        files: Some(2),
        ..Case::BASE
    },
    Case {
        name: "f2fs-memory-unchecked",
        about: "a truncation that gets no memory reports success",
        wrong: "model:f2fs?memory=unchecked",
        right: "model:f2fs",
        property: "fault",
        ops: Set("default,-link"),
        depth: Some(3),
        files: Some(1),
        faults: 1,
        ..Case::BASE
    },
];
