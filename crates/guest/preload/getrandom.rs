//! What the guest kernel, which is a program like any other, gets when it asks the C library for randomness: a fixed
//! sequence. Everything random in a guest stems from it.

#![no_std]
#![expect(unsafe_code, reason = "it takes the place of a C function")]

use core::sync::atomic::{AtomicU64, Ordering};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static STATE: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);

/// The next byte of a xorshift generator.
fn next() -> u8 {
    let mut state = STATE.load(Ordering::Relaxed);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    STATE.store(state, Ordering::Relaxed);
    state.to_le_bytes()[4]
}

/// Stands before `getrandom(2)` of the C library.
///
/// # Safety
/// As there: the buffer has that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, len: usize, _flags: u32) -> isize {
    for place in 0..len {
        // SAFETY: the caller's buffer has that length.
        unsafe { buffer.add(place).write(next()) };
    }
    len.cast_signed()
}
