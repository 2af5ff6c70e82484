//! A comparison as a searchable system, and one whole search of it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Mutex, OnceLock, PoisonError},
};

use explore::{Progress, Property, SearchError, Step, System};
use vfs::{Op, generate::ObjectBounds};

use super::{
    Comparison,
    again::Met,
    refusals::{Refusals, is_likely, refused_first},
    state::Compared,
};
use crate::{
    counts::{Counts, Judged, Work},
    noted::Noted,
    options::{CheckOptions, Equality},
    run::{CheckReport, PANIC, RunOptions, Violated, search},
    target::Finding,
    trace::{Move, OpMove, Trace, VERSION},
    workload::Workload,
};

/// Searches the states of a comparison.
struct Comparer<'a> {
    comparison: &'a Comparison,
    equality: Equality,
    workload: &'a Workload,
    bounds: ObjectBounds,
    counts: Counts,
    /// Where states are told apart by their trees and ops are drawn.
    refusals: Option<Refusals>,
    /// The ops of which the last made a side panic.
    panicked: Mutex<Option<Vec<Op>>>,
    /// Why a side did not start, or how they differed at once.
    not_started: OnceLock<Finding>,
}

impl System for Comparer<'_> {
    type State = Compared;
    type Action = Op;
    type Evidence = Met;

    fn initial(&self) -> Vec<Compared> {
        let place = self.workload.script.as_ref().map(|set| set.root()).unwrap_or_default();
        match self.comparison.start() {
            Ok(state) => vec![Compared { place, ..state }],
            Err(finding) => {
                self.not_started.get_or_init(|| finding);
                Vec::new()
            }
        }
    }

    fn actions(&self, state: &Compared, actions: &mut Vec<Op>) {
        let within = (self.workload, &self.bounds);
        self.comparison.propose(state, within, self.counts.inputs_so_far(), actions);
        if self.refusals.is_some() {
            refused_first(state, actions);
        }
    }

    fn apply(&self, state: &Compared, op: &Op, step: &mut Step<'_, Self>) {
        let refusals = self.refusals.as_ref().filter(|_| is_likely(state, op));
        let from = refusals.map_or_else(|| state.clone(), |refusals| refusals.end(state));
        let judged = catch_unwind(AssertUnwindSafe(|| self.comparison.judge(&from, op)));
        let judged = judged.unwrap_or_else(|payload| {
            self.note_panic(&from, op);
            resume_unwind(payload)
        });
        if !self.counts.is_repeating() {
            // Where they do not agree, that is a violation, and the first is as good as any.
            self.counts.op(op, &judged.outcomes[0]);
        }
        self.counts.refused(judged.refused);
        for Finding { property, detail } in &judged.wrong {
            step.violated(*property, || Met::new(&from, op, &judged, detail.clone()));
        }
        if let Some(next) = judged.next {
            if let Some(refusals) = refusals.filter(|_| next.looks_like(state)) {
                refusals.add(state, next.clone());
            }
            let place = self.workload.script.as_ref().and_then(|set| set.child(state.place, op));
            step.leads_to(Compared { place: place.unwrap_or(state.place), ..next });
        }
    }

    fn ends_with(&self, property: Property) -> bool {
        self.comparison.is_of_the_machine(property)
    }

    fn repetition_begins(&self) {
        self.counts.repeat(true);
    }

    fn repetition_is_over(&self) {
        self.counts.repeat(false);
    }

    /// Covers each side as it is, and the tree. It leaves out how many ops there were, unless a script goes by that.
    fn encode(&self, state: &Compared, bytes: &mut Vec<u8>) {
        state.encode(self.comparison, Equality::Full, bytes);
        self.encode_plan(state, bytes);
    }

    /// By the chosen equality; usually the tree alone, which is all that two sides have in common.
    fn canonical(&self, state: &Compared, bytes: &mut Vec<u8>) {
        state.encode(self.comparison, self.equality, bytes);
        self.encode_plan(state, bytes);
    }
}

impl Comparer<'_> {
    /// A walk may not go the same way again, so the search cannot find out later what led to the panic.
    fn note_panic(&self, state: &Compared, op: &Op) {
        let ops = state.past.ops().0.into_iter().chain([op.clone()]).collect();
        self.panicked.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ops);
    }

    fn encode_plan(&self, state: &Compared, bytes: &mut Vec<u8>) {
        if self.workload.script.is_some() {
            state.place.encode(bytes);
        }
    }
}

