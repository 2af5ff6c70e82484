//! Kernel file systems against the reference: how fast, beside the figures of Metis, and what differs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Deserialize;

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::process;
use crate::shakedown::Summary;

const ABOUT: &str = "Each file system runs in a guest beside the reference, in random walks of 200 ops drawn by the
weights below; outcomes and trees are compared after every op. A difference ends its walk. What was found is told in
[findings.md](findings.md). Each is one task with one worker, so that its walks are those of its seed; as many tasks run
at a time as there are cores. Published for Metis: 195 ops and 58 states a second for each of 18 tasks (section 5.6.2:
ext4 against ext2 for 13 hours, 2.7 million states a task), with an unmount and a mount around every op; here a remount
is one op among others.

";

/// Published rates of one task of Metis.
const METIS_OPS_A_SECOND: f64 = 195.0;
const METIS_STATES_A_SECOND: f64 = 58.0;

const TARGETS: [&str; 7] =
    ["guest:ext4", "guest:xfs", "guest:btrfs", "guest:f2fs", "guest:jfs", "guest:nilfs2", "guest:jffs2"];

/// As many kinds as Metis has, and remounts.
const WEIGHTS: &str = "[ops]
create = 1
write = 2
truncate = 1
unlink = 1
mkdir = 1
rmdir = 1
chmod = 1
chown = 1
setxattr = 1
removexattr = 1
rename = 1
link = 1
symlink = 1
remount = 0.3
";

/// Ops that a file system does not have.
const LACKING: [(&str, &[&str]); 1] = [("guest:nilfs2", &["setxattr", "removexattr"])];

/// The weights, without what a target does not have.
fn weights_of(target: &str) -> String {
    let lacking = LACKING.iter().find(|(name, _)| *name == target).map_or(&[][..], |(_, ops)| ops);
    WEIGHTS.split_inclusive('\n').filter(|line| !lacking.iter().any(|op| line.starts_with(op))).collect()
}

/// How long each runs if nothing is said.
const TIME_DEFAULT: &str = "10m";

/// What `shakedown targets --json` says, as far as it matters here.
#[derive(Deserialize)]
struct Known {
    targets: Vec<KnownTarget>,
}

#[derive(Deserialize)]
struct KnownTarget {
    name: String,
    missing: Option<String>,
}

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let output = process::output(laboratory.shakedown.command().args(["targets", "--json"]))?;
    let known: Known = serde_json::from_slice(&output.stdout).context("could not read the list of targets")?;
    let (mut to_run, mut not_run) = (Vec::new(), Vec::new());
    for target in TARGETS {
        match known.targets.iter().find(|known| known.name == target) {
            None => not_run.push(format!("- {target}: there is no such target\n")),
            Some(KnownTarget { missing: Some(missing), .. }) => {
                not_run.push(format!("- {target}: could not {missing}\n"));
            }
            Some(_) => to_run.push(target),
        }
    }
    let runs = side_by_side(laboratory.cores, &to_run, |target| compare(laboratory, target))?;
    let limits = cut_short::list(runs.iter().map(|(name, summary)| ((*name).to_owned(), summary)));
    let not_run = if not_run.is_empty() { String::new() } else { format!("\nNot run:\n\n{}", not_run.concat()) };
    let weights = format!("The weights, but nilfs2 has no extended attributes:\n\n```toml\n{WEIGHTS}```\n");
    Ok(format!("{ABOUT}{}{not_run}{limits}\n{weights}", rates(&runs)))
}

fn compare(laboratory: &Laboratory, target: &str) -> Result<Summary> {
    let time = laboratory.each.as_deref().unwrap_or(TIME_DEFAULT);
    let name = format!("comparison-{}", target.replace(':', "-"));
    let weights = laboratory.scratch.join(format!("{name}.toml"));
    std::fs::write(&weights, weights_of(target)).with_context(|| format!("could not write {}", weights.display()))?;
    let weights = weights.to_str().context("could not use a scratch folder whose name is no text")?;
    let search = ["--search", "random", "--depth", "200", "--budget", time];
    let arguments = [&[target, "--against", "ref", "--ops", weights][..], &search].concat();
    laboratory.check_on(1, &name, &arguments)
}

