//! SPIN: `benches/philosophers.pml`, turned into a verifier by `spin -a`, compiled by gcc and run.
//!
//! The settings are those under which SPIN is fastest within the comparison's terms (-O3, safety only, no
//! partial-order reduction, default exact storage): breadth-first search took three quarters of the time of
//! depth-first search, and a hash table of the next power of two above the number of states never has to grow.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::racer::Racer;
use super::{ForkOrder, Measurement};
use crate::{process, workspace};

/// SPIN prints counts with eight digits: more philosophers than this and they would be rounded.
pub const PHILOSOPHERS_MAX: i64 = 16;

/// Far above what the largest space needs; SPIN stops with an error at the limit, never in silence.
const MEMORY_LIMIT: &str = "-DMEMLIM=16000";

/// A compiled verifier.
#[derive(Debug)]
pub struct Spin {
    verifier: PathBuf,
    philosophers: u32,
}

impl Spin {
    /// Generates and compiles the verifier in a folder of its own below `scratch`.
    ///
    /// # Errors
    /// When spin or gcc is missing or fails.
    pub fn build(philosophers: u32, order: ForkOrder, scratch: &Path) -> Result<Self> {
        let folder = scratch.join(format!("spin-{philosophers}-{order:?}"));
        std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        let mut spin = Command::new("spin");
        spin.current_dir(&folder).args(["-a", &format!("-DN={philosophers}")]);
        if order == ForkOrder::Ordered {
            spin.arg("-DORDERED");
        }
        process::capture(spin.arg(workspace::root().join("benches/philosophers.pml")))?;
        let mut gcc = Command::new("gcc");
        gcc.current_dir(&folder).args(["-O3", "-DSAFETY", "-DNOREDUCE", "-DBFS", MEMORY_LIMIT, "-o", "pan", "pan.c"]);
        process::capture(&mut gcc)?;
        Ok(Self { verifier: folder.join("pan"), philosophers })
    }

    /// Searches the whole space once. `-E` and `-c0`: a deadlock is a state like any other, not a reason to stop.
    ///
    /// # Errors
    /// When the verifier fails or does not finish.
    pub fn search(&self) -> Result<Measurement> {
        let mut pan = Command::new(&self.verifier);
        let output = process::capture(pan.args(["-E", "-c0", &format!("-w{}", self.hash_table_bits())]))?;
        parse(&output)
    }

    fn hash_table_bits(&self) -> u32 {
        3u64.pow(self.philosophers).ilog2() + 1
    }
}

impl Racer for Spin {
    fn name(&self) -> String {
        "SPIN".to_owned()
    }

    fn race(&self) -> Result<Measurement> {
        self.search()
    }
}

/// Reads what a verifier prints at its end.
fn parse(output: &str) -> Result<Measurement> {
    if output.contains("Search not completed") || !output.contains("errors: 0") {
        bail!("could not complete the search with SPIN:\n{output}");
    }
    let number_before = |mark: &str| -> Option<f64> {
        let line = output.lines().find(|line| line.contains(mark))?;
        line.split(mark).next()?.split_whitespace().last()?.parse().ok()
    };
    let states = number_before(" states, stored").context("could not find the number of states in SPIN's output")?;
    let mebibytes = number_before("\ttotal actual memory").context("could not find the memory in SPIN's output")?;
    // A search too short for SPIN's clock has no line with its time.
    let seconds = number_before(" seconds").unwrap_or(0.0);
    Ok(Measurement { states: whole(states), seconds, memory_bytes: whole(mebibytes * 1024.0 * 1024.0) })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts as SPIN prints them, far below 2^53"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "State-vector 124 byte, depth reached 39, errors: 0\n  4782968 states, stored\n\
        \t4.78297e+06 nominal states (stored-atomic)\n  582.980\ttotal actual memory usage\n\
        pan: elapsed time 16.6 seconds\npan: rate 288652.26 states/second\n";

    #[test]
    fn the_figures_are_read() {
        let expected = Measurement { states: 4_782_968, seconds: 16.6, memory_bytes: 611_298_836 };
        assert_eq!(parse(OUTPUT).unwrap(), expected);
    }

    #[test]
    fn a_search_that_stopped_early_is_refused() {
        assert!(parse(&OUTPUT.replace("errors: 0", "errors: 1")).is_err());
        assert!(parse(&format!("Warning: Search not completed\n{OUTPUT}")).is_err());
    }
}
