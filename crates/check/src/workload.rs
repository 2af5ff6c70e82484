//! Which ops a search proposes, as far as the user decides it.

use std::sync::Arc;

use disk::Faults;
use vfs::{
    Errno, Op, Outcome, Path, Reference, Tree, WorkloadSet,
    generate::{ObjectBounds, OpSet},
    open::OpenFiles,
};

use crate::{
    checker::Checker,
    compare::Fullness,
    legal,
    options::CheckOptions,
    size::fits,
    target::{Finding, Target},
    weighted::Weighted,
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
    /// Exactly these ops, one after the other, instead of every op that is possible: one workload, or a set of them,
    /// of which what several begin with is done once. After a power cut the rest follows.
    pub script: Option<Arc<WorkloadSet>>,
    /// Ops drawn at random, instead of every op that is possible.
    pub weighted: Option<Weighted>,
}

impl Workload {
    /// Whether the user asks for anything.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// One workload without a name.
    ///
    /// # Panics
    /// It has more different ops than a set can hold, which is said before by whoever reads it.
    #[must_use]
    pub fn scripted(ops: &[Op]) -> Self {
        let set = WorkloadSet::of_one("", ops).unwrap_or_else(|error| panic!("could not {error}"));
        Self { script: Some(Arc::new(set)), ..Self::default() }
    }

    /// Whether names are short enough for a target and it has an op with these arguments, on these open files.
    pub(crate) fn is_offered<T: Target>(target: &T, op: &Op, (tree, open): (&Tree, &OpenFiles)) -> bool {
        let bytes_max = target.name_bytes_max().unwrap_or(usize::MAX);
        let is_short = |path: &&Path| path.as_str().split('/').all(|name| name.len() <= bytes_max);
        target.ops().contains(op.kind())
            && op.paths().iter().all(is_short)
            && target.offers(op, tree)
            && fits(op, tree, target.file_bytes_max())
            && !legal::depends_on_block_size(op, legal::slot_of(op, open))
            && !legal::opens_dir_directly(op, tree)
    }

    /// The bounds that a target proposes, as the user wants them. Ops that the target does not have stay out.
    #[must_use]
    pub fn within(&self, bounds: &ObjectBounds, has: OpSet) -> ObjectBounds {
        let bounds = ObjectBounds {
            ops: self.ops.map_or(bounds.ops, |ops| ops.intersection(has)),
            files_max: self.files_max.unwrap_or(bounds.files_max),
            dirs_max: self.dirs_max.unwrap_or(bounds.dirs_max),
            ..bounds.clone()
        };
        if self.files_max.is_none() && self.dirs_max.is_none() {
            return bounds;
        }
        // A name for each in one directory, and one to move to.
        let names_min = bounds.files_max.saturating_add(bounds.dirs_max).saturating_add(1);
        bounds.with_names(names_min)
    }
}

/// An op of a script that a target does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The op.
    pub op: Op,
    /// What of it.
    pub what: Lack,
}

/// What a target does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Ops of this kind.
    Kind,
    /// This op with these arguments; others of its kind it has.
    Form,
    /// So many bytes in its files.
    Large {
        /// The most that they can have together.
        bytes_max: u64,
    },
    /// Names as long as one in this op.
    LongNames {
        /// The bytes of its longest.
        bytes_max: usize,
    },
}

impl Lack {
    /// What an outcome with which the reference does not agree says about the target.
    pub(crate) fn told_by<T: Target>(target: &T, op: &Op, outcome: &Outcome, before: &Reference) -> Option<Self> {
        let tree = before.tree();
        let slot = legal::slot_of(op, before.open_files());
        let is_left_open = legal::depends_on_block_size(op, slot) || legal::opens_dir_directly(op, &tree);
        if is_left_open && matches!(outcome, Ok(_) | Err(Errno::EINVAL)) {
            return Some(Self::Form);
        }
        match outcome.as_ref().err()? {
            Errno::EOPNOTSUPP if !target.ops().contains(op.kind()) => Some(Self::Kind),
            Errno::EOPNOTSUPP if !fits(op, &tree, target.file_bytes_max()) => {
                Some(Self::Large { bytes_max: target.file_bytes_max() })
            }
            Errno::EOPNOTSUPP => (!target.knows_what_it_lacks() || !target.offers(op, &tree)).then_some(Self::Form),
            Errno::ENAMETOOLONG => {
                let bytes_max = target.name_bytes_max()?;
                let is_long = |path: &&Path| path.as_str().split('/').any(|name| name.len() > bytes_max);
                op.paths().iter().any(is_long).then_some(Self::LongNames { bytes_max })
            }
            _ => None,
        }
    }
}

/// The first op of a script that a target does not have: it says so by its errno where the reference does not. The ops
/// before it are done, since what an op comes to may depend on them; where they go wrong, the search will tell. It will
/// also find out whether one is full that says so, for which a guest does all that was done before once more.
pub(crate) fn lacking<T: Target>(target: &T, script: &[Op]) -> Option<Lacking> {
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
        let differs = target.complaint(&state.mounted).is_none() && state.reference.clone().apply(op) != outcome;
        if let Some(what) = Lack::told_by(target, op, &outcome, &state.reference).filter(|_| differs) {
            return Some(Lacking { op: op.clone(), what });
        }
        if state
            .finish(target, &done, &outcome, &undisturbed, (None, Fullness::Excused))
            .wrong
            .iter()
            .any(Finding::is_critical)
        {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use vfs::OpKind;

    use super::*;

    #[test]
    fn a_user_may_ask_for_all_that_a_target_has_and_for_any_number_of_names() {
        let own = ObjectBounds { ops: OpSet::of(&[OpKind::Create]), ..ObjectBounds::default() };
        let has = OpSet::of(&[OpKind::Create, OpKind::Remount]);
        let asked = Workload { ops: Some(OpSet::ALL), files_max: Some(40), ..Workload::default() };
        let bounds = asked.within(&own, has);
        assert_eq!(bounds.ops, has);
        assert_eq!(bounds.names.len(), 40 + own.dirs_max + 1);
        let unasked = Workload::default().within(&own, has);
        assert_eq!((unasked.ops, unasked.names), (own.ops, own.names));
    }
}
