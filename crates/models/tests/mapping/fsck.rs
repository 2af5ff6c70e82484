//! The offline check on images made by hand, and on garbage.
//!
//! The images have the geometry of the study: link has its inodes in blocks 0-1, its table in 2-4, its data from 5 on;
//! index its inodes in 0-3, its bitmap in 4, its data from 5 on.

use check::{Finding, Target};
use disk::{Block, Disk, Image};
use explore::Severity;
use fastrand::Rng;
use models::mapping::{DEAD_BLOCK, DOUBLE_POINTER, FileMapping, Index, LOST_BLOCK, Layout, Link, Writes};

use crate::{driver, searching::variant};

const STUDY: (u8, u8) = (4, 11);
const FREE: u8 = 0xfe;
const END: u8 = 0xff;
const NONE: u8 = 0xff;

fn model<L: Layout>(size: (u8, u8)) -> FileMapping<L> {
    FileMapping::new(variant(Writes::Ordered, 1, size))
}

/// A fresh file system with some blocks overwritten.
fn image<L: Layout>(blocks: &[(u32, [u8; 4])]) -> Image {
    let mut image = model::<L>(STUDY).mkfs();
    blocks.iter().for_each(|(block, data)| image.write(Block(*block), data).expect("it is on the disk"));
    image
}

/// What the check finds, and the disk that it leaves.
fn fsck<L: Layout>(size: (u8, u8), image: Image) -> (Vec<Finding>, Disk) {
    let mut disk = Disk::new(image);
    let findings = model::<L>(size).fsck(&mut disk).expect("nothing is wrong with the disk itself");
    (findings, disk)
}

/// The properties that the check finds violated, without repetitions. Reading what it left must not panic.
fn found<L: Layout>(blocks: &[(u32, [u8; 4])]) -> Vec<&'static str> {
    let (findings, mut disk) = fsck::<L>(STUDY, image::<L>(blocks));
    let target = model::<L>(STUDY);
    let mounted = target.mount(&mut disk).expect("these models always mount");
    target.observe(&mounted, &disk).expect("these models can always be read");
    let mut names: Vec<_> = findings.iter().map(|finding| finding.property.name).collect();
    names.dedup();
    names
}

/// A name, the blocks that are overwritten, and what is found.
type Case = (&'static str, &'static [(u32, [u8; 4])], &'static [&'static str]);

const DEAD: &str = DEAD_BLOCK.name;
const LOST: &str = LOST_BLOCK.name;
const DOUBLE: &str = DOUBLE_POINTER.name;

#[test]
fn link_images() {
    let cases: [Case; 12] = [
        ("fresh", &[], &[]),
        ("an empty file", &[(0, [0, 0, 0, NONE]), (2, [END, FREE, FREE, FREE])], &[]),
        ("a chain of two", &[(0, [2, 0, 0, NONE]), (2, [1, END, FREE, FREE])], &[]),
        ("allocated, unused", &[(2, [END, FREE, FREE, FREE])], &[DEAD]),
        ("longer than its length", &[(0, [1, 0, 0, NONE]), (2, [1, END, FREE, FREE])], &[DEAD]),
        ("first block free", &[(0, [0, 0, 0, NONE])], &[LOST]),
        ("second block free", &[(0, [2, 0, 0, NONE]), (2, [1, FREE, FREE, FREE])], &[LOST]),
        ("shorter than its length", &[(0, [3, 0, 0, NONE]), (2, [1, END, FREE, FREE])], &[LOST]),
        ("a first block that is none", &[(0, [1, 0x20, 0, NONE])], &[LOST]),
        ("the same, of an empty file", &[(0, [0, 0x20, 0, NONE])], &[LOST]),
        ("two files, one block", &[(0, [1, 0, 1, 0]), (2, [END, FREE, FREE, FREE])], &[DOUBLE]),
        ("a circle", &[(0, [4, 0, 0, NONE]), (2, [1, 0, FREE, FREE])], &[DOUBLE]),
    ];
    for (name, blocks, expected) in cases {
        assert_eq!(found::<Link>(blocks), expected, "{name}");
    }
}

#[test]
fn a_circle_that_is_longer_than_the_disk_is_cut() {
    let blocks = [(0, [200, 0, 0, NONE]), (2, [1, 0, FREE, FREE])];
    assert_eq!(found::<Link>(&blocks), [DOUBLE, LOST]);
}

#[test]
fn index_images() {
    let cases: [Case; 13] = [
        ("fresh", &[], &[]),
        ("an empty file", &[(0, [0, NONE, NONE, NONE])], &[]),
        ("two blocks", &[(0, [2, 0, 1, NONE]), (4, [0b11, 0, 0, 0])], &[]),
        ("an indirect one", &[(0, [3, 0, 1, 2]), (4, [0b1111, 0, 0, 0]), (7, [3, NONE, NONE, NONE])], &[]),
        ("allocated, unused", &[(4, [0, 0b100, 0, 0])], &[DEAD]),
        ("free", &[(0, [1, 0, NONE, NONE])], &[LOST]),
        ("a pointer that is none", &[(0, [1, 0x20, NONE, NONE])], &[LOST]),
        ("no indirect block", &[(0, [3, 0, 1, NONE]), (4, [0b11, 0, 0, 0])], &[LOST]),
        ("free indirect block", &[(0, [3, 0, 1, 2]), (4, [0b1011, 0, 0, 0]), (7, [3, NONE, NONE, NONE])], &[LOST]),
        ("an entry that is none", &[(0, [3, 0, 1, 2]), (4, [0b111, 0, 0, 0]), (7, [NONE; 4])], &[LOST]),
        ("twice in one file", &[(0, [2, 0, 0, NONE]), (4, [1, 0, 0, 0])], &[DOUBLE]),
        ("two files", &[(0, [1, 0, NONE, NONE]), (3, [1, 0, NONE, NONE]), (4, [1, 0, 0, 0])], &[DOUBLE]),
        (
            "its own indirect block as data",
            &[(0, [3, 0, 1, 2]), (4, [0b111, 0, 0, 0]), (7, [2, NONE, NONE, NONE])],
            &[DOUBLE],
        ),
    ];
    for (name, blocks, expected) in cases {
        assert_eq!(found::<Index>(blocks), expected, "{name}");
    }
}

