//! The end of a search that cannot wait: one op may have thousands of crash states, each of them a recovery, and may be
//! done again for each request that can fail.

use std::sync::atomic::{AtomicBool, Ordering};

use explore::{Property, Stop};

use crate::{checker::Checker, target::Target};

/// Whether the search is told to end now, and whether anything was left undone because of it.
#[derive(Default)]
pub(crate) struct Haste {
    begun: AtomicBool,
    left_work: AtomicBool,
    /// What the user asks to stop by.
    stop: Stop,
}

impl Haste {
    /// From now on, what is not done yet is left.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// From now on, everything is done again.
    pub fn end(&self) {
        self.begun.store(false, Ordering::Relaxed);
    }

    /// Whether to leave what is not done yet. Whoever is told so leaves it.
    pub fn leave(&self) -> bool {
        let begun = self.begun.load(Ordering::Relaxed);
        if begun {
            self.left_work.store(true, Ordering::Relaxed);
        }
        begun
    }

    /// Whether anything was left.
    pub fn left_work(&self) -> bool {
        self.left_work.load(Ordering::Relaxed)
    }
}

impl<T: Target> Checker<'_, T> {
    /// The same in a search that the user ends by this.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.haste.stop = stop;
        self
    }

    /// From now on, what is not done yet is left. A time that is up can wait for what is nearly found; who asks to stop
    /// does not.
    pub(crate) fn hurry(&self) {
        self.haste.begin();
        if self.haste.stop.is_stopped() {
            self.target.heed(&self.haste.stop);
        }
    }

    /// From now on, everything is done in full again.
    pub(crate) fn take_time(&self) {
        self.haste.end();
        self.target.heed(&Stop::default());
    }

    /// Whether this says only that a wait was given up. What was waited for is found when that is done again.
    pub(crate) fn is_given_up(&self, property: Property) -> bool {
        let is_given_up = self.target.gave_up(property.name);
        if is_given_up {
            self.haste.leave();
        }
        is_given_up
    }
}
