//! How often a search that goes on is saved, so that little is lost when it is killed.
//!
//! Workers stand still for it, each between two states, so that what is saved is a moment that the search was in.

use std::time::{Duration, Instant};

/// How often a search that goes on is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Whenever so much time has passed, or more where saving would take more than a small part of it.
    Time(Duration),
    /// Whenever the search has come to so many more states.
    States(u64),
}

/// Between two times the workers work at least so many times as long as they stood still for the first: saving takes
/// some 3 % of the time at most, however large the search is and however slow the disk.
const WORK_PER_STAND: u32 = 30;

/// Says when it is time to save.
pub(crate) struct Timer {
    interval: Option<Duration>,
    next: Option<Instant>,
}

impl Timer {
    pub fn new(pace: Option<Pace>) -> Self {
        let interval = match pace {
            Some(Pace::Time(interval)) => Some(interval),
            Some(Pace::States(_)) | None => None,
        };
        let mut timer = Self { interval, next: None };
        timer.begin(Duration::ZERO);
        timer
    }

    /// Whether it is time; said once.
    pub fn is_due(&mut self) -> bool {
        self.next.take_if(|next| *next <= Instant::now()).is_some()
    }

    /// Begins anew after the search was saved, for which each worker stood still so long on average.
    pub fn begin(&mut self, stood: Duration) {
        let next = |interval: Duration| Instant::now().checked_add(interval.max(stood.saturating_mul(WORK_PER_STAND)));
        self.next = self.interval.and_then(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slow_to_save_is_saved_less_often() {
        let begun = Instant::now();
        let mut timer = Timer::new(Some(Pace::Time(Duration::from_mins(1))));
        for (stood, wait) in [(0, 60), (1, 60), (10, 300)] {
            timer.begin(Duration::from_secs(stood));
            let next = timer.next.expect("goes by time") - begun;
            assert!(next >= Duration::from_secs(wait) && next < Duration::from_secs(wait + 60), "{stood}: {next:?}");
            assert!(!timer.is_due());
        }
        for pace in [None, Some(Pace::States(1))] {
            assert!(!Timer::new(pace).is_due(), "{pace:?}");
        }
    }

    #[test]
    fn it_is_time_once() {
        let mut timer = Timer::new(Some(Pace::Time(Duration::ZERO)));
        assert!(timer.is_due() && !timer.is_due());
        timer.begin(Duration::ZERO);
        assert!(timer.is_due());
    }
}
