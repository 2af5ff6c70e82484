//! Trees: equality, fingerprints, differences in words, the printed form, and what a broken tree is told.

mod reference;

use std::{collections::BTreeMap, sync::Arc};

use proptest::{prelude::*, test_runner::Config as Runs};
use reference::{
    notation::*,
    workload::{ANYTHING, prelude, step},
};
use vfs::{Aspect, Entries, Node, NodeId, NodeKind, Op, Reference, Tree, diff};

fn tree(ops: impl IntoIterator<Item = Op>) -> Tree {
    let mut fs = Reference::new();
    for op in ops {
        fs.apply(&op).unwrap_or_else(|errno| panic!("{op:?} gives {errno}"));
    }
    fs.tree()
}

/// The same tree with other identities.
fn renumbered(tree: &Tree) -> Tree {
    let other = |id: NodeId| NodeId(1000 - id.0);
    let renumber = |node: &Arc<Node>| {
        let mut node = Node::clone(node);
        if let NodeKind::Dir(entries) = &mut node.kind {
            *entries = entries.iter().map(|(name, id)| (Arc::clone(name), other(*id))).collect();
        }
        Arc::new(node)
    };
    let nodes = tree.nodes.iter().map(|(id, node)| (other(*id), renumber(node))).collect();
    Tree { root: other(tree.root), nodes: Arc::new(nodes) }
}

/// The tree with one node changed by hand, as no file system would.
fn broken(tree: &Tree, path_text: &str, change: impl FnOnce(&mut Node)) -> Tree {
    let mut nodes = BTreeMap::clone(&tree.nodes);
    let node = nodes.get_mut(&tree.lookup(&path(path_text)).expect("the path exists")).expect("the node exists");
    change(Arc::make_mut(node));
    Tree { root: tree.root, nodes: Arc::new(nodes) }
}

fn entries(node: &mut Node) -> &mut Entries {
    let NodeKind::Dir(entries) = &mut node.kind else { panic!("not a directory") };
    entries
}

#[test]
fn identities_do_not_count_but_links_do() {
    let linked = tree([create("/a"), link("/a", "/b"), create("/c"), link("/c", "/d")]);
    let crossed = tree([create("/a"), create("/b"), link("/a", "/c"), link("/b", "/d")]);
    assert!(linked.same_as(&renumbered(&linked)));
    assert_eq!(linked.fingerprint(), renumbered(&linked).fingerprint());
    assert!(!linked.same_as(&crossed));
    assert_ne!(linked.fingerprint(), crossed.fingerprint());
    let identity: Vec<_> = diff(&crossed, &linked).0.into_iter().map(|difference| difference.to_string()).collect();
    let expected = [
        "/b: is a node of its own, expected the same node as /a",
        "/c: is the same node as /a, expected a node of its own",
        "/d: is the same node as /b, expected the same node as /c",
    ];
    assert_eq!(identity, expected);
}

#[test]
fn differences_are_said_in_words() {
    let file = || vec![mkdir("/a"), create("/a/f"), write("/a/f", 0, 4096, 2)];
    let cases: [(Vec<Op>, Vec<Op>, &str); 13] = [
        (vec![mkdir("/a"), create("/a/f")], file(), "/a/f: has 0 bytes, expected 4096 bytes of fill 2\n"),
        (vec![mkdir("/a")], file(), "/a/f: is missing, expected a file with 4096 bytes of fill 2\n"),
        (file(), vec![mkdir("/a")], "/a/f: is a file with 4096 bytes of fill 2, expected nothing\n"),
        (
            [file(), vec![append("/a/f", 1, 3)]].concat(),
            [file(), vec![append("/a/f", 1, 4)]].concat(),
            "/a/f: has 4097 bytes (4096 of fill 2, 1 of fill 3), expected 4097 bytes (4096 of fill 2, 1 of fill 4); \
             the first difference is at byte 4096\n",
        ),
        (
            vec![create("/f")],
            vec![symlink("g", "/f")],
            "/f: is a file with 0 bytes, expected a symlink to \"g\"\n/f: has mode 0644, expected mode 0777\n",
        ),
        (vec![symlink("h", "/f")], vec![symlink("g", "/f")], "/f: is a symlink to \"h\", expected one to \"g\"\n"),
        (vec![mkdir("/d")], vec![mkdir_mode("/d", 0o1777)], "/d: has mode 0755, expected mode 1777\n"),
        (vec![create("/f")], vec![create("/f"), chown("/f", 1, None)], "/f: has owner 0, expected owner 1\n"),
        (vec![create("/f")], vec![create("/f"), chown("/f", None, 1)], "/f: has group 0, expected group 1\n"),
        (
            vec![mkdir("/d"), mkdir("/d/e")],
            vec![mkdir("/d")],
            "/d: has link count 3, expected link count 2\n/d/e: is a directory, expected nothing\n",
        ),
        (
            vec![create("/f"), setxattr("/f", "user.a", 2)],
            vec![create("/f")],
            "/f: has attribute user.a with 2 bytes of fill 7, expected none\n",
        ),
        (
            vec![create("/f"), setxattr("/f", "user.a", 2)],
            vec![create("/f"), setxattr("/f", "user.a", 1)],
            "/f: has attribute user.a with 2 bytes of fill 7, expected 1 byte of fill 7\n",
        ),
        // In order of a walk, although '-' comes before '/'.
        (
            vec![mkdir("/a"), create("/a/b"), create("/a-b")],
            vec![mkdir("/a")],
            "/a/b: is a file with 0 bytes, expected nothing\n/a-b: is a file with 0 bytes, expected nothing\n",
        ),
    ];
    for (found, expected, words) in cases {
        let (found, expected) = (tree(found), tree(expected));
        assert_eq!(diff(&found, &expected).to_string(), words);
        assert!(!found.same_as(&expected));
        assert_ne!(found.fingerprint(), expected.fingerprint(), "{words}");
    }
}

