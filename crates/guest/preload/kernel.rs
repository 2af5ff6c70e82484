//! What the guest kernel, which is a program like any other, gets from the C library in place of what is there.
//!
//! - Randomness: a fixed sequence. Everything random in a guest stems from it.
//! - Registers: kernels before 6.13 keep the vector registers of their processes in a buffer that has no room for the
//!   tiles of processors with AMX. The host refuses to take back a part, and no process of a guest would ever start. So
//!   what the kernel gives is made whole here, with tiles that nobody uses.

#![no_std]
#![expect(unsafe_code, reason = "it takes the place of C functions")]

use core::{
    ffi::{c_char, c_int, c_long, c_uint, c_void},
    mem::transmute,
    ptr::{copy_nonoverlapping, null_mut},
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

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

/// `ptrace(2)` as the C library has it, with all that it may be given.
type Ptrace = unsafe extern "C" fn(c_uint, c_int, *mut c_void, *mut c_void) -> c_long;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// "The next one of that name", for [`dlsym`].
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;
const PTRACE_GETREGSET: c_uint = 0x4204;
const PTRACE_SETREGSET: c_uint = 0x4205;
const NT_X86_XSTATE: usize = 0x202;

/// A buffer and its length, as `ptrace(2)` takes registers.
#[repr(C)]
struct Buffer {
    start: *mut u8,
    len: usize,
}

/// More than any processor has: with AMX it is 11008 bytes.
const REGISTERS_MAX: usize = 1 << 14;
/// All registers. The kernel is one thread, so nobody else uses this at the same time.
static mut REGISTERS: [u8; REGISTERS_MAX] = [0; REGISTERS_MAX];
/// How many bytes of it the host has.
static LEN: AtomicUsize = AtomicUsize::new(0);

fn next_ptrace() -> Ptrace {
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut next = NEXT.load(Ordering::Relaxed);
    if next.is_null() {
        // SAFETY: the name ends with a zero.
        next = unsafe { dlsym(RTLD_NEXT, c"ptrace".as_ptr()) };
        NEXT.store(next, Ordering::Relaxed);
    }
    // SAFETY: the C library's function of this name, which reads as many of its arguments as the request has.
    unsafe { transmute::<*mut c_void, Ptrace>(next) }
}

/// Stands before `ptrace(2)` of the C library, and passes everything on; vector registers are made whole before.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(request: c_uint, pid: c_int, address: *mut c_void, data: *mut c_void) -> c_long {
    let next = next_ptrace();
    if address.addr() != NT_X86_XSTATE || !matches!(request, PTRACE_GETREGSET | PTRACE_SETREGSET) {
        // SAFETY: what the caller has promised.
        return unsafe { next(request, pid, address, data) };
    }
    // SAFETY: with these requests it is a buffer.
    let given = unsafe { &mut *data.cast::<Buffer>() };
    let start = (&raw mut REGISTERS).cast::<u8>();
    if LEN.load(Ordering::Relaxed) == 0 || request == PTRACE_GETREGSET {
        let mut whole = Buffer { start, len: REGISTERS_MAX };
        // SAFETY: the buffer has that length.
        let got = unsafe { next(PTRACE_GETREGSET, pid, address, (&raw mut whole).cast()) };
        if got != 0 {
            return got;
        }
        LEN.store(whole.len, Ordering::Relaxed);
    }
    let whole_len = LEN.load(Ordering::Relaxed);
    let len = given.len.min(whole_len);
    if request == PTRACE_GETREGSET {
        // SAFETY: both have at least that length.
        unsafe { copy_nonoverlapping(start, given.start, len) };
        given.len = len;
        return 0;
    }
    // SAFETY: both have at least that length.
    unsafe { copy_nonoverlapping(given.start, start, len) };
    let mut whole = Buffer { start, len: whole_len };
    // SAFETY: the buffer has that length.
    unsafe { next(request, pid, address, (&raw mut whole).cast()) }
}
