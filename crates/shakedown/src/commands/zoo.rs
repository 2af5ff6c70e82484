//! `shakedown zoo`: every known bug of the collection, found or not, and how fast.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, available_parallelism},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use vfs::nearest::Suggestion;

use super::Verdict;
use crate::{
    arguments::Zoo,
    quiet::without_panic_messages,
    screen::{self, Paint},
    zoo::{self, Case, Trial},
};

/// How often the time on the terminal is brought up to date.
const TICK: Duration = Duration::from_millis(200);

/// Tries the cases, a few at a time, and tells of each in the order of the table.
///
/// # Errors
/// There is no case of a name, or standard output cannot be written.
pub fn run(arguments: &Zoo) -> Result<Verdict> {
    let cases = chosen(&arguments.names)?;
    let paint = Paint::for_stdout();
    let begun = Instant::now();
    let bar = progress(cases.len());
    let tell = |trial: &Trial| {
        bar.inc(1);
        if arguments.json {
            return Ok(());
        }
        bar.suspend(|| screen::print(&zoo::line(trial, &cases, paint)))
    };
    let trials = without_panic_messages(|| try_all(&cases, tell))?;
    bar.finish_and_clear();
    if arguments.json {
        screen::print(&zoo::json(&trials))?;
    } else {
        screen::print(&zoo::summary(&trials, begun.elapsed(), paint))?;
    }
    Ok(Verdict::of(!trials.iter().all(Trial::is_passed)))
}

/// The cases of these names in the order of the table; all of them without a name.
fn chosen(names: &[String]) -> Result<Vec<&'static Case>> {
    for name in names {
        if zoo::all().all(|case| case.name != name) {
            let known = || zoo::all().map(|case| case.name);
            let nearest = Suggestion::of(name, known()).word().or_else(|| known().find(|known| known.contains(name)));
            let hint = nearest.map_or_else(String::new, |nearest| format!("; the nearest is {nearest:?}"));
            bail!("find the case {name:?}: the zoo has none of this name{hint}");
        }
    }
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.name);
    Ok(zoo::all().filter(is_chosen).collect())
}

/// Something to look at, if somebody looks.
fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::new(cases as u64);
    let style = ProgressStyle::with_template("{spinner} {pos} of {len} cases, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(TICK);
    bar
}

/// Tries cases on all cores, each on one of them; `tell` hears of them in their order.
fn try_all(cases: &[&'static Case], mut tell: impl FnMut(&Trial) -> Result<()>) -> Result<Vec<Trial>> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody listens any more if an earlier case could not be told.
                    if sender.send((case.name, Trial::run(case))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut trials = Vec::new();
        for (name, trial) in receiver {
            early.insert(name, trial);
            while let Some(trial) = cases.get(trials.len()).and_then(|case| early.remove(case.name)) {
                let trial = trial?;
                tell(&trial)?;
                trials.push(trial);
            }
        }
        Ok(trials)
    })
}
