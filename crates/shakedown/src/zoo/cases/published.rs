//! Published bugs of btrfs and F2FS by the ops that showed them, on the model and with the flaw that stand for them.
//!
//! `crashmonkey-N` is the number in the list of new bugs of the `CrashMonkey` study, `generic-N` that of the test in
//! fstests. Only the ops of the script are done, with a power cut everywhere. What a case says is what the flaw of the
//! model makes of these ops; the bug itself may have done more, or shown in another way.

use disk::CrashMode::Prefix;

use crate::zoo::case::Case;

/// A file is renamed, and a new one with its old name is fsynced.
const NAME_TAKEN_AGAIN: &str = r#"
    create("/foo")
    write("/foo", at=end, len=64, fill=7)
    sync()
    rename("/foo", "/bar")
    create("/foo")
    write("/foo", at=end, len=64, fill=7)
    fsync("/foo")
    "#;

pub const CASES: &[Case] = &[
    Case::scripted(
        "crashmonkey-04",
        "a renamed directory is missing despite fsync (btrfs)",
        ["model:cow?flaw=log-forgets-renamed-parent", "model:cow?log=on"],
        "pinned-name",
        r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            fsync("/B")
            "#,
    ),
    Case::scripted(
        "crashmonkey-05",
        "the second name of an fsynced file is missing (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
        r#"
            mkdir("/A")
            mkdir("/B")
            create("/A/foo")
            link("/A/foo", "/B/foo")
            fsync("/A/foo")
            fsync("/B/foo")
            "#,
    ),
    Case::scripted(
        "crashmonkey-06",
        "fsync of a directory does not persist a name in it (btrfs)",
        ["model:cow?flaw=log-skips-logged-dir", "model:cow?log=on"],
        "pinned-name",
        r#"
            mkdir("/d")
            mkdir("/d/A")
            create("/d/foo")
            create("/d/A/foo")
            fsync("/d/A/foo")
            fsync("/d")
            "#,
    ),
    Case::scripted(
        "crashmonkey-07",
        "fsync of a file does not persist all its names (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
        r#"
            create("/foo")
            mkdir("/A")
            link("/foo", "/A/bar")
            fsync("/foo")
            "#,
    ),
    Case {
        crash: Prefix,
        ..Case::scripted(
            "crashmonkey-10",
            "a file comes back below the old name of its directory (F2FS)",
            [
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
            ],
            "pinned-name",
            r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            "#,
        )
    },
    Case::scripted(
        "generic-039",
        "an unlinked name comes back (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
        r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            fsync("/foo")
            "#,
    ),
    Case::scripted(
        "generic-104",
        "two files with two names each; one name is missing (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
        r#"
            create("/foo")
            create("/bar")
            link("/foo", "/foo1")
            link("/bar", "/bar1")
            fsync("/bar")
            "#,
    ),
    Case::scripted(
        "generic-107",
        "as generic-039, with names in another directory (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
        r#"
            create("/foo")
            mkdir("/A")
            link("/foo", "/A/foo")
            link("/foo", "/A/bar")
            sync()
            unlink("/A/bar")
            fsync("/foo")
            "#,
    ),
    Case::scripted(
        "generic-321",
        "a moved file is in both directories (btrfs)",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
        r#"
            mkdir("/A")
            create("/foo")
            sync()
            rename("/foo", "/A/foo")
            fsync("/A/foo")
            fsync("/A")
            "#,
    ),
    Case::scripted(
        "generic-322",
        "a renamed file has both names (btrfs)",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
        r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            rename("/A/foo", "/A/bar")
            fsync("/A/bar")
            "#,
    ),
    Case::scripted(
        "generic-336",
        "as generic-039, beside a move between directories (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
        r#"
            mkdir("/A")
            mkdir("/B")
            mkdir("/C")
            create("/A/foo")
            link("/A/foo", "/B/foo")
            create("/B/bar")
            sync()
            unlink("/B/foo")
            rename("/B/bar", "/C/bar")
            fsync("/A/foo")
            "#,
    ),
    Case::scripted(
        "generic-342",
        "a renamed file is lost when a new one takes its name (btrfs)",
        ["model:cow?flaw=log-forgets-taken-name", "model:cow?log=on"],
        "rename-atomic",
        NAME_TAKEN_AGAIN,
    ),
    Case {
        crash: Prefix,
        ..Case::scripted(
            "generic-342-f2fs",
            "the same in F2FS",
            [
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
            ],
            "rename-atomic",
            NAME_TAKEN_AGAIN,
        )
    },
    Case::scripted(
        "generic-376",
        "a renamed file keeps its name, which a new one has (btrfs)",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
        r#"
            create("/foo")
            sync()
            rename("/foo", "/bar")
            create("/foo")
            fsync("/bar")
            "#,
    ),
    Case::scripted(
        "btrfs-link-unlink",
        "a name is given up and taken by a new file (btrfs)",
        ["model:cow?flaw=log-forgets-taken-name", "model:cow?log=on"],
        "link-count",
        r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            create("/bar")
            fsync("/bar")
            "#,
    ),
];
