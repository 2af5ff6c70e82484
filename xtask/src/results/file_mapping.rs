//! The file-mapping study (MC3, chapter 4): two minimal file systems, their write orders, one task or two, on the
//! study's disks and on a disk that reorders. The study's runs were lossy (bitstate); these are exact.

mod published;

use anyhow::Result;

use self::published::{ERROR_MODES, Mapping, Published};
use super::markdown::{count, gigabytes, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

/// A way of writing on a kind of disk, and where the study reports on it.
#[derive(Clone, Copy, Debug)]
struct Setting {
    writes: &'static str,
    crash: &'static str,
    published: Published,
}

const fn setting(writes: &'static str, crash: &'static str, published: Published) -> Setting {
    Setting { writes, crash, published }
}

/// The study's settings first, then those that it leaves out.
const SETTINGS: [Setting; 7] = [
    setting("naive", "prefix", Published::InProseOnly),
    setting("cached", "flushed", Published::Table44),
    setting("ordered", "prefix", Published::Table45),
    setting("naive", "subsets", Published::Nowhere),
    setting("cached", "subsets", Published::Nowhere),
    setting("ordered", "subsets", Published::Nowhere),
    setting("barrier", "subsets", Published::Nowhere),
];

/// What a run may cost. One that needs more is reported as not complete.
const BUDGET: &str = "100s,8GiB";

/// One finished run.
struct Run {
    mapping: Mapping,
    tasks: u32,
    setting: Setting,
    summary: Summary,
}

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let mut runs = Vec::new();
    for setting in SETTINGS {
        for mapping in [Mapping::Link, Mapping::Index] {
            for tasks in [1, 2] {
                runs.push(run(laboratory, mapping, tasks, setting)?);
            }
        }
    }
    Ok([VERDICTS, &verdicts(&runs), &limits(&runs), COST, &cost(&runs)].concat())
}

const VERDICTS: &str = "### Verdicts

`complete` means that the whole space was searched, exactly. A published verdict follows ours in brackets where the
study has one (Tables 4.4 and 4.5); ours is set in bold where they differ. The study wrote in order on a disk whose
flush is atomic and flushed after each op, so that one task leaves no dead block there; `ordered` never flushes, and
under `prefix` the power is cut between any two writes. On the disk that reorders (`subsets`), `naive` and `ordered`,
which never flush, have a cache of two writes. From a state that violates a critical property the search does not go on.

";

const COST: &str = "
### Cost

The study's runs (Table 4.6), each above the slowest of all our runs of that model.

";

fn run(laboratory: &Laboratory, mapping: Mapping, tasks: u32, setting: Setting) -> Result<Run> {
    let Setting { writes, crash, .. } = setting;
    let target = format!("model:{}?writes={writes},threads={tasks}", mapping.name());
    let name = format!("{}-{writes}-{tasks}-{crash}", mapping.name());
    let summary = laboratory.check(&name, &[&target, "--crash", crash, "--budget", BUDGET])?;
    Ok(Run { mapping, tasks, setting, summary })
}

fn verdicts(runs: &[Run]) -> String {
    let heading = [
        "model",
        "writes",
        "tasks",
        "crash",
        "complete",
        "states",
        "crash states",
        "dead block",
        "lost block",
        "double pointer",
        "contents",
        "other",
        "seconds",
        "peak memory",
    ];
    table(heading, runs.iter().map(verdict_row))
}

fn verdict_row(run: &Run) -> [String; 14] {
    let summary = &run.summary;
    let [dead, lost, double, contents] = [0, 1, 2, 3].map(|mode| verdict(run, mode));
    [
        run.mapping.name().to_owned(),
        run.setting.writes.to_owned(),
        run.tasks.to_string(),
        run.setting.crash.to_owned(),
        if summary.complete { "yes" } else { "**no**" }.to_owned(),
        count(summary.states),
        count(summary.crash_states),
        dead,
        lost,
        double,
        contents,
        other(summary),
        format!("{:.1}", summary.seconds),
        gigabytes(summary.peak_memory_bytes),
    ]
}

