//! What was left behind by a run of which every process was killed at once: empty loop devices.
//!
//! Mounts, processes and files end with the processes of a run, or never lay anywhere; a device that was added for one
//! does not. Ours are known by their numbers, and one that is in use cannot be removed.

use posix::loop_device;

/// What became of a left-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// What it is.
    pub what: String,
    /// Why it could not be cleared away, if it could not: most often because it is in use.
    pub stays: Option<String>,
}

/// Clears away everything of ours that nobody uses any more.
pub fn clear() -> Vec<LeftOver> {
    let removed = |number: u32| LeftOver {
        what: loop_device::path(number),
        stays: loop_device::remove(number).err().map(|error| error.to_string()),
    };
    loop_device::ours().into_iter().map(removed).collect()
}
