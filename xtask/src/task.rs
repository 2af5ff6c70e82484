//! The task list: what `cargo xtask` accepts, and which module does it.

use anyhow::Result;
use clap::Subcommand;

use crate::{bench, ci, main_job, results, setup, tests};

/// One task of `cargo xtask`.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Find and explain a crash-consistency bug in a model: needs nothing but Rust
    Run,
    /// Install what the tests and the bench use (when root), or name what is missing
    Setup,
    /// Set up, then run every test of the workspace
    Test,
    /// Run all that CI runs, stopping at the first failure
    Ci,
    /// Race SPIN, stateright and a FUSE file system and judge the speed targets
    Bench(bench::Options),
    /// Run the published experiments and write docs/results.md
    Results(results::Options),
}

impl Task {
    /// Does it.
    ///
    /// # Errors
    /// Whatever stopped the task, with what to do about it.
    pub fn perform(&self) -> Result<()> {
        match self {
            Self::Run => main_job::run(),
            Self::Setup => setup::run().and_then(|()| setup::suites()).and_then(|()| setup::kernel()),
            Self::Test => tests::run(),
            Self::Ci => ci::run(),
            Self::Bench(options) => bench::run(options),
            Self::Results(options) => results::run(options),
        }
    }
}
