//! The clock by which a kernel notes when a file was changed, which goes on in ticks of some milliseconds.
//!
//! What is changed twice within a tick is the second time found unchanged by many file systems, and its inode is not
//! written. So that what is done fast leaves what is left when it is done slowly, each op has a tick of its own.

use std::time::Duration;

use rustix::{
    fs::Timespec,
    time::{ClockId, clock_gettime},
};

const PAUSE: Duration = Duration::from_micros(200);

/// When something was done last.
pub struct Tick(Timespec);

impl Tick {
    pub fn now() -> Self {
        Self(clock_gettime(ClockId::RealtimeCoarse))
    }

    /// Waits until it is over.
    pub fn wait(&self) {
        while clock_gettime(ClockId::RealtimeCoarse) == self.0 {
            std::thread::sleep(PAUSE);
        }
    }
}
