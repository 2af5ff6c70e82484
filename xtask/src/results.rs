//! `cargo xtask results`: published experiments, run again and written beside the published figures into
//! `docs/results.md`.
//!
//! Nothing of ours is typed: every figure in our columns comes out of a run of the `shakedown` program by this task.
//! Published figures are constants that name their table. A new experiment is a module with one function and one line
//! in [`EXPERIMENTS`]; `--only` runs some of them and keeps the other sections as they are.

mod characterise;
mod comparison;
mod corpus;
mod cut_short;
mod f2fs_bug;
mod f2fs_speed;
mod file_mapping;
mod inputs;
mod jffs2_hole;
mod littlefs_speed;
mod markdown;
mod memoisation;
mod page;
mod shapes;
mod swarm;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;

use self::page::Page;
use crate::shakedown::{Shakedown, Summary};
use crate::workspace::{self, Metadata};

/// Which experiments to run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Run only this experiment and keep what the page says of the others; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(EXPERIMENTS.map(|each| each.name)))]
    only: Vec<String>,
    /// How long each run of an experiment without an end of its own takes, such as 30s
    #[arg(long, value_name = "TIME")]
    each: Option<String>,
    /// Print the page instead of writing docs/results.md
    #[arg(long)]
    print: bool,
}

/// A published experiment that can be repeated.
struct Experiment {
    /// On the command line.
    name: &'static str,
    /// Its heading, by which its section is found again.
    title: &'static str,
    /// Runs it and renders its section, without the heading.
    section: fn(&Laboratory) -> Result<String>,
}

/// In the order of the page.
const EXPERIMENTS: [Experiment; 12] = [
    Experiment { name: "file-mapping", title: "File mapping: link and index", section: file_mapping::section },
    Experiment { name: "f2fs-bug", title: "F2FS: the published bug", section: f2fs_bug::section },
    Experiment { name: "shapes", title: "F2FS: states by shape", section: shapes::section },
    Experiment { name: "f2fs-speed", title: "F2FS: speed", section: f2fs_speed::section },
    Experiment { name: "memoisation", title: "Recoveries remembered", section: memoisation::section },
    Experiment { name: "littlefs-speed", title: "littlefs: speed", section: littlefs_speed::section },
    Experiment {
        name: "characterise",
        title: "Linux file systems: which promises hold",
        section: characterise::section,
    },
    Experiment { name: "corpus", title: "Published bugs on this kernel", section: corpus::section },
    Experiment { name: "comparison", title: "Kernel file systems against the reference", section: comparison::section },
    Experiment { name: "jffs2-hole", title: "jffs2 with and without a fix", section: jffs2_hole::section },
    Experiment { name: "inputs", title: "Inputs by weight", section: inputs::section },
    Experiment { name: "swarm", title: "A swarm: states seen twice", section: swarm::section },
];

const INTRODUCTION: &str = "# Results

Written by `cargo xtask results`, not by hand: every figure of ours comes from a run of that task on the machine that
its section names. Published figures name their table.
";

/// What an experiment works with.
struct Laboratory {
    shakedown: Shakedown,
    /// Each run's folder goes below it.
    scratch: PathBuf,
    /// For what is worth keeping from one time to the next.
    kept: PathBuf,
    cores: usize,
    /// How long each run takes that has no end of its own.
    each: Option<String>,
}

impl Laboratory {
    /// One run of `shakedown check` on all cores, reported as it ends.
    fn check(&self, name: &str, arguments: &[&str]) -> Result<Summary> {
        self.check_on(self.cores, name, arguments)
    }

    /// The same on so many threads. On one, a search gives the same figures each time, its seconds excepted.
    fn check_on(&self, threads: usize, name: &str, arguments: &[&str]) -> Result<Summary> {
        let threads = threads.to_string();
        let mut all = arguments.to_vec();
        all.extend(["--threads", &threads]);
        let summary = self.shakedown.check(&all, &self.scratch.join(name))?;
        let end = if summary.is_whole() { "done" } else { "CUT SHORT" };
        println!("{}: {end}, {} states in {:.1} s", all.join(" "), summary.states, summary.seconds);
        Ok(summary)
    }
}

/// How many processes wanted to run during the last minute, where the system says so: on a busy machine, seconds are
/// too many.
fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

/// Runs the experiments, then writes the page.
///
/// # Errors
/// When a run fails; then the page stays as it was.
pub fn run(options: &Options) -> Result<()> {
    let metadata = Metadata::read()?;
    let cores = std::thread::available_parallelism()?.get();
    let laboratory = Laboratory {
        shakedown: Shakedown::to_measure(&metadata)?,
        scratch: metadata.scratch("results")?,
        kept: metadata.target_directory.join("xtask/kept"),
        cores,
        each: options.each.clone(),
    };
    let path = workspace::root().join("docs/results.md");
    // Without `--only` every section is new, so a page that is missing is no error.
    let old = if options.only.is_empty() { Ok(String::new()) } else { std::fs::read_to_string(&path) };
    let old = old.with_context(|| format!("could not read {}", path.display()))?;
    let mut page = Page::new(INTRODUCTION);
    for experiment in &EXPERIMENTS {
        if options.only.is_empty() || options.only.iter().any(|name| name == experiment.name) {
            let load = load().map(|load| format!(", whose load before it began was {load}")).unwrap_or_default();
            let section = (experiment.section)(&laboratory)?;
            let origin = format!("Experiment `{}`, on a machine with {cores} cores{load}.", experiment.name);
            page.push(experiment.title, &format!("{origin}\n\n{section}"));
        } else if let Some(section) = page::section(&old, experiment.title) {
            page.push(experiment.title, section);
        }
    }
    let page = page.into_text();
    if options.print {
        println!("\n{page}");
        return Ok(());
    }
    std::fs::write(&path, page).with_context(|| format!("could not write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