/// Keeps this thread and what it starts to a core, so that tasks do not meet. Where that cannot be had, they may.
fn keep_to(core: usize) {
    let mut only = CpuSet::new();
    only.set(core);
    let _ = sched_setaffinity(None, &only);
}

/// Runs all, so many at a time, each on a core; the results come in the order of what was to be run.
fn side_by_side<R: Send>(
    at_a_time: usize,
    to_run: &[&'static str],
    run: impl Fn(&str) -> Result<R> + Sync,
) -> Result<Vec<(&'static str, R)>> {
    let next = AtomicUsize::new(0);
    let work = |core: usize| {
        keep_to(core);
        let mut done = Vec::new();
        while let Some(target) = to_run.get(next.fetch_add(1, Ordering::Relaxed)) {
            // What is left is not begun when one has failed: nothing would come of it.
            let result = run(target).inspect_err(|_| next.store(to_run.len(), Ordering::Relaxed))?;
            done.push((*target, result));
        }
        Ok(done)
    };
    let done: Vec<Result<Vec<_>>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_a_time).map(|core| scope.spawn(move || work(core))).collect();
        workers.into_iter().map(|worker| worker.join().expect("workers do not panic")).collect()
    });
    let mut done: Vec<(&'static str, R)> =
        done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    done.sort_by_key(|(target, _)| to_run.iter().position(|other| other == target));
    Ok(done)
}

fn rates(runs: &[(&str, Summary)]) -> String {
    let heading = ["target", "seconds", "ops", "ops a second", "to Metis", "states a second", "to Metis ", "violated"];
    let row = |(name, summary): &(&str, Summary)| {
        let rate = |count: u64| count as f64 / summary.seconds.max(f64::MIN_POSITIVE);
        let (ops, states) = (rate(summary.ops), rate(summary.states));
        let violated: BTreeSet<&str> = summary.violations.iter().map(|violation| &*violation.property).collect();
        let violated = if violated.is_empty() { "nothing".to_owned() } else { Vec::from_iter(violated).join(", ") };
        [
            (*name).to_owned(),
            format!("{:.0}", summary.seconds),
            count(summary.ops),
            format!("{ops:.0}"),
            format!("{:.1}x", ops / METIS_OPS_A_SECOND),
            format!("{states:.0}"),
            format!("{:.1}x", states / METIS_STATES_A_SECOND),
            violated,
        ]
    };
    table(heading, runs.iter().map(row))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn what_a_target_lacks_is_not_asked_of_it() {
        assert_eq!(weights_of("guest:ext4"), WEIGHTS);
        assert!(!weights_of("guest:nilfs2").contains("xattr") && weights_of("guest:nilfs2").contains("rename = 1"));
    }

    #[test]
    fn results_come_in_order_and_a_failure_is_told() {
        let lengths = side_by_side(2, &["one", "three", "no"], |name| Ok(name.len())).unwrap();
        assert_eq!(lengths, [("one", 3), ("three", 5), ("no", 2)]);
        let failed = side_by_side(2, &["one", "three"], |name| if name == "one" { bail!("no") } else { Ok(()) });
        assert!(failed.is_err());
    }

    #[test]
    fn rates_stand_beside_the_published_ones() {
        let summary = Summary { ops: 5850, states: 870, seconds: 10.0, ..Summary::example(&["outcome"]) };
        let text = rates(&[("guest:ext4", summary)]);
        assert!(text.contains("| guest:ext4 | 10 | 5 850 | 585 | 3.0x | 87 | 1.5x | outcome |"), "{text}");
    }
}
