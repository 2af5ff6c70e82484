//! Ops as system calls, and the tree as system calls show it.
//!
//! [`Files`] does what an op says to the file system at the calling thread's root directory, and [`observe`] reads all
//! of it back. Neither knows where it runs: in a thread of this process that was [shut into](shut_in) a directory, as
//! the init of a guest kernel, or in a process of the host that has a mount of its own. A [`Stage`] is where the steps
//! of a batch are done, wherever that is.

mod caller;
mod files;
pub mod loop_device;
pub mod message;
mod observe;
mod paths;
pub mod process_name;
mod shut_in;
mod stage;
mod transfer;

pub use caller::Caller;
pub use files::Files;
pub use observe::{FILE_BYTES_MAX, FSCK_REC, Hidden, LOST_AND_FOUND, NILFS, Unseen, is_hidden, observe};
pub use shut_in::shut_in;
pub use stage::{Mounter, Stage, split_options};

/// What Linux reported, in the vocabulary's words. A number that no header of Linux names is an error of the kernel
/// like any other: no reference ever expects `EIO`, so it is not passed over.
pub(crate) fn errno(error: rustix::io::Errno) -> vfs::Errno {
    vfs::Errno::from_number(error.raw_os_error()).unwrap_or(vfs::Errno::EIO)
}
