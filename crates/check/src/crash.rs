//! Crash states: each one recovered and judged.

use std::cell::OnceCell;

use disk::{CrashMode, CrashStates, CrashesAlong, Image, Position, crash_states};
use explore::Property;
use vfs::{
    Tree,
    contract::{Clause, Contract, Crash, Event, Guarantee, Zeros},
};

use crate::{
    checker::{Checker, Transition},
    crash_point::CrashPoint,
    move_under_way::MoveUnderWay,
    options::Equality,
    recovery::Recovered,
    state::{Foreseen, State},
    target::{Finding, Target},
    wanted::Cuts,
};

/// What is said of contents by a target that promises that every byte was written.
pub(crate) const CONTENTS: Property = Property::critical("contents");

/// Whether a property is judged by the tree that a recovery shows, and by nothing else.
pub(crate) fn is_told_by_the_tree(property: &str) -> bool {
    let clauses = Clause::ALL.iter().map(|clause| clause.name());
    let guarantees = Guarantee::ALL.iter().map(|guarantee| guarantee.name());
    clauses.chain(guarantees).chain([CONTENTS.name]).any(|name| name == property)
}

/// Which crash states at a position are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that the last entry made possible.
    New,
    /// All, because more is promised now than when they were first possible.
    All,
}

/// The moment of a power cut, for all crash states at positions between which no op began or returned.
pub(crate) struct Moment<'a, T: Target> {
    state: &'a State<T>,
    made: &'a MoveUnderWay<'a, T>,
    /// What may be found, made when the first crash state comes up.
    crash: OnceCell<Crash>,
}

impl<'a, T: Target> Moment<'a, T> {
    pub fn new(state: &'a State<T>, made: &'a MoveUnderWay<'a, T>) -> Self {
        Self { state, made, crash: OnceCell::new() }
    }

    fn crash(&self) -> &Crash {
        self.crash.get_or_init(|| {
            let history = &self.state.history;
            if let Some(op) = self.state.alone() {
                let Foreseen { reference, outcome } = self.made.foreseen.get_or_init(|| self.state.foresee(op));
                let event = Event { op: op.clone(), outcome: outcome.clone(), after: reference.tree() };
                return history.crash(history.len(), &[&[event]]);
            }
            let under_way = self.state.under_way();
            let under_way: Vec<&[Event]> = under_way.iter().map(Vec::as_slice).collect();
            history.crash(history.len(), &under_way)
        })
    }

    /// How many ops had returned, and how many were under way.
    fn ops(&self) -> (usize, usize) {
        (self.state.history.len(), self.state.tasks.len())
    }
}

