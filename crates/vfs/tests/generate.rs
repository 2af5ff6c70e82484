//! The object-based generator proposes exactly what is there to be done, and all of it works on the reference.

use std::{collections::BTreeSet, num::NonZeroU64, sync::Arc};

use vfs::{
    Data, Fallocate, Fd, Node, NodeId, NodeKind, Op, OpKind, OpenFiles, OpenFlags, Outcome, Reference, Rename, Tree,
    Value, WriteVia,
    generate::{ObjectBounds, OpSet, WritePlaces, object_ops},
    text::parse_workload,
};

fn after(workload: &str) -> Reference {
    let mut fs = Reference::new();
    for op in parse_workload(workload).unwrap() {
        let outcome: Outcome = fs.apply(&op);
        assert!(outcome.is_ok(), "{op}: {outcome:?}");
    }
    fs
}

fn proposals(fs: &Reference, bounds: &ObjectBounds) -> Vec<Op> {
    object_ops(&fs.tree(), fs.open_files(), bounds)
}

fn lines(workload: &str, bounds: &ObjectBounds) -> Vec<String> {
    proposals(&after(workload), bounds).iter().map(Op::to_string).collect()
}

fn bounds(ops: &str) -> ObjectBounds {
    ObjectBounds { ops: ops.parse().unwrap(), ..ObjectBounds::default() }
}

#[test]
fn an_empty_file_system() {
    let expected = ["create(\"/a\", mode=0644)", "mkdir(\"/a\", mode=0755)", "fsync(\"/\")", "sync()"];
    assert_eq!(lines("", &bounds("default")), expected);
}

#[test]
fn one_file() {
    let expected = [
        "create(\"/b\", mode=0644)",
        "mkdir(\"/b\", mode=0755)",
        "fsync(\"/\")",
        "write(\"/a\", offset=0, len=4096, fill=1)",
        "write(\"/a\", offset=4096, len=4096, fill=1)",
        "truncate(\"/a\", size=4096)",
        "truncate(\"/a\", size=8192)",
        "truncate(\"/a\", size=2048)",
        "fsync(\"/a\")",
        "unlink(\"/a\")",
        "rename(\"/a\", \"/b\")",
        "link(\"/a\", \"/b\")",
        "sync()",
    ];
    assert_eq!(lines("create(\"/a\")", &bounds("default")), expected);
}

#[test]
fn the_steps_of_the_published_example() {
    // A file system with nothing has 2 successors, with one directory 5, with one file 4.
    let block = NonZeroU64::new(4096).unwrap();
    let example =
        ObjectBounds { dirs_max: 3, size_max: block.get(), block, ..bounds("create,mkdir,rmdir,unlink,write") };
    assert_eq!(lines("", &example).len(), 2);
    assert_eq!(lines("mkdir(\"/a\")", &example).len(), 5);
    assert_eq!(lines("create(\"/a\")", &example).len(), 4);
}

#[test]
fn renames_meet_and_avoid_what_they_must() {
    let workload = "mkdir(\"/a\")\nmkdir(\"/b\")\ncreate(\"/b/a\")\ncreate(\"/c\")";
    let only = |how| ObjectBounds { rename: vec![how], ..bounds("rename") };
    let to_vacancies = [
        "rename(\"/a\", \"/d\")",
        "rename(\"/a\", \"/b/b\")",
        "rename(\"/b\", \"/d\")",
        "rename(\"/b/a\", \"/d\")",
        "rename(\"/b/a\", \"/a/a\")",
        "rename(\"/b/a\", \"/b/b\")",
        "rename(\"/c\", \"/d\")",
        "rename(\"/c\", \"/a/a\")",
        "rename(\"/c\", \"/b/b\")",
    ];
    let without_how =
        |lines: Vec<String>| lines.iter().map(|line| line.replace(", how=no_replace", "")).collect::<Vec<_>>();
    assert_eq!(without_how(lines(workload, &only(Rename::NoReplace))), to_vacancies);

    let replace: BTreeSet<String> = lines(workload, &only(Rename::Replace)).into_iter().collect();
    let onto: Vec<&String> = replace.iter().filter(|line| !to_vacancies.contains(&line.as_str())).collect();
    assert_eq!(onto, ["rename(\"/b\", \"/a\")", "rename(\"/b/a\", \"/c\")", "rename(\"/c\", \"/b/a\")"]);

    // Not "/b" with "/b/a", which is in it, nor "/b" into "/a" and deeper than the bound.
    let exchanges = lines(workload, &only(Rename::Exchange));
    let expected = [("/a", "/b"), ("/a", "/b/a"), ("/a", "/c"), ("/b", "/c"), ("/b/a", "/c")];
    let expected = expected.map(|(one, other)| format!("rename({one:?}, {other:?}, how=exchange)"));
    assert_eq!(exchanges, expected);
}

#[test]
fn a_file_with_two_names_is_written_once_and_unlinked_twice() {
    let workload = "create(\"/a\")\nlink(\"/a\", \"/b\")";
    let proposed = lines(workload, &bounds("write,unlink"));
    let expected = [
        "write(\"/a\", offset=0, len=4096, fill=1)",
        "write(\"/a\", offset=4096, len=4096, fill=1)",
        "unlink(\"/a\")",
        "unlink(\"/b\")",
    ];
    assert_eq!(proposed, expected);
}

