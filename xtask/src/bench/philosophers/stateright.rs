//! stateright: the program in `benches/stateright`, which is a workspace of its own because stateright is heavy.
//!
//! It runs breadth-first: depth-first search keeps the whole path with every state there, and paths are as long as
//! the space is large (ten philosophers: 140 times the time).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::Measurement;
use super::racer::Racer;
use crate::process;
use crate::workspace::{Metadata, cargo};

/// The built program.
#[derive(Debug)]
pub struct Stateright {
    program: PathBuf,
    philosophers: u32,
}

#[derive(Deserialize)]
struct Answer {
    states: u64,
    seconds: f64,
    peak_memory_bytes: u64,
}

impl Stateright {
    /// Builds it from its own lock file, beside the project's own build.
    ///
    /// # Errors
    /// When it does not build.
    pub fn build(philosophers: u32, metadata: &Metadata) -> Result<Self> {
        let target = metadata.target_directory.join("stateright");
        let manifest = "benches/stateright/Cargo.toml";
        let mut build = cargo();
        build.args(["build", "--quiet", "--release", "--locked", "--manifest-path", manifest, "--target-dir"]);
        process::run(build.arg(&target))?;
        Ok(Self { program: target.join("release/philosophers-stateright"), philosophers })
    }
}

impl Racer for Stateright {
    fn name(&self) -> String {
        "stateright".to_owned()
    }

    fn race(&self) -> Result<Measurement> {
        let text =
            process::capture(Command::new(&self.program).args([&self.philosophers.to_string(), "naive", "bfs"]))?;
        let answer: Answer = serde_json::from_str(&text).context("could not read what stateright printed")?;
        Ok(Measurement { states: answer.states, seconds: answer.seconds, memory_bytes: answer.peak_memory_bytes })
    }
}
