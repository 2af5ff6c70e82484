//! One row of the table: every workload on the target, every crash state judged, the results put together.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use anyhow::{Result, bail, ensure};
use check::{CheckOptions, CheckReport, Judged, RunOptions, Trace, Violated, Workload};
use disk::CrashMode;
use explore::{Budget, Severity, Stop};
use vfs::{
    OpKind, WorkloadSet,
    contract::{Contract, Guarantee},
    generate::OpSet,
    workloads::{Collector, Names},
};

use super::{Cell, Column, Counterexample, Row, workloads::SCRIPTS};
use crate::{
    registry::{Kind, Named, is_of_the_machine},
    story,
};

/// The property that is violated if recovery and the thorough check disagree.
const DISAGREES: &str = "fsck-disagrees";
/// No script has more ops.
const OPS_MAX: u32 = 64;
/// What decides the figures, besides the target.
#[derive(Clone, Debug)]
pub struct Knobs {
    pub crash: CrashMode,
    /// How many crash states at one position are judged before they are sampled.
    pub crash_states_max: usize,
    /// How deep every op is tried after every other, besides the scripts.
    pub depth: u32,
    pub threads: usize,
    pub seed: u64,
    pub stop: Stop,
}

/// Hears how many crash states were judged.
pub type Told<'a> = dyn FnMut(u64) + Send + 'a;