#[test]
fn fills_are_fresh_and_as_small_as_possible() {
    let append = ObjectBounds { write_places: WritePlaces::End, size_max: 3 * 4096, ..bounds("write") };
    let fill = |workload: &str| match proposals(&after(workload), &append)[..] {
        [Op::Write { data: Data { fill, .. }, .. }, ..] => fill,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(fill("create(\"/a\")"), 1);
    assert_eq!(fill("create(\"/a\")\nwrite(\"/a\", at=end, len=1, fill=1)"), 2);
    assert_eq!(fill("create(\"/a\")\nwrite(\"/a\", at=end, len=1, fill=2)"), 1);
    assert_eq!(
        fill(
            "create(\"/a\")\ncreate(\"/b\")\n\
             write(\"/b\", at=end, len=9, fill=1)\nwrite(\"/b\", offset=3, len=1, fill=2)"
        ),
        3
    );
}

#[test]
fn slots_are_filled_used_and_emptied() {
    let open = ObjectBounds { slots_max: 1, size_max: 4096, ..bounds("open,close,write,fsync") };
    assert_eq!(lines("create(\"/a\")", &open)[1], "open(\"/a\", O_RDWR, fd=0)");
    let unlinked = "create(\"/a\")\nopen(\"/a\", O_RDWR, fd=0)\nunlink(\"/a\")";
    let expected = ["fsync(\"/\")", "close(fd=0)", "write(fd=0, offset=0, len=4096, fill=1)", "fsync(fd=0)"];
    assert_eq!(lines(unlinked, &open), expected);
    let read_only = "create(\"/a\")\nopen(\"/a\", O_RDONLY, fd=0)";
    assert!(!lines(read_only, &open).contains(&"write(fd=0, offset=0, len=4096, fill=1)".to_owned()));
}

/// Everything on.
fn wide_bounds() -> ObjectBounds {
    let creating = OpenFlags::CREAT | OpenFlags::RDWR;
    ObjectBounds {
        ops: OpSet::ALL,
        files_max: 4,
        dirs_max: 3,
        depth_max: 3,
        slots_max: 2,
        open_flags: vec![
            OpenFlags::RDONLY,
            OpenFlags::WRONLY | OpenFlags::APPEND,
            OpenFlags::RDWR | OpenFlags::TRUNC,
            OpenFlags::RDONLY | OpenFlags::DIRECTORY,
            OpenFlags::RDWR | OpenFlags::DIRECT,
            OpenFlags::WRONLY | OpenFlags::SYNC,
            creating,
            creating | OpenFlags::EXCL,
        ],
        write_via: WriteVia::ALL.to_vec(),
        fallocate: Fallocate::ALL.to_vec(),
        rename: Rename::ALL.to_vec(),
        ..ObjectBounds::default()
    }
}

fn assert_within(tree: &Tree, bounds: &ObjectBounds) {
    let paths = tree.paths();
    let is_dir = |id: &NodeId| tree.node(*id).is_some_and(|node| node.is_dir());
    assert!(paths.iter().filter(|(_, id)| !is_dir(id)).count() <= bounds.files_max);
    assert!(paths.iter().filter(|(_, id)| is_dir(id)).count() <= bounds.dirs_max + 1);
    assert!(
        paths.iter().all(|(path, _)| path.as_str() == "/" || path.as_str().matches('/').count() <= bounds.depth_max)
    );
    let size = |node: &Arc<Node>| match &node.kind {
        NodeKind::File(bytes) => bytes.len() as u64,
        NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => 0,
    };
    assert!(tree.nodes.values().all(|node| size(node) <= bounds.size_max));
}

/// Tries every proposal in every state of random walks; returns the kinds that were tried.
fn try_all(bounds: &ObjectBounds, walks: u64, steps: usize) -> BTreeSet<OpKind> {
    let mut tried = BTreeSet::new();
    for seed in 1..=walks {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut fs = Reference::new();
        let mut done = Vec::new();
        for _ in 0..steps {
            let proposed = proposals(&fs, bounds);
            assert_eq!(proposed.iter().collect::<BTreeSet<_>>().len(), proposed.len(), "an op twice after {done:?}");
            for op in &proposed {
                let mut next = fs.clone();
                let outcome = next.apply(op);
                assert!(outcome.is_ok(), "{op}: {outcome:?} after {done:#?}\n{}", fs.tree());
                if let (Op::Write { data, .. }, Ok(Value::Count(count))) = (op, &outcome) {
                    assert_eq!(data.len, *count, "{op}");
                }
                assert_within(&next.tree(), bounds);
                tried.insert(op.kind());
            }
            let choice = random.usize(..proposed.len());
            fs.apply(&proposed[choice]).unwrap();
            done.push(proposed[choice].to_string());
        }
    }
    tried
}

#[test]
fn every_proposal_works_on_the_reference() {
    let tried = try_all(&wide_bounds(), 30, 40);
    assert_eq!(tried.len(), OpKind::ALL.len(), "{tried:?}");
    try_all(&bounds("default"), 20, 30);
}

#[test]
fn a_broken_tree_is_no_reason_to_panic() {
    let entries = [("itself", 0), ("nowhere", 9)].map(|(name, id)| (Arc::from(name), NodeId(id)));
    let kind = NodeKind::Dir(entries.into_iter().collect());
    let root = Node { kind, mode: 0o755, uid: 0, gid: 0, nlink: 2, xattrs: [].into() };
    let rooted = Tree { root: NodeId(0), nodes: Arc::new([(NodeId(0), Arc::new(root))].into()) };
    let rootless = Tree { root: NodeId(1), nodes: Arc::default() };
    let open = OpenFiles::from([(Fd(0), vfs::OpenFile { node: NodeId(7), flags: OpenFlags::RDWR })]);
    assert!(!object_ops(&rooted, &open, &wide_bounds()).is_empty());
    assert!(object_ops(&rootless, &open, &wide_bounds()).contains(&Op::Close { fd: Fd(0) }));
}
