//! Small random logs that overlap a lot: few blocks, few values, every kind of entry, all cache sizes.

use disk::{Block, BlockSize, DiskLog, Entry, EntryKind, Geometry, Image, OpIndex};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Few enough blocks that writes overlap and products stay small.
pub const GEOMETRY: Geometry = Geometry { block_size: BlockSize::MIN, blocks: 4 };

fn below(rng: &mut Pcg64Mcg, end: u32) -> u32 {
    rng.next_u32() % end
}

fn entry(rng: &mut Pcg64Mcg, op: u32) -> Entry {
    let first = below(rng, GEOMETRY.blocks);
    let count = 1 + below(rng, (GEOMETRY.blocks - first).min(3));
    let block = Block(first);
    let kind = match below(rng, 12) {
        0 => EntryKind::Flush,
        1 => EntryKind::Discard { block, count },
        kind => {
            // Three values, zero among them: equal contents by different ways are the hard cases.
            let data = (0..count).flat_map(|_| [[0; 4], [1; 4], [2; 4]][below(rng, 3) as usize]).collect();
            if kind < 4 { EntryKind::Fua { block, data } } else { EntryKind::Write { block, data } }
        }
    };
    Entry { kind, op: Some(OpIndex(op)) }
}

/// The same logs each time.
pub fn generated_logs(count: u64) -> impl Iterator<Item = DiskLog> {
    (0..count).map(|seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut base = Image::zeroed(GEOMETRY);
        base.write(Block(1), &[1; 4]).unwrap();
        let cache = [None, None, None, Some(0), Some(1), Some(2), Some(3)][below(&mut rng, 7) as usize];
        let mut log = DiskLog::new(base, cache);
        for op in 0..3 + below(&mut rng, 6) {
            log.push(entry(&mut rng, op)).unwrap();
        }
        log
    })
}
