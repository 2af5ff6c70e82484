//! Each guarantee by itself: a history, and for each found tree exactly the guarantees that it breaks.

use vfs::contract::Guarantee;

use crate::world::{history, run, tree};

struct Case {
    name: &'static str,
    base: &'static str,
    ops: &'static str,
    /// On a synchronous mount.
    synchronous: bool,
    /// The guarantees that have something to say.
    in_force: &'static [&'static str],
    /// Found trees, each with what it breaks.
    found: &'static [(&'static str, &'static [&'static str])],
}

const CASE: Case = Case { name: "", base: "", ops: "", synchronous: false, in_force: &[], found: &[] };

fn judge_all(cases: &[Case]) {
    for Case { name, base, ops, synchronous, in_force, found } in cases {
        let (history, _) = history(base, "");
        let mut history = history.synchronous(*synchronous);
        let mut reference = vfs::Reference::new();
        run(&mut reference, base);
        run(&mut reference, ops).into_iter().for_each(|event| history.push(event));
        let crash = history.crash(history.len(), &[]);
        for (text, broken) in *found {
            let judged = crash.judge_each(&tree(text));
            let names: Vec<&str> = judged.iter().map(|(guarantee, _)| guarantee.name()).collect();
            assert_eq!(names, *in_force, "{name}");
            let found: Vec<&str> =
                judged.iter().filter(|(_, breach)| breach.is_some()).map(|(guarantee, _)| guarantee.name()).collect();
            assert_eq!(found, *broken, "{name}: {text}: {judged:?}");
        }
    }
}

