//! One whole check of one target, behind a face that does not depend on the target's types.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use explore::{
    Budget, Limit, MemoryUse, Order, Pace, Progress, Property, Search, SearchError, Severity, Stop, VisitedKind,
};
use vfs::{
    Op,
    generate::{InputCoverage, OpSet},
};

use crate::{
    checker::{Action, Checker, Mishap},
    comparison::Side,
    counts::{Judged, Work},
    minimise::minimise,
    noted::Noted,
    options::{CheckOptions, Equality},
    replay::{self, Player, ReplayError, Replayed},
    score::Score,
    tally::{Affected, WorkloadsReport},
    target::{Finding, Promise, Repeats, Target},
    trace::{Move, OpMove, Trace, VERSION},
    wanted::Wanted,
    workload::{self, Lacking, Workload},
};

/// How to search.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct RunOptions {
    /// The target by its name and options, as it is written into traces.
    pub target: String,
    /// Which ops, as far as it is not the target's to choose.
    pub workload: Workload,
    /// In which order.
    pub order: Order,
    /// By what a best-first search orders the states that wait.
    pub score: Score,
    /// How visited states are remembered.
    pub visited: VisitedKind,
    /// Whether the target's symmetries are used.
    pub symmetry: bool,
    /// Whether a recovery whose result is known from what it reads is not run again.
    pub memoise: bool,
    /// How many workers.
    pub threads: usize,
    /// How much it may cost.
    pub budget: Budget,
    /// What random choices start from.
    pub seed: u64,
    /// Whether what a state leads to is expanded in an order that follows from the seed.
    pub shuffle: bool,
    /// Whether to end at the first violation.
    pub until_violation: bool,
    /// Ends the search from outside.
    pub stop: Stop,
    /// Where to save the search, so that it can be resumed.
    pub save: Option<Save>,
    /// Whether to go on from that file.
    pub resume: bool,
    /// Whether to note which states were met, for [`CheckReport::state_hashes`].
    pub note_states: bool,
}

impl RunOptions {
    /// An exact breadth-first search on one thread, without a bound and with every reduction.
    pub fn exhaustive(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            workload: Workload::default(),
            order: Order::BreadthFirst,
            score: Score::None,
            visited: VisitedKind::Exact,
            symmetry: true,
            memoise: true,
            threads: 1,
            budget: Budget::default(),
            seed: 0,
            shuffle: false,
            until_violation: false,
            stop: Stop::default(),
            save: None,
            resume: false,
            note_states: false,
        }
    }
}

/// How a search is saved.
#[derive(Clone)]
pub struct Save {
    /// Where.
    pub file: PathBuf,
    /// How often while it goes on; one that is cut short is saved too.
    pub pace: Pace,
    /// What is noted with it, made of what it has come to so far. [`explore::checkpoint_note`] reads it again.
    pub note: Arc<dyn Fn(&CheckReport) -> String + Send + Sync>,
}

impl fmt::Debug for Save {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Save").field("file", &self.file).field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Distinct states.
    pub states: u64,
    /// Arrivals at known states.
    pub states_revisited: u64,
    /// The deepest state.
    pub depth: u32,
    /// Whether the bounded space was exhausted: every state was expanded, no crash states were only sampled, and no two
    /// different states counted as one.
    pub complete: bool,
    /// What was cut off, sampled or dropped.
    pub limits: Vec<Limit>,
    /// What was done.
    pub work: Work,
    /// In how many crash states each guarantee was judged, if each was.
    pub judged: Judged,
    /// What of the inputs was exercised, where weights were given.
    pub inputs: Option<InputCoverage>,
    /// The violated properties, worst first.
    pub violations: Vec<Violated>,
    /// What became of the workloads, if there was a set of them.
    pub workloads: Option<WorkloadsReport>,
    /// Hashes of the states that were met, in order, if they were asked for.
    pub state_hashes: Option<Vec<u64>>,
    /// Where the memory went.
    pub memory: MemoryUse,
    /// How long the search took.
    pub elapsed: Duration,
}

/// A violated property.
#[derive(Clone, Debug)]
pub struct Violated {
    /// Which.
    pub property: String,
    /// How bad.
    pub severity: Severity,
    /// How often it was met.
    pub count: u64,
    /// In which workloads, if there was a set of them.
    pub workloads: Option<Affected>,
    /// How to see it again.
    pub trace: Trace,
}

impl Violated {
    /// A property that no workload is needed for, or that ends the search.
    fn once(property: Property, trace: Trace) -> Self {
        Self { property: property.name.to_owned(), severity: property.severity, count: 1, workloads: None, trace }
    }
}

/// What a target can be asked from the command line.
pub trait Checkable: Send + Sync {
    /// What it promises to leave after a crash.
    fn promise(&self) -> Promise;

    /// The kinds of ops that it has.
    fn ops(&self) -> OpSet;

    /// The bytes of a small write, see [`Target::write_bytes`].
    fn write_bytes(&self) -> u64 {
        1
    }

