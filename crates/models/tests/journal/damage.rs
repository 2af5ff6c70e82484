//! Whatever bytes are on the disk, check, mount and reading end without a panic, and the full check repairs what it
//! can read.

use check::Target;
use disk::{Block, Disk, Image};
use fastrand::Rng;
use models::journal::{FsckMode, Variant};

use crate::searching::{run, target};

const IMAGES: u64 = 6000;

/// A file system in use, with a committed transaction in its log: files with holes and links, a directory.
fn used() -> Image {
    let script = r#"
        mkdir("/a", mode=0755)
        create("/a/b", mode=0644)
        write("/a/b", offset=32, len=32, fill=7)
        link("/a/b", "/c")
        sync()
        create("/d", mode=0644)
        write("/d", offset=0, len=50, fill=9)
        sync()
    "#;
    let target = target(Variant::default());
    let mut disk = Disk::new(target.mkfs());
    let mut memory = target.mount(&mut disk).expect("a fresh file system mounts");
    run(&target, &mut memory, &mut disk, script);
    disk.image().clone()
}

/// The same without anything in the log, so that damage stays.
fn checkpointed() -> Image {
    let target = target(Variant::default());
    let mut disk = Disk::new(used());
    let mut memory = target.mount(&mut disk).expect("it mounts");
    target.unmount(&mut memory, &mut disk).expect("it can be unmounted");
    disk.image().clone()
}

/// Changes a few bytes, most of them to small numbers, which are the ones that mean something.
fn damaged(image: &Image, random: &mut Rng) -> Image {
    let mut image = image.clone();
    for _ in 0..=random.u8(..5) {
        let block = Block(random.u32(..image.geometry().blocks));
        let mut content = image.block(block).to_vec();
        let at = random.usize(..content.len());
        content[at] = if random.u8(..4) == 0 { random.u8(..) } else { random.u8(..48) };
        image.write(block, &content).expect("the block exists");
    }
    image
}

/// Recovers; whether there was a file system to read afterwards.
fn survives(fsck: FsckMode, image: &Image) -> bool {
    let target = target(Variant { fsck, ..Variant::default() });
    let mut disk = Disk::new(image.clone());
    if target.fsck(&mut disk).is_err() {
        return false;
    }
    let Ok(memory) = target.mount(&mut disk) else { return false };
    let findings = target.invariants(&memory, &disk);
    let tree = target.observe(&memory, &disk);
    if fsck == FsckMode::Full {
        assert_eq!(findings, [], "the full check leaves nothing");
        assert!(tree.is_ok(), "{tree:?}");
    }
    tree.is_ok()
}

#[test]
fn damage_leads_to_errors_or_repairs_and_never_to_a_panic() {
    let images = [used(), checkpointed()];
    let mut random = Rng::with_seed(1);
    let mut readable = [0, 0, 0];
    for number in 0..IMAGES {
        let image = damaged(&images[usize::from(number % 2 == 0)], &mut random);
        for (fsck, count) in [FsckMode::Off, FsckMode::Fast, FsckMode::Full].into_iter().zip(&mut readable) {
            *count += u64::from(survives(fsck, &image));
        }
    }
    let [off, fast, full] = readable;
    assert_eq!(off, fast, "they do the same");
    assert!(off > IMAGES / 4 && off < full && full < IMAGES, "{readable:?} of {IMAGES}");
}

#[test]
fn the_full_check_says_what_it_repaired() {
    let mut image = checkpointed();
    image.write(Block(1), &[0; 32]).expect("the block bitmap");
    let target = target(Variant { fsck: FsckMode::Full, ..Variant::default() });
    let mut disk = Disk::new(image);
    let findings = target.fsck(&mut disk).expect("the check ends");
    let says = |what: &str| findings.iter().any(|finding| finding.detail.starts_with(what));
    assert!(says("free-block-in-use") && findings.iter().all(|finding| finding.property.name == "repaired"));
    assert_eq!(target.fsck(&mut disk).expect("the check ends"), [], "nothing is left for a second one");
}
