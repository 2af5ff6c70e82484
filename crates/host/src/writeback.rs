//! When the running kernel writes to a disk by itself, whoever asks for it or not.
//!
//! It writes back what has waited for long, half a minute by default, and it goes by the device as a whole: once that
//! long has passed since anything was first written to a device, all of it is written, what was written a moment ago
//! included, and whatever has been unmounted and mounted since. In the middle of an op, that makes other requests of
//! it, in another order. So a worker, which has one device all its life, is used for a part of that time only, and then
//! another one takes its place.

use std::{sync::OnceLock, time::Duration};

/// Hundredths of a second.
const SETTING: &str = "/proc/sys/vm/dirty_expire_centisecs";
/// Unless it is set to something else.
const USUAL: Duration = Duration::from_secs(30);

/// So long after a device was first written to, the kernel may write by itself.
pub(crate) fn begins_after() -> Duration {
    static SET: OnceLock<Duration> = OnceLock::new();
    *SET.get_or_init(|| std::fs::read_to_string(SETTING).ok().and_then(|text| setting(&text)).unwrap_or(USUAL))
}

fn setting(text: &str) -> Option<Duration> {
    Some(Duration::from_millis(text.trim().parse::<u64>().ok()? * 10))
}

/// Whether something may still be mounted on a device of this age.
pub(crate) fn leaves_time_to_mount(age: Duration) -> bool {
    age < begins_after() / 3
}

/// Whether what is mounted on a device of this age may still be gone on with.
pub(crate) fn leaves_time_to_go_on(age: Duration) -> bool {
    age < begins_after() / 3 * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_in_hundredths_of_a_second() {
        assert_eq!(setting("3000\n"), Some(USUAL));
        assert_eq!(setting("no number"), None);
    }

    /// Whoever begins late has time left to end.
    #[test]
    fn a_device_is_left_alone_well_before_the_kernel_writes_to_it() {
        let most = begins_after();
        for (age, mount, go_on) in [(most / 4, true, true), (most / 2, false, true), (most / 6 * 5, false, false)] {
            assert_eq!((leaves_time_to_mount(age), leaves_time_to_go_on(age)), (mount, go_on), "{age:?}");
        }
    }
}
