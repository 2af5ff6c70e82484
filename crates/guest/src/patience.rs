//! How long a guest may make no request before it counts as hanging.
//!
//! What a kernel computes between two requests is bounded, and how long that takes on a busy machine is not; so what
//! counts is the processor time of the guest's processes. A guest that does not even compute waits for something, on
//! virtual time for ever; it is given much longer, since a machine may keep it from its core.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use explore::Stop;

/// A guest that has computed for so long without a request spins. A whole boot takes well under a second of it, and a
/// kernel with debugging aids makes about one op a second, with its mount, its unmount and its look for lost memory.
const COMPUTING_MAX: Duration = Duration::from_secs(15);
/// A guest that has computed for less than [`SOME`] in this time waits for what never comes.
const WAITING_MAX: Duration = Duration::from_mins(1);
/// More than a kernel with clocks of its own spends on them in [`WAITING_MAX`] when it has nothing else to do.
const SOME: Duration = Duration::from_secs(1);
/// A guest that is silent is looked at so often.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// In such units the kernel of the host counts the time of processes, whatever its own clock.
const TICK: Duration = Duration::from_millis(10);

/// The silence of a guest since its last request.
#[derive(Debug)]
pub(crate) struct Silence {
    /// What it had computed when it was looked at first.
    computed_before: Duration,
    /// When it was last seen to have computed something, and how much it had by then.
    busy: (Instant, Duration),
}

impl Silence {
    /// It begins, of a guest that has computed for so long in all.
    pub fn begin(now: Instant, computed: Duration) -> Self {
        Self { computed_before: computed, busy: (now, computed) }
    }

    /// Whether the guest hangs, which has computed for so long by now.
    pub fn is_a_hang(&mut self, now: Instant, computed: Duration) -> bool {
        if computed.saturating_sub(self.busy.1) >= SOME {
            self.busy = (now, computed);
        }
        computed.saturating_sub(self.computed_before) >= COMPUTING_MAX || now.duration_since(self.busy.0) >= WAITING_MAX
    }
}

/// Who may ask to give up waiting, of all guests of a pool.
#[derive(Clone, Debug, Default)]
pub struct Heeded(Arc<Mutex<Stop>>);

impl Heeded {
    /// From now on it is this one.
    pub fn heed(&self, stop: &Stop) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
    }

    /// Whether somebody asked.
    pub fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_stopped()
    }
}

/// How long a process and those that it has started have computed. Those that have ended do not count.
pub(crate) fn computed_below(process: u32) -> Duration {
    let of_process = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        computed_by(&stat).unwrap_or_default()
    };
    let mut all = vec![process];
    let mut computed = Duration::ZERO;
    while let Some(process) = all.pop() {
        computed += of_process(process);
        all.extend(children(process));
    }
    computed
}

/// What a process has started and is still there.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// The processor time in a line of `/proc/PID/stat`: the fields 14 and 15, of which the second may have spaces.
fn computed_by(stat: &str) -> Option<Duration> {
    let (_, behind_the_name) = stat.rsplit_once(')')?;
    let mut fields = behind_the_name.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(TICK * user.saturating_add(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many seconds a guest hangs that computes for so many hundredths of each.
    fn hangs_after(hundredths: u64) -> Option<u64> {
        let start = Instant::now();
        let before = Duration::from_secs(1000);
        let mut silence = Silence::begin(start, before);
        (1..10_000).find(|second| {
            let computed = before + Duration::from_millis(10 * hundredths * second);
            silence.is_a_hang(start + Duration::from_secs(*second), computed)
        })
    }

    #[test]
    fn a_guest_that_spins_hangs_soon_one_that_waits_later_and_one_that_is_kept_waiting_only_when_it_has_computed() {
        let cases = [(100, 15), (200, 8), (50, 30), (10, 150), (5, 300), (1, 60), (0, 60)];
        for (hundredths, seconds) in cases {
            assert_eq!(hangs_after(hundredths), Some(seconds), "{hundredths}");
        }
    }

    #[test]
    fn the_time_of_a_process_is_read_behind_its_name() {
        let stat = "17475 (li) nux x) R 17474 17475 8308 0 -1 4194368 1 0 0 0 3600 50 0 0 20 0 1 0 474488";
        assert_eq!(computed_by(stat), Some(Duration::from_millis(36_500)));
        assert_eq!(computed_by("17475 (linux) R"), None);
        assert_eq!(computed_by(""), None);
        assert!(children(std::process::id()).len() < 100 && computed_below(0) == Duration::ZERO);
    }
}
