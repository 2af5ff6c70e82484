//! Shapes kept along walks through real histories, and how many trees they merge.

use std::collections::BTreeSet;

use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use vfs::{
    Op, Path, Reference,
    generate::{ArgumentSets, ObjectBounds, OpSet, object_ops},
    shape::{Shape, ShapeOptions},
    text::parse_workload,
};

fn update(shape: &mut Shape, fs: &Reference) {
    shape.update(&fs.tree(), fs.open_files());
}

fn plain() -> ShapeOptions {
    ShapeOptions { version_max: 0, ops_kept: 0, ..ShapeOptions::default() }
}

/// Every op over a few names, failures included.
fn vocabulary() -> Vec<Op> {
    let paths = ["/a", "/b", "/a/a", "/a/b", "/b/a"].map(|path| Path::new(path).unwrap());
    let mut sets = ArgumentSets { ops: OpSet::ALL, offsets: vec![0], ..ArgumentSets::over(paths.to_vec()) };
    sets.targets.push("a".into());
    // Symlinks fix names, so that a code is kept from scratch; have few of them.
    sets.ops().into_iter().filter(|op| op.name() != "fallocate").collect()
}

#[test]
fn a_shape_that_is_kept_equals_one_from_scratch() {
    let vocabulary = vocabulary();
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let walks = prop::collection::vec(prop::sample::select(vocabulary), 0..60);
    let result = runner.run(&walks, |ops| {
        let mut fs = Reference::new();
        let mut kept = Shape::new(plain());
        for op in ops {
            let _ = fs.apply(&op);
            update(&mut kept, &fs);
            let mut scratch = Shape::new(plain());
            update(&mut scratch, &fs);
            prop_assert_eq!(kept.code(), scratch.code(), "after {}", op);
            prop_assert_eq!(kept.fingerprint(), scratch.fingerprint());
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn only_the_way_up_is_encoded_anew() {
    let mut fs = Reference::new();
    let mut shape = Shape::new(plain());
    let mut run = |line: String| {
        fs.apply(&line.parse().unwrap()).unwrap();
        update(&mut shape, &fs);
        shape.encoded()
    };
    for dir in ["/a", "/a/b", "/a/b/c"] {
        run(format!("mkdir({dir:?})"));
        for file in 0..20 {
            run(format!("create(\"{dir}/{file}\")"));
        }
    }
    assert_eq!(run("write(\"/a/b/3\", offset=0, len=5, fill=1)".to_owned()), 4, "the file, b, a, root");
    assert_eq!(run("write(\"/a/b/3\", offset=0, len=5, fill=2)".to_owned()), 1, "its code stays, so do those above");
    assert_eq!(run("sync()".to_owned()), 0);
    assert_eq!(run("open(\"/a/b/c/7\", O_RDONLY, fd=1)".to_owned()), 5, "the file, c, b, a, root");
}

#[test]
fn open_files_versions_and_last_ops_count() {
    let code = |workload: &str, options| {
        let mut fs = Reference::new();
        let mut shape = Shape::new(options);
        for op in parse_workload(workload).unwrap() {
            fs.apply(&op).unwrap();
            shape.record(&op);
            update(&mut shape, &fs);
        }
        shape.code()
    };
    let open = "create(\"/f\")\nopen(\"/f\", O_RDWR, fd=3)";
    assert_eq!(code(open, plain()), "[(0#2)]v0:");
    assert_eq!(code(&format!("{open}\nunlink(\"/f\")"), plain()), "[](?#2)v0:");
    assert_eq!(code("create(\"/f\")\nchmod(\"/f\", mode=0600)", plain()), "[(0m600u0g0)]v0:");
    assert_eq!(code("mkdir(\"/d\")\nsetxattr(\"/d\", \"user.a\", len=3, fill=1)", plain()), "[[x\"user.a\"3]]v0:");

    let last = ShapeOptions { version_max: 2, ops_kept: 2, ..ShapeOptions::default() };
    let (one, other) = ("mkdir(\"/a\")\ncreate(\"/b\")", "create(\"/a\")\nmkdir(\"/d\")");
    assert_ne!(code(one, last), code(other, last));
    assert_eq!(code(one, plain()), code(other, plain()));
    assert!(code("sync()\nsync()\nsync()", last).starts_with("[]v2:"));
}

/// How many trees and which shapes are found after each number of ops, going on from every tree or from one of each
/// shape.
fn found(
    bounds: &ObjectBounds,
    options: ShapeOptions,
    depth: usize,
    one_of_each: bool,
) -> (Vec<usize>, Vec<BTreeSet<String>>) {
    let mut level = vec![Reference::new()];
    let (mut trees, mut shapes) = (BTreeSet::new(), BTreeSet::new());
    let (mut tree_counts, mut shapes_found) = (Vec::new(), Vec::new());
    for _ in 0..=depth {
        let mut next = Vec::new();
        for fs in level {
            let mut shape = Shape::new(options);
            update(&mut shape, &fs);
            let new_shape = shapes.insert(shape.code());
            let new_tree = trees.insert(fs.tree().fingerprint());
            if if one_of_each { new_shape } else { new_tree } {
                for op in object_ops(&fs.tree(), fs.open_files(), bounds) {
                    let mut after = fs.clone();
                    after.apply(&op).unwrap();
                    next.push(after);
                }
            }
        }
        tree_counts.push(trees.len());
        shapes_found.push(shapes.clone());
        level = next;
    }
    (tree_counts, shapes_found)
}

fn sizes(sets: &[BTreeSet<String>]) -> Vec<usize> {
    sets.iter().map(BTreeSet::len).collect()
}

#[test]
fn shapes_merge_trees_and_lose_none() {
    let ops = "create,mkdir,rmdir,unlink,rename,link,truncate".parse().unwrap();
    let bounds = ObjectBounds { ops, files_max: 3, dirs_max: 2, size_max: 4096, ..ObjectBounds::default() };
    let (trees, shapes) = found(&bounds, plain(), 5, false);
    assert_eq!(trees, [1, 3, 14, 68, 354, 1560]);
    assert_eq!(sizes(&shapes), [1, 3, 11, 32, 93, 219]);
    assert_eq!(found(&bounds, plain(), 5, true).1, shapes, "one tree of each shape leads to all shapes");
}

#[test]
fn with_symlinks_the_same_holds_if_names_are_kept() {
    let ops = "create,truncate,unlink,rename,symlink,mkdir".parse().unwrap();
    let bounds = ObjectBounds { ops, files_max: 3, size_max: 4096, ..ObjectBounds::default() };
    let options = ShapeOptions { names_kept: true, ..plain() };
    let (trees, shapes) = found(&bounds, options, 4, false);
    assert_eq!(trees, [1, 4, 27, 227, 1679]);
    assert_eq!(sizes(&shapes), [1, 4, 27, 227, 1679]);
    assert_eq!(sizes(&found(&bounds, options, 4, true).1), sizes(&shapes));
}

#[test]
fn names_in_two_directories_matter_once_a_symlink_says_them() {
    let code = |workload: &str, options| {
        let mut fs = Reference::new();
        let mut shape = Shape::new(options);
        parse_workload(workload).unwrap().iter().for_each(|op| assert!(fs.apply(op).is_ok()));
        update(&mut shape, &fs);
        shape.code()
    };
    let dirs = "mkdir(\"/d\")\nmkdir(\"/e\")\ncreate(\"/d/x\")\n";
    let (same_name, other_name) = (format!("{dirs}create(\"/e/x\")\n"), format!("{dirs}create(\"/e/y\")\n"));
    let symlink = "symlink(\"x\", \"/d/s\")";
    assert_eq!(code(&same_name, plain()), code(&other_name, plain()));
    assert_ne!(code(&(same_name.clone() + symlink), plain()), code(&(other_name.clone() + symlink), plain()));
    let kept = ShapeOptions { names_kept: true, ..plain() };
    assert_ne!(code(&same_name, kept), code(&other_name, kept));
}
