//! The contracts about how values go together, and what surrounds a judgement: ops under way on several threads,
//! synchronous mounts, zeros, files without names, forgetting, and the words of a breach.

use std::sync::Arc;

use vfs::{
    NodeId, NodeKind, Reference, Tree,
    contract::{Clause, Contract::*, Event, History, Zeros},
};

use crate::{
    case::{CASE, Case, judge_all},
    world::{history, ops, run, tree, verdict},
};

const F1: &str = r#"create("/f"); write("/f", offset=0, len=4, fill=1)"#;

#[test]
fn atomic() {
    judge_all(&[
        Case {
            name: "a rename shows one name",
            base: F1,
            ops: r#"rename("/f", "/g")"#,
            contract: Atomic,
            allowed: &[F1, r#"create("/g"); write("/g", offset=0, len=4, fill=1)"#],
            refused: &[
                ("", "rename-atomic"),
                (r#"create("/g"); write("/g", offset=0, len=4, fill=1); link("/g", "/f")"#, "rename-atomic"),
                (
                    r#"create("/f"); write("/f", offset=0, len=4, fill=1);
                       create("/g"); write("/g", offset=0, len=4, fill=1)"#,
                    "rename-atomic",
                ),
            ],
            ..CASE
        },
        Case {
            name: "a rename under way shows one name",
            base: r#"mkdir("/a"); mkdir("/b"); create("/a/f")"#,
            under_way: r#"rename("/a/f", "/b/f")"#,
            contract: Atomic,
            allowed: &[r#"mkdir("/a"); mkdir("/b"); create("/a/f")"#, r#"mkdir("/a"); mkdir("/b"); create("/b/f")"#],
            refused: &[
                (r#"mkdir("/a"); mkdir("/b")"#, "rename-atomic"),
                (r#"mkdir("/a"); mkdir("/b"); create("/a/f"); link("/a/f", "/b/f")"#, "rename-atomic"),
            ],
            ..CASE
        },
        Case {
            name: "a rename that replaces leaves the old or the new file",
            base: r#"create("/f"); write("/f", offset=0, len=4, fill=1); create("/g");
                     write("/g", offset=0, len=2, fill=2)"#,
            ops: r#"rename("/g", "/f")"#,
            contract: Atomic,
            allowed: &[r#"create("/f"); write("/f", offset=0, len=2, fill=2)"#],
            refused: &[(F1, "rename-atomic")],
            ..CASE
        },
        Case {
            name: "the renamed file may have another reason to be absent",
            base: F1,
            ops: r#"rename("/f", "/g"); unlink("/g")"#,
            contract: Atomic,
            allowed: &["", r#"create("/g"); write("/g", offset=0, len=4, fill=1)"#],
            ..CASE
        },
        Case {
            name: "a new file may be lost although a later one has its name",
            ops: r#"create("/f"); rename("/f", "/g"); create("/f"); fsync("/f")"#,
            contract: Atomic,
            allowed: &[r#"create("/f")"#, r#"create("/f"); create("/g")"#],
            ..CASE
        },
        Case {
            name: "a new file may be lost with one that it replaced",
            ops: r#"create("/f"); create("/g"); rename("/g", "/f"); create("/g"); fsync("/g")"#,
            contract: Atomic,
            allowed: &[r#"create("/g")"#, r#"create("/f"); create("/g")"#],
            ..CASE
        },
        Case {
            name: "a new directory may be lost although a file that was in it is seen",
            ops: r#"mkdir("/d"); create("/d/f"); rename("/d/f", "/f"); fsync("/f")"#,
            contract: Atomic,
            allowed: &[r#"create("/f")"#, r#"mkdir("/d"); create("/f")"#],
            ..CASE
        },
        Case {
            name: "an old file is not lost with a new one that takes its name",
            base: F1,
            ops: r#"rename("/f", "/h"); create("/g"); rename("/g", "/f"); create("/g"); fsync("/g")"#,
            contract: Atomic,
            allowed: &[r#"create("/g"); create("/h"); write("/h", offset=0, len=4, fill=1)"#],
            refused: &[(r#"create("/g")"#, "rename-atomic")],
            ..CASE
        },
        Case {
            name: "a rename that a later file hides is seen when that file is",
            base: F1,
            ops: r#"rename("/f", "/g"); create("/f"); fsync("/f")"#,
            contract: Atomic,
            allowed: &[r#"create("/f"); create("/g"); write("/g", offset=0, len=4, fill=1)"#],
            refused: &[(r#"create("/f")"#, "rename-atomic")],
            ..CASE
        },
        Case {
            name: "an exchange exchanges both",
            base: r#"create("/f"); write("/f", offset=0, len=4, fill=1); mkdir("/d")"#,
            ops: r#"rename("/f", "/d", how=exchange)"#,
            contract: Atomic,
            allowed: &[r#"mkdir("/f"); create("/d"); write("/d", offset=0, len=4, fill=1)"#],
            refused: &[(r#"create("/f"); write("/f", offset=0, len=4, fill=1); link("/f", "/d")"#, "exchange-atomic")],
            ..CASE
        },
    ]);
}

#[test]
fn atomic_for_the_other_ops() {
    judge_all(&[
        Case {
            name: "a directory is not removed before a file has left it",
            base: r#"mkdir("/d"); create("/d/f")"#,
            ops: r#"rename("/d/f", "/g"); rmdir("/d")"#,
            contract: Atomic,
            allowed: &[r#"create("/g")"#, r#"mkdir("/d"); create("/g")"#],
            refused: &[("", "rename-atomic")],
            ..CASE
        },
        Case {
            name: "a file does not move into a directory that was not made",
            base: r#"create("/f")"#,
            ops: r#"mkdir("/d"); rename("/f", "/d/f")"#,
            contract: Atomic,
            allowed: &[r#"create("/f")"#, r#"create("/f"); mkdir("/d")"#],
            refused: &[("", "rename-atomic")],
            ..CASE
        },
        Case {
            name: "a file is not there before it was created",
            ops: r#"create("/f"); link("/f", "/g")"#,
            contract: Atomic,
            allowed: &["", r#"create("/f")"#, r#"create("/f"); link("/f", "/g")"#],
            refused: &[(r#"create("/g")"#, "op-atomic")],
            ..CASE
        },
        Case {
            name: "chown changes owner and group at once",
            base: r#"create("/f")"#,
            ops: r#"chown("/f", uid=1, gid=2)"#,
            contract: Atomic,
            allowed: &[r#"create("/f")"#, r#"create("/f"); chown("/f", uid=1, gid=2)"#],
            refused: &[(r#"create("/f"); chown("/f", uid=1)"#, "op-atomic")],
            ..CASE
        },
        Case {
            name: "ops on different things come in any order",
            ops: r#"create("/f"); create("/g")"#,
            contract: Atomic,
            allowed: &[r#"create("/f")"#, r#"create("/g")"#],
            ..CASE
        },
    ]);
}

/// Changes the only file of a tree.
fn with_file(tree: &Tree, change: impl Fn(&mut vfs::Node)) -> Tree {
    let mut nodes = (*tree.nodes).clone();
    let file = nodes.values_mut().find(|node| !node.is_dir()).unwrap();
    change(Arc::make_mut(file));
    Tree { root: tree.root, nodes: Arc::new(nodes) }
}

#[test]
fn atomic_trees_are_sound() {
    let (history, _) = history(F1, "sync()");
    let found = with_file(&tree(F1), |file| file.nlink = 2);
    assert_eq!(verdict(&history, &[], Fsynced, &found), [""; 0]);
    assert_eq!(verdict(&history, &[], Prefix, &found), ["atomic link-count"]);

    let mut nodes = (*tree("").nodes).clone();
    let root = Arc::make_mut(nodes.get_mut(&NodeId(0)).unwrap());
    let NodeKind::Dir(entries) = &mut root.kind else { panic!("the root is a directory") };
    entries.insert("f".into(), NodeId(99));
    let dangling = Tree { root: NodeId(0), nodes: Arc::new(nodes) };
    let (history, _) = crate::world::history("", r#"create("/f")"#);
    assert_eq!(verdict(&history, &[], Fsynced, &dangling), [""; 0]);
    assert_eq!(verdict(&history, &[], Prefix, &dangling), ["atomic sound-names"]);
}

#[test]
fn a_tree_without_a_root_directory_is_not_mountable() {
    let found = with_file(&tree(F1), |_| {});
    let file = *found.nodes.iter().find(|(_, node)| !node.is_dir()).unwrap().0;
    for root in [file, NodeId(77)] {
        let found = Tree { root, nodes: found.nodes.clone() };
        assert_eq!(verdict(&History::new(tree(F1)), &[], Prefix, &found), ["mountable root-lost"]);
        assert_eq!(History::new(tree(F1)).crash(0, &[]).strongest(&found), None);
    }
}

#[test]
fn ordered() {
    judge_all(&[
        Case {
            name: "names and attributes of one moment",
            ops: r#"create("/f"); create("/g"); chmod("/f", mode=0600)"#,
            contract: Ordered,
            allowed: &["", r#"create("/f")"#, r#"create("/f"); create("/g")"#],
            refused: &[(r#"create("/g")"#, "one-moment"), (r#"create("/f", mode=0600)"#, "one-moment")],
            ..CASE
        },
        Case {
            name: "sizes are of the moment, bytes are not",
            base: r#"create("/f")"#,
            ops: r#"write("/f", offset=0, len=4, fill=1); create("/g"); write("/f", offset=0, len=4, fill=2)"#,
            contract: Ordered,
            allowed: &[
                r#"create("/f"); truncate("/f", size=4); create("/g")"#,
                r#"create("/f"); write("/f", offset=0, len=4, fill=2)"#,
            ],
            refused: &[(r#"create("/f"); create("/g")"#, "one-moment")],
            ..CASE
        },
        Case {
            name: "an op under way counts as a moment",
            base: r#"create("/f")"#,
            ops: r#"create("/g")"#,
            under_way: r#"unlink("/f")"#,
            contract: Ordered,
            allowed: &[r#"create("/f")"#, r#"create("/f"); create("/g")"#, r#"create("/g")"#],
            refused: &[("", "one-moment")],
        },
        Case {
            name: "the moment is not before a sync",
            ops: r#"create("/f"); sync(); create("/g"); create("/h")"#,
            contract: Ordered,
            allowed: &[r#"create("/f")"#, r#"create("/f"); create("/g")"#],
            refused: &[(r#"create("/f"); create("/h")"#, "one-moment")],
            ..CASE
        },
        Case {
            name: "pins on single nodes are kept by the same moment",
            ops: r#"create("/f"); create("/g"); fsync("/g"); create("/h")"#,
            contract: Ordered,
            allowed: &[r#"create("/f"); create("/g")"#],
            refused: &[(r#"create("/g")"#, "one-moment")],
            ..CASE
        },
        Case {
            name: "no moment before what is pinned existed",
            ops: r#"mkdir("/d"); create("/d/f"); fsync("/d"); create("/g")"#,
            contract: Ordered,
            allowed: &[r#"mkdir("/d"); create("/d/f")"#],
            refused: &[("", "one-moment")],
            ..CASE
        },
    ]);
}

#[test]
fn prefix() {
    judge_all(&[
        Case {
            name: "contents of one moment",
            base: r#"create("/f"); truncate("/f", size=4)"#,
            ops: r#"write("/f", offset=0, len=2, fill=1); write("/f", offset=2, len=2, fill=2); create("/g")"#,
            contract: Prefix,
            allowed: &[
                r#"create("/f"); write("/f", offset=0, len=2, fill=1); truncate("/f", size=4)"#,
                r#"create("/f"); write("/f", offset=0, len=2, fill=1); write("/f", offset=2, len=2, fill=2)"#,
            ],
            refused: &[
                (r#"create("/f"); write("/f", offset=2, len=2, fill=2)"#, "one-moment-contents"),
                (
                    r#"create("/f"); write("/f", offset=0, len=2, fill=1); truncate("/f", size=4); create("/g")"#,
                    "one-moment-contents",
                ),
            ],
            ..CASE
        },
        Case {
            name: "an interrupted write is there in part",
            base: r#"create("/f"); truncate("/f", size=2)"#,
            under_way: r#"write("/f", offset=0, len=4, fill=1)"#,
            contract: Prefix,
            allowed: &[
                r#"create("/f"); truncate("/f", size=2)"#,
                r#"create("/f"); write("/f", offset=1, len=1, fill=1)"#,
                r#"create("/f"); write("/f", offset=0, len=3, fill=1)"#,
                r#"create("/f"); write("/f", offset=0, len=3, fill=1); truncate("/f", size=4)"#,
            ],
            ..CASE
        },
        Case {
            name: "a write that returned is there as a whole",
            base: r#"create("/f")"#,
            ops: r#"write("/f", offset=0, len=4, fill=1); create("/g")"#,
            contract: Ordered,
            allowed: &[r#"create("/f")"#, r#"create("/f"); write("/f", offset=0, len=4, fill=1)"#],
            refused: &[
                (r#"create("/f"); write("/f", offset=0, len=3, fill=1)"#, "one-moment"),
                (r#"create("/f"); write("/f", offset=0, len=3, fill=1); create("/g")"#, "one-moment"),
            ],
            ..CASE
        },
    ]);
}

#[test]
fn every_order_of_ops_under_way_is_tried() {
    let (history, reference) = history("", "");
    let order = |text| run(&mut reference.clone(), text);
    let (one, two) = (order(r#"create("/f"); mkdir("/d")"#), order(r#"mkdir("/d"); create("/f")"#));
    let judge = |under_way: &[&[Event]], found| verdict(&history, under_way, Prefix, &tree(found));
    for found in ["", r#"create("/f")"#, r#"mkdir("/d")"#, r#"create("/f"); mkdir("/d")"#] {
        assert_eq!(judge(&[&one, &two], found), [""; 0], "{found}");
    }
    assert_eq!(judge(&[&one], r#"mkdir("/d")"#), ["ordered one-moment"]);
    assert_eq!(judge(&[&one, &two], r#"create("/f"); create("/d")"#), ["synced never-held"]);
}

#[test]
fn a_synchronous_mount_pins_every_op_but_not_stores_through_a_mapping() {
    let build = |text| {
        let mut reference = Reference::new();
        let mut history = History::new(reference.tree()).synchronous(true);
        for event in run(&mut reference, text) {
            history.push(event);
        }
        history
    };
    let written = build(F1);
    assert_eq!(verdict(&written, &[], Prefix, &tree(F1)), [""; 0]);
    assert_eq!(verdict(&written, &[], Prefix, &tree(r#"create("/f")"#)), ["fsynced pinned-size"]);
    assert_eq!(verdict(&written, &[], Synced, &tree("")), [""; 0]);

    let zeros = r#"create("/f"); truncate("/f", size=4); create("/g")"#;
    let stores =
        r#"create("/f"); truncate("/f", size=4); write("/f", offset=0, len=4, fill=1, via=mmap); create("/g")"#;
    assert_eq!(verdict(&build(stores), &[], Fsynced, &tree(zeros)), [""; 0]);
    let synced = build(&format!(r#"{stores}; msync("/f", offset=0, len=4)"#));
    assert_eq!(verdict(&synced, &[], Prefix, &tree(zeros)), ["fsynced pinned-content"]);
}

#[test]
fn a_failed_call_pins_nothing() {
    let mut reference = Reference::new();
    let mut history = History::new(reference.tree());
    for op in ops(r#"create("/f"); sync()"#) {
        let outcome = reference.apply(&op);
        let outcome = if op.is_persistence() { Err(vfs::Errno::EIO) } else { outcome };
        history.push(Event { op, outcome, after: reference.tree() });
    }
    assert_eq!(verdict(&history, &[], Prefix, &tree("")), [""; 0]);
}

#[test]
fn zeros_can_be_forbidden() {
    let judge = |zeros| {
        let mut reference = Reference::new();
        run(&mut reference, r#"create("/f")"#);
        let mut history = History::new(reference.tree()).zeros(zeros);
        history.push(run(&mut reference, r#"write("/f", offset=0, len=4, fill=1)"#).remove(0));
        verdict(&history, &[], Atomic, &tree(r#"create("/f"); truncate("/f", size=4)"#))
    };
    assert_eq!(judge(Zeros::Allowed), [""; 0]);
    assert_eq!(judge(Zeros::Forbidden), ["mountable no-foreign-data"]);
}

#[test]
fn a_file_changed_when_it_had_no_name_may_have_any_content() {
    let (history, _) =
        history(r#"create("/f")"#, r#"open("/f", O_RDWR, fd=1); unlink("/f"); write(fd=1, offset=0, len=4, fill=1)"#);
    assert_eq!(verdict(&history, &[], Atomic, &tree(F1)), [""; 0]);
    assert_eq!(verdict(&history, &[], Atomic, &tree(r#"create("/f", mode=0600)"#)), ["synced never-held"]);
}

#[test]
fn forgetting_keeps_slots_and_numbers() {
    let (mut history, mut reference) = history("", r#"open("/f", O_CREAT|O_RDWR, fd=1); sync()"#);
    history.collapse();
    assert!(history.is_empty() && history.tree().same_as(&reference.tree()));
    for event in run(&mut reference, "write(fd=1, offset=0, len=4, fill=1); fsync(fd=1)") {
        history.push(event);
    }
    let breaches = history.crash(2, &[]).judge(Fsynced, &tree(r#"create("/f")"#));
    assert_eq!(
        breaches[0].to_string(),
        "`/f` was fsynced by op 4 with 4 bytes of fill 1; after the crash it has 0 bytes"
    );
}

#[test]
fn a_crash_earlier_in_the_history_knows_only_what_had_returned() {
    let (history, _) = history("", r#"create("/f"); fsync("/f"); unlink("/f"); sync()"#);
    let events: Vec<Event> = history.events().cloned().collect();
    let strongest =
        |returned, under_way: &[&[Event]], found| history.crash(returned, under_way).strongest(&tree(found));
    assert_eq!(strongest(1, &[], ""), Some(Prefix));
    assert_eq!(strongest(2, &[], ""), Some(Synced));
    assert_eq!(strongest(2, &[&events[2..3]], ""), Some(Prefix));
    assert_eq!(strongest(4, &[], r#"create("/f")"#), Some(Mountable));
}

#[test]
fn breaches_read_as_sentences() {
    let said = |base, text, found| {
        let (history, _) = history(base, text);
        history.crash(history.len(), &[]).judge(Prefix, &tree(found))[0].to_string()
    };
    let cases = [
        (
            said(r#"create("/f")"#, r#"write("/f", offset=0, len=4096, fill=2); fsync("/f")"#, r#"create("/f")"#),
            "`/f` was fsynced by op 2 with 4096 bytes of fill 2; after the crash it has 0 bytes",
        ),
        (
            said(r#"mkdir("/d")"#, r#"create("/d/f"); sync()"#, r#"mkdir("/d")"#),
            "`/d/f` was synced by op 2 as a file of 0 bytes; after the crash it is absent",
        ),
        (
            said(r#"create("/f", mode=0600)"#, r#"chmod("/f", mode=0640)"#, r#"create("/f", mode=0777)"#),
            "`/f` was durable at the start with mode 0600, then had mode 0640 (op 1); after the crash it has mode 0777",
        ),
        (
            said(F1, r#"rename("/f", "/g")"#, ""),
            "after the crash `/f` is absent and `/g` is absent: op 1, `rename(\"/f\", \"/g\")`, is seen in one and not \
             in the other",
        ),
        (
            said(
                r#"mkdir("/d")"#,
                r#"create("/a"); sync(); rename("/a", "/d/a")"#,
                r#"create("/a"); mkdir("/d"); create("/d/a")"#,
            ),
            "after the crash `/d/a` is there and `/a` is there: op 3, `rename(\"/a\", \"/d/a\")`, is seen in one and \
             not in the other",
        ),
        (
            said(r#"create("/f"); link("/f", "/g")"#, "", r#"create("/f"); create("/g")"#),
            "`/g` was durable at the start as a file of 0 bytes; after the crash it is a file of 0 bytes, but not the \
             one that is `/f`",
        ),
        (
            said("", r#"create("/f"); create("/g")"#, r#"create("/g")"#),
            "after the crash `/f` is absent, but at the moment nearest to what was found, after op 2, it was there",
        ),
        (
            said(F1, "", r#"create("/f"); write("/f", offset=0, len=4, fill=9)"#),
            "after the crash `/f` has 4 bytes of fill 9; what byte 0 shows was never written there",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
}

#[test]
fn a_breach_is_data() {
    let (history, _) = history(r#"create("/f")"#, r#"write("/f", offset=0, len=4, fill=2); fsync("/f")"#);
    let breach = history.crash(2, &[]).judge(Prefix, &tree(r#"create("/f")"#)).remove(0);
    assert_eq!(
        serde_json::to_string(&breach).unwrap(),
        r#"{"contract":"fsynced","clause":"pinned-size","path":"/f","pin":{"at":2,"how":"fsynced"},"#.to_owned()
            + r#""allowed":[{"value":"4 bytes of fill 2","since":2}],"verb":"has","found":"0 bytes"}"#
    );
    for clause in Clause::ALL {
        assert_eq!(serde_json::to_string(&clause).unwrap(), format!("\"{clause}\""));
    }
}
