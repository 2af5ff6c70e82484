//! Each row of the table of pins and each clause of the contracts: a history, trees that are allowed after it, and
//! trees that differ in one clause and are not. A refused tree keeps every weaker contract.

use vfs::contract::Contract::*;

use crate::case::{CASE, Case, judge_all};

const F1: &str = r#"create("/f"); write("/f", offset=0, len=4, fill=1)"#;

#[test]
fn mountable() {
    judge_all(&[
        Case {
            name: "bytes of another file",
            base: r#"create("/f"); write("/f", offset=0, len=4, fill=1); create("/g");
                     write("/g", offset=0, len=4, fill=2)"#,
            ops: r#"write("/f", offset=4, len=4, fill=3)"#,
            contract: Mountable,
            allowed: &[
                "",
                r#"create("/f"); write("/f", offset=0, len=4, fill=1)"#,
                r#"create("/f"); truncate("/f", size=100)"#,
                r#"create("/f"); write("/f", offset=4, len=2, fill=3)"#,
                r#"create("/lost"); write("/lost", offset=0, len=4, fill=2)"#,
            ],
            refused: &[
                (r#"create("/f"); write("/f", offset=0, len=1, fill=2)"#, "no-foreign-data"),
                (r#"create("/f"); write("/f", offset=4, len=4, fill=1)"#, "no-foreign-data"),
                (r#"create("/f"); write("/f", offset=8, len=1, fill=3)"#, "no-foreign-data"),
                (r#"create("/lost"); write("/lost", offset=0, len=1, fill=7)"#, "no-foreign-data"),
            ],
            ..CASE
        },
        Case {
            name: "what a write under way stores is not foreign",
            base: F1,
            under_way: r#"write("/f", offset=0, len=4, fill=9)"#,
            contract: Mountable,
            allowed: &[r#"create("/f"); write("/f", offset=1, len=1, fill=9)"#],
            refused: &[(r#"create("/f"); write("/f", offset=1, len=1, fill=8)"#, "no-foreign-data")],
            ..CASE
        },
    ]);
}

#[test]
fn synced() {
    judge_all(&[
        Case {
            name: "sync pins names, contents and attributes",
            ops: r#"create("/f"); write("/f", offset=0, len=4, fill=1); mkdir("/d"); sync(); unlink("/f");
                    create("/g")"#,
            contract: Synced,
            allowed: &[
                r#"create("/f"); write("/f", offset=0, len=4, fill=1); mkdir("/d")"#,
                r#"mkdir("/d")"#,
                r#"create("/f"); write("/f", offset=0, len=4, fill=1); mkdir("/d"); create("/g")"#,
            ],
            refused: &[
                (r#"create("/f"); write("/f", offset=0, len=4, fill=1)"#, "pinned-name"),
                (r#"create("/f"); mkdir("/d")"#, "pinned-size"),
                (r#"create("/f"); truncate("/f", size=4); mkdir("/d")"#, "pinned-content"),
                (r#"mkdir("/d", mode=0700)"#, "never-held"),
                (r#"mkdir("/d"); create("/h")"#, "never-held"),
                (r#"create("/d")"#, "never-held"),
            ],
            ..CASE
        },
        Case {
            name: "an unmount is a sync",
            base: r#"create("/f", mode=0600)"#,
            ops: r#"chmod("/f", mode=0644); remount(); chmod("/f", mode=0640)"#,
            contract: Synced,
            allowed: &[r#"create("/f", mode=0644)"#, r#"create("/f", mode=0640)"#],
            refused: &[(r#"create("/f", mode=0600)"#, "pinned-attributes")],
            ..CASE
        },
        Case {
            name: "syncfs is a sync, and a removed name is pinned as absent",
            base: F1,
            ops: r#"unlink("/f"); syncfs()"#,
            contract: Synced,
            allowed: &[""],
            refused: &[(F1, "pinned-name")],
            ..CASE
        },
        Case {
            name: "a replaced name is pinned as its replacement",
            base: r#"create("/f"); write("/f", offset=0, len=4, fill=1); create("/g");
                     write("/g", offset=0, len=2, fill=2)"#,
            ops: r#"rename("/g", "/f"); sync()"#,
            contract: Synced,
            allowed: &[r#"create("/f"); write("/f", offset=0, len=2, fill=2)"#],
            refused: &[
                (r#"create("/f"); write("/f", offset=0, len=2, fill=2); create("/g")"#, "pinned-name"),
                ("", "pinned-name"),
            ],
            ..CASE
        },
        Case {
            name: "one node with two names is not two nodes",
            base: r#"create("/f"); link("/f", "/g")"#,
            contract: Synced,
            allowed: &[r#"create("/f"); link("/f", "/g")"#],
            refused: &[(r#"create("/f"); create("/g")"#, "pinned-name")],
            ..CASE
        },
        Case {
            name: "nor is it if it has only one of them later",
            base: r#"create("/f")"#,
            ops: r#"link("/f", "/g"); rename("/f", "/h")"#,
            contract: Synced,
            allowed: &[r#"create("/g"); link("/g", "/h")"#, r#"create("/f"); link("/f", "/g"); link("/g", "/h")"#],
            refused: &[(r#"create("/f"); create("/h")"#, "pinned-name")],
            ..CASE
        },
    ]);
}

#[test]
fn synced_beyond_the_pin_itself() {
    judge_all(&[
        Case {
            name: "below atomic a rename may show both names or none",
            base: F1,
            ops: r#"rename("/f", "/g")"#,
            contract: Fsynced,
            allowed: &[
                "",
                F1,
                r#"create("/g"); write("/g", offset=0, len=4, fill=1)"#,
                r#"create("/g"); write("/g", offset=0, len=4, fill=1); link("/g", "/f")"#,
            ],
            ..CASE
        },
        Case {
            name: "without link counts, a file that shows both names is two",
            base: r#"mkdir("/d")"#,
            ops: r#"create("/a"); sync(); rename("/a", "/d/a"); chmod("/d/a", mode=0600)"#,
            contract: Synced,
            allowed: &[
                r#"create("/a"); mkdir("/d"); create("/d/a")"#,
                r#"create("/a", mode=0600); mkdir("/d"); create("/d/a")"#,
            ],
            refused: &[
                (r#"create("/a"); mkdir("/d"); create("/d/a"); truncate("/d/a", size=1)"#, "pinned-size"),
                (r#"create("/a"); mkdir("/d"); mkdir("/d/a")"#, "never-held"),
            ],
            ..CASE
        },
        Case {
            name: "so is a directory, with all that is in it",
            base: r#"mkdir("/d"); create("/d/f")"#,
            ops: r#"rename("/d", "/e")"#,
            contract: Synced,
            allowed: &[r#"mkdir("/d"); create("/d/f"); mkdir("/e"); create("/e/f")"#],
            refused: &[(r#"mkdir("/d"); create("/d/f"); mkdir("/e")"#, "pinned-name")],
            ..CASE
        },
        Case {
            name: "what is in a lost directory is lost with it",
            base: r#"mkdir("/d"); create("/d/f")"#,
            ops: r#"rename("/d", "/e")"#,
            contract: Synced,
            allowed: &["", r#"mkdir("/e"); create("/e/f")"#],
            refused: &[(r#"mkdir("/e")"#, "pinned-name")],
            ..CASE
        },
        Case {
            name: "a symlink says what it said",
            ops: r#"symlink("/x", "/s")"#,
            contract: Synced,
            allowed: &["", r#"symlink("/x", "/s")"#],
            refused: &[(r#"symlink("/y", "/s")"#, "never-held")],
            ..CASE
        },
        Case {
            name: "extended attributes come and go one by one",
            base: r#"create("/f"); setxattr("/f", "user.a", len=1, fill=1)"#,
            ops: r#"removexattr("/f", "user.a"); setxattr("/f", "user.b", len=1, fill=2)"#,
            contract: Synced,
            allowed: &[
                r#"create("/f")"#,
                r#"create("/f"); setxattr("/f", "user.a", len=1, fill=1); setxattr("/f", "user.b", len=1, fill=2)"#,
            ],
            refused: &[(r#"create("/f"); setxattr("/f", "user.a", len=2, fill=1)"#, "never-held")],
            ..CASE
        },
    ]);
}

#[test]
fn contents_that_are_not_pinned() {
    judge_all(&[
        Case {
            name: "bytes and size come from different ops",
            base: r#"create("/f"); write("/f", offset=0, len=2, fill=1)"#,
            ops: r#"write("/f", offset=0, len=4, fill=2); write("/f", offset=0, len=1, fill=3)"#,
            contract: Atomic,
            allowed: &[
                r#"create("/f"); write("/f", offset=0, len=2, fill=1)"#,
                r#"create("/f"); write("/f", offset=0, len=1, fill=3); write("/f", offset=1, len=1, fill=1);
                   truncate("/f", size=4)"#,
                r#"create("/f"); write("/f", offset=0, len=3, fill=2)"#,
            ],
            refused: &[],
            ..CASE
        },
        Case {
            name: "zero only where the file was extended, and never a size of no time",
            base: r#"create("/f"); write("/f", offset=0, len=2, fill=1)"#,
            ops: r#"write("/f", offset=0, len=4, fill=2)"#,
            contract: Synced,
            allowed: &[r#"create("/f"); write("/f", offset=0, len=2, fill=2); truncate("/f", size=4)"#],
            refused: &[
                (r#"create("/f"); truncate("/f", size=2)"#, "pinned-content"),
                (r#"create("/f"); write("/f", offset=0, len=1, fill=1)"#, "pinned-size"),
                (r#"create("/f"); write("/f", offset=0, len=4, fill=2); truncate("/f", size=5)"#, "pinned-size"),
            ],
            ..CASE
        },
        Case {
            name: "a truncation zeroes before it cuts, and is whole",
            base: F1,
            ops: r#"truncate("/f", size=1)"#,
            contract: Synced,
            allowed: &[
                r#"create("/f"); write("/f", offset=0, len=1, fill=1); truncate("/f", size=4)"#,
                r#"create("/f"); write("/f", offset=0, len=1, fill=1)"#,
            ],
            refused: &[
                (r#"create("/f"); write("/f", offset=0, len=2, fill=1)"#, "pinned-size"),
                (r#"create("/f"); truncate("/f", size=4)"#, "pinned-content"),
            ],
            ..CASE
        },
    ]);
}

#[test]
fn fsynced_files() {
    judge_all(&[
        Case {
            name: "fsync pins content, size, attributes and name with the directories above",
            ops: r#"mkdir("/d"); create("/d/f"); write("/d/f", offset=0, len=4, fill=1);
                    chmod("/d/f", mode=0600); fsync("/d/f"); create("/d/g")"#,
            contract: Fsynced,
            allowed: &[
                r#"mkdir("/d"); create("/d/f", mode=0600); write("/d/f", offset=0, len=4, fill=1)"#,
                r#"mkdir("/d"); create("/d/f", mode=0600); write("/d/f", offset=0, len=4, fill=1); create("/d/g")"#,
            ],
            refused: &[
                ("", "pinned-name"),
                (r#"mkdir("/d")"#, "pinned-name"),
                (r#"mkdir("/d"); create("/d/f", mode=0600)"#, "pinned-size"),
                (r#"mkdir("/d"); create("/d/f", mode=0600); truncate("/d/f", size=4)"#, "pinned-content"),
                (r#"mkdir("/d"); create("/d/f"); write("/d/f", offset=0, len=4, fill=1)"#, "pinned-attributes"),
            ],
            ..CASE
        },
        Case {
            name: "fsync pins every name that the file has",
            base: r#"create("/f"); mkdir("/d")"#,
            ops: r#"link("/f", "/d/g"); fsync("/f")"#,
            contract: Fsynced,
            allowed: &[r#"create("/f"); mkdir("/d"); link("/f", "/d/g")"#],
            refused: &[(r#"create("/f"); mkdir("/d")"#, "pinned-name")],
            ..CASE
        },
        Case {
            name: "fsync pins no other file, and nothing that came later",
            base: r#"create("/f"); create("/g")"#,
            ops: r#"write("/f", offset=0, len=4, fill=1); write("/g", offset=0, len=4, fill=2); fsync("/f");
                    unlink("/f")"#,
            contract: Fsynced,
            allowed: &[r#"create("/g")"#, r#"create("/f"); write("/f", offset=0, len=4, fill=1); create("/g")"#],
            refused: &[(r#"create("/f"); create("/g")"#, "pinned-size")],
            ..CASE
        },
        Case {
            name: "fsync through a slot, after a rename",
            ops: r#"open("/f", O_CREAT|O_RDWR, fd=1); write(fd=1, offset=0, len=4, fill=1); rename("/f", "/g");
                    fsync(fd=1)"#,
            contract: Fsynced,
            allowed: &[r#"create("/g"); write("/g", offset=0, len=4, fill=1)"#],
            refused: &[("", "pinned-name"), (r#"create("/g")"#, "pinned-size")],
            ..CASE
        },
        Case {
            name: "fsync through a symlink pins the file, not the symlink",
            base: r#"create("/f")"#,
            ops: r#"symlink("f", "/s"); write("/s", offset=0, len=2, fill=1); fsync("/s")"#,
            contract: Fsynced,
            allowed: &[r#"create("/f"); write("/f", offset=0, len=2, fill=1)"#],
            refused: &[(r#"create("/f"); symlink("f", "/s")"#, "pinned-size")],
            ..CASE
        },
        Case {
            name: "a call under way pins nothing yet",
            base: r#"create("/f")"#,
            ops: r#"write("/f", offset=0, len=4, fill=1)"#,
            under_way: r#"fsync("/f")"#,
            contract: Prefix,
            allowed: &[r#"create("/f")"#, F1],
            ..CASE
        },
    ]);
}

#[test]
fn fsynced_data_and_ranges() {
    judge_all(&[
        Case {
            name: "fdatasync pins content and size, not attributes",
            base: r#"create("/f", mode=0600)"#,
            ops: r#"chmod("/f", mode=0644); write("/f", offset=0, len=4, fill=1); fdatasync("/f")"#,
            contract: Fsynced,
            allowed: &[
                r#"create("/f", mode=0600); write("/f", offset=0, len=4, fill=1)"#,
                r#"create("/f", mode=0644); write("/f", offset=0, len=4, fill=1)"#,
            ],
            refused: &[(r#"create("/f", mode=0644)"#, "pinned-size")],
            ..CASE
        },
        Case {
            name: "fdatasync of a new file pins its name",
            ops: r#"create("/f"); fdatasync("/f")"#,
            contract: Fsynced,
            allowed: &[r#"create("/f")"#],
            refused: &[("", "pinned-name")],
            ..CASE
        },
        Case {
            name: "fdatasync of an old file pins no new name",
            base: r#"create("/f")"#,
            ops: r#"link("/f", "/g"); fdatasync("/f")"#,
            contract: Prefix,
            allowed: &[r#"create("/f")"#],
            ..CASE
        },
        Case {
            name: "fdatasync pins no new name of a file whose name was pinned since it was created",
            ops: r#"create("/f"); fsync("/"); rename("/f", "/g"); fdatasync("/g")"#,
            contract: Prefix,
            allowed: &[r#"create("/f")"#, r#"create("/g")"#],
            ..CASE
        },
        Case {
            name: "msync pins its range and a size that reaches it",
            base: r#"create("/f"); truncate("/f", size=8)"#,
            ops: r#"write("/f", offset=0, len=12, fill=1, via=mmap); msync("/f", offset=0, len=4)"#,
            contract: Fsynced,
            allowed: &[
                r#"create("/f"); write("/f", offset=0, len=4, fill=1); truncate("/f", size=8)"#,
                r#"create("/f"); write("/f", offset=0, len=12, fill=1)"#,
            ],
            refused: &[(r#"create("/f"); write("/f", offset=4, len=8, fill=1)"#, "pinned-content")],
            ..CASE
        },
        Case {
            name: "msync through a slot that was opened for reading pins nothing",
            base: r#"create("/f"); truncate("/f", size=8)"#,
            ops: r#"open("/f", O_RDONLY, fd=1); write("/f", offset=0, len=8, fill=1); msync(fd=1, offset=0, len=4)"#,
            contract: Fsynced,
            allowed: &[r#"create("/f"); truncate("/f", size=8)"#],
            ..CASE
        },
        Case {
            name: "an O_DSYNC write pins what it wrote and the name of a new file",
            ops: r#"open("/f", O_CREAT|O_RDWR|O_DSYNC, fd=1); write(fd=1, offset=0, len=4, fill=1)"#,
            contract: Fsynced,
            allowed: &[F1],
            refused: &[("", "pinned-name"), (r#"create("/f"); write("/f", offset=0, len=3, fill=1)"#, "pinned-size")],
            ..CASE
        },
        Case {
            name: "an O_DSYNC write pins neither attributes nor other bytes",
            base: r#"create("/f", mode=0600); truncate("/f", size=8)"#,
            ops: r#"chmod("/f", mode=0644); write("/f", offset=4, len=4, fill=2);
                    open("/f", O_RDWR|O_DSYNC, fd=1); write(fd=1, offset=0, len=4, fill=1)"#,
            contract: Fsynced,
            allowed: &[r#"create("/f", mode=0600); write("/f", offset=0, len=4, fill=1); truncate("/f", size=8)"#],
            refused: &[(r#"create("/f", mode=0600); write("/f", offset=4, len=4, fill=2)"#, "pinned-content")],
            ..CASE
        },
        Case {
            name: "an O_SYNC append pins the attributes too",
            base: r#"create("/f", mode=0600)"#,
            ops: r#"chmod("/f", mode=0644); open("/f", O_WRONLY|O_SYNC|O_APPEND, fd=1);
                    write(fd=1, at=end, len=4, fill=1)"#,
            contract: Fsynced,
            allowed: &[r#"create("/f", mode=0644); write("/f", offset=0, len=4, fill=1)"#],
            refused: &[(r#"create("/f", mode=0600); write("/f", offset=0, len=4, fill=1)"#, "pinned-attributes")],
            ..CASE
        },
        Case {
            name: "a slot opened without O_SYNC pins nothing",
            base: r#"create("/f")"#,
            ops: r#"open("/f", O_WRONLY, fd=1); write(fd=1, offset=0, len=4, fill=1)"#,
            contract: Prefix,
            allowed: &[r#"create("/f")"#],
            ..CASE
        },
    ]);
}

#[test]
fn fsynced_directories() {
    judge_all(&[
        Case {
            name: "fsync of a directory pins names present and absent, and its attributes, not the children's contents",
            base: r#"mkdir("/d"); create("/d/old")"#,
            ops: r#"chmod("/d", mode=0700); unlink("/d/old"); create("/d/f");
                    write("/d/f", offset=0, len=4, fill=1); fsync("/d")"#,
            contract: Fsynced,
            allowed: &[
                r#"mkdir("/d", mode=0700); create("/d/f")"#,
                r#"mkdir("/d", mode=0700); create("/d/f"); write("/d/f", offset=0, len=4, fill=1)"#,
            ],
            refused: &[
                (r#"mkdir("/d", mode=0700)"#, "pinned-name"),
                (r#"mkdir("/d", mode=0700); create("/d/f"); create("/d/old")"#, "pinned-name"),
                (r#"mkdir("/d"); create("/d/f")"#, "pinned-attributes"),
            ],
            ..CASE
        },
        Case {
            name: "fsync of a directory does not pin its own name",
            ops: r#"mkdir("/d"); create("/d/f"); fsync("/d")"#,
            contract: Atomic,
            allowed: &[""],
            ..CASE
        },
        Case {
            name: "fdatasync of a directory pins its names",
            base: r#"mkdir("/d", mode=0700)"#,
            ops: r#"chmod("/d", mode=0755); create("/d/f"); fdatasync("/d")"#,
            contract: Fsynced,
            allowed: &[r#"mkdir("/d", mode=0700); create("/d/f")"#],
            refused: &[(r#"mkdir("/d", mode=0755)"#, "pinned-name")],
            ..CASE
        },
    ]);
}
