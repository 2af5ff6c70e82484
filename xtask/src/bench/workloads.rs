//! Every workload of one op that ACE makes, on real kernels: all crash states of reordered writes, each recovered, held
//! to the contract, checked by fsck and used. Boot included.
//!
//! `CrashMonkey` took 12 minutes for as many workloads, with states in the order of the writes only.

use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::{Options, Verdict};
use crate::process;
use crate::setup;
use crate::shakedown::{Shakedown, Summary};
use crate::workspace::Metadata;

/// The one for which a time is promised comes first.
const TARGETS: [&str; 5] = ["guest:ext4", "guest:xfs", "guest:btrfs", "guest:f2fs", "guest:jfs"];
const SECONDS_MAX: f64 = 40.0;
/// As ACE makes them, those that do the same counted each.
const WORKLOADS: u64 = 328;

/// What `shakedown targets --json` says, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Targets {
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// Runs the set once on each file system that there is.
pub fn run(_: &Options, metadata: &Metadata) -> Result<Vec<Verdict>> {
    setup::kernel()?;
    let program = Shakedown::to_measure(metadata)?;
    let known = process::output(program.command().args(["targets", "--json"]))?;
    let known: Targets = serde_json::from_slice(&known.stdout).context("could not read the list of targets")?;
    println!("target        seconds  workloads/s  crash images/s  recoveries/s  remembered/s  violated");
    let mut verdicts = Vec::new();
    for target in TARGETS {
        if known.targets.iter().all(|entry| entry.name != target) {
            println!("{target:<12}  is not among the targets");
            continue;
        }
        let out = metadata.scratch("bench")?.join("workloads");
        let start = Instant::now();
        let found = program.check(&[target, "--ops", "ace-seq1", "--crash", "subsets"], &out)?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{target:<12}  {}", row(&found, seconds));
        if target == TARGETS[0] {
            verdicts = judge(&found, seconds);
        }
    }
    Ok(verdicts)
}

/// The rates over the whole time of the program.
fn row(found: &Summary, seconds: f64) -> String {
    let rate = |count: u64| count as f64 / seconds;
    let violated: Vec<&str> = found.violations.iter().map(|violation| violation.property.as_str()).collect();
    format!(
        "{seconds:>7.1}  {:>11.1}  {:>14.0}  {:>12.0}  {:>12.0}  {}",
        rate(found.workloads_generated()),
        rate(found.crash_states_distinct),
        rate(found.recoveries),
        rate(found.recoveries_memoised),
        if violated.is_empty() { "nothing".to_owned() } else { violated.join(", ") },
    )
}

fn judge(found: &Summary, seconds: f64) -> Vec<Verdict> {
    let generated = found.workloads_generated();
    vec![
        Verdict {
            passed: seconds < SECONDS_MAX,
            text: format!("{generated} workloads on {}: {seconds:.1} s, less than {SECONDS_MAX}", TARGETS[0]),
        },
        Verdict {
            passed: generated == WORKLOADS && found.complete && found.violations.is_empty(),
            text: format!("{WORKLOADS} workloads, all of them to their end, nothing found: {}", found.complete),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shakedown::Workloads;

    fn passed(found: &Summary, seconds: f64) -> Vec<bool> {
        judge(found, seconds).iter().map(|verdict| verdict.passed).collect()
    }

    #[test]
    fn each_target_can_be_missed_alone() {
        let workloads = Some(Workloads { generated: WORKLOADS, finished: WORKLOADS, left_out: 0 });
        let found = Summary { workloads, ..Summary::example(&[]) };
        assert_eq!(passed(&found, 39.0), [true, true]);
        assert_eq!(passed(&found, 40.0), [false, true]);
        assert_eq!(passed(&Summary { workloads, ..Summary::example(&["tree"]) }, 1.0), [true, false]);
        assert_eq!(passed(&Summary::example(&[]), 1.0), [true, false]);
    }

    #[test]
    fn a_row_has_rates_and_what_was_violated() {
        let found = Summary {
            workloads: Some(Workloads { generated: 30, finished: 30, left_out: 0 }),
            ..Summary::example(&["tree", "usable"])
        };
        assert_eq!(row(&found, 10.0), "   10.0          3.0               1             0             2  tree, usable");
    }
}
