//! Checking by comparison: the same ops on two or more targets, which must answer alike and look alike.
//!
//! No side is right by definition, so nothing needs to be known about what is right: a difference is a bug of at least
//! one of them, or one of the few that `legal.rs` names. The power is never cut. A state is what each side is and the
//! tree on which all agree; the search goes back on all sides at once, by what each does for that: models and the
//! reference are cloned, a guest is brought back by its image and the ops since.

mod again;
mod in_process;
mod judge;
mod past;
mod refusals;
mod replay;
mod side;
mod state;
mod system;
mod workload;

use std::panic::{AssertUnwindSafe, catch_unwind};

use explore::{Progress, Property, SearchError, Stop};
use vfs::{Conventions, Op, generate::OpSet};

pub use self::{
    in_process::InProcess,
    side::{Side, SideState},
};
use crate::{
    counts::Work,
    minimise,
    options::CheckOptions,
    replay::{ReplayError, Replayed},
    run::{CheckReport, Checkable, PANIC, RunOptions},
    target::Promise,
    trace::Trace,
    workload::Lacking,
};

/// Targets that are compared with each other.
pub struct Comparison {
    named: Vec<(String, Box<dyn Checkable>)>,
}

impl std::fmt::Debug for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.named.iter().map(|(name, _)| name)).finish()
    }
}

/// A target that has no files that could be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("compare {0} with anything: it has no files")]
pub struct NoSide(String);

impl Comparison {
    /// The targets with their names, as they stand in traces and findings.
    ///
    /// # Errors
    /// One of them has no files.
    pub fn new(named: Vec<(String, Box<dyn Checkable>)>) -> Result<Self, NoSide> {
        match named.iter().find(|(_, target)| target.side().is_none()) {
            Some((name, _)) => Err(NoSide(name.clone())),
            None => Ok(Self { named }),
        }
    }

    fn side(&self, number: usize) -> &dyn Side {
        self.named[number].1.side().expect("this was seen when the comparison was made")
    }

    fn sides(&self) -> impl Iterator<Item = &dyn Side> {
        (0..self.named.len()).map(|number| self.side(number))
    }

    fn is_of_the_machine(&self, property: Property) -> bool {
        self.sides().any(|side| side.is_of_the_machine(property))
    }

    /// What the first side that has its own ways does; whoever can keeps to it.
    fn conventions(&self) -> Conventions {
        self.sides().find(|side| !side.adopts()).map(Side::conventions).unwrap_or_default()
    }

    /// Two file systems that keep modes or names in ways of their own would differ by design.
    fn agree_on_conventions(&self) -> Result<(), String> {
        let ours = self.conventions();
        let differs = |side: &&dyn Side| {
            let theirs = side.conventions();
            !side.adopts() && (theirs.modes, theirs.names) != (ours.modes, ours.names)
        };
        match self.sides().position(|side| differs(&side)) {
            None => Ok(()),
            Some(number) => {
                let (one, other) = (&self.named[0].0, &self.named[number].0);
                Err(format!("compare {one} with {other}: one of them keeps modes or names in a way of its own"))
            }
        }
    }

    /// Some of the sides by name. Two of the same name are told apart by their place.
    fn names(&self, numbers: &[usize]) -> String {
        let name = |number: &usize| {
            let name = &self.named[*number].0;
            let is_twin = self.named.iter().filter(|(other, _)| other == name).count() > 1;
            if is_twin { format!("{name} (side {})", number + 1) } else { name.clone() }
        };
        numbers.iter().map(name).collect::<Vec<_>>().join(" and ")
    }

    /// The names of all but the first, as a trace has them.
    fn against(&self) -> Vec<String> {
        self.named.iter().skip(1).map(|(name, _)| name.clone()).collect()
    }
}

impl Checkable for Comparison {
    /// What the first one promises; nothing here depends on it.
    fn promise(&self) -> Promise {
        self.named[0].1.promise()
    }

    fn ops(&self) -> OpSet {
        self.common_ops()
    }

    fn lacks(&self, script: &[Op]) -> Option<Lacking> {
        self.named.iter().find_map(|(_, target)| target.lacks(script))
    }

    fn ready(&self) -> Result<(), String> {
        self.agree_on_conventions()?;
        self.sides().try_for_each(Side::ready)
    }

    /// Those of all that have one, each once.
    fn kernel(&self) -> Option<String> {
        let mut kernels: Vec<String> = self.named.iter().filter_map(|(_, target)| target.kernel()).collect();
        kernels.sort();
        kernels.dedup();
        (!kernels.is_empty()).then(|| kernels.join("; "))
    }

    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError> {
        system::check(self, options, run, progress)
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError> {
        replay::replay(self, trace)
    }

    fn minimise(&self, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
        if trace.property == PANIC.name {
            return Ok(trace.clone());
        }
        // A shorter trace may lead to a panic that the whole one does not lead to.
        let execute =
            |candidate: &Trace| catch_unwind(AssertUnwindSafe(|| replay::execute(self, candidate))).ok().flatten();
        minimise::minimise_with(&execute, trace, stop)
    }
}
