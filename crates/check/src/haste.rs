//! The end of a search that cannot wait: one op may have thousands of crash states, each of them a recovery.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the search is told to end now, and whether anything was left undone because of it.
#[derive(Default)]
pub(crate) struct Haste {
    begun: AtomicBool,
    left_work: AtomicBool,
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
