//! Points in time, and the four that a file has. The reference has none, so they are kept beside it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time, as `timespec` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Since 1970, rounded down.
    pub seconds: i64,
    /// Beyond that.
    pub nanos: u32,
}

impl Time {
    /// By the clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }

    /// The time that the kernel meant by what `fuser` makes of it: for times before 1970, `fuser` takes the nanoseconds
    /// off where they are to be added.
    pub fn received(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => {
                Self { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
            }
            Err(before) => {
                let before = before.duration();
                let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
                Self { seconds, nanos: before.subsec_nanos() }
            }
        }
    }

    /// As the system's type; times that it cannot hold are its epoch.
    pub fn system(self) -> SystemTime {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let whole = if self.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
        let exact = whole.and_then(|whole| whole.checked_add(Duration::from_nanos(self.nanos.into())));
        exact.unwrap_or(UNIX_EPOCH)
    }
}

/// When a node was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Last read, as `relatime` counts it, of the reads that get here: under FUSE the kernel counts none itself, and
    /// does not tell of those that its page cache answers.
    pub accessed: Time,
    /// Contents last changed.
    pub modified: Time,
    /// Anything last changed.
    pub changed: Time,
    /// Made.
    pub created: Time,
}

impl Times {
    /// Of something that was made just now.
    pub fn new(now: Time) -> Self {
        Self { accessed: now, modified: now, changed: now, created: now }
    }

    /// Whether a read is worth recording: it is the first since the last change, or the first in a day.
    pub fn is_access_due(&self, now: Time) -> bool {
        const DAY: i64 = 24 * 60 * 60;
        let unseen = self.accessed <= self.modified || self.accessed <= self.changed;
        unseen || now.seconds.saturating_sub(self.accessed.seconds) >= DAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_keep_their_nanoseconds() {
        let half_before = Time { seconds: -1, nanos: 500_000_000 };
        assert_eq!(half_before.system(), UNIX_EPOCH - Duration::from_millis(500));
        assert_eq!(Time::received(UNIX_EPOCH - Duration::new(1, 500_000_000)), half_before);
        let later = Time { seconds: 3, nanos: 7 };
        assert_eq!(Time::received(later.system()), later);
    }
}
