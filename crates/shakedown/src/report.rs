//! A run as a person reads it.

use explore::{Limit, Severity};

use crate::{
    folder::Folder,
    quantity::{about, bytes, count, plural, seconds},
    screen::Paint,
    summary::{AffectedSummary, Summary, ViolationSummary, Workloads},
};

/// With fewer states than this, their share of the tables' first allocation says nothing.
const TELLING_STATES: u64 = 100_000;

/// Everything about a finished or interrupted run. `stories` belong to the violations, in their order.
pub fn text(summary: &Summary, stories: &[String], folder: Option<&Folder>, paint: Paint) -> String {
    let row = |(name, value)| format!("  {}  {value}", paint.faint(&format!("{name:<12}")));
    let table: Vec<String> = table(summary).into_iter().map(row).collect();
    let mut paragraphs = vec![String::new(), table.join("\n")];
    for (number, (violation, story)) in (1..).zip(summary.violations.iter().zip(stories)) {
        paragraphs.push(heading(violation, paint));
        paragraphs.push(story.trim_end().to_owned());
        paragraphs.extend(folder.map(|folder| {
            let trace = folder.path().join(Folder::trace_name(number));
            format!("  See it again: shakedown replay {}", trace.display())
        }));
    }
    paragraphs.push(conclusion(summary, folder, paint));
    // The first paragraph is empty and leaves one blank line above the table.
    paragraphs.join("\n\n")[1..].to_owned()
}

fn table(summary: &Summary) -> Vec<(&'static str, String)> {
    let work = &summary.work;
    let mut rows = vec![(
        "states",
        format!(
            "{} ({} revisits), depth {}, {} a second",
            count(summary.states),
            count(summary.states_revisited),
            summary.depth,
            about(summary.states_per_second)
        ),
    )];
    rows.extend(summary.kernel.iter().map(|kernel| ("kernel", kernel.clone())));
    // Images and workloads are counted anew after each resume.
    let at_most = if summary.resumed > 0 { "at most " } else { "" };
    if let Some(Workloads { generated, distinct, finished, left_out }) = summary.workloads {
        let left_out = if left_out > 0 { format!(", {} left out", count(left_out)) } else { String::new() };
        let [generated, distinct, finished] = [generated, distinct, finished].map(count);
        let counts = format!("{generated}, {distinct} distinct, {at_most}{finished} finished{left_out}");
        rows.insert(0, ("workloads", counts));
    }
    if summary.settings.contract.is_some() || !summary.settings.against.is_empty() {
        let refused = match work.ops_refused {
            0 => String::new(),
            refused => format!(", {} without room for it", count(refused)),
        };
        rows.push(("ops", format!("{}{refused}, {} a second", count(work.ops), about(summary.ops_per_second))));
    }
    if summary.settings.contract.is_some() {
        let distinct = format!("{at_most}{}", plural(work.crash_states_distinct, "distinct image"));
        rows.push(("crash states", format!("{} judged, {distinct}", count(work.crash_states))));
        let memoised = count(work.recoveries_memoised);
        rows.push(("recoveries", format!("{} run, {memoised} known from what they read", count(work.recoveries))));
        if summary.settings.recovery_crashes {
            let states = count(work.recovery_crash_states);
            rows.push(("interrupted", format!("{states} crash states of recoveries, each recovered again")));
        }
    }
    let per_state = format!(", {:.1} bytes a state", summary.bytes_per_state);
    let per_state = if summary.states >= TELLING_STATES { &per_state } else { "" };
    rows.push(("memory", format!("{} at most{per_state}", bytes(summary.peak_memory_bytes))));
    rows.push(("time", seconds(summary.seconds)));
    rows
}

fn heading(violation: &ViolationSummary, paint: Paint) -> String {
    let ViolationSummary { property, severity, count, workloads, nondeterministic, .. } = violation;
    let workloads = workloads.as_ref().map_or_else(String::new, in_workloads);
    let repeats = if *nondeterministic { ", nondeterministic" } else { "" };
    let times = format!("{}{workloads}{repeats}", plural(*count, "time"));
    match severity {
        Severity::Critical => format!("{} {times}", paint.bad(&format!("✗ {property} (critical),"))),
        Severity::NotCritical => format!("{} {times}", paint.notable(&format!("! {property} (not critical),"))),
    }
}

/// In which workloads, with as many names as fit on a line or two.
fn in_workloads(AffectedSummary { count, names }: &AffectedSummary) -> String {
    const NAMES_MAX: usize = 8;
    let more = if *count > NAMES_MAX as u64 { ", ..." } else { "" };
    let named = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!(", in {}: {named}{more}", plural(*count, "workload"))
}

/// What was found, how far the search got, and what that means.
fn conclusion(summary: &Summary, folder: Option<&Folder>, paint: Paint) -> String {
    let mut lines = vec![verdict(summary, paint)];
    lines.push(reach(summary, paint));
    lines.extend(summary.limits_hit.iter().map(|limit| format!("  - {limit}")));
    match folder {
        Some(folder) if summary.resumable => {
            lines.push(format!("Go on with: shakedown check --resume {}", folder.path().display()));
        }
        None if !summary.violations.is_empty() => lines.push("Use --out DIR to keep the traces.".to_owned()),
        _ => {}
    }
    lines.join("\n") + "\n"
}

fn verdict(summary: &Summary, paint: Paint) -> String {
    let violations = &summary.violations;
    let is_critical = |violation: &&ViolationSummary| violation.severity == Severity::Critical;
    let critical = violations.iter().filter(is_critical).count();
    let names: Vec<&str> = violations.iter().map(|violation| violation.property.as_str()).collect();
    let names = names.join(", ");
    match (violations.len(), critical) {
        (0, _) => paint.good("No violation."),
        (_, 0) => format!("{} {names}.", paint.notable("Violated, none of it critical:")),
        (all, critical) if all == critical => format!("{} {names}.", paint.bad("Violated, all critical:")),
        (_, critical) => format!("{} {names}.", paint.bad(&format!("Violated, {critical} of them critical:"))),
    }
}

fn reach(summary: &Summary, paint: Paint) -> String {
    if !summary.complete {
        return format!("{} what was not searched may hide more.", paint.strong("Not complete:"));
    }
    let cut = summary.settings.depth_max.map(|depth| Limit::Depth(depth).to_string());
    let is_cut = cut.is_some_and(|cut| summary.limits_hit.contains(&cut));
    let which = if is_cut { "up to this depth" } else { "that can be reached" };
    let is_critical = |violated: &ViolationSummary| violated.severity == Severity::Critical;
    let damaged = summary.work.crash_states > 0 && summary.violations.iter().any(is_critical);
    let but = if damaged { ", but for what lies behind a critical violation" } else { "" };
    format!("{} every state {which} was searched{but}.", paint.strong("Complete:"))
}
