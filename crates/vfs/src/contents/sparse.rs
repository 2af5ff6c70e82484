//! Contents as blocks, for files that are large, have holes or are changed after a snapshot.
//!
//! Invariant: what lies behind the end of the file is zero, in the last block and in blocks held beyond it.

use std::{
    ops::Range,
    sync::{Arc, LazyLock, OnceLock},
};

use crate::radix::Radix;

/// Bytes of a block: a page, which is what a kernel reads and writes.
pub const BLOCK_SIZE: u64 = 4096;
const BLOCK_BYTES: usize = 4096;

type Block = [u8; BLOCK_BYTES];

/// What a block is that was allocated and not written. All share it, so they take no memory either.
static ZEROS: LazyLock<Arc<Block>> = LazyLock::new(|| Arc::new([0; BLOCK_BYTES]));

#[derive(Clone, Default)]
pub(super) struct Sparse {
    size: u64,
    blocks: Radix<Arc<Block>>,
    flat: OnceLock<Arc<[u8]>>,
}

/// The number of the block at an offset.
fn number(offset: u64) -> u32 {
    u32::try_from(offset / BLOCK_SIZE).expect("files are limited to 2^32 blocks")
}

fn offset(number: u32) -> u64 {
    u64::from(number) * BLOCK_SIZE
}

/// The blocks that a range touches.
fn touched(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / BLOCK_SIZE..range.end.div_ceil(BLOCK_SIZE) }
}

/// The part of a range that lies in one block, as indices of the block.
fn part(range: &Range<u64>, block: u32) -> Range<usize> {
    let within = |at: u64| usize::try_from(at.saturating_sub(offset(block)).min(BLOCK_SIZE)).unwrap_or(BLOCK_BYTES);
    within(range.start)..within(range.end)
}

/// The blocks of a range in order, each with its part of the range.
fn parts(range: Range<u64>) -> impl Iterator<Item = (u32, Range<usize>)> {
    touched(&range).map(|block| number(block * BLOCK_SIZE)).map(move |block| (block, part(&range, block)))
}

impl Sparse {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    pub(super) fn blocks_missing(&self, range: Range<u64>) -> u64 {
        let touched = touched(&range);
        let present = self.held_in(&touched).count() as u64;
        touched.end - touched.start - present
    }

    /// The blocks that are held within a range of blocks.
    fn held_in(&self, range: &Range<u64>) -> impl Iterator<Item = u32> {
        let end = range.end;
        let next = move |from: u64| {
            let (block, _) = self.blocks.next_from(u32::try_from(from).ok()?)?;
            (u64::from(block) < end).then_some(block)
        };
        std::iter::successors(next(range.start), move |block| next(u64::from(*block) + 1))
    }

    pub(super) fn read(&self, range: Range<u64>, bytes: &mut Vec<u8>) {
        for (block, part) in parts(range) {
            match self.blocks.get(block) {
                Some(block) => bytes.extend_from_slice(&block[part]),
                None => bytes.resize(bytes.len() + part.len(), 0),
            }
        }
    }

    pub(super) fn next_data(&self, from: u64) -> Option<u64> {
        let (block, _) = self.blocks.next_from(u32::try_from(from / BLOCK_SIZE).ok()?)?;
        let data = from.max(offset(block));
        (data < self.size).then_some(data)
    }

    pub(super) fn next_hole(&self, from: u64) -> u64 {
        let mut block = from / BLOCK_SIZE;
        while block * BLOCK_SIZE < self.size && self.blocks.get(number(block * BLOCK_SIZE)).is_some() {
            block += 1;
        }
        from.max(block * BLOCK_SIZE).min(self.size)
    }

    /// A block to be written to. Contents change, so what was made flat is stale.
    fn block_mut(&mut self, block: u32) -> &mut Block {
        self.flat.take();
        if self.blocks.get(block).is_none() {
            self.blocks.insert(block, Arc::clone(&ZEROS));
        }
        Arc::make_mut(self.blocks.get_mut(block).expect("the block was just inserted"))
    }

