//! File-system libraries from crates.io as targets: written by other people, checked as they are.
//!
//! Each library mounts, works and recovers by its own code; only its block device is ours, so that everything it
//! writes is logged, can be cut off, and can fail. What each promises stands beside its source in its own file, and
//! so does what it does not offer; what was found stands in `docs/findings.md`.

mod by_path;
mod device;
mod ext4;
mod fat;
mod littlefs;
mod target;

pub use ext4::{Ext4Volume, ext4};
pub use fat::{FatVolume, fat};
pub use littlefs::{Erase, Flash, littlefs};
