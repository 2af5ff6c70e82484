//! Whatever is on the disk: the check ends, says what is wrong, and a mount after it fails or works, without a panic.

use check::Target;
use disk::{Block, Disk, Image};
use explore::Severity;
use fastrand::Rng;
use models::{
    f2fs::{DEAD_NID, DOUBLE_BLOCK, F2fs, LOST_BLOCK, Variant},
    nodes::NodeTarget,
};

use crate::driver;

const SCRIPT: [&str; 7] = [
    r#"mkdir("/d", mode=0755)"#,
    r#"create("/a", mode=0644)"#,
    r#"write("/a", offset=0, len=600, fill=1)"#,
    "sync()",
    r#"create("/d/b", mode=0644)"#,
    r#"write("/d/b", offset=0, len=40, fill=2)"#,
    r#"fsync("/d/b")"#,
];

/// A file system with a directory, a file that needs two direct nodes, and one that only roll-forward knows.
fn image(target: &NodeTarget<F2fs>) -> Image {
    let mut disk = Disk::new(target.mkfs());
    let mut memory = target.mount(&mut disk).expect("a fresh file system mounts");
    for op in SCRIPT {
        driver::run(target, &mut memory, &mut disk, op.parse().expect("it is an op")).expect("there is room");
    }
    disk.image().clone()
}

fn target() -> NodeTarget<F2fs> {
    NodeTarget::new(F2fs::new(Variant { segments: 16, ..Variant::small() }))
}

#[test]
fn damaged_images_are_survived() {
    let target = target();
    let sound = image(&target);
    let (blocks, bytes) = (sound.geometry().blocks, sound.geometry().block_size.bytes());
    let any_block = |random: &mut Rng| Block(random.u32(..blocks));
    let mut random = Rng::with_seed(1);
    let (mut mounted, mut found) = (0, 0);
    for _ in 0..6_000 {
        let mut damaged = sound.clone();
        for _ in 0..=random.u8(..3) {
            let block = any_block(&mut random);
            let mut content = damaged.block(block).to_vec();
            match random.u8(..3) {
                0 => content[random.usize(..bytes)] = random.u8(..),
                1 => content[random.usize(..bytes)] ^= 1 << random.u8(..8),
                _ => damaged.block(any_block(&mut random)).clone_into(&mut content),
            }
            damaged.write(block, &content).expect("it is on the disk");
        }
        let mut disk = Disk::new(damaged);
        let Ok(findings) = target.fsck(&mut disk) else { continue };
        found += usize::from(!findings.is_empty());
        let Ok(memory) = target.mount(&mut disk) else { continue };
        let _ = target.invariants(&memory, &disk);
        mounted += usize::from(target.observe(&memory, &disk).is_ok());
    }
    assert!(mounted > 3_000 && found > 500, "{mounted} could be read, {found} had findings");
}

/// Blocks of nothing but noise, behind a checkpoint that counts.
#[test]
fn noise_is_survived() {
    let target = target();
    let sound = image(&target);
    let mut random = Rng::with_seed(2);
    for _ in 0..1_500 {
        let mut damaged = sound.clone();
        for block in 8..sound.geometry().blocks {
            if random.bool() {
                let content: Vec<u8> = (0..sound.geometry().block_size.bytes())
                    .map(|_| if random.u8(..3) == 0 { random.u8(..) } else { random.u8(..16) })
                    .collect();
                damaged.write(Block(block), &content).expect("it is on the disk");
            }
        }
        let mut disk = Disk::new(damaged);
        if target.fsck(&mut disk).is_ok()
            && let Ok(memory) = target.mount(&mut disk)
        {
            let _ = target.observe(&memory, &disk);
        }
    }
}

/// What was repaired is in order: a second check finds nothing.
#[test]
fn a_repair_is_complete() {
    let target = target();
    let sound = image(&target);
    let mut random = Rng::with_seed(3);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..6_000 {
        let mut damaged = sound.clone();
        let block = Block(random.u32(..sound.geometry().blocks));
        let mut content = damaged.block(block).to_vec();
        let at = random.usize(..content.len());
        content[at] = content[at].wrapping_add(random.u8(1..=4));
        damaged.write(block, &content).expect("it is on the disk");
        let mut disk = Disk::new(damaged);
        let Ok(first) = target.fsck(&mut disk) else { continue };
        let rootless = |finding: &check::Finding| finding.detail == "there is no root";
        if first.iter().any(rootless) {
            continue;
        }
        seen.extend(first.iter().map(|finding| finding.property.name));
        let second = target.fsck(&mut disk).expect("it was checked before");
        assert!(second.is_empty(), "{block:?} byte {at}: {first:?}, then {second:?}");
    }
    for property in [DEAD_NID, DOUBLE_BLOCK, LOST_BLOCK] {
        assert!(seen.contains(property.name), "{} among {seen:?}", property.name);
    }
    assert_eq!(DEAD_NID.severity, Severity::NotCritical);
}