    pub(super) fn write(&mut self, offset: u64, mut bytes: &[u8]) {
        for (block, part) in parts(offset..offset + bytes.len() as u64) {
            let (now, later) = bytes.split_at(part.len());
            if let Ok(whole) = Block::try_from(now) {
                self.flat.take();
                self.blocks.insert(block, Arc::new(whole));
            } else {
                self.block_mut(block)[part].copy_from_slice(now);
            }
            bytes = later;
        }
    }

    pub(super) fn fill(&mut self, range: Range<u64>, fill: u8) {
        for (block, part) in parts(range) {
            self.block_mut(block)[part].fill(fill);
        }
    }

    pub(super) fn resize(&mut self, size: u64) {
        self.flat.take();
        if size < self.size {
            self.punch(size..size.next_multiple_of(BLOCK_SIZE));
            self.release(size.div_ceil(BLOCK_SIZE)..u64::MAX);
        }
        self.size = size;
    }

    /// Makes a range a hole: blocks that lie in it whole are let go, the others keep zeros.
    pub(super) fn punch(&mut self, range: Range<u64>) {
        self.flat.take();
        let whole = range.start.div_ceil(BLOCK_SIZE)..range.end / BLOCK_SIZE;
        for edge in [range.start / BLOCK_SIZE, range.end / BLOCK_SIZE] {
            let Ok(block) = u32::try_from(edge) else { continue };
            let part = part(&range, block);
            if !whole.contains(&edge) && !part.is_empty() && self.blocks.get(block).is_some() {
                self.block_mut(block)[part].fill(0);
            }
        }
        self.release(whole);
    }

    fn release(&mut self, blocks: Range<u64>) {
        let held: Vec<u32> = self.held_in(&blocks).collect();
        for block in held {
            self.blocks.remove(block);
        }
    }

    /// Holds blocks for a range, so that a write to it needs no more of them.
    pub(super) fn hold(&mut self, range: Range<u64>) {
        for (block, _) in parts(range) {
            if self.blocks.get(block).is_none() {
                self.blocks.insert(block, Arc::clone(&ZEROS));
            }
        }
    }

    /// Without a range of whole blocks.
    pub(super) fn collapsed(&self, range: Range<u64>) -> Self {
        let (start, end) = (number(range.start), number(range.end));
        let moved = |block: u32| if block < end { block } else { block - (end - start) };
        let kept = self.blocks.iter().filter(|(block, _)| !(start..end).contains(block));
        Self::with(self.size - (range.end - range.start), kept.map(|(block, bytes)| (moved(block), bytes)))
    }

    /// With a hole of whole blocks in between.
    pub(super) fn inserted(&self, range: Range<u64>) -> Self {
        let (start, end) = (number(range.start), number(range.end));
        let moved = |block: u32| if block < start { block } else { block + (end - start) };
        Self::with(
            self.size + (range.end - range.start),
            self.blocks.iter().map(|(block, bytes)| (moved(block), bytes)),
        )
    }

