//! Published bugs of btrfs and F2FS by the ops that showed them, on the model and with the flaw that stand for them.
//!
//! `crashmonkey-N` is the number in the list of new bugs of the `CrashMonkey` study, `generic-N` that of the test in
//! fstests. Only the ops of the script are done, with a power cut everywhere.

use disk::CrashMode::Subsets;

use crate::zoo::case::{Case, Ops::Script};

pub const CASES: &[Case] = &[
    Case {
        name: "crashmonkey-04",
        about: "a renamed directory is missing despite fsync (btrfs)",
        wrong: "model:cow?flaw=log-forgets-renamed-parent",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Subsets,
        ops: Script(
            r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            fsync("/B")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "crashmonkey-05",
        about: "the second name of an fsynced file is missing (btrfs)",
        wrong: "model:cow?flaw=log-one-name",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Subsets,
        ops: Script(
            r#"
            mkdir("/A")
            mkdir("/B")
            create("/A/foo")
            link("/A/foo", "/B/foo")
            fsync("/A/foo")
            fsync("/B/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "crashmonkey-06",
        about: "fsync of a directory does not persist a name in it (btrfs)",
        wrong: "model:cow?flaw=log-skips-logged-dir",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Subsets,
        ops: Script(
            r#"
            mkdir("/d")
            mkdir("/d/A")
            create("/d/foo")
            create("/d/A/foo")
            fsync("/d/A/foo")
            fsync("/d")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "crashmonkey-07",
        about: "fsync of a file does not persist all its names (btrfs)",
        wrong: "model:cow?flaw=log-one-name",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            mkdir("/A")
            link("/foo", "/A/bar")
            fsync("/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "crashmonkey-10",
        about: "a file comes back below the old name of its directory (F2FS)",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
        right: "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
        property: "pinned-name",
        ops: Script(
            r#"
            mkdir("/A")
            sync()
            rename("/A", "/B")
            create("/B/foo")
            fsync("/B/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-039",
        about: "an unlinked name comes back (btrfs)",
        wrong: "model:cow?flaw=log-forgets-unlink",
        right: "model:cow?log=on",
        property: "miscounted-links",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            fsync("/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-104",
        about: "two files with two names each; one name is missing (btrfs)",
        wrong: "model:cow?flaw=log-one-name",
        right: "model:cow?log=on",
        property: "pinned-name",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            create("/bar")
            link("/foo", "/foo1")
            link("/bar", "/bar1")
            fsync("/bar")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-107",
        about: "as generic-039, with names in another directory (btrfs)",
        wrong: "model:cow?flaw=log-forgets-unlink",
        right: "model:cow?log=on",
        property: "miscounted-links",
        crash: Subsets,
        ops: Script(
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
        ..Case::BASE
    },
    Case {
        name: "generic-321",
        about: "a moved file is in both directories (btrfs)",
        wrong: "model:cow?flaw=log-forgets-rename",
        right: "model:cow?log=on",
        property: "link-count",
        crash: Subsets,
        ops: Script(
            r#"
            mkdir("/A")
            create("/foo")
            sync()
            rename("/foo", "/A/foo")
            fsync("/A/foo")
            fsync("/A")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-322",
        about: "a renamed file has both names (btrfs)",
        wrong: "model:cow?flaw=log-forgets-rename",
        right: "model:cow?log=on",
        property: "link-count",
        crash: Subsets,
        ops: Script(
            r#"
            mkdir("/A")
            create("/A/foo")
            sync()
            rename("/A/foo", "/A/bar")
            fsync("/A/bar")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-336",
        about: "as generic-039, beside a move between directories (btrfs)",
        wrong: "model:cow?flaw=log-forgets-unlink",
        right: "model:cow?log=on",
        property: "miscounted-links",
        crash: Subsets,
        ops: Script(
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
        ..Case::BASE
    },
    Case {
        name: "generic-342",
        about: "a renamed file is lost when a new one takes its name (btrfs)",
        wrong: "model:cow?flaw=log-forgets-taken-name",
        right: "model:cow?log=on",
        property: "rename-atomic",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            write("/foo", at=end, len=64, fill=7)
            sync()
            rename("/foo", "/bar")
            create("/foo")
            write("/foo", at=end, len=64, fill=7)
            fsync("/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-342-f2fs",
        about: "the same in F2FS",
        wrong: "model:f2fs?segments=14,blocks=4,heads=4,journal=2,forgets=rename",
        right: "model:f2fs?segments=14,blocks=4,heads=4,journal=2",
        property: "rename-atomic",
        ops: Script(
            r#"
            create("/foo")
            write("/foo", at=end, len=64, fill=7)
            sync()
            rename("/foo", "/bar")
            create("/foo")
            write("/foo", at=end, len=64, fill=7)
            fsync("/foo")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "generic-376",
        about: "a renamed file keeps its name, which a new one has (btrfs)",
        wrong: "model:cow?flaw=log-forgets-rename",
        right: "model:cow?log=on",
        property: "link-count",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            sync()
            rename("/foo", "/bar")
            create("/foo")
            fsync("/bar")
            "#,
        ),
        ..Case::BASE
    },
    Case {
        name: "btrfs-link-unlink",
        about: "a name is given up and taken by a new file (btrfs)",
        wrong: "model:cow?flaw=log-forgets-taken-name",
        right: "model:cow?log=on",
        property: "link-count",
        crash: Subsets,
        ops: Script(
            r#"
            create("/foo")
            link("/foo", "/bar")
            sync()
            unlink("/bar")
            create("/bar")
            fsync("/bar")
            "#,
        ),
        ..Case::BASE
    },
];
