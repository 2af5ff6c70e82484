//! What was done before the crash: the ops that returned, in order, and the tree after each.
//!
//! The trees come from the reference, whose node identities are never reused, so a node is the same file through
//! renames and links. The history also follows open slots, since a persistence call may name its file by one.

use std::{fmt, sync::Arc};

use serde::Serialize;

use super::{
    crash::Crash,
    pins::{self, Pin},
    resolve::resolve,
};
use crate::{File, NodeId, Op, OpenFile, OpenFiles, OpenFlags, Outcome, Tree};

/// The moment after that many ops; 0 is the start. The op that made it carries the same number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Moment(pub u32);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("the start"),
            op => write!(f, "op {op}"),
        }
    }
}

/// An op that returned, or would have.
#[derive(Clone, Debug)]
pub struct Event {
    /// What was asked.
    pub op: Op,
    /// What it returned. A failed op pins nothing.
    pub outcome: Outcome,
    /// The tree of the reference after it.
    pub after: Tree,
}

/// Whether a byte that was never written may read as zero where a file was extended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zeros {
    /// As on every file system with holes.
    #[default]
    Allowed,
    /// Every byte that is found must have been written, or have been zero in the reference.
    Forbidden,
}

/// An event with what the history knows about it.
#[derive(Debug)]
pub(super) struct Record {
    pub event: Event,
    /// The file or directory that the op works on, where that matters to a contract.
    pub subject: Option<NodeId>,
    /// What is pinned when it returns.
    pub pins: Vec<Pin>,
    slots: Arc<OpenFiles>,
    /// How people count it, from 1.
    pub number: u32,
}

impl Record {
    /// Whether it is a write: the one kind of op that may be present in part.
    pub fn is_write(&self) -> bool {
        matches!(self.event.op, Op::Write { .. })
    }
}

/// The ops before a crash. Cheap to clone.
///
/// ```
/// use vfs::{Op, Tree, contract::{Contract, Event, History}};
/// # fn example(base: Tree, op: Op, after: Tree, found: &Tree) -> Result<(), String> {
/// let mut history = History::new(base);
/// history.push(Event { op, outcome: Ok(vfs::Value::Done), after });
/// for breach in history.crash(1, &[]).judge(Contract::Fsynced, found) {
///     return Err(breach.to_string());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct History {
    base: Tree,
    /// How many ops there were, those that failed and those that were forgotten too.
    ops: u32,
    records: Arc<Vec<Arc<Record>>>,
    slots_at_base: Arc<OpenFiles>,
    synchronous: bool,
    zeros: Zeros,
}

impl History {
    /// Nothing has been done yet, and all of `base` is durable.
    pub fn new(base: Tree) -> Self {
        Self {
            base,
            ops: 0,
            records: Arc::default(),
            slots_at_base: Arc::default(),
            synchronous: false,
            zeros: Zeros::default(),
        }
    }

    /// On a synchronous mount each op pins everything when it returns.
    #[must_use]
    pub fn synchronous(self, synchronous: bool) -> Self {
        Self { synchronous, ..self }
    }

    /// So many ops came before the base, for the numbers that people see.
    #[must_use]
    pub fn after_ops(self, ops: u32) -> Self {
        Self { ops, ..self }
    }

    /// Whether bytes that were never written may be found as zeros.
    #[must_use]
    pub fn zeros(self, zeros: Zeros) -> Self {
        Self { zeros, ..self }
    }

    /// An op returned.
    pub fn push(&mut self, event: Event) {
        self.ops += 1;
        let record = self.record(event, self.slots(self.records.len()), self.ops);
        Arc::make_mut(&mut self.records).push(Arc::new(record));
    }

    /// An op failed. It has a number like all others, and nothing else to remember.
    pub fn pass_over(&mut self) {
        self.ops += 1;
    }

    /// Whether the return of an op may forbid a tree that was allowed while it was under way, alone: it pins something,
    /// or it wrote and may no longer be found in part.
    pub fn demands_more_after(&self, op: &Op) -> bool {
        self.synchronous || op.is_persistence() || matches!(op, Op::Write { .. } | Op::Crash)
    }

