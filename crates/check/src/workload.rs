//! Which ops a search proposes, as far as the user decides it.

use std::sync::Arc;

use disk::Faults;
use vfs::{
    Errno, Op,
    generate::{ObjectBounds, OpSet},
};

use crate::{
    checker::Checker,
    options::CheckOptions,
    target::{Finding, Target},
};

/// What the user asks of a workload. What is left open is the target's to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Only these kinds of ops.
    pub ops: Option<OpSet>,
    /// At most so many names of files.
    pub files_max: Option<usize>,
    /// At most so many directories besides the root.
    pub dirs_max: Option<usize>,
    /// Exactly these ops, one after the other, instead of every op that is possible. After a power cut the rest
    /// follows.
    pub script: Option<Arc<[Op]>>,
}

impl Workload {
    /// Whether the user asks for anything.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The bounds that a target proposes, as the user wants them. Ops that the target does not have stay out.
    #[must_use]
    pub fn within(&self, bounds: &ObjectBounds) -> ObjectBounds {
        ObjectBounds {
            ops: self.ops.map_or(bounds.ops, |ops| ops.intersection(bounds.ops)),
            files_max: self.files_max.unwrap_or(bounds.files_max),
            dirs_max: self.dirs_max.unwrap_or(bounds.dirs_max),
            ..bounds.clone()
        }
    }
}

/// The first op of a script that a target does not have: it says `EOPNOTSUPP` where the reference does not. The ops
/// before it are done, since what an op comes to may depend on them; where they go wrong, the search will tell.
pub(crate) fn lacking<T: Target>(target: &T, script: &[Op]) -> Option<Op> {
    let undisturbed = Faults::new();
    let mut state = Checker::new(target, CheckOptions::default()).start().ok()?;
    for op in script {
        let task = state.begin(op.clone(), 0);
        let outcome = loop {
            if let Some(outcome) = state.step(target, task, &undisturbed) {
                break outcome;
            }
        };
        let done = state.tasks.remove(task);
        if outcome == Err(Errno::EOPNOTSUPP) && state.reference.clone().apply(op) != outcome {
            return Some(op.clone());
        }
        if state.finish(target, &done, &outcome, &undisturbed, None).iter().any(Finding::is_critical) {
            return None;
        }
    }
    None
}
