//! `cargo xtask bench`: every speed that this project promises, measured beside a peer or against a published figure.
//!
//! A new measurement is a module with one function and one line in [`BENCHES`].

mod cycle;
mod exploring;
mod mounted;
pub mod philosophers;
mod workloads;

use std::fmt;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;
pub use mounted::PEER_SOURCE;

use crate::setup;
use crate::workspace::Metadata;

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Measure only this; may be given several times
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(BENCHES.map(|each| each.name)))]
    only: Vec<String>,
    /// How many philosophers: 3^N - 1 states
    #[arg(long, default_value_t = 14,
        value_parser = clap::value_parser!(u32).range(2..=philosophers::spin::PHILOSOPHERS_MAX))]
    philosophers: u32,
    /// How many times each program runs
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Of the philosophers, measure the peers only
    #[arg(long)]
    peers_only: bool,
}

/// Something that is measured.
struct Bench {
    /// On the command line.
    name: &'static str,
    /// Measures it, prints the figures, and says how each target was met.
    run: fn(&Options, &Metadata) -> Result<Vec<Verdict>>,
}

const BENCHES: [Bench; 5] = [
    Bench { name: "philosophers", run: philosophers::run },
    Bench { name: "exploring", run: exploring::run },
    Bench { name: "workloads", run: workloads::run },
    Bench { name: "cycle", run: cycle::run },
    Bench { name: "mounted", run: mounted::run },
];

/// Whether one target was reached.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// It was.
    pub passed: bool,
    /// The figure and the target.
    pub text: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", if self.passed { "PASS" } else { "FAIL" }, self.text)
    }
}

/// Measures all that was asked for.
///
/// # Errors
/// When a program cannot be built or run, or when a target is missed.
pub fn run(options: &Options) -> Result<()> {
    setup::run()?;
    let metadata = Metadata::read()?;
    let asked = |bench: &&Bench| options.only.is_empty() || options.only.iter().any(|name| name == bench.name);
    let mut verdicts = Vec::new();
    for bench in BENCHES.iter().filter(asked) {
        println!("== {}", bench.name);
        let here = (bench.run)(options, &metadata)?;
        here.iter().for_each(|verdict| println!("{verdict}"));
        verdicts.extend(here);
    }
    ensure!(verdicts.iter().all(|verdict| verdict.passed), "missed a target");
    Ok(())
}
