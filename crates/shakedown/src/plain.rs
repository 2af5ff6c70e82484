//! Any system that the search can explore, as a target: it has actions instead of ops, and no disk.
//!
//! A trace of such a target is the first of the shortest ways to the violation, in the order in which one worker meets
//! them breadth-first. That makes it unique, so it is seen again by searching to its depth once more.

use std::fmt;

use check::{
    CheckOptions, CheckReport, Checkable, Move, Promise, ReplayError, Replayed, RunOptions, Shown, Trace, Violated,
    Work,
};
use explore::{Budget, Order, Progress, Property, Search, SearchError, Severity, System};

/// How many states a search for a known violation may cost; one that needs more cannot be replayed.
const STATES_MAX: u64 = 20_000_000;
/// The system panicked.
const PANIC: &str = "panic";

/// A system as a target.
pub struct Plain<S: System> {
    system: S,
    says: Says<S>,
}

/// Puts an action into words, given the actions before it.
type Says<S> = fn(&[<S as System>::Action], <S as System>::Action) -> String;

impl<S: System<Evidence: fmt::Display>> Plain<S>
where
    S::Action: Copy + Into<usize>,
{
    /// A target whose actions are told by `says`.
    pub fn new(system: S, says: Says<S>) -> Self {
        Self { system, says }
    }

    fn trace(&self, known: Known<'_>, moves: &[explore::Move<S::Action>]) -> Trace {
        let actions: Vec<S::Action> = moves.iter().map(|a_move| a_move.action).collect();
        let act = |at: usize| Move::Act { action: actions[at].into(), says: (self.says)(&actions[..at], actions[at]) };
        Trace {
            version: check::VERSION,
            target: known.target.to_owned(),
            options: known.options,
            property: known.property.to_owned(),
            severity: known.severity,
            detail: known.detail,
            ops: Vec::new(),
            schedule: (0..actions.len()).map(act).collect(),
        }
    }

    /// The first of the shortest ways to what the trace violates; `None` if there is none as short as the trace.
    fn search_again(&self, trace: &Trace) -> Result<Option<(Property, Trace)>, ReplayError> {
        let depth = u32::try_from(trace.schedule.len()).ok();
        let budget = Budget { depth, states: Some(STATES_MAX), ..Budget::default() };
        let too_many = ReplayError::NoSuchMove { number: trace.schedule.len(), what: "too many states lie before it" };
        let Ok(report) = Search::new(&self.system).order(Order::BreadthFirst).budget(budget).run() else {
            return Err(too_many);
        };
        let found = report.violations.iter().find(|violation| violation.property.name == trace.property);
        let Some(found) = found else { return if report.complete { Ok(None) } else { Err(too_many) } };
        let known = Known {
            target: &trace.target,
            options: trace.options,
            property: &trace.property,
            severity: found.property.severity,
            detail: found.evidence.to_string(),
        };
        Ok(Some((found.property, self.trace(known, &found.trace))))
    }
}

/// What a trace says besides its moves.
struct Known<'a> {
    target: &'a str,
    options: CheckOptions,
    property: &'a str,
    severity: Severity,
    detail: String,
}

impl<S: System<Evidence: fmt::Display> + Send> Checkable for Plain<S>
where
    S::Action: Copy + Into<usize>,
{
    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError> {
        let nothing = Work::default();
        let report = check::search(&self.system, run, &run.target, |now| progress(now, &nothing)).run()?;
        let violated = |property: &str, severity, count, detail, moves: &[_]| {
            let known = Known { target: &run.target, options, property, severity, detail };
            Violated { property: property.to_owned(), severity, count, trace: self.trace(known, moves) }
        };
        let panic = report.panic.iter().map(|panic| {
            let message = panic.message.clone();
            violated(PANIC, Severity::Critical, 1, message, &panic.trace)
        });
        let found = report.violations.iter().map(|violation| {
            let Property { name, severity } = violation.property;
            violated(name, severity, violation.count, violation.evidence.to_string(), &violation.trace)
        });
        Ok(CheckReport {
            violations: panic.chain(found).collect(),
            states: report.states,
            states_revisited: report.states_revisited,
            depth: report.depth,
            complete: report.complete,
            limits: report.limits,
            work: nothing,
            memory: report.memory,
            elapsed: report.elapsed,
        })
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError> {
        let moves = trace.schedule.iter().map(shown).collect::<Option<_>>().ok_or(ReplayError::OtherKind)?;
        let again = self.search_again(trace)?;
        if let Some((_, again)) = &again {
            let differs = again.schedule.iter().zip(&trace.schedule).position(|(one, other)| one != other);
            let beyond = (again.schedule.len() < trace.schedule.len()).then_some(again.schedule.len());
            if let Some(at) = differs.or(beyond) {
                let what = "it is not on the first of the shortest ways; --minimise finds that one";
                return Err(ReplayError::NoSuchMove { number: at + 1, what });
            }
        }
        Ok(Replayed { moves, violation: again.map(|(property, again)| (property, again.detail)) })
    }

    fn minimise(&self, trace: &Trace) -> Result<Trace, ReplayError> {
        Ok(self.search_again(trace)?.map_or_else(|| trace.clone(), |(_, shortest)| shortest))
    }
}

/// A move as it is shown; `None` if it is one of a target with ops.
fn shown(a_move: &Move) -> Option<Shown> {
    let Move::Act { says, .. } = a_move else { return None };
    Some(Shown {
        says: says.clone(),
        op: None,
        outcome: None,
        requests: Vec::new(),
        lost_earlier: Vec::new(),
        cut_after: None,
        tree: None,
        recovery: Vec::new(),
    })
}