/// Ours, then the published one.
fn verdict(run: &Run, mode: usize) -> String {
    let found = run.summary.violations.iter().any(|violation| violation.property.contains(ERROR_MODES[mode].word));
    let ours = if found { "violated" } else { "holds" };
    match run.setting.published.verdict(run.tasks, mode) {
        None => ours.to_owned(),
        Some(published) if published.agrees(found) => format!("{ours} ({})", published.text()),
        Some(published) => format!("**{ours}** ({})", published.text()),
    }
}

/// Violated properties that are none of the study's four: nothing that was found is left out of the table.
fn other(summary: &Summary) -> String {
    let is_known = |property: &str| ERROR_MODES.iter().any(|mode| property.contains(mode.word));
    let names: Vec<&str> = summary.violations.iter().map(|violation| violation.property.as_str()).collect();
    names.into_iter().filter(|name| !is_known(name)).collect::<Vec<_>>().join(", ")
}

/// Whatever a run sampled, skipped or cut off, said below the table.
fn limits(runs: &[Run]) -> String {
    let named = |run: &Run| {
        let Setting { writes, crash, .. } = run.setting;
        format!("{}, {writes}, {} tasks, {crash}", run.mapping.name(), run.tasks)
    };
    cut_short::list(runs.iter().map(|run| (named(run), &run.summary)))
}

fn cost(runs: &[Run]) -> String {
    let heading = ["model", "tasks", "run", "states", "transitions", "memory", "time"];
    let mut rows = Vec::new();
    for mapping in [Mapping::Link, Mapping::Index] {
        for tasks in [1, 2] {
            let own = runs.iter().filter(|run| run.mapping == mapping && run.tasks == tasks);
            let slowest = own.max_by(|a, b| a.summary.seconds.total_cmp(&b.summary.seconds));
            rows.push(published_cost_row(mapping, tasks));
            rows.extend(slowest.map(cost_row));
        }
    }
    table(heading, rows)
}

fn published_cost_row(mapping: Mapping, tasks: u32) -> [String; 7] {
    let theirs = mapping.published_cost(tasks);
    [
        mapping.name().to_owned(),
        tasks.to_string(),
        "published".to_owned(),
        format!("{:.2}e10", theirs.states_e10),
        format!("{:.2}e10", theirs.transitions_e10),
        format!("{:.2} GB", theirs.memory_gb),
        format!("{:.2} h", theirs.hours),
    ]
}

/// The summary counts no transitions, so that cell stays empty.
fn cost_row(run: &Run) -> [String; 7] {
    [
        run.mapping.name().to_owned(),
        run.tasks.to_string(),
        format!("Shakedown, {}, {}", run.setting.writes, run.setting.crash),
        count(run.summary.states),
        String::new(),
        gigabytes(run.summary.peak_memory_bytes),
        format!("{:.1} s", run.summary.seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_with(published: Published, tasks: u32, violated: &[&str]) -> Run {
        let summary = Summary::example(violated);
        Run { mapping: Mapping::Link, tasks, setting: setting("cached", "flushed", published), summary }
    }

    #[test]
    fn agreement_and_disagreement_with_the_study_look_different() {
        let run = run_with(Published::Table44, 2, &["no lost block", "no double pointer"]);
        assert_eq!(verdict(&run, 1), "violated (Error)");
        assert_eq!(verdict(&run, 3), "**holds** (Error)");
        assert_eq!(verdict(&run, 0), "holds (Not check)");
        assert_eq!(verdict(&run_with(Published::Nowhere, 2, &[]), 1), "holds");
    }

    #[test]
    fn a_property_that_the_study_does_not_have_is_shown() {
        assert_eq!(verdict_row(&run_with(Published::Table44, 1, &["mountable"]))[11], "mountable");
    }

    #[test]
    fn cost_stands_beside_the_published_cost() {
        let text = cost(&[run_with(Published::Table45, 2, &[])]);
        assert!(text.contains("| link | 2 | published | 1.20e10 | 3.83e10 | 4.73 GB | 1.81 h |"), "{text}");
        assert!(text.contains("| link | 2 | Shakedown, cached, flushed | 10 |  | 0.00 GB | 1.5 s |"), "{text}");
    }
}