    /// How many ops have returned since the base.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing was done since the base.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The events since the base.
    pub fn events(&self) -> impl ExactSizeIterator<Item = &Event> {
        self.records.iter().map(|record| &record.event)
    }

    /// The last tree.
    pub fn tree(&self) -> &Tree {
        self.records.last().map_or(&self.base, |record| &record.event.after)
    }

    /// The tree before the first event.
    pub fn base(&self) -> &Tree {
        &self.base
    }

    /// Forgets the past: the last tree is the base, all of it durable. True after a sync that is trusted (the target
    /// promises at least `synced`) or a recovery. Open slots and the numbers of later ops stay as they are.
    pub fn collapse(&mut self) {
        self.forget(self.records.len());
    }

    /// Forgets the first `count` events: the tree after them is the base, all of it durable.
    pub fn forget(&mut self, count: usize) {
        let Some(last) = count.checked_sub(1).and_then(|last| self.records.get(last)) else { return };
        self.base = last.event.after.clone();
        self.slots_at_base = last.slots.clone();
        if count == self.records.len() {
            self.records = Arc::default();
        } else {
            Arc::make_mut(&mut self.records).drain(..count);
        }
    }

    /// The power was cut when the first `returned` ops had returned. `under_way` holds every order in which the ops
    /// that had started might have gone on: none if nothing was under way, one order of one event if one op was, two
    /// orders of two events if two threads were at work. In an order, each event's tree builds on the one before it.
    pub fn crash(&self, returned: usize, under_way: &[&[Event]]) -> Crash {
        let returned = returned.min(self.records.len());
        let past = &self.records[..returned];
        let slots = self.slots(returned);
        let order = |events: &[Event]| {
            let numbered = (self.ops + 1..).zip(events);
            let future = numbered.map(|(number, event)| Arc::new(self.record(event.clone(), slots, number)));
            past.iter().cloned().chain(future).collect()
        };
        let orders =
            if under_way.is_empty() { vec![past.to_vec()] } else { under_way.iter().map(|o| order(o)).collect() };
        Crash::new(&self.base, orders, returned, self.zeros)
    }

    fn slots(&self, returned: usize) -> &Arc<OpenFiles> {
        returned.checked_sub(1).map_or(&self.slots_at_base, |last| &self.records[last].slots)
    }

    fn record(&self, event: Event, slots: &Arc<OpenFiles>, number: u32) -> Record {
        let named = match &event.op {
            Op::Open { path, .. } => resolve(&event.after, path),
            Op::Write { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Fsync { file }
            | Op::Fdatasync { file }
            | Op::Msync { file, .. } => match file {
                File::Path(path) => resolve(&event.after, path),
                File::Fd(fd) => slots.get(fd).map(|slot| slot.node),
            },
            _ => None,
        };
        let subject = named.filter(|_| event.outcome.is_ok());
        let flags = match &event.op {
            Op::Write { file: File::Fd(fd), .. } | Op::Msync { file: File::Fd(fd), .. } => {
                slots.get(fd).map(|slot| slot.flags)
            }
            Op::Msync { file: File::Path(_), .. } => Some(OpenFlags::RDWR),
            _ => None,
        };
        let pins = pins::of(&event, subject, flags.unwrap_or(OpenFlags::RDONLY), self.synchronous);
        let slots = slots_after(slots, &event, subject);
        Record { event, subject, pins, slots, number }
    }
}

fn slots_after(slots: &Arc<OpenFiles>, event: &Event, subject: Option<NodeId>) -> Arc<OpenFiles> {
    let mut slots = slots.clone();
    match (&event.op, subject) {
        _ if event.outcome.is_err() => {}
        (Op::Open { flags, fd, .. }, Some(node)) => {
            Arc::make_mut(&mut slots).insert(*fd, OpenFile { node, flags: *flags });
        }
        (Op::Close { fd }, _) => {
            Arc::make_mut(&mut slots).remove(fd);
        }
        (Op::Remount | Op::Crash, _) => slots = Arc::default(),
        _ => {}
    }
    slots
}
