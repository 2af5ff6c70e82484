//! Where workers share their waiting states.
//!
//! A worker keeps its states to itself as long as everybody is busy. When another one has run dry it gives half of
//! its own away. The search is over when all workers wait for work.

use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::frontier::Waiting;

/// Work that was given away, and who waits for it.
pub(crate) struct Pool<S> {
    shared: Mutex<Shared<S>>,
    changed: Condvar,
    workers: usize,
    /// How many workers wait; read without the lock on every expansion.
    hungry: AtomicUsize,
    stopped: AtomicBool,
}

struct Shared<S> {
    batches: Vec<Vec<Waiting<S>>>,
    waiting: usize,
    finished: bool,
}

impl<S> Pool<S> {
    pub fn new(workers: usize) -> Self {
        Self {
            shared: Mutex::new(Shared { batches: Vec::new(), waiting: 0, finished: false }),
            changed: Condvar::new(),
            workers,
            hungry: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Work for a worker that has none; waits for it. `None`: the search is over.
    pub fn take(&self) -> Option<Vec<Waiting<S>>> {
        let mut shared = self.lock();
        shared.waiting += 1;
        self.hungry.store(shared.waiting, Ordering::Relaxed);
        loop {
            if self.stopped() || shared.finished {
                return None;
            }
            if let Some(batch) = shared.batches.pop() {
                shared.waiting -= 1;
                self.hungry.store(shared.waiting, Ordering::Relaxed);
                return Some(batch);
            }
            if shared.waiting == self.workers {
                shared.finished = true;
                self.changed.notify_all();
                return None;
            }
            shared = self.changed.wait(shared).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    pub fn give(&self, batch: Vec<Waiting<S>>) {
        self.lock().batches.push(batch);
        self.changed.notify_one();
    }

    /// Ends the search for all workers.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _shared = self.lock();
        self.changed.notify_all();
    }

    #[inline]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// What nobody took, for a checkpoint.
    pub fn into_rest(self) -> Vec<Waiting<S>> {
        let shared = self.shared.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.batches.into_iter().flatten().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared<S>> {
        // A panic in a system is caught before it can poison this lock.
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