#[test]
fn long_lists_are_kept_and_folded_when_printed() {
    let many = tree((0..50).map(|n| create(&format!("/f{n:02}"))));
    let difference = diff(&tree([]), &many);
    assert_eq!(difference.0.len(), 50);
    let printed = difference.to_string();
    assert!(
        printed.ends_with("/f39: is missing, expected a file with 0 bytes\nand 10 more differences\n"),
        "{printed}"
    );
}

#[test]
fn a_tree_prints_for_people() {
    let printed = tree([
        mkdir("/a"),
        create("/a/f"),
        write("/a/f", 0, 4096, 2),
        write("/a/f", 5000, 96, 255),
        link("/a/f", "/g"),
        setxattr("/a", "user.k", 3),
        mkdir_mode("/a/d", 0o1777),
        symlink("../a/f", "/l"),
        create_mode("/s", 0o4755),
        chown("/s", 1, 2),
    ])
    .to_string();
    let expected = "\
/
  a/  user.k=[3 x 07]
    d/  mode 1777
    f  5096 bytes: 4096 x 02, 904 x 00, 96 x ff  mode 0644 nlink 2
  g  same node as /a/f
  l -> ../a/f
  s  0 bytes  mode 0755 nlink 1 uid 1 gid 2
";
    assert_eq!(printed, expected);
}

#[test]
fn paths_are_found_and_listed_in_order() {
    let tree = tree([mkdir("/a"), create("/a/f"), create("/a-b"), link("/a/f", "/b")]);
    let listed: Vec<_> = tree.paths().into_iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(listed, ["/", "/a", "/a/f", "/a-b", "/b"]);
    assert_eq!(tree.lookup(&path("//a//f/")), tree.lookup(&path("/b")));
    assert_eq!(tree.lookup(&path("/")), Some(tree.root));
    assert_eq!(tree.lookup(&path("/b/f")), None);
    assert_eq!(tree.lookup(&path("/c")), None);
}

#[test]
fn broken_trees_are_told_what_is_wrong() {
    let sound = tree([mkdir("/d"), mkdir("/d/e"), create("/f"), link("/f", "/g")]);
    let dir = sound.lookup(&path("/d")).unwrap();
    let cases = [
        (broken(&sound, "/f", |node| node.nlink = 1), "/f: has link count 1, expected 2"),
        (broken(&sound, "/d", |node| node.nlink = 2), "/d: has link count 2, expected 3"),
        (
            broken(&sound, "/d", |node| {
                entries(node).insert("x".into(), NodeId(99));
            }),
            "/d/x: is a name without a node",
        ),
        (
            broken(&sound, "/d/e", |node| {
                entries(node).insert("up".into(), dir);
                node.nlink = 3;
            }),
            "/d/e/up: is a second name of the directory /d",
        ),
        (
            broken(&sound, "/", |node| {
                entries(node).remove("d");
                node.nlink = 2;
            }),
            "/: holds node 1, which no name leads to",
        ),
    ];
    assert_eq!(sound.invariants(), []);
    for (tree, words) in cases {
        assert_eq!(tree.invariants().first().map(ToString::to_string).as_deref(), Some(words));
        assert!(!tree.same_as(&sound) || words.starts_with("/: holds"), "{words}");
        assert!(tree.same_as(&tree.clone()) && !tree.to_string().is_empty());
    }
}

#[test]
fn a_name_that_leads_nowhere_is_a_difference() {
    let sound = tree([create("/f")]);
    let dangling = broken(&sound, "/", |node| {
        entries(node).insert("f".into(), NodeId(99));
    });
    let difference = diff(&dangling, &sound);
    assert_eq!(difference.to_string(), "/f: is a name without a node, expected a file with 0 bytes\n");
    assert_eq!(difference.0[0].aspect, Aspect::Existence);
    assert!(!dangling.same_as(&sound));
}

proptest! {
    #![proptest_config(Runs {
        cases: 256,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(5),
        ..Runs::default()
    })]

    /// Equality, difference and fingerprint agree on trees that are a few ops apart.
    #[test]
    fn three_ways_to_compare_agree(seed in any::<u64>(), apart in 0..4) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut fs = Reference::new();
        for step in prelude() {
            let _ = fs.apply(&step.op);
        }
        (0..20).for_each(|_| drop(fs.apply(&step(&mut random, ANYTHING).op)));
        let before = renumbered(&fs.tree());
        (0..apart).for_each(|_| drop(fs.apply(&step(&mut random, ANYTHING).op)));
        let after = fs.tree();
        let same = before.same_as(&after);
        prop_assert_eq!(same, after.same_as(&before));
        prop_assert_eq!(same, before.fingerprint() == after.fingerprint());
        prop_assert_eq!(same, diff(&before, &after).is_empty());
        prop_assert_eq!(same, diff(&after, &before).is_empty());
        prop_assert!(apart > 0 || same);
    }
}
