//! Help for the memory under a table: where a shard's slots lie, known without its lock, so that the processor can
//! fetch a slot before it is asked for; and huge pages, since a table is read at random.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

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
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "prefetching has no safe form in the standard library")]
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let at = hash as usize & self.mask.load(Ordering::Relaxed);
            let slot = self.slots.load(Ordering::Relaxed).wrapping_add(at);
            // SAFETY: a prefetch is a hint that never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(slot.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = hash;
    }
}

/// A table below this size would gain nothing.
const HUGE_MIN: usize = 4 << 20;
/// No page is larger that this advice could give.
const HUGE_PAGE: usize = 2 << 20;

/// An empty table of `len` zeros, on huge pages if it is large and the kernel has them to give.
pub(super) fn zeroed<T: Copy + Default>(len: usize) -> Vec<T> {
    let slots = vec![T::default(); len];
    #[cfg(target_os = "linux")]
    if size_of_val(slots.as_slice()) >= HUGE_MIN {
        let address = slots.as_ptr() as usize;
        let start = address.next_multiple_of(HUGE_PAGE);
        let end = (address + size_of_val(slots.as_slice())) / HUGE_PAGE * HUGE_PAGE;
        #[expect(unsafe_code, reason = "a system call")]
        // SAFETY: the range lies within memory that we own, and the advice changes nothing that can be read. A kernel
        // that refuses it leaves us with small pages, which is no error.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
    }
    slots
}
