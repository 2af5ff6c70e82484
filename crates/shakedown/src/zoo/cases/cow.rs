//! The copy-on-write model: what goes wrong with commits, mounts and the fsync log.

use disk::CrashMode::{Flushed, Subsets, Torn};
use vfs::contract::Contract;

use crate::zoo::case::{Case, Ops::Set};

pub const CASES: &[Case] = &[
    Case {
        name: "cow-no-barrier",
        about: "the superblock may reach the disk before its trees",
        wrong: "model:cow?flaw=no-barrier",
        right: "model:cow",
        property: "recovery-fails",
        crash: Subsets,
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-super-not-flushed",
        about: "sync returns before the superblock is durable",
        wrong: "model:cow?flaw=super-not-flushed",
        right: "model:cow",
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-super-not-flushed-data",
        about: "the same, for a file that grew since the last sync",
        wrong: "model:cow?flaw=super-not-flushed",
        right: "model:cow",
        property: "pinned-size",
        crash: Flushed,
        ops: Set("create,write,sync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "cow-overwrite",
        about: "a changed node is written over the committed one",
        wrong: "model:cow?flaw=overwrite",
        right: "model:cow",
        property: "recovery-fails",
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-reuse-freed",
        about: "a block that was freed is written again before the commit",
        wrong: "model:cow?flaw=reuse-freed",
        right: "model:cow",
        property: "recovery-fails",
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-super-unchecked",
        about: "a mount takes the newest superblock even if half of it is old",
        wrong: "model:cow?flaw=super-unchecked",
        right: "model:cow",
        property: "recovery-fails",
        crash: Torn,
        ops: Set("create,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-generation-unchecked",
        about: "an older node passes for one whose write was lost",
        wrong: "model:cow?flaw=generation-unchecked",
        right: "model:cow?commit=verify",
        property: "pinned-name",
        crash: Subsets,
        ops: Set("create,rename,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-data-unchecked",
        about: "a tree is used though its data is not there",
        wrong: "model:cow?flaw=data-unchecked",
        right: "model:cow?commit=verify",
        property: "one-moment-contents",
        crash: Subsets,
        ops: Set("create,write,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-generation-reused",
        about: "a mount takes nodes that a crash left for its own",
        wrong: "model:cow?flaw=generation-reused",
        right: "model:cow?commit=verify",
        property: "never-held",
        crash: Subsets,
        ops: Set("create,mkdir,sync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-stale-log",
        about: "a commit keeps the log, and a mount replays what is out of date",
        wrong: "model:cow?flaw=stale-log",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,unlink,fsync"),
        depth: Some(7),
        ..Case::BASE
    },
    Case {
        name: "cow-log-one-name",
        about: "fsync logs one name of a file that has several",
        wrong: "model:cow?flaw=log-one-name",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,link,fsync"),
        depth: Some(7),
        ..Case::BASE
    },
    Case {
        name: "cow-log-forgets-rename",
        about: "fsync of a renamed file keeps the old name too",
        wrong: "model:cow?flaw=log-forgets-rename",
        right: "model:cow?log=on",
        property: "link-count",
        crash: Flushed,
        ops: Set("create,rename,fsync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-log-forgets-unlink",
        about: "fsync of a file that lost a name brings the name back",
        wrong: "model:cow?flaw=log-forgets-unlink",
        right: "model:cow?log=on",
        property: "miscounted-links",
        crash: Flushed,
        ops: Set("create,link,unlink,fsync"),
        depth: Some(7),
        ..Case::BASE
    },
    Case {
        name: "cow-log-forgets-renamed-parent",
        about: "a file is found below the old name of its directory",
        wrong: "model:cow?flaw=log-forgets-renamed-parent",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,mkdir,rename,fsync"),
        depth: Some(5),
        ..Case::BASE
    },
    Case {
        name: "cow-log-forgets-taken-name",
        about: "fsync of a file loses the one that had its name before",
        wrong: "model:cow?flaw=log-forgets-taken-name",
        right: "model:cow?log=on",
        property: "rename-atomic",
        crash: Flushed,
        ops: Set("create,rename,fsync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-log-skips-logged-dir",
        about: "fsync of a directory does nothing if it is a logged parent",
        wrong: "model:cow?flaw=log-skips-logged-dir",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Flushed,
        ops: Set("create,mkdir,fsync"),
        depth: Some(6),
        ..Case::BASE
    },
    Case {
        name: "cow-abort-keeps-changes",
        about: "an op that runs out of memory leaves half of it done (JFS)",
        wrong: "model:cow?flaw=abort-keeps-changes",
        right: "model:cow",
        property: "fault",
        crash: Subsets,
        ops: Set("create,link,rename,sync"),
        depth: Some(4),
        faults: 1,
        ..Case::BASE
    },
    Case {
        name: "cow-log-reorders",
        about: "one file may be newer than another (the log allows it)",
        wrong: "model:cow?log=on",
        right: "model:cow",
        property: "one-moment",
        crash: Flushed,
        contract: Some(Contract::Ordered),
        ops: Set("create,fsync"),
        depth: Some(6),
        ..Case::BASE
    },
];
