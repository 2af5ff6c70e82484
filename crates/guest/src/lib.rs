//! A Linux kernel as a deterministic child process whose disk is ours.
//!
//! User-Mode Linux is the kernel built as an ordinary program: no root, no virtual machine, no module on the host. Here
//! it runs on virtual time and with fixed randomness, its disk is a [`disk::Disk`] that logs every request, and between
//! two batches of work it stands still in the middle of a read. So what it does follows from the bytes on the disk and
//! from the ops, and from nothing else: "state = disk bytes" is what makes replay and sharing exact.
//!
//! - [`Kernel`]: which kernel, and where the variables lie that are changed in it.
//! - [`Guest`]: one running kernel, to which batches of steps are given.
//! - [`FileSystem`], [`GuestTarget`]: any file system of the kernel as a [`check::Target`].
//! - [`fsck`], [`Console`], [`program`]: what file systems outside of guests are checked with, too.

pub mod build;
mod console;
mod cpio;
mod described;
mod embedded;
mod file_system;
mod folder;
pub mod fsck;
mod guest;
mod kernel;
mod kinds;
mod memory;
mod patience;
mod pool;
mod program;
mod runner;
pub mod scratch;
mod serve;
mod session;
mod stack;
mod start;
mod storage;
mod symbols;
mod target;
mod variables;
mod vhost;
mod watch;

pub use console::{Complaint, Console, complaint};
pub use described::{Described, Lacked};
pub use file_system::{FILE_BYTES_OF_ANY, FileSystem, FileSystemKind, ROOM_OF_ANY, Which, bounds_of_any};
pub use guest::{Guest, GuestError};
pub use kernel::{DEBUG, Kernel, KernelError, PLAIN};
pub use patience::Heeded;
pub use runner::{GIVEN_UP, UNAVAILABLE, seen};
pub use start::program;
pub use storage::{Again, Live, Looked, Storage};
pub use target::{GuestTarget, NotHere};