    /// The first of these ops that it does not have, if they are done one after the other.
    fn lacks(&self, script: &[Op]) -> Option<Lacking>;

    /// Whether it can be checked on this machine, see [`Target::ready`].
    ///
    /// # Errors
    /// Something is missing, and the words say what to do about it.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Which kernel it is a part of, see [`Target::kernel`].
    fn kernel(&self) -> Option<String> {
        None
    }

    /// The target as one of several that are compared, if it is a file system.
    fn side(&self) -> Option<&dyn Side> {
        None
    }

    /// Searches it; `progress` is called now and then.
    ///
    /// # Errors
    /// The search cannot be started, saved or resumed.
    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError>;

    /// Executes a trace again.
    ///
    /// # Errors
    /// The trace does not fit.
    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError>;

    /// Makes a trace shorter.
    ///
    /// # Errors
    /// The trace does not lead to its violation.
    fn minimise(&self, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError>;
}

/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// The target panicked outside of recovery, which ends the search.
pub const PANIC: Property = Property::critical("panic");

impl<T: Target> Checkable for T {
    fn promise(&self) -> Promise {
        Target::promise(self)
    }

    fn ops(&self) -> OpSet {
        Target::ops(self)
    }

    fn write_bytes(&self) -> u64 {
        Target::write_bytes(self)
    }

    fn lacks(&self, script: &[Op]) -> Option<Lacking> {
        // A target that panics has the op; the search will tell.
        catch_unwind(AssertUnwindSafe(|| workload::lacking(self, script))).ok().flatten()
    }

    fn ready(&self) -> Result<(), String> {
        Target::ready(self)
    }

    fn kernel(&self) -> Option<String> {
        Target::kernel(self)
    }

    fn side(&self) -> Option<&dyn Side> {
        Some(self)
    }

    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError> {
        let checker = Checker::new(self, options).workload(run.workload.clone()).score(run.score).memoise(run.memoise);
        let checker = checker.depth(run.budget.depth).stop(run.stop.clone());
        let options_json = serde_json::to_string(&options).expect("plain data");
        let identity = format!("{} {options_json} {:?}", run.target, run.workload);
        let noted = Noted::new(&checker, run.note_states);
        let so_far = |now: &Progress| CheckReport {
            work: checker.work(),
            judged: checker.counts.judged(),
            inputs: checker.counts.inputs(),
            workloads: checker.tally.report(),
            ..CheckReport::so_far(now)
        };
        let report = match search(&noted, run, &identity, |now| progress(now, &checker.work()), so_far).run() {
            Err(SearchError::NoInitialState) => return Ok(nothing_starts(&checker, run)),
            report => report?,
        };
        // Before traces are recorded, which executes their moves again.
        let (work, workloads, judged) = (checker.work(), checker.tally.report(), checker.counts.judged());
        let mut violations: Vec<Violated> = report
            .violations
            .iter()
            .map(|violation| {
                let trace = Recorder::record(&checker, run, &violation.trace, &violation.evidence.mishap);
                let (property, severity) = (violation.property.name.to_owned(), violation.property.severity);
                let trace = Trace { property, severity, detail: violation.evidence.detail.clone(), ..trace };
                let workloads = checker.tally.affected(&trace.property);
                Violated { property: trace.property.clone(), severity, count: violation.count, workloads, trace }
            })
            .collect();
        if let Some(panic) = &report.panic {
            let trace = Recorder::record(&checker, run, &panic.trace, &Mishap::default());
            let trace = Trace { property: PANIC.name.to_owned(), detail: panic.message.clone(), ..trace };
            violations.insert(0, Violated::once(PANIC, trace));
        }
        Ok(CheckReport {
            states: report.states,
            states_revisited: report.states_revisited,
            depth: report.depth,
            complete: report.complete && work.is_whole() && options.equality == Equality::Full,
            limits: report.limits,
            work,
            judged,
            inputs: checker.counts.inputs(),
            state_hashes: noted.states(),
            violations,
            workloads,
            memory: report.memory,
            elapsed: report.elapsed,
        })
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError> {
        replay::replay(self, trace)
    }

    fn minimise(&self, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
        // A trace that ends in a panic cannot be tried out again and again in one process.
        if trace.property == PANIC.name {
            return Ok(trace.clone());
        }
        self.heed(stop);
        let shorter = minimise(self, trace, stop);
        self.heed(&Stop::default());
        shorter
    }
}

/// The report on a target whose fresh file system is wrong already.
fn nothing_starts<T: Target>(checker: &Checker<'_, T>, run: &RunOptions) -> CheckReport {
    let violation = |Finding { property, detail }: Finding| {
        let trace = Recorder::record(checker, run, &[], &Mishap::default());
        let trace = Trace { property: property.name.to_owned(), severity: property.severity, detail, ..trace };
        Violated::once(property, trace)
    };
    let wrong = checker.not_started.get().cloned().map(violation);
    CheckReport { work: checker.work(), workloads: checker.tally.report(), ..CheckReport::of_nothing(wrong) }
}

impl CheckReport {
    /// The report on a search that goes on, without what the checked system counts.
    pub fn so_far(progress: &Progress) -> Self {
        Self {
            states: progress.states,
            states_revisited: progress.states_revisited,
            depth: progress.depth,
            memory: MemoryUse { peak_bytes: progress.memory_bytes, ..MemoryUse::default() },
            elapsed: progress.elapsed,
            ..Self::of_nothing(None)
        }
    }

