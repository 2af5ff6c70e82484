//! A large disk in many states costs memory in proportion to what was written, not to the size of the disk.

#![expect(unsafe_code, reason = "a global allocator is the only way to count live bytes")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use disk::{Block, BlockSize, Geometry, Image};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system allocator with the arguments it came with; the count touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller promises what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const BLOCK_BYTES: usize = 4096;
const STATES: u32 = 10_000;

#[test]
fn ten_thousand_states_of_a_40_mb_disk_cost_what_was_written() {
    let geometry = Geometry { block_size: BlockSize::MAX, blocks: 40_000_000 / 4096 };
    let before = LIVE.load(Ordering::Relaxed);
    let mut full = Image::zeroed(geometry);
    for block in 0..geometry.blocks {
        full.write(Block(block), &[7; BLOCK_BYTES]).unwrap();
    }
    let disk = LIVE.load(Ordering::Relaxed) - before;
    assert!(disk < geometry.bytes() * 11 / 10, "{disk} bytes for a disk of {}", geometry.bytes());

    let mut states = Vec::with_capacity(STATES as usize + 1);
    states.push(full);
    let before = LIVE.load(Ordering::Relaxed);
    for state in 1..=STATES {
        // Parents near and far, blocks all over the disk.
        let parent = state.wrapping_mul(2_654_435_761) % state;
        let mut image = states[parent as usize].clone();
        let block = Block(state.wrapping_mul(40_503) % geometry.blocks);
        let mut data = [1; BLOCK_BYTES];
        data[..4].copy_from_slice(&state.to_le_bytes());
        image.write(block, &data).unwrap();
        states.push(image);
    }
    let cost = LIVE.load(Ordering::Relaxed) - before;
    let written = STATES as usize * BLOCK_BYTES;
    assert!(cost > written, "the states cannot be there for less than was written: {cost}");
    assert!(cost < written * 13 / 10, "{cost} bytes for {written} written");

    let before_rewrite = LIVE.load(Ordering::Relaxed);
    let mut unchanged = states[0].clone();
    unchanged.write(Block(9), &[7; BLOCK_BYTES]).unwrap();
    assert!(LIVE.load(Ordering::Relaxed) < before_rewrite + BLOCK_BYTES, "writing what is there breaks no sharing");

    drop(unchanged);
    drop(states);
    assert!(LIVE.load(Ordering::Relaxed) < before - disk + 16 * BLOCK_BYTES, "it is all given back");
}
