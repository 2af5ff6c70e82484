//! `cargo xtask run`: the main job on a machine that has only Rust. It builds Shakedown and lets it find and explain
//! a real crash-consistency bug, so success here means that a violation was found.

use anyhow::{Result, bail, ensure};

use crate::process;
use crate::shakedown::{Shakedown, Summary};
use crate::workspace::Metadata;

/// The naive write order (inode before allocation) on a disk that loses a suffix of the writes.
const ARGUMENTS: [&str; 4] = ["check", "model:link?writes=naive", "--crash", "prefix"];

/// Builds, runs, and insists on a violation with its trace.
///
/// # Errors
/// When the program does not build, fails, or finds nothing.
pub fn run() -> Result<()> {
    let metadata = Metadata::read()?;
    let shakedown = Shakedown::to_use(&metadata)?;
    let out = metadata.scratch("run")?;
    let mut command = shakedown.command();
    command.args(ARGUMENTS).arg("--out").arg(&out);
    println!("$ {}\n", process::command_line(&command));
    let status = command.status()?;
    if status.code() != Some(1) {
        bail!("could not find the bug that model:link?writes=naive is known to have ({status})");
    }
    let summary = Summary::read(&out)?;
    let Some(trace) = summary.violations.iter().find_map(|violation| violation.trace.as_deref()) else {
        bail!("could not find a trace in {}", out.join("summary.json").display());
    };
    let trace = out.join(trace);
    ensure!(trace.is_file(), "could not find the trace {}", trace.display());
    let broken: Vec<&str> = summary.violations.iter().map(|violation| violation.property.as_str()).collect();
    println!("\nAs expected, a power cut breaks this write order: {}.", broken.join(", "));
    println!("See one happen again, step by step: cargo run -- replay {}", trace.display());
    Ok(())
}
