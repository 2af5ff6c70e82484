//! What a run came to, as one JSON object: printed by `--json`, kept as `summary.json`, read again by `--resume`.

use check::{CheckReport, Equality, Lack, Work, WorkloadsReport};
use explore::{Limit, Severity};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vfs::generate::InputCoverage;

use crate::{memory, registry, settings::Settings};

/// The keys are a promise to users.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Of the program.
    pub version: String,
    #[serde(flatten)]
    pub settings: Settings,
    pub threads: usize,
    /// The kernel that was under check, if one was.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The deepest state.
    pub depth: u32,
    pub states: u64,
    pub states_revisited: u64,
    #[serde(flatten)]
    pub work: Work,
    /// Waiting states that were dropped unexpanded because memory ran out.
    pub states_dropped: u64,
    /// Worst first.
    pub violations: Vec<ViolationSummary>,
    /// Where a workload set was run.
    pub workloads: Option<Workloads>,
    /// Where inputs were counted.
    pub input_coverage: Option<InputCoverage>,
    pub complete: bool,
    pub limits_hit: Vec<String>,
    /// The time of the search; what was resumed counts too.
    pub seconds: f64,
    pub ops_per_second: f64,
    pub states_per_second: f64,
    /// The largest resident set of the process.
    pub peak_memory_bytes: u64,
    pub memory: MemorySummary,
    pub bytes_per_state: f64,
    /// Whether the run was cut short in a folder from which it can be resumed.
    pub resumable: bool,
    /// How often the run was resumed.
    pub resumed: u32,
}

/// A violated property.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ViolationSummary {
    pub property: String,
    pub severity: Severity,
    pub count: u64,
    /// Whether it does not show each time that the same is done; left out if it does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nondeterministic: bool,
    /// In how many workloads, if there was a set of them, and the names of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workloads: Option<AffectedSummary>,
    /// The trace itself, or where it is in the run's folder.
    pub trace: Value,
}

/// What became of a set of workloads.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Workloads {
    /// How many there were, also those that do the same as another.
    pub generated: u64,
    /// How many different ones.
    pub distinct: u64,
    /// Of how many every op was done.
    pub finished: u64,
    /// How many were given up because the target does not have an op of theirs.
    pub left_out: u64,
}

/// The workloads in which a property was violated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AffectedSummary {
    pub count: u64,
    /// At most [`check::NAMED_MAX`].
    pub names: Vec<String>,
}

impl Workloads {
    /// What was finished before a run was resumed is not known one by one, so that there may be fewer.
    fn of(report: &WorkloadsReport, earlier: Option<&Summary>) -> Self {
        let before = earlier.and_then(|earlier| earlier.workloads).map_or((0, 0), |was| (was.finished, was.left_out));
        let WorkloadsReport { given, distinct, finished, left_out, .. } = report;
        Self {
            generated: *given,
            distinct: *distinct,
            finished: (finished + before.0).min(*distinct),
            left_out: (left_out + before.1).min(*distinct),
        }
    }
}

/// Where the memory went, by the search's own account.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "these are keys of JSON, and a key says its unit")]
pub struct MemorySummary {
    pub visited_bytes: u64,
    pub link_bytes: u64,
    pub peak_bytes: u64,
}

impl Summary {
    /// The summary of a search, still without its violations. A resumed search continues `earlier`.
    pub fn new(settings: Settings, threads: usize, report: &CheckReport, earlier: Option<&Self>) -> Self {
        let seconds = report.elapsed.as_secs_f64() + earlier.map_or(0.0, |earlier| earlier.seconds);
        let work = earlier.map_or(report.work, |earlier| earlier.work.plus(report.work));
        let limits = Limits::of(&settings, report, work);
        let settings_has_set = settings.workload_set.is_some();
        let kept_bytes = report.memory.visited_bytes + report.memory.link_bytes;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            threads,
            kernel: None,
            depth: report.depth,
            states: report.states,
            states_revisited: report.states_revisited,
            work,
            states_dropped: limits.states_dropped,
            violations: Vec::new(),
            workloads: report
                .workloads
                .as_ref()
                .filter(|_| settings_has_set)
                .map(|report| Workloads::of(report, earlier)),
            input_coverage: inputs(report, earlier),
            complete: limits.complete,
            limits_hit: limits.says,
            seconds,
            ops_per_second: rate(work.ops, seconds),
            states_per_second: rate(report.states, seconds),
            peak_memory_bytes: memory::peak_bytes()
                .unwrap_or(report.memory.peak_bytes)
                .max(earlier.map_or(0, |earlier| earlier.peak_memory_bytes)),
            memory: MemorySummary {
                visited_bytes: report.memory.visited_bytes,
                link_bytes: report.memory.link_bytes,
                peak_bytes: report.memory.peak_bytes.max(earlier.map_or(0, |earlier| earlier.memory.peak_bytes)),
            },
            bytes_per_state: kept_bytes as f64 / report.states.max(1) as f64,
            resumable: false,
            resumed: earlier.map_or(0, |earlier| earlier.resumed + 1),
        }
    }

    /// Whether the target panicked, which ends a run for good.
    pub fn panicked(&self) -> bool {
        self.limits_hit.contains(&Limit::Panic.to_string())
    }

    /// The object as text that ends with a newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        text
    }
}

