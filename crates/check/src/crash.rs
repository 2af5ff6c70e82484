//! Crash states: each one recovered and judged.

use disk::{CrashState, Position, crash_states};
use explore::Property;
use vfs::contract::{Clause, Contract, Zeros};

use crate::{
    checker::{Checker, Transition},
    crash_point::CrashPoint,
    recovery::Recovered,
    state::State,
    target::{Finding, Target},
};

/// What is said of contents by a target that promises that every byte was written.
pub(crate) const CONTENTS: Property = Property::critical("contents");

/// Which crash states at a position are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that the last entry made possible.
    New,
    /// All, because more is promised now than when they were first possible.
    All,
}

impl<T: Target> Checker<'_, T> {
    /// Judges the crash states at `position` of the state's log. `start` is where the present move began.
    pub(crate) fn cut_power(
        &self,
        state: &State<T>,
        start: Position,
        position: Position,
        which: Which,
        visit: &mut dyn FnMut(Transition<T>),
    ) {
        let limits = self.options.limits(which == Which::New);
        let states = crash_states(state.disk.log(), position, self.options.crash, limits);
        if states.len() == 0 {
            return;
        }
        self.counts.position(states.len(), states.sampled());
        let under_way = state.under_way();
        let under_way: Vec<&[vfs::contract::Event]> = under_way.iter().map(Vec::as_slice).collect();
        let crash = state.history.crash(state.history.len(), &under_way);
        for crashed in states {
            self.counts.crash_image(crashed.image.hash());
            let point = || CrashPoint::new(state.disk.log(), start, position, &crashed.taken);
            let recovered = self.recoverer.recover(self.target, &crashed.image);
            let mut report = |property: Property, detail: &dyn Fn() -> String| {
                visit(Transition::Violation { property, detail, crash: Some(&point) });
            };
            for finding in &recovered.findings {
                report(finding.property, &|| finding.detail.clone());
            }
            let mut broken = recovered.findings.iter().any(Finding::is_critical);
            if let Some((_, tree)) = &recovered.file_system {
                for breach in crash.judge(self.options.contract, tree) {
                    broken = true;
                    report(self.property(breach.clause), &|| breach.to_string());
                }
            }
            // What comes of damage is not another finding.
            if !broken && let Some(finding) = &recovered.unusable {
                broken = true;
                report(finding.property, &|| finding.detail.clone());
            }
            if self.options.continue_after_crash && !broken {
                self.go_on(state, &crashed, &recovered, &point, visit);
            }
        }
    }

    /// The state after recovery, from which the search goes on.
    fn go_on(
        &self,
        state: &State<T>,
        crashed: &CrashState,
        recovered: &Recovered<T>,
        point: &dyn Fn() -> CrashPoint,
        visit: &mut dyn FnMut(Transition<T>),
    ) {
        if let Some((mounted, tree)) = &recovered.file_system {
            let disk = recovered.disk(self.target, &crashed.image);
            let state = State::fresh(self.target, mounted.clone(), disk, tree, state.ops);
            visit(Transition::State { state, crash: Some(point) });
        }
    }

    /// The property that a clause of the contract stands for.
    fn property(&self, clause: Clause) -> Property {
        match clause {
            Clause::NoForeignData if self.target.promise().zeros == Zeros::Forbidden => CONTENTS,
            clause => Property::critical(clause.name()),
        }
    }

    /// Whether a position at which an op returned must be judged anew, because the op may have pinned something.
    pub(crate) fn judged_on_return(&self) -> Which {
        if self.options.contract == Contract::Mountable { Which::New } else { Which::All }
    }
}