    fn with<'a>(size: u64, blocks: impl Iterator<Item = (u32, &'a Arc<Block>)>) -> Self {
        let mut sparse = Self { size, ..Self::default() };
        blocks.for_each(|(block, bytes)| drop(sparse.blocks.insert(block, Arc::clone(bytes))));
        sparse
    }

    pub(super) fn flat(&self) -> &[u8] {
        self.flat.get_or_init(|| {
            let mut bytes = Vec::new();
            self.read(0..self.size, &mut bytes);
            Arc::from(bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::BLOCK_SIZE;
    use crate::{Contents, Fallocate};

    const SIZE_MAX: u64 = 10 * BLOCK_SIZE;

    /// Offsets on, before and behind the edges of blocks, and anywhere.
    fn offset(random: &mut fastrand::Rng) -> u64 {
        match random.u8(0..3) {
            0 => BLOCK_SIZE * random.u64(0..10),
            1 => (BLOCK_SIZE * random.u64(0..10) + random.u64(0..3)).saturating_sub(1),
            _ => random.u64(0..SIZE_MAX),
        }
    }

    fn change(random: &mut fastrand::Rng, files: &mut [Contents; 2]) {
        let (mut start, mut end) = (offset(random), offset(random));
        if start > end {
            (start, end) = (end, start);
        }
        end += u64::from(start == end);
        let size = files[0].size();
        let aligned = start - start % BLOCK_SIZE..end.next_multiple_of(BLOCK_SIZE);
        let fill = random.u8(1..);
        let how = match random.u8(0..12) {
            0..3 => return files.each_mut().into_iter().for_each(|file| file.fill(start..end, fill)),
            3..6 => {
                let bytes: Vec<u8> = (start..end).map(|at| fill ^ at.to_le_bytes()[0]).collect();
                return files.each_mut().into_iter().for_each(|file| file.write(start, &bytes));
            }
            6 => return files.each_mut().into_iter().for_each(|file| file.resize(start)),
            7 => Fallocate::Allocate,
            8 => Fallocate::KeepSize,
            9 => Fallocate::PunchHole,
            10 => *random.choice(&[Fallocate::ZeroRange, Fallocate::ZeroRangeKeepSize]).unwrap(),
            _ if random.bool() && aligned.end < size => Fallocate::CollapseRange,
            _ if aligned.start < size && size < SIZE_MAX => Fallocate::InsertRange,
            _ => return,
        };
        let range = if matches!(how, Fallocate::CollapseRange | Fallocate::InsertRange) { aligned } else { start..end };
        files.each_mut().into_iter().for_each(|file| file.allocate(how, range.clone()));
    }

    #[test]
    fn both_forms_read_the_same_and_holes_are_zeros() {
        for seed in 0..40 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut files = [Contents::from(Vec::new()), Contents::sparse()];
            let mut before = files[1].clone();
            let mut bytes_before = before.to_vec();
            for _ in 0..60 {
                change(&mut random, &mut files);
                let [flat, sparse] = &files;
                assert_eq!(flat.size(), sparse.size());
                assert_eq!(flat, sparse);
                let (from, len) = (offset(&mut random), offset(&mut random));
                let [mut left, mut right] = [vec![7], vec![7]];
                flat.read(from, len, &mut left);
                sparse.read(from, len, &mut right);
                assert_eq!(left, right);
                assert_holes_are_zeros(sparse);
                assert_eq!(before[..], bytes_before[..], "a clone does not change");
                if random.bool() {
                    before = files[1].clone();
                    bytes_before = before.to_vec();
                }
            }
        }
    }

    fn assert_holes_are_zeros(sparse: &Contents) {
        let mut at = 0;
        while at < sparse.size() {
            let data = sparse.next_data(at).unwrap_or(sparse.size());
            let hole: Vec<u8> = sparse[usize::try_from(at).unwrap()..usize::try_from(data).unwrap()].to_vec();
            assert!(hole.iter().all(|byte| *byte == 0));
            at = sparse.next_hole(data);
            assert!(at > data || data == sparse.size());
        }
    }

    #[test]
    fn blocks_are_those_that_were_written_or_allocated() {
        let mut file = Contents::sparse();
        file.resize(1 << 40);
        assert_eq!((file.blocks(), file.next_data(0), file.next_hole(0)), (0, None, 0));
        assert_eq!(file.blocks_missing(4095..8193), 3);
        file.write(8192, &[1]);
        assert_eq!((file.blocks(), file.next_data(0), file.next_hole(8192)), (1, Some(8192), 12288));
        assert_eq!(file.blocks_missing(4095..8193), 2);
        file.allocate(Fallocate::KeepSize, (1 << 40)..(1 << 40) + 8192);
        assert_eq!((file.blocks(), file.size()), (3, 1 << 40));
        file.allocate(Fallocate::PunchHole, 0..12288);
        assert_eq!(file.blocks(), 2);
        file.resize(0);
        assert_eq!(file.blocks(), 0);
    }
}
