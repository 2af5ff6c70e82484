//! Ops as system calls, and the tree as system calls show it.
//!
//! [`Files`] does what an op says to the file system at the calling thread's root directory, and [`observe`] reads all
//! of it back. Neither knows where it runs: in a thread of this process that was [shut into](shut_in) a directory, or
//! as the init of a guest kernel.

mod caller;
mod files;
pub mod message;
mod observe;
mod paths;
mod shut_in;
mod transfer;

pub use caller::Caller;
pub use files::Files;
pub use observe::{Hidden, LOST_AND_FOUND, observe};
pub use shut_in::shut_in;

/// What Linux reported, in the vocabulary's words. A number that no header of Linux names is an error of the kernel
/// like any other: no reference ever expects `EIO`, so it is not passed over.
pub(crate) fn errno(error: rustix::io::Errno) -> vfs::Errno {
    vfs::Errno::from_number(error.raw_os_error()).unwrap_or(vfs::Errno::EIO)
}
