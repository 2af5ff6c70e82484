//! The memory under a table: zeroed, on huge pages where it is large, and known to the processor before it is asked
//! for. A table is read at random, so that what it costs is mostly waiting for memory.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

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
}

#[expect(unsafe_code, reason = "the standard library has no aligned vector")]
// SAFETY: slots are owned, as those of a vector are.
unsafe impl<T: Send> Send for Slots<T> {}

#[expect(unsafe_code, reason = "the standard library has no aligned vector")]
// SAFETY: a shared reference to slots gives shared references to their content, no more.
unsafe impl<T: Sync> Sync for Slots<T> {}

impl<T> Slots<T> {
    pub const fn none() -> Self {
        Self { start: NonNull::dangling(), len: 0 }
    }

    fn layout(len: usize) -> Layout {
        let layout = Layout::array::<T>(len).expect("a table fits into memory");
        let align = if layout.size() >= HUGE_PAGE { HUGE_PAGE } else { layout.align() };
        layout.align_to(align).expect("a table fits into memory")
    }
}

impl<T: Blank> Slots<T> {
    /// `len` empty slots.
    pub fn new(len: usize) -> Self {
        if len == 0 {
            return Self::none();
        }
        let layout = Self::layout(len);
        #[expect(unsafe_code, reason = "the standard library has no aligned vector")]
        // SAFETY: the layout is not empty, and all zeros is a valid `Blank`. The advice concerns memory that we own and
        // changes nothing that can be read; a kernel that has no huge pages refuses it, which is no error.
        unsafe {
            #[cfg(target_os = "linux")]
            if layout.align() == HUGE_PAGE {
                return Self::huge(layout, len);
            }
            let Some(start) = NonNull::new(alloc_zeroed(layout)) else { handle_alloc_error(layout) };
            Self { start: start.cast(), len }
        }
    }

    /// Asks for huge pages before the memory is touched for the first time.
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "a system call, and memory that is zeroed after it")]
    unsafe fn huge(layout: Layout, len: usize) -> Self {
        // SAFETY: the layout is not empty; the range is the one that was just allocated.
        unsafe {
            let Some(start) = NonNull::new(std::alloc::alloc(layout)) else { handle_alloc_error(layout) };
            libc::madvise(start.as_ptr().cast(), layout.size() / HUGE_PAGE * HUGE_PAGE, libc::MADV_HUGEPAGE);
            start.as_ptr().write_bytes(0, layout.size());
            Self { start: start.cast(), len }
        }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        if self.len > 0 {
            #[expect(unsafe_code, reason = "the standard library has no aligned vector")]
            // SAFETY: allocated with this layout.
            unsafe {
                dealloc(self.start.as_ptr().cast(), Self::layout(self.len));
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