    /// The report on a search that ends before anything is done.
    pub(crate) fn of_nothing(wrong: Option<Violated>) -> Self {
        Self {
            states: 0,
            states_revisited: 0,
            depth: 0,
            complete: false,
            limits: Vec::new(),
            work: Work::default(),
            judged: Judged::default(),
            inputs: None,
            state_hashes: None,
            violations: wrong.into_iter().collect(),
            workloads: None,
            memory: MemoryUse::default(),
            elapsed: Duration::ZERO,
        }
    }
}

/// The search that these options describe; `so_far` is what it has come to.
pub fn search<'a, S: explore::System>(
    system: &'a S,
    run: &RunOptions,
    identity: &str,
    progress: impl FnMut(&Progress) + Send + 'a,
    so_far: impl Fn(&Progress) -> CheckReport + Send + 'a,
) -> Search<'a, S> {
    let search = Search::new(system)
        .order(run.order)
        .visited(run.visited)
        .symmetry(run.symmetry)
        .threads(run.threads)
        .budget(run.budget)
        .seed(run.seed)
        .shuffle(run.shuffle)
        .until_violation(run.until_violation)
        .stop(run.stop.clone())
        .progress(PROGRESS_INTERVAL, progress);
    let Some(Save { file, pace, note }) = &run.save else { return search };
    let note = Arc::clone(note);
    let search = search.checkpoint(file, identity).save_every(*pace).note(move |now| note(&so_far(now)));
    if run.resume { search.resume(file) } else { search }
}

/// Turns the moves of a search, which are positions in lists, into a trace, which says what they were.
struct Recorder {
    ops: Vec<Op>,
    schedule: Vec<Move>,
    under_way: Vec<usize>,
}

impl Recorder {
    fn record<T: Target>(
        checker: &Checker<'_, T>,
        run: &RunOptions,
        moves: &[explore::Move<Action>],
        last: &Mishap,
    ) -> Trace {
        let mut recorder = Self { ops: Vec::new(), schedule: Vec::new(), under_way: Vec::new() };
        let empty = |ops, schedule| Trace {
            version: VERSION,
            target: run.target.clone(),
            against: Vec::new(),
            options: checker.options,
            property: String::new(),
            severity: Severity::Critical,
            detail: String::new(),
            workload: None,
            ops,
            schedule,
            sighting: None,
        };
        if moves.is_empty() {
            return empty(recorder.ops, recorder.schedule);
        }
        let Ok(mut player) = Player::new(checker) else { return empty(recorder.ops, recorder.schedule) };
        for a_move in moves {
            recorder.push(&a_move.action);
            let Some(outcome) = a_move.outcome else {
                recorder.set_mishap(last.clone());
                break;
            };
            // A target that does not repeat itself may go another way now. What led there is kept as far as known.
            let Some(mishap) = player.mishap_of(&a_move.action, outcome) else { continue };
            recorder.set_mishap(mishap);
            let this = recorder.schedule.last().expect("just pushed").clone();
            let wanted = this.op().and_then(|this| this.crash.as_ref()).map_or(Wanted::StateAfter, Wanted::Cut);
            let made = player.try_move(&this, &recorder.ops, wanted);
            if made.as_ref().is_ok_and(|made| made.after.is_empty()) {
                continue;
            }
            let went_on = made.is_ok_and(|made| player.go_on(&this, made).is_ok());
            assert!(went_on || checker.target.repeats() == Repeats::InShape, "the search went there");
            recorder.under_way = player.under_way().to_vec();
        }
        let workload = run.workload.script.as_ref().map(|set| set.name(set.walk(&recorder.ops).workloads().start));
        let workload = workload.filter(|name| !name.is_empty());
        Trace { workload, ..empty(recorder.ops, recorder.schedule) }
    }

    fn push(&mut self, action: &Action) {
        let (op, choice) = match action {
            Action::Run { op, choice } | Action::Begin { op, choice } => {
                self.ops.push(op.clone());
                (self.ops.len() - 1, *choice)
            }
            Action::Go { task } => (self.under_way[*task], 0),
        };
        let op_move = OpMove { choice, ..OpMove::undisturbed(op) };
        self.schedule.push(match action {
            Action::Run { .. } => Move::Run(op_move),
            Action::Begin { .. } => Move::Begin(op_move),
            Action::Go { .. } => Move::Go(op_move),
        });
    }

    fn set_mishap(&mut self, mishap: Mishap) {
        if let Some(op) = self.schedule.last_mut().and_then(Move::op_mut) {
            (op.faults, op.crash) = (mishap.faults, mishap.crash);
        }
    }
}