/// All that such an inode can point to is in order; what its length claims beyond that is nowhere.
#[test]
fn an_index_file_longer_than_any_can_be_has_lost_blocks() {
    let blocks = [(0, [10, 0, 1, 2]), (4, [0xff, 0, 0, 0]), (7, [3, 4, 5, 6])];
    assert_eq!(found::<Index>(&blocks), [LOST, DEAD]);
}

#[test]
fn repair_frees_dead_blocks_and_nothing_else() {
    let before = image::<Link>(&[(0, [1, 3, 0, NONE]), (2, [END, FREE, FREE, 1]), (3, [FREE, 0, FREE, FREE])]);
    let (findings, disk) = fsck::<Link>(STUDY, before.clone());
    assert!(findings.iter().all(|finding| finding.detail.ends_with("; repaired")), "{findings:?}");
    assert_eq!(findings.len(), 2, "block 0 and block 5: {findings:?}");
    assert_eq!(disk.image().block(Block(2)), [FREE, FREE, FREE, END], "the chain ends with the file");
    assert_eq!(disk.image().block(Block(3)), [FREE; 4]);
    assert_eq!(disk.image().block(Block(0)), before.block(Block(0)));
    assert!(disk.log().pending().is_empty(), "repairs are flushed");
}

#[test]
fn what_is_critical_is_left_as_it_is() {
    // A lost block and a dead one.
    let before = image::<Index>(&[(0, [1, 0, NONE, NONE]), (4, [0b10, 0, 0, 0])]);
    let (findings, disk) = fsck::<Index>(STUDY, before.clone());
    assert_eq!(findings.len(), 2);
    assert!(findings.iter().all(|finding| !finding.detail.contains("repaired")));
    assert_eq!(disk.image().hash(), before.hash());
}

/// The largest geometry has a table with more entries than there are bits in a set of blocks.
#[test]
fn dead_blocks_of_the_largest_geometry_are_freed() {
    let mut image = model::<Link>((8, 16)).mkfs();
    image.write(Block(4), &[END, FREE, FREE, FREE]).unwrap();
    image.write(Block(7), &[FREE, FREE, FREE, END]).unwrap();
    let (findings, disk) = fsck::<Link>((8, 16), image);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(disk.image().hash(), model::<Link>((8, 16)).mkfs().hash());
}

/// What a block of garbage is made of: mostly small numbers and marks, since only these look like pointers.
fn garbage(random: &mut Rng, blocks: u8) -> [u8; 4] {
    std::array::from_fn(|_| match random.u8(..8) {
        0 => random.u8(..),
        1 | 2 => FREE,
        3 | 4 => NONE,
        5 => random.u8(..3),
        _ => random.u8(..=blocks),
    })
}

/// How many of these images had something to repair, and nothing critical.
fn survives_garbage<L: Layout>(size: (u8, u8), images: u64) -> usize {
    let target = model::<L>(size);
    let fresh = target.mkfs();
    let mut repaired = 0;
    for seed in 0..images {
        let mut random = Rng::with_seed(seed);
        let mut image = fresh.clone();
        let wrong = random.u8(1..=6);
        for _ in 0..wrong {
            let block = Block(random.u32(..image.geometry().blocks));
            image.write(block, &garbage(&mut random, size.1)).unwrap();
        }
        let (findings, mut disk) = fsck::<L>(size, image);
        let critical = findings.iter().any(|finding| finding.property.severity == Severity::Critical);
        let repaired_all = findings.iter().all(|finding| finding.detail.ends_with("; repaired"));
        assert_eq!(repaired_all, !critical || findings.is_empty(), "seed {seed}: {findings:?}");
        if !critical {
            let (again, after) = fsck::<L>(size, disk.image().clone());
            assert_eq!(again, [], "seed {seed}: the first check found {findings:?}");
            assert_eq!(after.image().hash(), disk.image().hash(), "seed {seed}");
            repaired += usize::from(!findings.is_empty());
        }
        use_damaged(&target, &mut disk, size.0);
    }
    repaired
}

/// Whatever the check has left, no op may panic on it.
fn use_damaged<L: Layout>(target: &FileMapping<L>, disk: &mut Disk, files: u8) {
    let mut mounted = target.mount(disk).expect("these models always mount");
    for file in 0..files {
        for op in ["write(\"/fN\", at=end, len=4, fill=70)", "unlink(\"/fN\")", "create(\"/fN\", mode=0644)"] {
            let op = op.replace('N', &file.to_string()).parse().expect("an op");
            let _any_outcome = driver::run(target, &mut mounted, disk, op);
        }
    }
    target.observe(&mounted, disk).expect("these models can always be read");
    target.invariants(&mounted, disk);
}

#[test]
fn garbage_never_panics_and_repairs_are_complete() {
    for (size, images) in [((1, 1), 500), ((2, 3), 2000), (STUDY, 2000), ((8, 16), 1000)] {
        let repaired = [survives_garbage::<Link>(size, images), survives_garbage::<Index>(size, images)];
        // A test whose images are all beyond repair would say nothing about repair.
        assert!(repaired.iter().all(|count| *count > 50), "{size:?}: {repaired:?}");
    }
}
