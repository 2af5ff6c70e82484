//! What this library carries for its guests, as `build.rs` made it.

/// Static; init, supervisor and launcher in one, see `posix`'s `guest-init`.
pub(crate) const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest-init"));
/// The shared library that stands between the kernel and the C library.
pub(crate) const PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.so"));
/// The shared library that fixes time and randomness for programs of the host.
pub(crate) const FIXED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fixed.so"));