impl<T: Target> Checker<'_, T> {
    /// Judges the crash states that became possible during a move after position `from`, up to position `to`.
    pub(crate) fn cut_power_along(
        &self,
        moment: &Moment<'_, T>,
        (from, to): (Position, Position),
        visit: &mut dyn FnMut(Transition<T>),
    ) {
        if from == to || self.options.crash == CrashMode::Off {
            return;
        }
        let (log, limits) = (moment.state.disk.log(), self.options.limits(true));
        let mut along = CrashesAlong::new(log, from, self.options.crash, limits);
        for position in from.0..to.0 {
            self.judge(moment, Position(position + 1), along.next().expect("the log has it"), visit);
        }
    }

    /// Judges crash states at the end of the log.
    pub(crate) fn cut_power(&self, moment: &Moment<'_, T>, which: Which, visit: &mut dyn FnMut(Transition<T>)) {
        let (log, limits) = (moment.state.disk.log(), self.options.limits(which == Which::New));
        self.judge(moment, log.position(), crash_states(log, log.position(), self.options.crash, limits), visit);
    }

    fn judge(
        &self,
        moment: &Moment<'_, T>,
        position: Position,
        states: CrashStates<'_>,
        visit: &mut dyn FnMut(Transition<T>),
    ) {
        let cuts = moment.made.wanted.cuts_at(moment.state.disk.log(), moment.made.start, position);
        if states.len() == 0 || matches!(cuts, Cuts::None) {
            return;
        }
        self.counts.position(states.len(), states.sampled());
        let Moment { state, made, .. } = moment;
        let contract = self.contract_of(state);
        let by_shape = self.options.equality != Equality::Full;
        for crashed in states {
            if made.found.get() || self.haste.leave() {
                return;
            }
            if matches!(&cuts, Cuts::To(image) if *image != crashed.image) {
                continue;
            }
            self.counts.crash_image(crashed.image.hash());
            let point = || CrashPoint::new(state.disk.log(), made.start, crashed.position, &crashed.taken);
            let mishap = || made.mishap(Some(point()));
            let recovered = self.recoverer.recover(self.target, &crashed.image);
            made.note_recovery(&recovered);
            // States of one shape that recover alike count as one, and the judgement of one is that of all.
            if by_shape && made.was_judged(&recovered, moment.ops()) {
                continue;
            }
            let mut report = |property: Property, detail: &dyn Fn() -> String| {
                made.found.set(made.found.get() || made.wanted.is_for(property));
                visit(Transition::Violation { property, detail, mishap: &mishap });
            };
            for finding in &recovered.findings {
                report(finding.property, &|| finding.detail.clone());
            }
            let mut broken = recovered.findings.iter().any(Finding::is_critical);
            if let Some((_, tree)) = &recovered.file_system {
                let contract = if self.options.each_guarantee { Contract::Mountable } else { contract };
                for breach in moment.crash().judge(contract, tree) {
                    broken = true;
                    report(self.property(breach.clause), &|| breach.to_string());
                }
                if self.options.each_guarantee {
                    self.judge_each(moment.crash(), tree, &mut report);
                }
            }
            self.counts.recovery(recovered.compared);
            // What comes of damage is not another finding.
            let lost_room = || made.room.lost_by(self.target, &self.options, &recovered);
            if !broken && let Some(finding) = self.afterwards(&recovered, &crashed.image).or_else(lost_room) {
                broken = true;
                report(finding.property, &|| finding.detail.clone());
            }
            if self.options.continue_after_crash
                && !broken
                && let Some(next) = State::recovered(self.target, &recovered, &crashed.image, state)
            {
                let next = if by_shape { next } else { next.woken(self.target, &self.options) };
                visit(Transition::State { state: next, mishap: &mishap });
            }
            if by_shape && !broken && recovered.findings.is_empty() && !self.options.recovery_crashes {
                made.note_judged(recovered, moment.ops());
            }
        }
    }

    /// Judges each guarantee by itself. None of them makes the state one from which the search does not go on, nor
    /// keeps what comes after recovery from being judged: most file systems give some of them up on purpose.
    fn judge_each(&self, crash: &Crash, tree: &Tree, report: &mut dyn FnMut(Property, &dyn Fn() -> String)) {
        for (guarantee, breach) in crash.judge_each(tree) {
            self.counts.guarantee(guarantee);
            if let Some(breach) = breach {
                report(Property::critical(guarantee.name()), &|| breach.to_string());
            }
        }
    }

    /// What is demanded of a crash now. An op that was given up came and went at moments of which no tree is kept, so
    /// that moments are not compared while it may be found.
    fn contract_of(&self, state: &State<T>) -> Contract {
        let demanded = self.options.contract;
        if state.aftermath.given_up().next().is_some() { demanded.min(Contract::Atomic) } else { demanded }
    }

    /// What goes wrong after a recovery that by itself went well, or during it if the power is cut again.
    pub(crate) fn afterwards(&self, recovered: &Recovered<T>, image: &Image) -> Option<Finding> {
        let (_, tree) = recovered.file_system.as_ref()?;
        recovered.afterwards.clone().or_else(|| {
            if !self.options.recovery_crashes {
                return None;
            }
            self.interruptions.check(self, image, tree)
        })
    }

    /// The property that a clause of the contract stands for.
    fn property(&self, clause: Clause) -> Property {
        match clause {
            Clause::NoForeignData if self.target.promise().zeros == Zeros::Forbidden => CONTENTS,
            clause => Property::critical(clause.name()),
        }
    }

    /// Which crash states are judged when an op has returned, and not quietly ([`State::returns_quietly`]).
    pub(crate) fn judged_on_return(&self) -> Which {
        if self.options.contract == Contract::Mountable { Which::New } else { Which::All }
    }
}
