//! Shapes against brute force: two trees have one code exactly if some renaming makes them equal.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use vfs::{
    Node, NodeId, NodeKind, OpenFiles, Tree,
    shape::{Shape, ShapeOptions, Sizes},
};

/// Part of a tree to be built.
#[derive(Clone)]
enum Part {
    /// A file of its own, with so many bytes.
    File(usize),
    /// One more name of the empty file of this number.
    Shared(u32),
    Symlink(&'static str),
    Dir(Vec<(&'static str, Part)>),
}

/// Identities for shared files are counted from here.
const SHARED: u32 = 1_000_000;

fn build(entries: &[(&'static str, Part)]) -> Tree {
    let mut nodes = BTreeMap::new();
    let mut next = 0;
    let root = add(&Part::Dir(entries.to_vec()), &mut nodes, &mut next);
    Tree { root, nodes: Arc::new(nodes) }
}

fn add(part: &Part, nodes: &mut BTreeMap<NodeId, Arc<Node>>, next: &mut u32) -> NodeId {
    let mut id = NodeId(*next);
    *next += 1;
    let (kind, mode) = match part {
        Part::File(size) => (NodeKind::File(vec![0; *size].into()), 0o644),
        Part::Shared(number) => {
            id = NodeId(SHARED + number);
            (NodeKind::File(Vec::new().into()), 0o644)
        }
        Part::Symlink(target) => (NodeKind::Symlink(Arc::from(*target)), 0o777),
        Part::Dir(entries) => {
            let entries = entries.iter().map(|(name, part)| (Arc::from(*name), add(part, nodes, next)));
            (NodeKind::Dir(entries.collect()), 0o755)
        }
    };
    nodes.insert(id, Arc::new(Node { kind, mode, uid: 0, gid: 0, nlink: 1, xattrs: BTreeMap::new() }));
    id
}

fn code(tree: &Tree) -> String {
    let mut shape = Shape::new(ShapeOptions::default());
    shape.update(tree, &OpenFiles::new());
    shape.code()
}

/// Every way to put one of these parts, or nothing, under each of these names.
fn all_entries(names: &[&'static str], parts: &[Part]) -> Vec<Vec<(&'static str, Part)>> {
    let Some((name, others)) = names.split_first() else { return vec![vec![]] };
    let rest = all_entries(others, parts);
    let with = parts.iter().flat_map(|part| {
        rest.iter().map(|entries| {
            let mut entries = entries.clone();
            entries.insert(0, (*name, part.clone()));
            entries
        })
    });
    rest.iter().cloned().chain(with).collect()
}

/// The names in use, level by level.
const POOLS: [&[&str]; 3] = [&["a", "b", "c"], &["a", "b"], &[]];

/// The least of all trees that renaming makes of this one; names that symlinks say stay.
fn least_renaming(tree: &Tree) -> String {
    let said = tree.nodes.values().filter_map(|node| match &node.kind {
        NodeKind::Symlink(target) => Some(&**target),
        NodeKind::File(_) | NodeKind::Dir(_) | NodeKind::Special(_) => None,
    });
    let said: BTreeSet<&str> = said.collect();
    let described = renamings(tree, tree.root, &POOLS, &said).into_iter().map(|mut names| {
        names.sort();
        let first = |id| names.iter().position(|(_, other)| *other == id);
        let lines = names.iter().map(|(path, id)| match &tree.nodes[id].kind {
            NodeKind::File(bytes) => format!("{path} file {} {:?}\n", bytes.len(), first(*id)),
            NodeKind::Dir(_) => format!("{path} dir\n"),
            NodeKind::Symlink(target) => format!("{path} symlink {target}\n"),
            NodeKind::Special(special) => format!("{path} {special}\n"),
        });
        lines.collect::<String>()
    });
    described.min().unwrap_or_default()
}

/// Every renaming of what is below a directory: all paths with their nodes.
fn renamings(tree: &Tree, dir: NodeId, pools: &[&[&'static str]], said: &BTreeSet<&str>) -> Vec<Vec<(String, NodeId)>> {
    let mut found = vec![(Vec::new(), BTreeSet::new())];
    for (old, child) in tree.nodes[&dir].entries().into_iter().flatten() {
        let fixed = said.contains(&**old);
        let below = renamings(tree, *child, &pools[1..], said);
        found = found
            .into_iter()
            .flat_map(|(names, used): (Vec<_>, BTreeSet<&str>)| {
                let may = move |new: &&str| if fixed { *new == &**old } else { !said.contains(new) };
                let new_names =
                    pools[0].iter().copied().filter(may).filter(|new| !used.contains(new)).collect::<Vec<_>>();
                let mut longer = Vec::new();
                for new in new_names {
                    for inner in &below {
                        let mut names = names.clone();
                        names.push((format!("/{new}"), *child));
                        names.extend(inner.iter().map(|(path, id)| (format!("/{new}{path}"), *id)));
                        let mut used = used.clone();
                        used.insert(new);
                        longer.push((names, used));
                    }
                }
                longer
            })
            .collect();
    }
    found.into_iter().map(|(names, _)| names).collect()
}

/// Checks that codes and fingerprints are equal exactly where least renamings are; returns (trees, shapes).
fn codes_agree_with_renamings(trees: &[Tree]) -> (usize, usize) {
    let mut renaming_of_code: BTreeMap<String, String> = BTreeMap::new();
    let mut code_of_renaming: BTreeMap<String, String> = BTreeMap::new();
    let mut code_of_fingerprint: BTreeMap<u128, String> = BTreeMap::new();
    for tree in trees {
        let (code, renaming) = (code(tree), least_renaming(tree));
        let known = renaming_of_code.entry(code.clone()).or_insert_with(|| renaming.clone());
        assert_eq!(*known, renaming, "different trees share the code {code}");
        let known = code_of_renaming.entry(renaming.clone()).or_insert_with(|| code.clone());
        assert_eq!(*known, code, "one tree has two codes:\n{renaming}");
        let fingerprint = Shape::fingerprint_of(tree, &OpenFiles::new(), ShapeOptions::default());
        let known = code_of_fingerprint.entry(fingerprint).or_insert_with(|| code.clone());
        assert_eq!(*known, code, "different shapes share a fingerprint");
    }
    assert_eq!(code_of_fingerprint.len(), renaming_of_code.len(), "a shape has several fingerprints");
    (trees.len(), renaming_of_code.len())
}

#[test]
fn all_small_trees_with_two_shared_files() {
    let leaves = [Part::File(0), Part::Shared(0), Part::Shared(1)];
    let dirs = all_entries(POOLS[1], &leaves).into_iter().map(Part::Dir);
    let parts: Vec<Part> = leaves.iter().cloned().chain(dirs).collect();
    let trees: Vec<Tree> = all_entries(POOLS[0], &parts).iter().map(|entries| build(entries)).collect();
    assert_eq!(codes_agree_with_renamings(&trees), (8000, 155));
}

#[test]
fn all_small_trees_with_sizes_and_symlinks() {
    let leaves = [Part::File(0), Part::File(1), Part::Symlink("a"), Part::Symlink("b")];
    let dirs = all_entries(POOLS[1], &[Part::File(0), Part::Symlink("a")]).into_iter().map(Part::Dir);
    let parts: Vec<Part> = leaves.iter().cloned().chain(dirs).collect();
    let trees: Vec<Tree> = all_entries(POOLS[0], &parts).iter().map(|entries| build(entries)).collect();
    assert_eq!(codes_agree_with_renamings(&trees), (2744, 1513));
}

/// Six directories that are joined in pairs by files with a name in both.
fn joined(pairs: [(usize, usize); 6]) -> Tree {
    const DIRS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let mut dirs: Vec<Vec<(&str, Part)>> = vec![vec![]; 6];
    for (file, (one, other)) in (0..).zip(pairs) {
        for dir in [one, other] {
            let name = DIRS[dirs[dir].len()];
            dirs[dir].push((name, Part::Shared(file)));
        }
    }
    build(&DIRS.into_iter().zip(dirs.into_iter().map(Part::Dir)).collect::<Vec<_>>())
}

#[test]
fn a_hexagon_is_not_two_triangles() {
    let hexagon = joined([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
    let same_hexagon = joined([(4, 0), (3, 5), (0, 3), (2, 4), (5, 1), (1, 2)]);
    let triangles = joined([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
    let same_triangles = joined([(5, 1), (0, 2), (1, 3), (2, 4), (3, 5), (0, 4)]);
    assert_eq!(code(&hexagon), code(&same_hexagon));
    assert_eq!(code(&triangles), code(&same_triangles));
    assert_ne!(code(&hexagon), code(&triangles));
}

#[test]
fn many_files_in_the_same_places_are_numbered_at_once() {
    const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let entries = |order: fn(usize) -> u32| {
        let dir =
            || Part::Dir(NAMES.iter().enumerate().map(|(index, name)| (*name, Part::Shared(order(index)))).collect());
        build(&[("a", dir()), ("b", dir())])
    };
    let straight = entries(|index| u32::try_from(index).unwrap());
    let reversed = entries(|index| 11 - u32::try_from(index).unwrap());
    assert_eq!(code(&straight), code(&reversed));
}

#[test]
fn the_code_reads_as_documented() {
    let tree = build(&[
        ("x", Part::File(5000)),
        ("d", Part::Dir(vec![("p", Part::Shared(0)), ("q", Part::Shared(0))])),
        ("s", Part::Symlink("d/p")),
    ]);
    let mut shape = Shape::new(ShapeOptions { sizes: Sizes::Blocks(4096.try_into().unwrap()), ..Default::default() });
    shape.update(&tree, &OpenFiles::new());
    assert_eq!(shape.code(), r#"["d"=["p"=(0*2)@0(0*2)@0](2)<"d/p">]v0:"#);
}

#[test]
fn a_broken_tree_has_some_code() {
    let mut nodes = BTreeMap::new();
    let dir = |entries: &[(&str, u32)]| {
        let entries = entries.iter().map(|(name, id)| (Arc::from(*name), NodeId(*id))).collect();
        Arc::new(Node { kind: NodeKind::Dir(entries), mode: 0o755, uid: 0, gid: 0, nlink: 2, xattrs: BTreeMap::new() })
    };
    nodes.insert(NodeId(0), dir(&[("itself", 0), ("nowhere", 9), ("twice", 1), ("again", 1)]));
    nodes.insert(NodeId(1), dir(&[("up", 0)]));
    let broken = Tree { root: NodeId(0), nodes: Arc::new(nodes) };
    assert!(code(&broken).starts_with('['));
}
