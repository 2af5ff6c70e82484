//! The reference as a file system that any program can use, with snapshots.
//!
//! [`Mount`] serves a [`vfs::Reference`] through FUSE, at the inode level of the same reference that checks compare
//! against. What is in memory only is gone when it is unmounted. [`Client`] saves and restores whole states, for
//! checkers that need to go back; `include/shakedown_reffs.h` has the same for C.

mod attr;
mod client;
mod ioctl;
mod kernel;
mod live;
mod mount;
mod names;
mod pickle;
mod server;
mod sizes;
mod snapshots;
mod state;
mod times;
mod watcher;

pub use client::Client;
pub use mount::{Ender, Mount, MountError, Options};
