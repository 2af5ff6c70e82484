//! Damaged disks: whatever is on them, a mount ends with an errno or with a file system that can be asked and used.

use std::sync::Arc;

use check::Target;
use disk::{Block, Disk, Image};
use fastrand::Rng;
use models::{
    cow::{BLOCK_BYTES, Commit, Cow, Memory, Variant},
    nodes::NodeTarget,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::driver;

fn run(target: &NodeTarget<Cow>, memory: &mut Arc<Memory>, disk: &mut Disk, ops: &[&str]) {
    for op in ops {
        let _any_outcome = driver::run(target, memory, disk, op.parse().expect("it is an op"));
    }
}

/// A disk with trees of two levels, and a log if the variant has one.
fn used(target: &NodeTarget<Cow>) -> Image {
    let mut disk = Disk::new(target.mkfs());
    let mut memory = target.mount(&mut disk).expect("it is fresh");
    let before = ["mkdir(\"/d\")", "create(\"/d/f\")", "write(\"/d/f\", offset=0, len=100, fill=3)", "sync()"];
    let logged =
        ["create(\"/g\")", "link(\"/g\", \"/d/h\")", "write(\"/g\", offset=0, len=9, fill=4)", "fsync(\"/g\")"];
    run(target, &mut memory, &mut disk, &[before, logged].concat());
    disk.image().clone()
}

/// Changes a few bytes and makes the checksums right again, so that what they protect is reached.
fn damaged(image: &Image, random: &mut Rng) -> Image {
    let mut image = image.clone();
    for _ in 0..=random.u8(..3) {
        let number = random.u32(..24);
        // The superblocks are blocks 0 and 1, and 2 and 3.
        let (first, count) = if number < 4 { (number / 2 * 2, 2) } else { (number, 1) };
        let place = Block(first);
        let mut bytes = vec![0; count * BLOCK_BYTES];
        image.read(place, &mut bytes).expect("it is on the disk");
        for _ in 0..=random.u8(..3) {
            let at = random.usize(4..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { bytes[at] ^ (1 << random.u8(..8)) };
        }
        if random.u8(..8) > 0 {
            let sum = xxh3_64_with_seed(&bytes[4..], u64::from(place.0)).to_le_bytes();
            bytes[..4].copy_from_slice(&sum[..4]);
        }
        image.write(place, &bytes).expect("it is on the disk");
    }
    image
}

const AFTERWARDS: [&str; 10] = [
    "create(\"/n\")",
    "write(\"/n\", offset=0, len=64, fill=5)",
    "write(\"/d/f\", offset=32, len=64, fill=6)",
    "truncate(\"/d/f\", size=1)",
    "rename(\"/n\", \"/d/f\")",
    "fsync(\"/d/f\")",
    "unlink(\"/g\")",
    "link(\"/d/h\", \"/k\")",
    "fsync(\"/d\")",
    "sync()",
];

#[test]
fn no_damage_makes_it_panic() {
    for (log, commit) in [(false, Commit::Barrier), (true, Commit::Barrier), (true, Commit::Verify)] {
        let target = NodeTarget::new(Cow::new(Variant::right(log, commit)));
        let image = used(&target);
        let (mut random, mut mounted, mut read, mut reported) = (Rng::with_seed(7), 0, 0, 0);
        for _ in 0..4000 {
            let mut disk = Disk::new(damaged(&image, &mut random));
            let Ok(mut memory) = target.mount(&mut disk) else { continue };
            mounted += 1;
            reported += usize::from(!target.invariants(&memory, &disk).is_empty());
            read += usize::from(target.observe(&memory, &disk).is_ok());
            run(&target, &mut memory, &mut disk, &AFTERWARDS);
            let _any_outcome = target.observe(&memory, &disk);
            let _any_findings = target.invariants(&memory, &disk);
        }
        // Otherwise the damage would be too little or too much to say anything.
        assert!(
            mounted > 400 && mounted < 4000 && read > 0 && read < mounted && reported > 0,
            "{mounted} {read} {reported}"
        );
    }
}