pub(super) fn check(
    comparison: &Comparison,
    options: CheckOptions,
    run: &RunOptions,
    progress: &mut (dyn FnMut(&Progress, &Work) + Send),
) -> Result<CheckReport, SearchError> {
    let workload = &run.workload;
    let bounds = comparison.bounds(workload);
    let is_drawn_once = workload.weighted.as_ref().is_some_and(|weighted| !weighted.by_step);
    let goes_on_from_refusals = is_drawn_once && options.equality == Equality::Tree;
    let comparer = Comparer {
        comparison,
        equality: options.equality,
        workload,
        bounds,
        counts: Counts::new(workload.weighted.as_ref()),
        refusals: goes_on_from_refusals.then(|| Refusals::of(run.threads)),
        panicked: Mutex::default(),
        not_started: OnceLock::new(),
    };
    let traces = Traces { comparison, options, run };
    let options_json = serde_json::to_string(&options).expect("plain data");
    // Links are places in the list of a state's ops: whoever goes by them must have that in the same order.
    let order = if goes_on_from_refusals { " refused first" } else { "" };
    let identity = format!("{} {:?} {options_json} {workload:?}{order}", run.target, comparison.against());
    let noted = Noted::new(&comparer, run.note_states);
    let so_far = |now: &Progress| CheckReport {
        work: comparer.counts.work(),
        inputs: comparer.counts.inputs(),
        ..CheckReport::so_far(now)
    };
    let report = match search(&noted, run, &identity, |now| progress(now, &comparer.counts.work()), so_far).run() {
        Err(SearchError::NoInitialState) => return Ok(traces.of_nothing(comparer.not_started.get().cloned())),
        report => report?,
    };
    let work = comparer.counts.work();
    let panicked = comparer.panicked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let panic = report.panic.iter().map(|panic| {
        let retraced = || panic.trace.iter().map(|a_move| a_move.action.clone()).collect();
        let ops = panicked.clone().unwrap_or_else(retraced);
        traces.violated((PANIC, panic.message.clone()), 1, ops)
    });
    let violations = report.violations.iter().map(|violation| traces.met(violation));
    Ok(CheckReport {
        states: report.states,
        states_revisited: report.states_revisited,
        depth: report.depth,
        complete: report.complete && options.equality == Equality::Full,
        limits: report.limits,
        work,
        judged: Judged::default(),
        inputs: comparer.counts.inputs(),
        state_hashes: noted.states(),
        violations: panic.chain(violations).collect(),
        workloads: None,
        memory: report.memory,
        elapsed: report.elapsed,
    })
}

/// What all traces of one search share.
struct Traces<'a> {
    comparison: &'a Comparison,
    options: CheckOptions,
    run: &'a RunOptions,
}

impl Traces<'_> {
    /// With what was seen, for as long as it is not known to show each time.
    fn met(&self, violation: &explore::Violation<Op, Met>) -> Violated {
        let explore::Violation { property, count, evidence, .. } = violation;
        let violated = self.violated((*property, evidence.detail.clone()), *count, evidence.ops().0);
        let sighting = evidence.sighting(self.comparison, *property, &self.run.stop);
        let trace = Trace { sighting: Some(sighting), ..violated.trace };
        Violated { trace: trace.versioned(), ..violated }
    }

    fn violated(&self, (property, detail): (Property, String), count: u64, ops: Vec<Op>) -> Violated {
        let Property { name, severity } = property;
        let trace = Trace {
            version: VERSION,
            target: self.run.target.clone(),
            against: self.comparison.against(),
            workload: None,
            options: self.options,
            property: name.to_owned(),
            severity,
            detail,
            schedule: (0..ops.len()).map(|op| Move::Run(OpMove::undisturbed(op))).collect(),
            ops,
            sighting: None,
        };
        Violated { property: name.to_owned(), severity, count, workloads: None, trace: trace.versioned() }
    }

    /// The report on sides that differ, or fail, before anything is done.
    fn of_nothing(&self, wrong: Option<Finding>) -> CheckReport {
        let violation = |Finding { property, detail }: Finding| self.violated((property, detail), 1, Vec::new());
        CheckReport::of_nothing(wrong.map(violation))
    }
}
