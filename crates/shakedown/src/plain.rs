//! Any system that the search can explore, as a target: it has actions instead of ops, and no disk.
//!
//! A trace names an action by its place among those of its state, so it is replayed without a search. It starts in the
//! system's first state, and an action of it has one outcome.

use std::fmt;

use check::{
    CheckOptions, CheckReport, Checkable, Judged, Lack, Lacking, Move, Noted, PANIC, Promise, ReplayError, Replayed,
    RunOptions, Shown, Trace, Violated, Work,
};
use explore::{Budget, Order, Progress, Property, Search, SearchError, Severity, Stepped, Stop, System};
use vfs::{Op, generate::OpSet};

/// How many states a search for a known violation may cost; one that needs more is not made shorter.
const STATES_MAX: u64 = 20_000_000;

/// A system as a target.
pub struct Plain<S: System> {
    system: S,
    says: Says<S>,
}

/// Puts an action into words, given the actions before it.
type Says<S> = fn(&[<S as System>::Action], <S as System>::Action) -> String;

impl<S: System<Evidence: fmt::Display>> Plain<S>
where
    S::Action: Copy + PartialEq,
{
    /// A target whose actions are told by `says`.
    pub fn new(system: S, says: Says<S>) -> Self {
        Self { system, says }
    }

    fn trace(&self, known: Known<'_>, moves: &[explore::Move<S::Action>]) -> Trace {
        let actions: Vec<S::Action> = moves.iter().map(|a_move| a_move.action).collect();
        let mut schedule = Vec::new();
        let mut walk = Walk::new(&self.system);
        for (at, action) in actions.iter().enumerate() {
            let place = walk.actions().iter().position(|known| known == action).unwrap_or(usize::MAX);
            schedule.push(Move::Act { action: place, says: (self.says)(&actions[..at], *action) });
            walk.act(place);
        }
        Trace {
            version: check::VERSION,
            target: known.target.to_owned(),
            against: Vec::new(),
            options: known.options,
            property: known.property.to_owned(),
            severity: known.severity,
            detail: known.detail,
            workload: None,
            ops: Vec::new(),
            schedule,
            sighting: None,
        }
    }

    /// The shortest way to what the trace violates, if it is shorter and can be found.
    fn shorter(&self, trace: &Trace) -> Option<Trace> {
        let depth = u32::try_from(trace.schedule.len()).ok()?.checked_sub(1)?;
        let budget = Budget { depth: Some(depth), states: Some(STATES_MAX), ..Budget::default() };
        let report = Search::new(&self.system).order(Order::BreadthFirst).budget(budget).run().ok()?;
        let found = report.violations.iter().find(|violation| violation.property.name == trace.property)?;
        let known = Known {
            target: &trace.target,
            options: trace.options,
            property: &trace.property,
            severity: found.property.severity,
            detail: found.evidence.to_string(),
        };
        Some(self.trace(known, &found.trace))
    }
}

/// A system on its way through a trace.
struct Walk<'a, S: System> {
    system: &'a S,
    /// `None` after an action that leads nowhere.
    state: Option<S::State>,
    /// What the last action violated.
    violations: Vec<(Property, S::Evidence)>,
}

impl<'a, S: System> Walk<'a, S> {
    fn new(system: &'a S) -> Self {
        Self { system, state: system.initial().into_iter().next(), violations: Vec::new() }
    }

    /// What can happen now.
    fn actions(&self) -> Vec<S::Action> {
        let mut actions = Vec::new();
        if let Some(state) = &self.state {
            self.system.actions(state, &mut actions);
        }
        actions
    }

    /// Makes the action at this place happen; `None` if there is none.
    fn act(&mut self, place: usize) -> Option<S::Action> {
        let action = self.actions().into_iter().nth(place)?;
        let stepped = Stepped::by(self.system, self.state.as_ref()?, &action);
        self.violations = stepped.violations;
        self.state = stepped.outcomes.into_iter().next();
        Some(action)
    }

    /// What the last action or the state after it violates.
    fn violated(mut self, property: &str) -> Option<(Property, S::Evidence)> {
        if let Some(state) = &self.state {
            self.violations.extend(Stepped::at(self.system, state).violations);
        }
        self.violations.into_iter().find(|(violated, _)| violated.name == property)
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
    S::Action: Copy + PartialEq,
{
    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn ops(&self) -> OpSet {
        OpSet::EMPTY
    }

    fn lacks(&self, script: &[Op]) -> Option<Lacking> {
        script.first().map(|op| Lacking { op: op.clone(), what: Lack::Kind })
    }

    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError> {
        let nothing = Work::default();
        let noted = Noted::new(&self.system, run.note_states);
        let report =
            check::search(&noted, run, &run.target, |now| progress(now, &nothing), CheckReport::so_far).run()?;
        let violated = |property: &str, severity, count, detail, moves: &[_]| {
            let known = Known { target: &run.target, options, property, severity, detail };
            Violated {
                property: property.to_owned(),
                severity,
                count,
                workloads: None,
                trace: self.trace(known, moves),
            }
        };
        let panic = report.panic.iter().map(|panic| {
            let message = panic.message.clone();
            violated(PANIC.name, PANIC.severity, 1, message, &panic.trace)
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
            workloads: None,
            judged: Judged::default(),
            inputs: None,
            state_hashes: noted.states(),
            memory: report.memory,
            elapsed: report.elapsed,
        })
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError> {
        let mut walk = Walk::new(&self.system);
        let mut actions = Vec::new();
        let mut moves = Vec::new();
        for (number, a_move) in (1..).zip(&trace.schedule) {
            let Move::Act { action, .. } = a_move else { return Err(ReplayError::OtherKind) };
            let what = "the target no longer has that action there";
            let action = walk.act(*action).ok_or(ReplayError::NoSuchMove { number, what })?;
            moves.push(Shown::says((self.says)(&actions, action)));
            actions.push(action);
        }
        let violation = walk.violated(&trace.property);
        Ok(Replayed { moves, violation: violation.map(|(property, evidence)| (property, evidence.to_string())) })
    }

    fn minimise(&self, trace: &Trace, _: &Stop) -> Result<Trace, ReplayError> {
        Ok(self.shorter(trace).unwrap_or_else(|| trace.clone()))
    }
}
