//! File systems of the kernel that we run on, and those that run in user space, on a disk of ours.
//!
//! The disk is a file that this process serves through FUSE, under a loop device if the kernel is to mount it. What a
//! file system asks of it arrives here in order, and goes to the [`disk::Disk`] of the state under check, as with a
//! guest. Unlike a guest, a running kernel has a clock and random numbers of its own: what was done again leaves the
//! same requests, but not the same bytes. What does not even leave the same requests is reported.
//!
//! - [`Machine`]: one process that mounts such a disk, to which batches of steps are given.
//! - [`HostTarget`]: a file system on such disks as a [`check::Target`].
//! - [`KilledTarget`]: one without a disk that we could serve, which is killed instead.
//! - [`left_over`]: what was left behind by a run of which every process was killed.

mod fuse;
mod kernel_log;
mod killed;
pub mod left_over;
mod machine;
mod place;
mod pool;
mod runner;
mod session;
mod subject;
mod target;
mod writeback;

pub use killed::KilledTarget;
pub use machine::{HostError, Machine};
pub use runner::{NONDETERMINISTIC, UNAVAILABLE};
pub use subject::{MountedBy, Subject};
pub use target::HostTarget;