#[test]
fn what_a_call_pins_is_its_own_business() {
    judge_all(&[
        Case {
            name: "sync",
            ops: r#"create("/a"); sync(); create("/b")"#,
            in_force: &["sync", "ordered", "prefix"],
            found: &[
                (r#"create("/a")"#, &[]),
                (r#"create("/a"); create("/b")"#, &[]),
                ("", &["sync"]),
                (r#"create("/b")"#, &["sync", "ordered", "prefix"]),
            ],
            ..CASE
        },
        Case {
            name: "what was durable at the start is the business of sync",
            base: r#"create("/a")"#,
            ops: r#"create("/b"); fsync("/b")"#,
            in_force: &["sync", "fsync", "fsync-name", "ordered", "prefix"],
            found: &[
                (r#"create("/a"); create("/b")"#, &[]),
                (r#"create("/b")"#, &["sync", "ordered", "prefix"]),
                (r#"create("/a")"#, &["fsync-name"]),
            ],
            ..CASE
        },
        Case {
            name: "fsync of a file, and of its name",
            ops: r#"create("/a"); sync(); write("/a", offset=0, len=2, fill=1); link("/a", "/b"); fsync("/a")"#,
            in_force: &["sync", "fsync", "fsync-name", "ordered", "prefix"],
            found: &[
                (r#"create("/a"); write("/a", offset=0, len=2, fill=1); link("/a", "/b")"#, &[]),
                (r#"create("/a"); write("/a", offset=0, len=2, fill=1)"#, &["fsync-name"]),
                (r#"create("/a"); link("/a", "/b")"#, &["fsync", "ordered", "prefix"]),
                (r#"create("/a")"#, &["fsync", "fsync-name"]),
                // What is not found cannot be wrong: the name is what was lost.
                ("", &["sync", "fsync-name"]),
            ],
            ..CASE
        },
        Case {
            name: "fsync of a directory",
            ops: r#"mkdir("/d"); sync(); create("/d/a"); fsync("/d")"#,
            in_force: &["sync", "fsync-directory", "ordered", "prefix"],
            found: &[(r#"mkdir("/d"); create("/d/a")"#, &[]), (r#"mkdir("/d")"#, &["fsync-directory"])],
            ..CASE
        },
        Case {
            name: "fdatasync pins the names of a new file, and of no other",
            ops: r#"create("/a"); sync(); rename("/a", "/b"); write("/b", offset=0, len=1, fill=1); fdatasync("/b");
                    create("/c"); fdatasync("/c")"#,
            in_force: &["sync", "fdatasync", "rename", "ordered", "prefix"],
            found: &[
                (r#"create("/b"); write("/b", offset=0, len=1, fill=1); create("/c")"#, &[]),
                (r#"create("/a"); write("/a", offset=0, len=1, fill=1); create("/c")"#, &["ordered", "prefix"]),
                (r#"create("/b"); write("/b", offset=0, len=1, fill=1)"#, &["fdatasync"]),
                (r#"create("/b"); create("/c")"#, &["fdatasync", "ordered", "prefix"]),
            ],
            ..CASE
        },
    ]);
}

#[test]
fn synchronous_writes_and_mounts() {
    judge_all(&[
        Case {
            name: "O_SYNC",
            ops: r#"create("/a"); sync(); open("/a", O_WRONLY|O_SYNC, fd=0); write(fd=0, offset=0, len=2, fill=1)"#,
            in_force: &["sync", "o-sync", "ordered", "prefix"],
            found: &[(r#"create("/a"); write("/a", offset=0, len=2, fill=1)"#, &[]), (r#"create("/a")"#, &["o-sync"])],
            ..CASE
        },
        Case {
            name: "O_DSYNC pins the bytes, not the mode",
            ops: r#"create("/a"); sync(); chmod("/a", mode=0600); open("/a", O_WRONLY|O_DSYNC, fd=0);
                    write(fd=0, offset=0, len=2, fill=1)"#,
            in_force: &["sync", "o-sync", "ordered", "prefix"],
            found: &[
                (r#"create("/a"); write("/a", offset=0, len=2, fill=1)"#, &["ordered", "prefix"]),
                (r#"create("/a", mode=0600)"#, &["o-sync"]),
            ],
            ..CASE
        },
        Case {
            name: "a synchronous mount",
            ops: r#"create("/a"); create("/b")"#,
            synchronous: true,
            in_force: &["sync-mount", "ordered", "prefix"],
            found: &[(r#"create("/a"); create("/b")"#, &[]), (r#"create("/a")"#, &["sync-mount"])],
            ..CASE
        },
    ]);
}

#[test]
fn how_values_go_together_whatever_was_pinned() {
    judge_all(&[
        Case {
            name: "rename",
            base: r#"create("/a"); write("/a", offset=0, len=1, fill=1)"#,
            ops: r#"rename("/a", "/b"); sync()"#,
            in_force: &["sync", "rename", "ordered", "prefix"],
            found: &[
                (r#"create("/b"); write("/b", offset=0, len=1, fill=1)"#, &[]),
                (r#"create("/a"); write("/a", offset=0, len=1, fill=1)"#, &["sync"]),
                (
                    r#"create("/a"); write("/a", offset=0, len=1, fill=1); link("/a", "/b")"#,
                    &["sync", "rename", "ordered", "prefix"],
                ),
                (
                    r#"create("/a"); write("/a", offset=0, len=1, fill=1);
                       create("/b"); write("/b", offset=0, len=1, fill=1)"#,
                    &["sync", "rename", "ordered", "prefix"],
                ),
                ("", &["sync", "rename", "ordered", "prefix"]),
            ],
            ..CASE
        },
        Case {
            name: "half a rename is no matter of what was synced before it",
            base: r#"mkdir("/d"); create("/a")"#,
            ops: r#"sync(); rename("/a", "/d/a")"#,
            in_force: &["sync", "rename", "ordered", "prefix"],
            found: &[(r#"mkdir("/d"); create("/a"); create("/d/a")"#, &["rename", "ordered", "prefix"])],
            ..CASE
        },
        Case {
            name: "another op that is seen in part is no matter of renames",
            base: r#"create("/a"); create("/b")"#,
            ops: r#"rename("/a", "/c"); unlink("/b"); chmod("/c", mode=0600)"#,
            in_force: &["sync", "rename", "ordered", "prefix"],
            found: &[
                (r#"create("/c"); create("/b")"#, &[]),
                (r#"create("/a", mode=0600); create("/b")"#, &["ordered", "prefix"]),
                (r#"create("/a")"#, &["ordered", "prefix"]),
            ],
            ..CASE
        },
        Case {
            name: "contents",
            base: r#"create("/a"); write("/a", offset=0, len=1, fill=1)"#,
            ops: r#"write("/a", offset=0, len=1, fill=2); create("/b")"#,
            in_force: &["sync", "ordered", "prefix"],
            found: &[
                (r#"create("/a"); write("/a", offset=0, len=1, fill=2)"#, &[]),
                (r#"create("/a"); write("/a", offset=0, len=1, fill=1); create("/b")"#, &["prefix"]),
            ],
            ..CASE
        },
        Case {
            name: "what never was is of no moment",
            ops: r#"create("/a"); rename("/a", "/b")"#,
            in_force: &["rename", "ordered", "prefix"],
            found: &[(r#"create("/c")"#, &["ordered", "prefix"])],
            ..CASE
        },
    ]);
}

#[test]
fn names_are_different_and_contracts_are_in_order() {
    let names: std::collections::BTreeSet<&str> = Guarantee::ALL.iter().map(|guarantee| guarantee.name()).collect();
    assert_eq!(names.len(), Guarantee::ALL.len());
    for (place, guarantee) in Guarantee::ALL.into_iter().enumerate() {
        assert_eq!(guarantee as usize, place);
    }
}
