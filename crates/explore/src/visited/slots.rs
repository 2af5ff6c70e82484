//! The memory under a table: zeroed, on huge pages where it is large, and known to the processor before it is asked
//! for. A table is read at random, so that what it costs is mostly waiting for memory.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

use memmap2::MmapMut;

/// What is empty when it is all zeros. A promise about its bytes: for plain and atomic numbers only.
pub(crate) trait Blank {}

impl Blank for u64 {}
impl Blank for AtomicU64 {}

/// Tables from this size on are aligned to a huge page and ask for such pages.
const HUGE_PAGE: usize = 2 << 20;

/// A fixed number of slots, empty (all zero) at first.
pub(super) struct Slots<T> {
    start: NonNull<T>,
    len: usize,
    memory: Memory,
}

/// What the slots lie in.
enum Memory {
    /// No slots.
    None,
    /// Many small tables share the pages of the allocator.
    Heap(Layout),
    /// A mapping of its own, for the allocator may hand out pages that were touched before they could become huge.
    Mapping(#[expect(dead_code, reason = "held for what its drop does")] MmapMut),
}

#[expect(unsafe_code, reason = "the standard library has no aligned vector")]
// SAFETY: slots are owned, as those of a vector are.
unsafe impl<T: Send> Send for Slots<T> {}

#[expect(unsafe_code, reason = "the standard library has no aligned vector")]
// SAFETY: a shared reference to slots gives shared references to their content, no more.
unsafe impl<T: Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    pub const fn none() -> Self {
        Self { start: NonNull::dangling(), len: 0, memory: Memory::None }
    }
}

impl<T: Blank> Slots<T> {
    /// `len` empty slots.
    pub fn new(len: usize) -> Self {
        let layout = Layout::array::<T>(len).expect("a table fits into memory");
        match layout.size() {
            0 => Self::none(),
            1..HUGE_PAGE => Self::on_heap(layout, len),
            _ => Self::mapped(layout, len),
        }
    }

    fn on_heap(layout: Layout, len: usize) -> Self {
        #[expect(unsafe_code, reason = "atomic numbers have no zeroed vector")]
        // SAFETY: the layout is not empty, and all zeros is a valid `Blank`.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start: start.cast(), len, memory: Memory::Heap(layout) }
    }

    /// A mapping is all zeros. It is larger than needed by what aligning it may skip, which is never touched.
    fn mapped(layout: Layout, len: usize) -> Self {
        let Ok(mut mapping) = MmapMut::map_anon(layout.size() + HUGE_PAGE) else { handle_alloc_error(layout) };
        // A kernel that has no huge pages refuses, which costs time only.
        #[cfg(target_os = "linux")]
        let _ = mapping.advise(memmap2::Advice::HugePage);
        let skipped = mapping.as_ptr().align_offset(HUGE_PAGE);
        let start = NonNull::from(&mut mapping[skipped..]).cast();
        Self { start, len, memory: Memory::Mapping(mapping) }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if let Memory::Heap(layout) = self.memory {
            #[expect(unsafe_code, reason = "atomic numbers have no zeroed vector")]
            // SAFETY: allocated with this layout.
            unsafe {
                dealloc(self.start.as_ptr().cast(), layout);
            }
        }
    }
}

impl<T> Deref for Slots<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        #[expect(unsafe_code, reason = "the standard library has no aligned vector")]
        // SAFETY: `len` slots from `start` on are allocated and were zeroed.
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr(), self.len)
        }
    }
}

impl<T> DerefMut for Slots<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        #[expect(unsafe_code, reason = "the standard library has no aligned vector")]
        // SAFETY: as above, and borrowed exclusively.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len)
        }
    }
}

impl<T> Slots<T> {
    /// Fetches the slot of this hash. There is at least one.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.start.as_ptr(), self.len - 1, hash);
    }
}

/// Tells the processor that slot `hash & mask` of the table at `start` will be read.
#[inline]
fn prefetch<T>(start: *const T, mask: usize, hash: u64) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "prefetching has no safe form in the standard library")]
    #[expect(clippy::cast_possible_truncation, reason = "masked")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let slot = start.wrapping_add(hash as usize & mask);
        // SAFETY: a prefetch is a hint that never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slot.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, mask, hash);
}

/// The place of a table of `T`. May be out of date, which costs no more than a useless fetch.
pub(super) struct Prefetch<T> {
    slots: AtomicPtr<T>,
    mask: AtomicUsize,
}

impl<T> Prefetch<T> {
    pub fn nowhere() -> Self {
        Self { slots: AtomicPtr::new(std::ptr::null_mut()), mask: AtomicUsize::new(0) }
    }

    /// The table has moved. Its length is a power of two.
    pub fn moved(&self, slots: &mut [T]) {
        self.slots.store(slots.as_mut_ptr(), Ordering::Relaxed);
        self.mask.store(slots.len() - 1, Ordering::Relaxed);
    }

    /// Fetches the slot of this hash.
    #[inline]
    pub fn slot(&self, hash: u64) {
        prefetch(self.slots.load(Ordering::Relaxed), self.mask.load(Ordering::Relaxed), hash);
    }
}
