//! `shakedown check`: search, crash, recover, judge.

use std::{
    fs, io,
    sync::Arc,
    thread::{self, available_parallelism},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use check::{Affected, CheckReport, RunOptions, Save, Violated, settled};
use explore::{Budget, Order, Pace, SearchError, Stop};

use super::{Verdict, Watch, swarm::Heir};
use crate::{
    arguments::{Check, SearchOrder},
    budget::{Bound, budget},
    folder::Folder,
    progress::Display,
    quiet::without_panic_messages,
    registry::{Named, is_of_the_machine},
    report,
    screen::{self, Paint},
    settings::Settings,
    story,
    summary::{AffectedSummary, Summary, ViolationSummary, leaves_work},
};

/// How much of a search is lost at most when it is killed, unless saving it takes long.
const SAVE_INTERVAL: Duration = Duration::from_mins(1);

/// A check that is ready to be run.
struct Job {
    named: Named,
    /// Which kernel is under check, if one is: looked up when it was taken into use.
    kernel: Option<String>,
    settings: Settings,
    threads: usize,
    budget: Budget,
    folder: Option<Folder>,
    /// What the run came to before it was cut short.
    earlier: Option<Summary>,
}

/// Checks a target, or goes on checking it.
///
/// # Errors
/// Wrong usage, or a folder that cannot be used.
pub fn run(arguments: &Check) -> Result<Verdict> {
    let watch = Watch::begin()?;
    let _heir = arguments.as_task.as_deref().and_then(Heir::of);
    if arguments.as_task.is_some() {
        stop_with_standard_input(&watch.stop);
    }
    let job = match &arguments.resume {
        None => begin(arguments)?,
        Some(folder) => {
            let (folder, earlier) = Folder::open(folder)?;
            if !earlier.resumable && !earlier.panicked() && earlier.settings.search != SearchOrder::Random {
                return say_finished(&folder, &earlier, arguments.json);
            }
            resume(arguments, folder, earlier)?
        }
    };
    if !arguments.json {
        screen::print(&format!("{}\n", Paint::for_stdout().faint(&job.describe(arguments))))?;
    }
    let (mut summary, mut violated) = without_panic_messages(|| job.search(arguments, watch.stop.clone()))?;
    // One signal ends the search, the next one what follows. Without anybody who watches, signals would be ignored.
    let before = watch;
    let watch = Watch::begin()?;
    drop(before);
    if arguments.as_task.is_some() {
        stop_with_standard_input(&watch.stop);
    }
    // Before the traces are made shorter, which takes its time: whoever cannot wait for that has them as they are.
    job.keep(&mut summary, &violated)?;
    // Who is missing is not to be had by doing the same ops again.
    for found in violated.iter_mut().filter(|found| !is_of_the_machine(&found.property)) {
        found.trace = without_panic_messages(|| settled(&*job.named.target, &found.trace, &watch.stop));
        if job.named.is_doubtful(found.count, &found.trace) {
            doubt(found);
        }
    }
    job.keep(&mut summary, &violated)?;
    let text = if arguments.json { summary.to_json() } else { job.tell(&summary, &violated) };
    screen::print(&text)?;
    let (of_the_machine, found): (Vec<_>, Vec<_>) =
        violated.iter().partition(|found| is_of_the_machine(&found.property));
    match of_the_machine.first() {
        Some(trouble) if found.is_empty() => bail!("finish: {}", trouble.trace.detail.lines().next().unwrap_or("")),
        _ => Ok(Verdict::of(!found.is_empty())),
    }
}

/// Accuses nobody of what was seen once and in no try again.
fn doubt(found: &mut Violated) {
    if found.property != host::NONDETERMINISTIC.name {
        found.trace.detail = format!("{} once, and in no try again: {}", found.property, found.trace.detail);
        host::NONDETERMINISTIC.name.clone_into(&mut found.property);
        found.trace.property.clone_from(&found.property);
    }
}

/// A new run.
fn begin(arguments: &Check) -> Result<Job> {
    let named = Named::parse(arguments.target.as_deref().unwrap_or_default())?.against(&arguments.against)?;
    let settings = Settings::new(&named, &arguments.plan)?;
    named.ready()?;
    let kernel = named.target.kernel();
    let budget = bounds(&arguments.budget, settings.depth_max)?;
    settings.fits_into_memory()?;
    if settings.search == SearchOrder::Random && budget.states.is_none() && budget.time.is_none() {
        bail!(SearchError::WalkWithoutBudget);
    }
    // Last, since it clears away an earlier run.
    let folder = arguments.out.as_deref().map(Folder::create).transpose()?;
    Ok(Job { named, kernel, settings, threads: threads(arguments), budget, folder, earlier: None })
}

/// The rest of a run that was cut short.
fn resume(arguments: &Check, folder: Folder, earlier: Summary) -> Result<Job> {
    let shown = folder.path().display();
    ensure!(!earlier.panicked(), "resume {shown}: the target panicked; correct it and start anew");
    ensure!(earlier.settings.search != SearchOrder::Random, SearchError::WalkResumed);
    ensure!(folder.checkpoint().exists(), "resume {shown}: its search.checkpoint is missing");
    let mut settings = earlier.settings.clone();
    settings.load()?;
    settings.fits_into_memory()?;
    let named = Named::parse(&settings.target)?.against(&settings.against)?;
    named.ready()?;
    let kernel = named.target.kernel();
    if let Some(complaint) = other_kernel(earlier.kernel.as_deref(), kernel.as_deref()) {
        bail!("resume {shown}: {complaint}");
    }
    Ok(Job {
        named,
        kernel,
        budget: bounds(&arguments.budget, settings.depth_max)?,
        settings,
        threads: threads(arguments),
        folder: Some(folder),
        earlier: Some(earlier),
    })
}

/// What is wrong if the kernel is another one than that of the run so far: what was found in one is not true of the
/// other. Runs of earlier versions do not know theirs.
fn other_kernel(earlier: Option<&str>, now: Option<&str>) -> Option<String> {
    let earlier = earlier.filter(|earlier| now != Some(earlier))?;
    let now = now.unwrap_or("none");
    Some(format!("the kernel is another one now ({now}) than in the run so far ({earlier}); start anew"))
}

/// The budget of a search that goes so deep.
///
/// # Errors
/// It bounds something twice.
pub fn bounds(given: &[Bound], depth: Option<u32>) -> Result<Budget> {
    match budget(given, depth) {
        Ok(budget) => Ok(budget),
        Err(kind) => bail!("use this budget: it bounds the {kind} twice"),
    }
}

fn threads(arguments: &Check) -> usize {
    arguments.threads.map_or_else(|| available_parallelism().map_or(1, Into::into), usize::from)
}

fn say_finished(folder: &Folder, summary: &Summary, json: bool) -> Result<Verdict> {
    let finished = || format!("The run in {} is finished: there is nothing to resume.\n", folder.path().display());
    screen::print(&if json { summary.to_json() } else { finished() })?;
    Ok(Verdict::of(!summary.violations.is_empty()))
}

impl Job {
    /// Keeps what was found, as far as the user wants it kept.
    fn keep(&self, summary: &mut Summary, violated: &[Violated]) -> Result<()> {
        summary.violations = self.violations(violated);
        let Some(folder) = &self.folder else { return Ok(()) };
        let traces: Vec<_> = violated.iter().map(|found| &found.trace).collect();
        folder.write(summary, &traces)
    }

    /// Every knob, as a command that does the same.
    fn describe(&self, arguments: &Check) -> String {
        let mut words = vec![
            format!("shakedown check '{}'", self.named.full_name()),
            self.settings.flags(),
            format!("--threads {}", self.threads),
        ];
        if !arguments.budget.is_empty() {
            let bounds: Vec<String> = arguments.budget.iter().map(ToString::to_string).collect();
            words.push(format!("--budget {}", bounds.join(",")));
        }
        words.extend(arguments.until_violation.then(|| "--until-violation".to_owned()));
        let resumed = |folder: &Folder| format!(", resumed from {}", folder.path().display());
        let resumed = self.folder.as_ref().filter(|_| self.earlier.is_some()).map(resumed).unwrap_or_default();
        let budget = if arguments.budget.is_empty() { ", no budget" } else { "" };
        format!("{} # version {}{budget}{resumed}", words.join(" "), env!("CARGO_PKG_VERSION"))
    }

    fn search(&self, arguments: &Check, stop: Stop) -> Result<(Summary, Vec<Violated>)> {
        let run = RunOptions {
            threads: self.threads,
            budget: self.budget,
            until_violation: arguments.until_violation,
            stop,
            save: self.folder.as_ref().map(|folder| self.save(folder)),
            resume: self.earlier.is_some(),
            note_states: arguments.as_task.is_some(),
            ..self.settings.run_options(&self.named)
        };
        let mut display = if arguments.as_task.is_some() { Display::lines() } else { Display::new(arguments.json) };
        let checked = self.named.target.check(self.settings.check_options(), &run, &mut |progress, work| {
            display.show(progress, work);
        });
        display.end();
        let report = checked?;
        if let (Some(file), Some(states)) = (&arguments.as_task, &report.state_hashes) {
            let bytes: Vec<u8> = states.iter().flat_map(|hash| hash.to_le_bytes()).collect();
            fs::write(file, bytes).with_context(|| format!("write {}", file.display()))?;
        }
        ensure!(
            report.work.ops > 0
                || report.states != 1
                || self.settings.op_set.is_none()
                || !report.violations.is_empty(),
            "use --ops {}: {} has none of these ops",
            self.settings.op_set.as_deref().unwrap_or(""),
            self.named.entry.name
        );
        let is_idle = report.work.ops == 0 && report.violations.is_empty();
        ensure!(
            self.named.against.is_empty() || !is_idle,
            "compare {} with {}: there is no op that all of them have",
            self.named.name,
            self.named.against.join(" and ")
        );
        let mut summary = Summary::new(self.settings.clone(), self.threads, &report, self.earlier.as_ref());
        let is_cut_short = report.limits.iter().any(leaves_work) && run.order != Order::RandomWalk;
        summary.resumable = self.folder.is_some() && is_cut_short;
        summary.kernel.clone_from(&self.kernel);
        Ok((summary, report.violations))
    }

    /// The search is saved with its summary so far, from which it is resumed.
    fn save(&self, folder: &Folder) -> Save {
        let (settings, threads, kernel) = (self.settings.clone(), self.threads, self.kernel.clone());
        let earlier = self.earlier.clone();
        let summary = move |report: &CheckReport| Summary {
            kernel: kernel.clone(),
            resumable: true,
            ..Summary::new(settings.clone(), threads, report, earlier.as_ref())
        };
        let note = Arc::new(move |report: &CheckReport| summary(report).to_json());
        Save { file: folder.checkpoint(), pace: Pace::Time(SAVE_INTERVAL), note }
    }

    fn violations(&self, violated: &[Violated]) -> Vec<ViolationSummary> {
        let summary = |(number, found): (usize, &Violated)| ViolationSummary {
            property: found.property.clone(),
            severity: found.severity,
            count: found.count,
            nondeterministic: found.trace.sighting.is_some(),
            workloads: found.workloads.as_ref().filter(|_| self.settings.workload_set.is_some()).map(affected),
            trace: match self.folder {
                Some(_) => Folder::trace_name(number).into(),
                None => serde_json::to_value(&found.trace).expect("plain data"),
            },
        };
        (1..).zip(violated).map(summary).collect()
    }

    fn tell(&self, summary: &Summary, violated: &[Violated]) -> String {
        let told = violated.iter().map(|found| match &found.trace.sighting {
            // That it does not show again is known by now.
            Some(sighting) if sighting.shown == 0 => story::tell_as_seen(&found.trace, sighting).text,
            _ => match story::tell(&*self.named.target, &found.trace, false) {
                Ok(told) => told.text,
                Err(error) => format!("  {}\n  It could not be told: {error}.", found.trace.detail),
            },
        });
        report::text(summary, &told.collect::<Vec<_>>(), self.folder.as_ref(), Paint::for_stdout())
    }
}

fn affected(Affected { count, names }: &Affected) -> AffectedSummary {
    AffectedSummary { count: *count, names: names.clone() }
}

/// A task ends when whoever started it is gone: the pipe between them closes then, however that comes about.
fn stop_with_standard_input(stop: &Stop) {
    let stop = stop.clone();
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stop.stop();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_with_the_kernel_that_it_was_begun_with() {
        assert_eq!(other_kernel(Some("one"), Some("one")), None);
        assert_eq!(other_kernel(None, Some("one")), None, "a run of an earlier version");
        assert_eq!(other_kernel(None, None), None, "a target without a kernel");
        for now in [Some("other"), None] {
            assert!(other_kernel(Some("one"), now).is_some_and(|complaint| complaint.contains("(one)")), "{now:?}");
        }
    }
}
