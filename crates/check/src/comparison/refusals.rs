//! Ops that are refused, done one after the other instead of each from the state anew.
//!
//! Most ops that are drawn by weights are refused: the name is not there, or is there already. By the tree, such an op
//! leads back to the state that it was done in. So the next one that the reference expects to be refused is done where
//! the last one has led. A guest comes back to a state only by mounting and doing everything again: that is then
//! needed once for each op that leads on, and not for those that are refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, ThreadId},
};

use vfs::{Errno, Op, Reference};

use super::state::{Compared, Moment};

/// What the refused ops of the state that each worker expands have led to.
pub(super) struct Refusals {
    rows: Mutex<HashMap<ThreadId, Row>>,
    workers: usize,
}

struct Row {
    /// The state in which they were refused.
    of: Arc<Moment>,
    /// That state after all of them.
    end: Compared,
}

impl Refusals {
    /// Nothing yet, for so many workers.
    pub fn of(workers: usize) -> Self {
        Self { rows: Mutex::default(), workers }
    }

    /// The state, after all that was refused in it so far.
    pub fn end(&self, state: &Compared) -> Compared {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.get(&thread::current().id()).filter(|row| Arc::ptr_eq(&row.of, &state.now));
        row.map_or_else(|| state.clone(), |row| row.end.clone())
    }

    /// An op that was done at the end of the row was refused, too, and nothing has changed.
    pub fn add(&self, state: &Compared, end: Compared) {
        let row = Row { of: Arc::clone(&state.now), end };
        let (mut rows, worker) = (self.rows.lock().unwrap_or_else(PoisonError::into_inner), thread::current().id());
        // A search that was saved goes on with other threads. What those before them have left is of no use any more,
        // and to be without a row costs no more than a way back.
        if rows.len() >= self.workers && !rows.contains_key(&worker) {
            rows.clear();
        }
        rows.insert(worker, row);
    }
}

/// The ops in a state that the reference expects to be refused, then the others, which a search goes on from.
pub(super) fn refused_first(state: &Compared, ops: &mut [Op]) {
    let before = Reference::from_tree(&state.now.tree);
    ops.sort_by_cached_key(|op| !is_expected(&before, state, op));
}

/// Whether the reference expects an op to be refused.
pub(super) fn is_likely(state: &Compared, op: &Op) -> bool {
    is_expected(&Reference::from_tree(&state.now.tree), state, op)
}

/// What is made of a tree has no open files, so of ops on open files nothing is known.
fn is_expected(before: &Reference, state: &Compared, op: &Op) -> bool {
    match before.clone().apply(op) {
        Err(Errno::EBADF) => !state.has_open_files(),
        outcome => outcome.is_err(),
    }
}