/// Measures one target.
///
/// # Errors
/// The target has no files of the user's choosing, or cannot be checked here.
pub fn measure(named: &Named, knobs: &Knobs, progress: &mut Told<'_>) -> Result<Row> {
    ensure!(
        named.entry.kind != Kind::Flash,
        "characterise {}: its power can be cut between ops only, which proves little",
        named.entry.name
    );
    ensure!(
        named.entry.kind == Kind::Files,
        "characterise {}: its files are its own to choose, so no workload fits it",
        named.entry.name
    );
    let begun = Instant::now();
    let whole = Pass::run(named, knobs, progress)?;
    let synchronous = synchronous_twin(named)?;
    let sync_pass = synchronous.as_ref().map(|twin| Pass::run(twin, knobs, &mut *progress)).transpose()?;
    let cell = |column: Column| match (column, &synchronous, &sync_pass) {
        (Column::Keeps(Guarantee::SynchronousMount), Some(twin), Some(pass)) => pass.cell(twin, column, &knobs.stop),
        _ => whole.cell(named, column, &knobs.stop),
    };
    let passes = || [Some(&whole), sync_pass.as_ref()].into_iter().flatten();
    Ok(Row {
        target: named.name.clone(),
        contract: named.target.promise().contract,
        cells: Column::ALL.into_iter().map(cell).collect(),
        aside: passes().flat_map(Pass::aside).collect(),
        workloads: passes().map(|pass| pass.workloads).sum(),
        crash_states: passes().map(|pass| pass.crash_states).sum(),
        limits: whole.limits.iter().cloned().chain(sync_pass.iter().flat_map(Pass::limits_when_synchronous)).collect(),
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// The same target mounted synchronously, unless it is already or cannot be.
fn synchronous_twin(named: &Named) -> Result<Option<Named>> {
    let can = named.entry.options.iter().any(|option| option.name == "sync");
    if !can || named.target.promise().synchronous {
        return Ok(None);
    }
    let given = named.name.split_once('?').map_or("", |(_, options)| options).split(',');
    let others = given.filter(|option| !option.is_empty() && !option.starts_with("sync="));
    let options: Vec<&str> = others.chain(["sync=on"]).collect();
    Ok(Some(Named::parse(&format!("{}?{}", named.entry.name, options.join(",")))?))
}

/// All workloads on one target, mounted in one way.
struct Pass {
    workloads: usize,
    crash_states: u64,
    judged: Judged,
    /// The shortest of each property, with how often it was violated in all workloads together.
    violated: BTreeMap<String, Violated>,
    limits: Vec<String>,
}

impl Pass {
    fn run(named: &Named, knobs: &Knobs, progress: &mut Told<'_>) -> Result<Self> {
        let (scripts, lacking) = scripts(named)?;
        let mut pass = Self {
            workloads: scripts.len(),
            crash_states: 0,
            judged: Judged::default(),
            violated: BTreeMap::new(),
            limits: Vec::new(),
        };
        // What changes something, and what makes it durable.
        let kinds = OpSet::DEFAULT.union(OpSet::of(&[OpKind::Fdatasync])).intersection(named.target.ops());
        let mut searches = vec![(Workload { ops: Some(kinds), ..Workload::default() }, knobs.depth)];
        if !scripts.is_empty() {
            searches.insert(0, (Workload { script: Some(Arc::new(scripts)), ..Workload::default() }, OPS_MAX));
        }
        let mut sampled = 0;
        for (workload, depth) in searches {
            let report = search(named, knobs, workload, depth, progress)?;
            sampled += report.work.positions_sampled;
            let missing = report.violations.iter().find(|found| is_of_the_machine(&found.property));
            if let Some(found) = missing {
                bail!("finish: {}", found.trace.detail.lines().next().unwrap_or_default());
            }
            pass.add(report);
        }
        if sampled > 0 {
            let most = knobs.crash_states_max;
            pass.limits.push(format!("{sampled} positions had over {most} crash states: a sample was judged"));
        }
        if !lacking.is_empty() {
            pass.limits.push(format!("left out for want of an op: {}", lacking.join(", ")));
        }
        Ok(pass)
    }

    fn add(&mut self, report: CheckReport) {
        self.crash_states += report.work.crash_states;
        self.judged.add(&report.judged);
        let cut_short = report.limits.iter().filter(|limit| limit.cuts_the_search()).map(ToString::to_string);
        self.limits.extend(cut_short.collect::<Vec<_>>());
        for found in report.violations {
            match self.violated.get_mut(&found.property) {
                Some(known) => {
                    known.count += found.count;
                    if found.trace.ops.len() < known.trace.ops.len() {
                        known.trace = found.trace;
                    }
                }
                None => drop(self.violated.insert(found.property.clone(), found)),
            }
        }
    }

    fn cell(&self, named: &Named, column: Column, stop: &Stop) -> Cell {
        let (found, crash_states) = match column {
            Column::Recovers => (self.worst_recovery(), self.crash_states),
            Column::Keeps(guarantee) => (self.violated.get(guarantee.name()), self.judged.of(guarantee)),
            Column::FastIsFull => (self.violated.get(DISAGREES), self.judged.compared),
        };
        match found {
            Some(found) => {
                let found = counterexample(named, column, found, crash_states, stop);
                let seen = || format!("it was broken once, and in no try again: {}", found.trace.detail);
                if named.is_doubtful(found.broken, &found.trace) {
                    Cell::NotMeasured { why: seen() }
                } else {
                    Cell::Broken(Box::new(found))
                }
            }
            None if crash_states > 0 => Cell::Held { crash_states },
            None => Cell::NotMeasured { why: why_not(named, column) },
        }
    }

    /// What is wrong with recovery, in as few ops as possible.
    fn worst_recovery(&self) -> Option<&Violated> {
        let of_recovery =
            self.violated.values().filter(|found| is_about_recovery(found) && found.property != DISAGREES);
        of_recovery.min_by_key(|found| found.trace.ops.len())
    }

    /// What was cut off in a pass beside the usual one.
    fn limits_when_synchronous(&self) -> impl Iterator<Item = String> {
        self.limits.iter().map(|limit| format!("mounted synchronously: {limit}"))
    }

    /// What went wrong while the power was on.
    fn aside(&self) -> Vec<(String, String)> {
        let of_ops = self.violated.values().filter(|found| !is_about_recovery(found) && !is_guarantee(&found.property));
        of_ops.map(|found| (found.property.clone(), found.trace.detail.clone())).collect()
    }
}

fn is_guarantee(property: &str) -> bool {
    Guarantee::ALL.iter().any(|guarantee| guarantee.name() == property)
}

/// Whether a critical property was violated that a power cut led to, and none of the guarantees.
fn is_about_recovery(found: &Violated) -> bool {
    let cut = found.trace.schedule.last().is_none_or(|last| last.op().is_some_and(|last| last.crash.is_some()));
    cut && found.severity == Severity::Critical && !is_guarantee(&found.property)
}

fn counterexample(named: &Named, column: Column, found: &Violated, crash_states: u64, stop: &Stop) -> Counterexample {
    // A trace for which nobody waits any more is good as it is.
    let trace: Trace = check::settled(&*named.target, &found.trace, stop);
    let told = match story::tell(&*named.target, &trace, false) {
        Ok(told) => told.text,
        Err(error) => format!("  {}\n  It could not be told: {error}.\n", trace.detail),
    };
    let promised = named.target.promise().contract >= column.contract();
    Counterexample { crash_states, broken: found.count, promised, trace, told, file: None }
}

fn why_not(named: &Named, column: Column) -> String {
    let needs = |kind: OpKind| {
        let has = named.target.ops().contains(kind);
        if has { format!("no workload came to {kind}") } else { format!("it has no op {kind}") }
    };
    match column {
        Column::Keeps(Guarantee::SynchronousMount) => "it cannot be mounted synchronously".to_owned(),
        Column::Keeps(Guarantee::Sync) => needs(OpKind::Sync),
        Column::Keeps(Guarantee::Fsync | Guarantee::FsyncName | Guarantee::FsyncDirectory) => needs(OpKind::Fsync),
        Column::Keeps(Guarantee::Fdatasync) => needs(OpKind::Fdatasync),
        Column::Keeps(Guarantee::SynchronousWrite) => needs(OpKind::Open),
        Column::Keeps(Guarantee::RenameAtomic) => needs(OpKind::Rename),
        Column::FastIsFull => "there is no other check to compare with".to_owned(),
        Column::Recovers | Column::Keeps(Guarantee::Ordered | Guarantee::Prefix) => "no op wrote anything".to_owned(),
    }
}

/// Every workload that a target can do, as a set; and the names of those that it cannot do.
fn scripts(named: &Named) -> Result<(WorkloadSet, Vec<&'static str>)> {
    let (mut scripts, mut called, mut lacking) = (Collector::default(), Vec::new(), Vec::new());
    for script in SCRIPTS {
        let ops = script.ops(named.target.write_bytes());
        let has_all = ops.iter().all(|op| named.target.ops().contains(op.kind()));
        if has_all && named.target.lacks(&ops).is_none() {
            scripts.push(&ops)?;
            called.push(Arc::from(script.name));
        } else {
            lacking.push(script.name);
        }
    }
    Ok((scripts.finish(Names::Own(called)), lacking))
}

/// One search of all crash states of a workload, of which each guarantee is judged.
fn search(
    named: &Named,
    knobs: &Knobs,
    workload: Workload,
    depth: u32,
    progress: &mut Told<'_>,
) -> Result<CheckReport> {
    let options = CheckOptions {
        crash: knobs.crash,
        // The strongest, so that every crash state is judged at every moment at which it may be found.
        contract: Contract::Prefix,
        each_guarantee: true,
        continue_after_crash: false,
        crash_states_max: knobs.crash_states_max,
        seed: knobs.seed,
        ..CheckOptions::default()
    };
    let run = RunOptions {
        workload,
        threads: knobs.threads,
        budget: Budget { depth: Some(depth), ..Budget::default() },
        stop: knobs.stop.clone(),
        seed: knobs.seed,
        ..RunOptions::exhaustive(&named.name)
    };
    Ok(named.target.check(options, &run, &mut |_, work| progress(work.crash_states))?)
}
