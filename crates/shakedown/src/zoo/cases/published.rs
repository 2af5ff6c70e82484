//! Published bugs of btrfs and F2FS by the ops that showed them, on the model and with the flaw that stand for them.
//!
//! `crashmonkey-N` is the number in the list of new bugs of the `CrashMonkey` study, `generic-N` that of the test in
//! fstests. Only the ops of the script are done, with a power cut everywhere. What a case says is what the flaw of the
//! model makes of these ops; the bug itself may have done more, or shown in another way.

use disk::CrashMode::Prefix;

use crate::zoo::case::Case;

pub const CASES: &[Case] = &[
    Case::published(
        "crashmonkey-04",
        "a renamed directory is missing despite fsync (btrfs)",
        ["model:cow?flaw=log-forgets-renamed-parent", "model:cow?log=on"],
        "pinned-name",
    ),
    Case::published(
        "crashmonkey-05",
        "the second name of an fsynced file is missing (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
    ),
    Case::published(
        "crashmonkey-06",
        "fsync of a directory does not persist a name in it (btrfs)",
        ["model:cow?flaw=log-skips-logged-dir", "model:cow?log=on"],
        "pinned-name",
    ),
    Case::published(
        "crashmonkey-07",
        "fsync of a file does not persist all its names (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
    ),
    Case {
        crash: Prefix,
        ..Case::published(
            "crashmonkey-10",
            "a file comes back below the old name of its directory (F2FS)",
            [
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
            ],
            "pinned-name",
        )
    },
    Case::published(
        "generic-039",
        "an unlinked name comes back (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
    ),
    Case::published(
        "generic-104",
        "two files with two names each; one name is missing (btrfs)",
        ["model:cow?flaw=log-one-name", "model:cow?log=on"],
        "pinned-name",
    ),
    Case::published(
        "generic-107",
        "as generic-039, with names in another directory (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
    ),
    // In fstests the directory is synced first, which commits everything in this model; the file first shows it.
    Case::scripted(
        "generic-321-file-first",
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
    Case::published(
        "generic-322",
        "a renamed file has both names (btrfs)",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
    ),
    Case::published(
        "generic-336",
        "as generic-039, beside a move between directories (btrfs)",
        ["model:cow?flaw=log-forgets-unlink", "model:cow?log=on"],
        "miscounted-links",
    ),
    Case::published(
        "generic-342",
        "a renamed file is lost when a new one takes its name (btrfs)",
        ["model:cow?flaw=log-forgets-taken-name", "model:cow?log=on"],
        "rename-atomic",
    ),
    Case {
        name: "generic-342-f2fs",
        crash: Prefix,
        ..Case::published(
            "generic-342",
            "the same in F2FS",
            [
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
                "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
            ],
            "rename-atomic",
        )
    },
    Case::published(
        "generic-376",
        "a renamed file keeps its name, which a new one has (btrfs)",
        ["model:cow?flaw=log-forgets-rename", "model:cow?log=on"],
        "link-count",
    ),
    Case::published(
        "btrfs-link-unlink",
        "a name is given up and taken by a new file (btrfs)",
        ["model:cow?flaw=log-forgets-taken-name", "model:cow?log=on"],
        "link-count",
    ),
];
