//! Shakedown in the race, through its command line, with exact storage.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::Measurement;
use super::racer::Racer;
use crate::shakedown::Shakedown;

/// Shakedown on a number of threads.
#[derive(Debug)]
pub struct Us {
    program: Shakedown,
    target: String,
    threads: u32,
    out: PathBuf,
}

impl Us {
    /// The built program, set up for this many philosophers and threads.
    pub fn new(program: Shakedown, philosophers: u32, threads: u32, scratch: &Path) -> Self {
        let target = format!("model:philosophers?n={philosophers},order=naive");
        Self { program, target, threads, out: scratch.join(format!("shakedown-{threads}")) }
    }
}

impl Racer for Us {
    fn name(&self) -> String {
        match self.threads {
            1 => "Shakedown, 1 thread".to_owned(),
            threads => format!("Shakedown, {threads} threads"),
        }
    }

    fn race(&self) -> Result<Measurement> {
        if self.out.exists() {
            std::fs::remove_dir_all(&self.out)?;
        }
        let threads = self.threads.to_string();
        let arguments = [&self.target, "--search", "bfs", "--visited", "exact", "--threads", &threads];
        let summary = self.program.check(&arguments, &self.out)?;
        ensure!(summary.complete, "could not exhaust {}: {:?}", self.target, summary.limits_hit);
        Ok(Measurement { states: summary.states, seconds: summary.seconds, memory_bytes: summary.peak_memory_bytes })
    }
}
