//! Images against a plain vector of bytes, in all sizes from one block to several levels of the tree.

use std::collections::HashSet;

use disk::{Block, BlockSize, Geometry, Image, IoError};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn geometry(block_bytes: u32, blocks: u32) -> Geometry {
    Geometry { block_size: BlockSize::new(block_bytes).unwrap(), blocks }
}

/// One block, one chunk, just more than one chunk, a few levels; blocks of all kinds of sizes.
fn geometries() -> [Geometry; 7] {
    [(4, 16), (8, 1), (512, 8), (512, 9), (4096, 1), (4096, 300), (1024, 3000)]
        .map(|(size, blocks)| geometry(size, blocks))
}

#[test]
fn reads_give_what_was_written_in_every_clone() {
    for (seed, geometry) in (0..).zip(geometries()) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let size = geometry.block_size.bytes();
        let mut versions = vec![(Image::zeroed(geometry), vec![0; geometry.bytes()])];
        for _ in 0..20 {
            let parent = rng.next_u32() as usize % versions.len();
            let (mut image, mut bytes) = versions[parent].clone();
            let block = rng.next_u32() % geometry.blocks;
            let count = 1 + rng.next_u32() % (geometry.blocks - block).min(5);
            let mut data = vec![0; count as usize * size];
            if rng.next_u32() % 4 > 0 {
                rng.fill_bytes(&mut data);
            }
            image.write(Block(block), &data).unwrap();
            bytes[block as usize * size..][..data.len()].copy_from_slice(&data);
            versions.push((image, bytes));
        }
        for (image, bytes) in &versions {
            let mut read = vec![1; bytes.len()];
            image.read(Block(0), &mut read).unwrap();
            assert!(read == *bytes, "{geometry:?}");
            let mut from_nothing = Image::zeroed(geometry);
            from_nothing.write(Block(0), bytes).unwrap();
            assert_eq!(from_nothing.hash(), image.hash(), "{geometry:?}");
            for (other, other_bytes) in &versions {
                assert_eq!(image == other, bytes == other_bytes);
                assert_eq!(image.hash() == other.hash(), bytes == other_bytes);
            }
        }
    }
}

#[test]
fn equal_contents_are_equal_however_they_came_about() {
    for geometry in geometries() {
        let size = geometry.block_size.bytes();
        let last = Block(geometry.blocks - 1);
        let zeroed = Image::zeroed(geometry);
        let mut image = zeroed.clone();
        image.write(last, &vec![1; size]).unwrap();
        assert_ne!(image, zeroed);
        image.write(last, &vec![0; size]).unwrap();
        assert_eq!(image, zeroed);
        assert_eq!(image.hash(), zeroed.hash());
    }
}

/// The weakness of seeded hashes of short inputs: content `a` in block `i` must not look like `b` in block `j`.
#[test]
fn contents_cannot_trade_blocks_unnoticed() {
    for size in [4, 8, 16] {
        let geometry = geometry(size, 16);
        let ends = (0..=255_u8).flat_map(|low| [0, 1, low ^ 3, 255].map(|high| (low, high)));
        let contents: HashSet<(u8, u8)> = ends.filter(|ends| *ends != (0, 0)).collect();
        let mut hashes = HashSet::new();
        for (block, (low, high)) in (0..16).flat_map(|block| contents.iter().map(move |content| (block, *content))) {
            let mut content = vec![0; size as usize];
            (content[0], *content.last_mut().unwrap()) = (low, high);
            let mut image = Image::zeroed(geometry);
            image.write(Block(block), &content).unwrap();
            hashes.insert(image.hash());
        }
        assert_eq!(hashes.len(), 16 * contents.len());
    }
}

/// A change of these numbers makes stored fingerprints worthless: it needs a new version of every stored format.
#[test]
fn the_hash_is_stable_across_builds() {
    let mut image = Image::zeroed(geometry(4, 16));
    let empty = image.hash();
    image.write(Block(3), b"abcd").unwrap();
    assert_eq!(
        [empty, image.hash()],
        [297_840_114_404_920_910_103_193_443_018_007_241_279, 203_153_543_439_944_143_913_700_545_440_797_389_605]
    );
}

#[test]
fn bad_requests_are_refused_and_change_nothing() {
    let mut image = Image::zeroed(geometry(4, 16));
    let before = image.clone();
    assert_eq!(image.write(Block(15), &[1; 8]), Err(IoError::OutOfRange { block: Block(15), blocks: 16 }));
    assert_eq!(image.write(Block(0), &[1; 5]), Err(IoError::NotWholeBlocks { bytes: 5 }));
    assert_eq!(image.read(Block(16), &mut [0; 4]), Err(IoError::OutOfRange { block: Block(16), blocks: 16 }));
    assert_eq!(image, before);
}
