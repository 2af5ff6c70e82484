//! One entry of the zoo, and the settings of the check that it stands for.

use anyhow::{Context as _, Result};
use disk::CrashMode;
use vfs::{Op, contract::Contract, corpus::Entry, text::parse_workload};

use crate::{
    arguments::{CrashFlag, Plan},
    registry::Named,
    settings::Settings,
};

/// A known bug. Start from [`Case::BASE`] and say what is special.
///
/// All states are told apart, since a search by shape never counts as complete.
#[derive(Debug)]
pub struct Case {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is broken, in one line; where it is from, in brackets.
    pub about: &'static str,
    /// The target that has the bug.
    pub wrong: &'static str,
    /// The same target without it.
    pub right: &'static str,
    /// What the bug violates.
    pub property: &'static str,
    /// What a power cut may leave.
    pub crash: CrashMode,
    /// What is demanded of both; `None` is what each promises.
    pub contract: Option<Contract>,
    /// How many ops are tried in a row; `None` is until nothing new is met.
    pub depth: Option<u32>,
    /// Which ops.
    pub ops: Ops,
    /// At most so many names of files; `None` is the target's own bound.
    pub files: Option<usize>,
    /// At most so many directories; `None` is the target's own bound.
    pub dirs: Option<usize>,
    /// Whether the power is cut during recovery too.
    pub recovery_crashes: bool,
    /// How many requests may fail.
    pub faults: u8,
    /// What the right one leaves after a crash too, and repairs: properties that are not critical.
    pub repaired: &'static [&'static str],
}

/// The ops of a case.
#[derive(Debug)]
pub enum Ops {
    /// Those of the target's own workload.
    Own,
    /// Every sequence of ops of these kinds.
    Set(&'static str),
    /// Exactly these, one a line.
    Script(&'static str),
    /// Exactly those of an entry of the corpus: the way in which the bug became known.
    Published(&'static str),
}

impl Ops {
    /// The ops, where they are given one by one.
    ///
    /// # Errors
    /// They are not ops, or the corpus has no such entry.
    pub fn script(&self) -> Result<Option<Vec<Op>>> {
        Ok(match self {
            Self::Own | Self::Set(_) => None,
            Self::Script(lines) => Some(parse_workload(lines)?),
            Self::Published(name) => {
                Some(Entry::named(name).with_context(|| format!("find {name} in the corpus"))?.workload())
            }
        })
    }
}

impl Case {
    /// A case that says nothing yet.
    pub const BASE: Self = Self {
        name: "",
        about: "",
        wrong: "",
        right: "",
        property: "",
        crash: CrashMode::Prefix,
        contract: None,
        depth: None,
        ops: Ops::Own,
        files: None,
        dirs: None,
        recovery_crashes: false,
        faults: 0,
        repaired: &[],
    };

    /// A bug that shows in a search of every sequence of so many ops of these kinds. The targets are the wrong and the
    /// right one.
    pub const fn searched(
        name: &'static str,
        about: &'static str,
        [wrong, right]: [&'static str; 2],
        property: &'static str,
        crash: CrashMode,
        (kinds, depth): (&'static str, u32),
    ) -> Self {
        Self { name, about, wrong, right, property, crash, ops: Ops::Set(kinds), depth: Some(depth), ..Self::BASE }
    }

    /// A bug that shows when exactly these ops are done, with a power cut everywhere.
    pub const fn scripted(
        name: &'static str,
        about: &'static str,
        [wrong, right]: [&'static str; 2],
        property: &'static str,
        script: &'static str,
    ) -> Self {
        Self { name, about, wrong, right, property, crash: CrashMode::Subsets, ops: Ops::Script(script), ..Self::BASE }
    }

    /// A published bug, on the model and with the flaw that stand for it.
    pub const fn published(
        name: &'static str,
        about: &'static str,
        targets: [&'static str; 2],
        property: &'static str,
    ) -> Self {
        Self { ops: Ops::Published(name), ..Self::scripted(name, about, targets, property, "") }
    }

    /// The case as `check` would be asked for it.
    ///
    /// # Errors
    /// The case makes no sense for the target.
    pub fn settings(&self, named: &Named) -> Result<Settings> {
        let set = if let Ops::Set(set) = self.ops { Some(set.to_owned()) } else { None };
        let script = self.ops.script()?;
        let plan = Plan {
            depth: self.depth,
            ops: set,
            files: self.files,
            dirs: self.dirs,
            crash: Some(CrashFlag::Power(self.crash)),
            contract: self.contract,
            recovery_crashes: self.recovery_crashes,
            faults: (self.faults > 0).then_some(self.faults),
            ..Plan::default()
        };
        Ok(Settings { script, ..Settings::new(named, &plan)? })
    }
}
