//! The `shakedown` program as users run it: built, started with a command line, its JSON summary read.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::process;
use crate::workspace::{Metadata, cargo};

/// The built program.
#[derive(Clone, Debug)]
pub struct Shakedown {
    program: PathBuf,
}

/// The summary of one `shakedown check --json`, as far as tasks need it.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    /// How deep it got.
    pub depth: u32,
    /// Distinct states.
    pub states: u64,
    /// Ops that were run to their end.
    pub ops: u64,
    /// Crash states that were judged.
    pub crash_states: u64,
    /// How many different images were among them.
    pub crash_states_distinct: u64,
    /// Recoveries that were run.
    pub recoveries: u64,
    /// Recoveries whose result was known.
    pub recoveries_memoised: u64,
    /// Positions at which only a sample of the crash states was judged.
    pub positions_sampled: u64,
    /// Waiting states that were dropped.
    pub states_dropped: u64,
    /// What did not hold.
    pub violations: Vec<Violation>,
    /// What became of a set of workloads, if there was one.
    pub workloads: Option<Workloads>,
    /// What was exercised beside what was asked, where there were weights.
    pub input_coverage: Option<Vec<Coverage>>,
    /// Whether the bounded space was exhausted.
    pub complete: bool,
    /// What was sampled, skipped or cut off.
    pub limits_hit: Vec<String>,
    /// Whether it was cut short.
    pub resumable: bool,
    /// Time of the search.
    pub seconds: f64,
    /// The largest resident set of the process.
    pub peak_memory_bytes: u64,
}

/// What became of a set of workloads, as far as tasks need it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Workloads {
    /// How many there were, also those that do the same as another.
    pub generated: u64,
    /// Of how many every op was done.
    pub finished: u64,
    /// How many were given up because the target does not have an op of theirs.
    pub left_out: u64,
}

/// The workloads in which a property was violated.
#[derive(Clone, Debug, Deserialize)]
pub struct Affected {
    /// How many.
    pub count: u64,
    /// What the first ones are called.
    pub names: Vec<String>,
}

/// How close one argument came to its weights.
#[derive(Clone, Debug, Deserialize)]
pub struct Coverage {
    /// Of which op; none for the choice of ops.
    pub op: Option<String>,
    /// Which.
    pub argument: String,
    /// Nothing if it had no values.
    pub coefficient_of_variation: Option<f64>,
}

/// One violated property of a summary.
#[derive(Clone, Debug, Deserialize)]
pub struct Violation {
    /// The property's name.
    pub property: String,
    /// How much it matters.
    pub severity: String,
    /// How often it was seen.
    pub count: u64,
    /// In which workloads, if there was a set of them.
    pub workloads: Option<Affected>,
    /// Where its trace is.
    pub trace: Option<String>,
}

impl Shakedown {
    /// Builds the program to be used: the one that tests build too, and a fraction of the time of the other.
    ///
    /// # Errors
    /// When it does not build.
    pub fn to_use(metadata: &Metadata) -> Result<Self> {
        process::run(cargo().args(["build", "--quiet", "--package", "shakedown"]))?;
        Ok(Self { program: metadata.target_directory.join("debug/shakedown") })
    }

    /// Builds the program to be measured, as fast as it gets. Linking alone takes minutes.
    ///
    /// # Errors
    /// When it does not build.
    pub fn to_measure(metadata: &Metadata) -> Result<Self> {
        process::run(cargo().args(["build", "--quiet", "--release", "--package", "shakedown"]))?;
        Ok(Self { program: metadata.target_directory.join("release/shakedown") })
    }

    /// A command of the program, to be started by the caller.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Runs `check` with `--json` and with `out` as the run's folder; finding violations is a result like any other.
    ///
    /// # Errors
    /// When the program refuses (exit code 2), crashes, or writes something else than a summary.
    pub fn check(&self, arguments: &[&str], out: &Path) -> Result<Summary> {
        let mut command = self.command();
        command.arg("check").args(arguments).arg("--json").arg("--out").arg(out);
        let output = process::output(&mut command)?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            let line = process::command_line(&command);
            bail!("could not complete {line} ({})\n{}", output.status, process::complaint(&output));
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not read the summary of {}", process::command_line(&command)))
    }
}

impl Summary {
    /// Whether everything within the bounds was looked at. That is less than `complete`, which a search that takes
    /// different states for one never is.
    pub fn is_whole(&self) -> bool {
        !self.resumable && self.positions_sampled == 0 && self.states_dropped == 0
    }

    /// How many workloads there were, also those that do the same as another.
    pub fn workloads_generated(&self) -> u64 {
        self.workloads.map_or(0, |workloads| workloads.generated)
    }

    /// How far an argument of an op is from what was asked of it, where there were weights.
    pub fn variation_of(&self, op: &str, argument: &str) -> Option<f64> {
        let wanted = |one: &&Coverage| one.op.as_deref() == Some(op) && one.argument == argument;
        self.input_coverage.as_ref()?.iter().find(wanted)?.coefficient_of_variation
    }

    /// Reads the summary that a run left in its folder.
    ///
    /// # Errors
    /// When there is none or it is not one.
    pub fn read(out: &Path) -> Result<Self> {
        let path = out.join("summary.json");
        let text = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("could not understand {}", path.display()))
    }

    /// The summary of a small run that violated these properties.
    #[cfg(test)]
    pub fn example(violated: &[&str]) -> Self {
        let violation = |name: &&str| Violation {
            property: (*name).to_owned(),
            severity: "critical".to_owned(),
            count: 1,
            workloads: None,
            trace: None,
        };
        Self {
            depth: 3,
            states: 10,
            ops: 30,
            crash_states: 20,
            crash_states_distinct: 10,
            recoveries: 5,
            recoveries_memoised: 15,
            positions_sampled: 0,
            states_dropped: 0,
            violations: violated.iter().map(violation).collect(),
            workloads: None,
            input_coverage: None,
            complete: true,
            limits_hit: Vec::new(),
            resumable: false,
            seconds: 1.5,
            peak_memory_bytes: 3_000_000,
        }
    }
}
