//! Where a shard's slots lie, known without its lock, so that the processor can fetch a slot before it is asked for.

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
