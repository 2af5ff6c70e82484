//! Cases as data: what was done before, one op, what it must return and leave.
//!
//! The same tables run on the reference (`reference_tables.rs`) and on a kernel (`against_reference` in `posix`), so
//! an expectation that the kernel does not share is noticed.

mod attributes;
mod data;
mod names;
mod open;
mod paths;
mod xattrs;

use vfs::{Config, Credentials, Op, Outcome};

/// One row of a table.
#[derive(Clone)]
pub struct Case {
    /// The rule, in words.
    pub rule: &'static str,
    /// What root does first, without limits; each must succeed.
    pub setup: Vec<Op>,
    /// Who does what comes then.
    pub config: Config,
    /// What is done, and what each op returns.
    pub steps: Vec<(Op, Outcome)>,
    /// The whole tree afterwards, as text, where the case is about it.
    pub tree: Option<&'static str>,
    /// Why a kernel cannot be asked, if it cannot.
    pub reference_only: Option<&'static str>,
}

/// A case with one op by root.
pub fn case(rule: &'static str, setup: impl Into<Vec<Op>>, op: Op, outcome: Outcome) -> Case {
    Case {
        rule,
        setup: setup.into(),
        config: Config::default(),
        steps: vec![(op, outcome)],
        tree: None,
        reference_only: None,
    }
}

impl Case {
    /// The steps are done by this caller.
    pub fn by(mut self, caller: Credentials) -> Self {
        self.config.caller = caller;
        self
    }

    /// One more step.
    pub fn then(mut self, op: Op, outcome: Outcome) -> Self {
        self.steps.push((op, outcome));
        self
    }

    /// Other limits; a kernel has its own.
    pub fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self.reference_only = Some("a kernel's limits are not ours to set");
        self
    }

    pub fn umask(mut self, umask: u32) -> Self {
        self.config.umask = umask;
        self
    }

    pub fn leaves(mut self, tree: &'static str) -> Self {
        self.tree = Some(tree);
        self
    }

    pub fn reference_only(mut self, reason: &'static str) -> Self {
        self.reference_only = Some(reason);
        self
    }
}

/// Every table by the name of its family.
pub fn tables() -> [(&'static str, Vec<Case>); 6] {
    [
        ("paths", paths::cases()),
        ("open", open::cases()),
        ("data", data::cases()),
        ("names", names::cases()),
        ("attributes", attributes::cases()),
        ("xattrs", xattrs::cases()),
    ]
}
