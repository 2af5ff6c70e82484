//! Where workers share their waiting states.
//!
//! A worker keeps its states to itself as long as everybody is busy. When another one has run dry it gives half of
//! its own away. The search is over when all workers wait for work. Workers can also be stopped between two states, and
//! go on later as if nothing had been.

use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::frontier::{Place, Waiting};

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

    /// Makes all workers leave, each when it has expanded its state: for good, or until they [go on](Self::go_on).
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _shared = self.lock();
        self.changed.notify_all();
    }

    #[inline]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Lets workers that have left come back. All of them must have left.
    pub fn go_on(&self) {
        let mut shared = self.lock();
        shared.waiting = 0;
        self.hungry.store(0, Ordering::Relaxed);
        self.stopped.store(false, Ordering::Relaxed);
    }

    /// Whether nothing is left to do.
    pub fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// What nobody took.
    pub fn places(&self) -> Vec<Place> {
        self.lock().batches.iter().flatten().map(Waiting::place).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared<S>> {
        // A panic in a system is caught before it can poison this lock.
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
