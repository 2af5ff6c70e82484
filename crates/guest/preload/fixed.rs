//! What programs of the host that make and check file systems get when they ask the C library for the time or for
//! randomness: always the same. So what they write follows from their arguments and from the image.

#![no_std]
#![expect(unsafe_code, reason = "it takes the place of C functions")]

use core::sync::atomic::{AtomicU64, Ordering};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The moment at which guests mount, too.
const NOW: i64 = 1_000_000_000;

static STATE: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);

/// The next number of a xorshift generator.
fn next() -> u64 {
    let mut state = STATE.load(Ordering::Relaxed);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    STATE.store(state, Ordering::Relaxed);
    state
}

/// # Safety
/// The buffer has that length.
unsafe fn fill(buffer: *mut u8, len: usize) {
    for place in 0..len {
        // SAFETY: the caller's buffer has that length.
        unsafe { buffer.add(place).write(next().to_le_bytes()[4]) };
    }
}

/// Stands before `getrandom(2)` of the C library.
///
/// # Safety
/// As there: the buffer has that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, len: usize, _flags: u32) -> isize {
    // SAFETY: the caller's buffer has that length.
    unsafe { fill(buffer, len) };
    len.cast_signed()
}

/// Stands before `uuid_generate(3)`.
///
/// # Safety
/// As there: the buffer has 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uuid_generate(buffer: *mut u8) {
    // SAFETY: the caller's buffer has room for an identity.
    unsafe { fill(buffer, 16) };
}

/// Stands before `uuid_generate_random(3)`.
///
/// # Safety
/// As there: the buffer has 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uuid_generate_random(buffer: *mut u8) {
    // SAFETY: the caller's buffer has room for an identity.
    unsafe { fill(buffer, 16) };
}

/// Stands before `uuid_generate_time(3)`.
///
/// # Safety
/// As there: the buffer has 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uuid_generate_time(buffer: *mut u8) {
    // SAFETY: the caller's buffer has room for an identity.
    unsafe { fill(buffer, 16) };
}

/// Stands before `random(3)`, which programs seed with the time and with their process number.
#[unsafe(no_mangle)]
pub extern "C" fn random() -> i64 {
    (next() >> 33).cast_signed()
}

/// Stands before `rand(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn rand() -> i32 {
    i32::from_le_bytes((next() >> 33).to_le_bytes()[..4].try_into().unwrap_or_default())
}

/// Stands before `lrand48(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn lrand48() -> i64 {
    random()
}

/// Stands before `time(2)`.
///
/// # Safety
/// As there: nothing, or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut i64) -> i64 {
    if !to.is_null() {
        // SAFETY: the caller wants it there.
        unsafe { to.write(NOW) };
    }
    NOW
}

/// Stands before `gettimeofday(2)`.
///
/// # Safety
/// As there: nothing, or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(to: *mut [i64; 2], _zone: *mut u8) -> i32 {
    if !to.is_null() {
        // SAFETY: the caller wants it there.
        unsafe { to.write([NOW, 0]) };
    }
    0
}

/// Stands before `clock_gettime(2)`.
///
/// # Safety
/// As there: a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(_clock: i32, to: *mut [i64; 2]) -> i32 {
    if !to.is_null() {
        // SAFETY: the caller wants it there.
        unsafe { to.write([NOW, 0]) };
    }
    0
}

/// Stands before `blkid_probe_all(3)` of libblkid: there are no other disks. btrfs looks for its own on all of them,
/// which takes as long as the slowest, and would make what it does depend on them.
#[unsafe(no_mangle)]
pub extern "C" fn blkid_probe_all(_cache: *mut u8) -> i32 {
    0
}
