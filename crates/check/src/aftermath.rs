//! What failed requests leave behind, for as long as it decides a verdict.
//!
//! An op that makes several moves may fail long after the request that it failed for. And what it wrote before it took
//! it back may still be found after a power cut, even when later ops have returned: taking it back needs no flush.

use disk::{DiskLog, Faults, OpIndex};
use vfs::{Op, Tree};

use crate::target::Task;

/// Failed requests and ops that still matter.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Aftermath {
    /// Ops under way, with their requests that failed in earlier moves.
    disturbed: Vec<(OpIndex, Faults)>,
    /// Ops that failed for want of a request, while something that they wrote is pending.
    given_up: Vec<(OpIndex, Op)>,
    /// Whether a request failed since the mount, of a target that may shut itself down then.
    is_hurt: bool,
    /// Whether a persistence call has said since that it failed.
    was_told: bool,
    /// Whether the target has said, when a copy was unmounted, that something is not given back.
    leaks: bool,
    /// What a target that has given up showed when it did.
    shown: Option<Tree>,
    /// Whether what follows cannot be judged.
    is_over: bool,
}

impl Aftermath {
    pub fn is_empty(&self) -> bool {
        self.disturbed.is_empty() && self.given_up.is_empty() && !self.is_hurt && !self.was_told && self.shown.is_none()
    }

    /// Whether a request failed since the mount, and the target may have shut itself down.
    pub fn is_hurt(&self) -> bool {
        self.is_hurt
    }

    pub fn hurt(&mut self) {
        self.is_hurt = true;
    }

    /// Whether a persistence call has said that it failed, so that a later one promises nothing of what was before.
    pub fn was_told(&self) -> bool {
        self.was_told
    }

    pub fn tell(&mut self) {
        self.was_told = true;
    }

    /// Whether something is known not to be given back, so that an unmount tells nothing new.
    pub fn leaks(&self) -> bool {
        self.leaks
    }

    pub fn leak(&mut self) {
        self.leaks = true;
    }

    /// What a target that has given up showed when it did, if it could be read then. Nothing changes it any more.
    pub fn shown(&self) -> Option<&Tree> {
        self.shown.as_ref()
    }

    pub fn show(&mut self, tree: Tree) {
        self.shown = Some(tree);
    }

    /// What was mounted again shows what is on the disk.
    pub fn hide(&mut self) {
        self.shown = None;
    }

    /// Whether what follows cannot be judged, so that the search does not go on from here.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    pub fn end_here(&mut self) {
        self.is_over = true;
    }

    /// The ops that failed and may be found after a power cut all the same.
    pub fn given_up(&self) -> impl Iterator<Item = &Op> {
        self.given_up.iter().map(|(_, op)| op)
    }

    /// All requests of an op that failed, those of the present move included.
    pub fn faults_of(&self, op: OpIndex, now: &Faults) -> Faults {
        let earlier = self.disturbed.iter().filter(|(disturbed, _)| *disturbed == op).flat_map(|(_, faults)| faults);
        earlier.chain(now).copied().collect()
    }

    /// An op is still under way after a move in which these requests failed.
    pub fn disturb(&mut self, op: OpIndex, faults: &Faults) {
        if !faults.is_empty() {
            self.disturbed.push((op, faults.clone()));
        }
    }

    /// An op returned; `failed`: for want of a request.
    pub fn end(&mut self, done: &Task, failed: bool) {
        self.disturbed.retain(|(op, _)| *op != done.index);
        if failed {
            self.given_up.push((done.index, done.op.clone()));
        }
    }

    /// Forgets the ops of which nothing is pending any more.
    pub fn settle(&mut self, log: &DiskLog) {
        if !self.given_up.is_empty() {
            let pending = log.pending();
            self.given_up.retain(|(op, _)| pending.iter().any(|(_, entry)| entry.op == Some(*op)));
        }
    }

    /// Appends what decides verdicts, unless there is nothing.
    pub fn encode(&self, tasks: &[Task], bytes: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        bytes.push(u8::from(self.is_hurt) | u8::from(self.was_told) << 1 | u8::from(self.leaks) << 2);
        if let Some(shown) = &self.shown {
            bytes.extend_from_slice(&shown.fingerprint().to_le_bytes());
        }
        let is_disturbed = |task: &Task| self.disturbed.iter().any(|(op, _)| *op == task.index);
        bytes.extend(tasks.iter().map(|task| u8::from(is_disturbed(task))));
        for op in self.given_up() {
            bytes.extend_from_slice(op.to_string().as_bytes());
            bytes.push(0);
        }
    }
}
