//! `cargo xtask results`: published experiments, run again and written beside the published figures into
//! `docs/results.md`.
//!
//! Nothing of ours is typed: every figure in our columns comes out of a run of the `shakedown` program in this very
//! task. Published figures are constants that name their table. A new experiment is a module with one function and
//! one line in [`EXPERIMENTS`].

mod file_mapping;
mod markdown;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::shakedown::{Shakedown, Summary};
use crate::workspace::{self, Metadata};

/// Which experiments to run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Print the page instead of writing docs/results.md
    #[arg(long)]
    print: bool,
}

/// A published experiment that can be repeated.
struct Experiment {
    title: &'static str,
    /// Runs it and renders its section, without the heading.
    section: fn(&Laboratory) -> Result<String>,
}

const EXPERIMENTS: [Experiment; 1] =
    [Experiment { title: "File mapping: link and index", section: file_mapping::section }];

/// What an experiment works with.
struct Laboratory {
    shakedown: Shakedown,
    /// Each run's folder goes below it.
    scratch: PathBuf,
    /// Threads of each search.
    threads: String,
}

impl Laboratory {
    /// One run of `shakedown check` on all cores, reported as it ends.
    fn check(&self, name: &str, arguments: &[&str]) -> Result<Summary> {
        let mut all = arguments.to_vec();
        all.extend(["--threads", &self.threads]);
        let summary = self.shakedown.check(&all, &self.scratch.join(name))?;
        let end = if summary.complete { "complete" } else { "NOT COMPLETE" };
        println!("{}: {end}, {} states in {:.1} s", arguments.join(" "), summary.states, summary.seconds);
        Ok(summary)
    }
}

/// Runs every experiment, then writes the page.
///
/// # Errors
/// When a run fails; then the page stays as it was.
pub fn run(options: &Options) -> Result<()> {
    let metadata = Metadata::read()?;
    let threads = std::thread::available_parallelism()?.to_string();
    let laboratory =
        Laboratory { shakedown: Shakedown::build(&metadata)?, scratch: metadata.scratch("results")?, threads };
    let mut page = format!(
        "# Results\n\nWritten by `cargo xtask results`, not by hand: every figure of ours comes from that run, on a\n\
         machine with {} cores. Published figures name their table.\n",
        laboratory.threads
    );
    for experiment in &EXPERIMENTS {
        let section = (experiment.section)(&laboratory)?;
        page.extend(["\n## ", experiment.title, "\n\n", &section]);
    }
    if options.print {
        println!("\n{page}");
        return Ok(());
    }
    let path = workspace::root().join("docs/results.md");
    std::fs::write(&path, page).with_context(|| format!("could not write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
