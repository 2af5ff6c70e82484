//! ACE against the published numbers, and what it makes of single workloads.

use std::collections::HashSet;

use vfs::{
    Errno, Op, Reference, WriteAt,
    generate::ace::{Bounds, Chosen, Kind, SETS},
};

fn bounds(name: &str) -> Bounds {
    Bounds::named(name).unwrap()
}

fn count(name: &str) -> usize {
    let mut count = 0;
    bounds(name).each(|_| count += 1);
    count
}

/// How many workloads the tool would tell apart: those that differ in more than a persistence point that is not made.
fn distinct(name: &str) -> usize {
    let mut seen: HashSet<Vec<(Kind, String)>> = HashSet::new();
    let as_made = |chosen: &Chosen| {
        let persists = matches!(chosen.kind, Kind::Fdatasync | Kind::Mmapwrite);
        let persistence = if persists { String::new() } else { format!("{:?}", chosen.persistence) };
        (chosen.kind, format!("{:?} {persistence}", chosen.arguments))
    };
    bounds(name).each(|workload| {
        seen.insert(workload.iter().map(as_made).collect());
    });
    seen.len()
}

#[test]
fn as_many_workloads_as_the_tool_makes() {
    let expected = [
        ("ace-seq1", 328),
        ("ace-seq1-fdatasync", 336),
        ("ace-seq2", 241_720),
        ("ace-seq2-fdatasync", 254_032),
        ("ace-seq3-metadata", 540_450),
        ("ace-seq3-data", 1_679_796),
        ("ace-seq3-nested", 4_632_696),
    ];
    assert_eq!(SETS.map(|bounds| (bounds.name, count(bounds.name))), expected);
}

#[test]
fn as_many_different_ones() {
    assert_eq!((distinct("ace-seq1"), distinct("ace-seq2")), (316, 221_584));
}

#[test]
fn a_set_holds_each_workload_once() {
    for (name, given, different) in [("ace-seq1", 328, 300), ("ace-seq2", 241_720, 198_410)] {
        let set = bounds(name).set().unwrap();
        assert_eq!((set.given(), set.len()), (given, different), "{name}");
    }
}

/// A file that was cut to nothing is then written to, or allocated, before its first byte: by the tool too, where the
/// call fails and the rest goes on.
#[test]
fn some_offsets_are_negative() {
    let negative = |op: &Op| match op {
        Op::Write { at: WriteAt::Offset(offset), .. } | Op::Fallocate { offset, .. } => offset.cast_signed() < 0,
        _ => false,
    };
    let mut count = 0;
    bounds("ace-seq2").each(|workload| {
        let ops = Bounds::ops(workload);
        let Some(at) = ops.iter().position(negative) else { return };
        count += 1;
        if count == 1 {
            let mut reference = Reference::new();
            let outcomes: Vec<_> = ops.iter().map(|op| reference.apply(op)).collect();
            assert_eq!(outcomes[at], Err(Errno::EINVAL), "{ops:?}");
            assert!(outcomes[..at].iter().chain(&outcomes[at + 1..]).all(Result::is_ok), "{ops:?}: {outcomes:?}");
        }
    });
    assert_eq!(count, 240);
}

fn workloads(name: &str) -> Vec<Vec<String>> {
    let set = bounds(name).set().unwrap();
    (0..set.len()).map(|workload| set.ops(workload).map(ToString::to_string).collect()).collect()
}

/// The ops of the workload that ends like this before its files are closed.
fn the_one_with(name: &str, end: &[&str]) -> Vec<String> {
    let is_close = |op: &&String| op.starts_with("close(");
    let without_closes = |ops: Vec<String>| {
        let closes = ops.iter().rev().take_while(is_close).count();
        ops[..ops.len() - closes].to_vec()
    };
    let mut found = workloads(name)
        .into_iter()
        .map(without_closes)
        .filter(|ops| ops.ends_with(&end.iter().map(|op| (*op).to_owned()).collect::<Vec<_>>()));
    found.next().unwrap_or_else(|| panic!("none ends with {end:?}"))
}

#[test]
fn what_an_op_needs_comes_before_it() {
    let ops = the_one_with("ace-seq1", &["removexattr(\"/A/foo\", \"user.xattr1\")", "sync()"]);
    assert_eq!(
        ops,
        [
            "mkdir(\"/A\", mode=0777)",
            "open(\"/A/foo\", O_CREAT|O_RDWR, mode=0777, fd=0)",
            "setxattr(\"/A/foo\", \"user.xattr1\", len=4, fill=118)",
            "removexattr(\"/A/foo\", \"user.xattr1\")",
            "sync()"
        ]
    );
    let ops = the_one_with("ace-seq1", &["fallocate(fd=0, offset=30768, len=5000, how=punch_hole)", "fsync(fd=0)"]);
    assert_eq!(ops[1], "write(fd=0, offset=0, len=32768, fill=1)");
    let ops = the_one_with(
        "ace-seq1",
        &["rename(\"/A\", \"/B\")", "open(\"/B\", O_DIRECTORY|O_RDONLY, fd=1)", "fsync(fd=1)"],
    );
    assert_eq!(ops[..3], ["mkdir(\"/A\", mode=0777)", "open(\"/A\", O_DIRECTORY|O_RDONLY, fd=0)", "close(fd=0)"]);
}

#[test]
fn direct_and_mapped_writes_are_what_the_tool_makes_of_them() {
    let written = "write(fd=0, offset=0, len=32768, fill=1, via=mmap)";
    let ops = the_one_with("ace-seq1", &[written, "msync(fd=0, offset=0, len=8192)"]);
    assert_eq!(ops[ops.len() - 3], "fallocate(fd=0, offset=0, len=32768)");
    let all = workloads("ace-seq1");
    let direct = all.iter().find(|ops| ops.iter().any(|op| op.contains("via=direct"))).unwrap();
    let at = direct.iter().position(|op| op.contains("via=direct")).unwrap();
    assert!(direct[at - 1].contains("O_SYNC|O_DIRECT|O_RDWR") && direct[at + 1] == "close(fd=0)", "{direct:?}");
}

/// An op fails only where the tool's account is wrong: a file that went away with its directory, a range before the
/// first byte, a direct write off the grid. With one op, nothing fails.
#[test]
fn every_op_of_a_single_one_succeeds() {
    let set = bounds("ace-seq1").set().unwrap();
    for workload in 0..set.len() {
        let mut reference = Reference::new();
        for op in set.ops(workload) {
            assert!(reference.apply(op).is_ok(), "{}: {op}", set.name(workload));
        }
    }
}

#[test]
fn few_ops_of_two_fail() {
    let set = bounds("ace-seq2").set().unwrap();
    let fails = |workload: &usize| {
        let mut reference = Reference::new();
        set.ops(*workload).any(|op| reference.apply(op).is_err())
    };
    let sample = (0..set.len()).step_by(97);
    let failing = sample.clone().filter(fails).count();
    assert!(failing * 10 < sample.count(), "{failing}");
}