/// Where a search goes on and on, nothing is unmounted to see what comes of it: it would have to be brought back.
const NO_UNMOUNTS: &str =
    "what kernels leave when they unmount was not judged: that is done where a search ends, with --depth or workloads";

/// What was cut off, sampled or dropped, in this search or in an earlier part of the run.
struct Limits {
    states_dropped: u64,
    says: Vec<String>,
    complete: bool,
}

impl Limits {
    fn of(settings: &Settings, report: &CheckReport, work: Work) -> Self {
        let dropped =
            report.limits.iter().map(|limit| if let Limit::StatesDropped(count) = limit { *count } else { 0 });
        let states_dropped = dropped.sum();
        let mut says: Vec<String> = report.limits.iter().map(Limit::to_string).collect();
        says.extend(match settings.equality {
            Equality::Full => None,
            Equality::Shape { suffix } => Some(format!(
                "states whose trees have one shape count as one if their last {suffix} ops were of the same kinds"
            )),
            Equality::Tree => Some("states whose trees are the same count as one".to_owned()),
        });
        if let Some(workloads) = report.workloads.as_ref().filter(|workloads| workloads.left_out > 0) {
            says.push(left_out(workloads));
        }
        // In a search of one target, a full disk is one of its states; it parts several, and cuts workloads short.
        if work.ops_refused > 0 && !settings.against.is_empty() {
            says.push(format!(
                "{} ops found no room on one side; on the others they were taken back",
                work.ops_refused
            ));
        } else if work.ops_refused > 0 && report.workloads.is_some() {
            let refused = work.ops_refused;
            let advice = if registry::has_kib(&settings.target) { ": a larger disk (kib=) may have it" } else { "" };
            says.push(format!("{refused} ops of the workloads found no room{advice}"));
        }
        if work.positions_sampled > 0 {
            let most = settings.crash_states_max;
            says.push(format!(
                "{} positions had over {most} crash states: a sample was judged",
                work.positions_sampled
            ));
        }
        if settings.leaves_unmounts_unjudged() {
            says.push(NO_UNMOUNTS.to_owned());
        }
        if work.ended_unjudged > 0 {
            says.push(format!(
                "{} states were not searched further: a request had failed, and what is durable is not known",
                work.ended_unjudged
            ));
        }
        Self { complete: report.complete && work.is_whole(), states_dropped, says }
    }
}

/// Which workloads the target cannot do.
fn left_out(workloads: &WorkloadsReport) -> String {
    let lacks: Vec<String> = workloads
        .lacking
        .iter()
        .map(|lacking| match lacking.what {
            Lack::Kind => lacking.op.kind().to_string(),
            Lack::Form | Lack::Large { .. } | Lack::LongNames { .. } => lacking.op.to_string(),
        })
        .collect();
    format!("{} workloads were left out: the target has no {}", workloads.left_out, lacks.join(", "))
}

/// What was exercised in all parts of a run.
fn inputs(report: &CheckReport, earlier: Option<&Summary>) -> Option<InputCoverage> {
    let mut inputs = report.inputs.clone()?;
    if let Some(earlier) = earlier.and_then(|earlier| earlier.input_coverage.as_ref()) {
        inputs.add(earlier);
    }
    Some(inputs)
}

/// How many of them a second.
pub fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Whether a search that met this limit left something to do.
pub fn leaves_work(limit: &Limit) -> bool {
    use Limit::{Interrupted, Memory, States, Time, UntilViolation};
    matches!(limit, States(_) | Time(_) | Memory(_) | Interrupted | UntilViolation)
}
