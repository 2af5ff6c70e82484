//! The same state space in SPIN, in stateright and in Shakedown, raced in one run.
//!
//! Programs take turns, several rounds, so that a busy moment of the machine hits all of them; each one's fastest
//! round counts, because noise only ever adds time. Rates come from the search time that each program states
//! itself. All of them search breadth-first, the order in which both peers are fastest on this model.

mod racer;
mod report;
pub mod spin;
mod stateright;
mod us;

use anyhow::Result;

use super::{Options, Verdict};
use crate::shakedown::Shakedown;
use crate::workspace::Metadata;

/// Who takes which fork first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkOrder {
    /// Everyone the left one: they can all wait for each other.
    Naive,
    /// The last philosopher the right one: they cannot.
    Ordered,
}

/// What one run of one program says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Distinct states.
    pub states: u64,
    /// Time of the search.
    pub seconds: f64,
    /// Memory of the whole process.
    pub memory_bytes: u64,
}

impl Measurement {
    fn states_per_second(&self) -> f64 {
        self.states as f64 / self.seconds
    }

    fn bytes_per_state(&self) -> f64 {
        self.memory_bytes as f64 / self.states as f64
    }
}

/// Builds all, races, prints the table; how each target was met.
///
/// # Errors
/// When a program cannot be built or run.
pub fn run(options: &Options, metadata: &Metadata) -> Result<Vec<Verdict>> {
    let scratch = metadata.scratch("bench")?;
    let n = options.philosophers;
    println!("building {n} philosophers for every program");
    let mut racers: Vec<Box<dyn racer::Racer>> = vec![
        Box::new(spin::Spin::build(n, ForkOrder::Naive, &scratch)?),
        Box::new(stateright::Stateright::build(n, metadata)?),
    ];
    if !options.peers_only {
        let shakedown = Shakedown::to_measure(metadata)?;
        for threads in [1, 2] {
            racers.push(Box::new(us::Us::new(shakedown.clone(), n, threads, &scratch)));
        }
    }
    let rows = race(&racers, options.rounds)?;
    println!("\n{}", report::table(&rows));
    Ok(if options.peers_only { Vec::new() } else { report::verdicts(&rows) })
}

fn race(racers: &[Box<dyn racer::Racer>], rounds: u32) -> Result<Vec<racer::Row>> {
    let mut runs = vec![Vec::new(); racers.len()];
    for round in 1..=rounds {
        for (racer, runs) in racers.iter().zip(&mut runs) {
            let run = racer.race()?;
            println!("round {round}: {:<22} {:>10} states in {:>7.3} s", racer.name(), run.states, run.seconds);
            runs.push(run);
        }
    }
    Ok(racers.iter().zip(runs).map(|(racer, runs)| racer::Row::new(racer.name(), runs)).collect())
}
