//! A target as a searchable system.
//!
//! A state's actions are the ops of the target's workload. With one task an action is a whole op; with several, an
//! action begins an op or takes it to its next disk request, so that the search interleaves them in every way. The
//! outcomes of an action are the state after it and, if the search goes on after crashes, every state that recovery
//! makes of a power cut on the way.

use explore::{Property, Step, System};
use vfs::{Op, Outcome};

use crate::{
    counts::{Counts, Work},
    crash::Which,
    crash_point::CrashPoint,
    options::CheckOptions,
    recovery::{Again, RECOVERY_FAILS, Recoverer},
    state::State,
    target::{Finding, Target},
};

/// What can happen to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A whole op.
    Run {
        /// Which.
        op: Op,
        /// In which way, where the target leaves one open.
        choice: u32,
    },
    /// An op begins and gets to its first disk request.
    Begin {
        /// Which.
        op: Op,
        /// In which way.
        choice: u32,
    },
    /// An op under way goes on to its next disk request.
    Go {
        /// Which, by its place among those under way, oldest first.
        task: usize,
    },
}

/// What a violation comes with: what is wrong, and where the power was cut.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// For people.
    pub detail: String,
    /// `None` if nothing was cut: the target is wrong even while it runs.
    pub crash: Option<CrashPoint>,
}

/// One result of a move.
#[expect(clippy::large_enum_variant, reason = "it is handed over once and never kept; a box would cost an allocation")]
pub(crate) enum Transition<'a, T: Target> {
    State {
        state: State<T>,
        crash: Option<&'a dyn Fn() -> CrashPoint>,
    },
    Violation {
        property: Property,
        detail: &'a dyn Fn() -> String,
        crash: Option<&'a dyn Fn() -> CrashPoint>,
    },
    /// The move as a whole: what it asked of the disk between two positions of a log, and what the op returned.
    Requests {
        log: &'a disk::DiskLog,
        from: disk::Position,
        to: disk::Position,
        outcome: Option<&'a Outcome>,
    },
}

/// Searches a target.
pub struct Checker<'a, T: Target> {
    pub(crate) target: &'a T,
    pub(crate) options: CheckOptions,
    pub(crate) recoverer: Recoverer<T>,
    pub(crate) counts: Counts,
}

impl<'a, T: Target> Checker<'a, T> {
    /// A checker that has done nothing yet.
    pub fn new(target: &'a T, options: CheckOptions) -> Self {
        Self::with(target, options, Again::Sampled)
    }

    /// A checker that runs every recovery twice: one that is not deterministic shows on its own, whatever was recovered
    /// before.
    pub(crate) fn twice(target: &'a T, options: CheckOptions) -> Self {
        Self::with(target, options, Again::Each)
    }

    fn with(target: &'a T, options: CheckOptions, again: Again) -> Self {
        Self { target, options, recoverer: Recoverer::new(options.probe, again), counts: Counts::new() }
    }

    /// How much has been done.
    pub fn work(&self) -> Work {
        let recoveries = self.recoverer.counts();
        Work { recoveries: recoveries.run, recoveries_memoised: recoveries.memoised, ..self.counts.work() }
    }

    /// The freshly made and mounted file system; `Err` is what is wrong with it.
    pub(crate) fn start(&self) -> Result<State<T>, Finding> {
        let failed = |detail: String| Finding { property: RECOVERY_FAILS, detail };
        let mut disk = disk::Disk::with_cache(self.target.mkfs(), self.target.cache());
        let mounted = self.target.mount(&mut disk);
        let mounted = mounted.map_err(|errno| failed(format!("a fresh file system does not mount: {errno}")))?;
        let tree = self.target.observe(&mounted, &disk);
        let tree = tree.map_err(|errno| failed(format!("a fresh file system cannot be read: {errno}")))?;
        let disk = disk::Disk::with_cache(disk.image().clone(), self.target.cache());
        Ok(State::fresh(self.target, mounted, disk, &tree, 0))
    }

    /// Makes a move and calls `visit` with everything that comes of it.
    pub(crate) fn make(&self, state: &State<T>, action: &Action, visit: &mut dyn FnMut(Transition<T>)) {
        let mut next = state.clone();
        let task = match action {
            Action::Run { op, choice } | Action::Begin { op, choice } => next.begin(op.clone(), *choice),
            Action::Go { task } => *task,
        };
        let start = next.disk.position();
        let whole = matches!(action, Action::Run { .. });
        let advance = loop {
            match self.advance(&mut next, task, start, visit) {
                Advance::UnderWay if whole => {}
                advance => break advance,
            }
        };
        let outcome = match &advance {
            Advance::UnderWay => None,
            Advance::Returned(outcome) | Advance::Broken(outcome) => Some(outcome),
        };
        visit(Transition::Requests { log: next.disk.log(), from: start, to: next.disk.position(), outcome });
        if matches!(advance, Advance::Broken(_)) {
            return;
        }
        next.settle(self.target, &self.options);
        visit(Transition::State { state: next, crash: None });
    }

    /// Takes one op to its next disk request or to its end, and judges every crash on the way.
    fn advance(
        &self,
        next: &mut State<T>,
        task: usize,
        start: disk::Position,
        visit: &mut dyn FnMut(Transition<T>),
    ) -> Advance {
        let before = next.disk.position();
        let outcome = next.step(self.target, task);
        let after = next.disk.position();
        // The last request of an op completes when the op returns; every earlier one while it is under way.
        let under_way_to = after.0 - usize::from(outcome.is_some() && after > before);
        for position in before.0 + 1..=under_way_to {
            self.cut_power(next, start, disk::Position(position), Which::New, visit);
        }
        let Some(outcome) = outcome else { return Advance::UnderWay };
        self.counts.op();
        let done = next.tasks.remove(task);
        let wrong = next.finish(self.target, &done, &outcome);
        let which = self.judged_on_return();
        if wrong.is_empty() && (after > before || which == Which::All) {
            self.cut_power(next, start, after, which, visit);
        }
        for Finding { property, detail } in &wrong {
            visit(Transition::Violation { property: *property, detail: &|| detail.clone(), crash: None });
        }
        let broken = wrong.iter().any(Finding::is_critical);
        if broken { Advance::Broken(outcome) } else { Advance::Returned(outcome) }
    }

    /// The ops that may begin, each in every way.
    fn beginnings(&self, state: &State<T>, mut begin: impl FnMut(Op, u32)) {
        let mut ops = Vec::new();
        state.with_view(self.options.remembered(self.target.cache()), |view| {
            self.target.workload(view, &mut ops);
            for op in ops.into_iter().filter(|op| state.may_begin(op)) {
                (0..self.target.choices(view, &op)).for_each(|choice| begin(op.clone(), choice));
            }
        });
    }
}

/// How far [`Checker::advance`] got.
enum Advance {
    UnderWay,
    Returned(Outcome),
    Broken(Outcome),
}

impl<T: Target> System for Checker<'_, T> {
    type State = State<T>;
    type Action = Action;
    type Evidence = Evidence;

    fn initial(&self) -> Vec<State<T>> {
        self.start().into_iter().collect()
    }

    fn actions(&self, state: &State<T>, actions: &mut Vec<Action>) {
        actions.extend((0..state.tasks.len()).map(|task| Action::Go { task }));
        let tasks = self.target.tasks();
        if state.tasks.len() < tasks {
            self.beginnings(state, |op, choice| {
                actions.push(if tasks == 1 { Action::Run { op, choice } } else { Action::Begin { op, choice } });
            });
        }
    }

    fn apply(&self, state: &State<T>, action: &Action, step: &mut Step<'_, Self>) {
        self.make(state, action, &mut |transition| match transition {
            Transition::State { state, .. } => step.leads_to(state),
            Transition::Violation { property, detail, crash } => {
                step.violated(property, || Evidence { detail: detail(), crash: crash.map(|point| point()) });
            }
            Transition::Requests { .. } => {}
        });
    }

    /// Covers the disk with what is pending, the memory, the ops under way, and the trees that a crash may go back
    /// to. It leaves out how many ops there were, which only numbers them. A big image is covered by its 128-bit hash.
    fn encode(&self, state: &State<T>, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&state.disk.fingerprint(self.options.remembered(self.target.cache())).to_le_bytes());
        self.target.encode(&state.mounted, bytes);
        for task in &state.tasks {
            let text = task.op.to_string();
            bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(&task.choice.to_le_bytes());
            bytes.push(task.pc);
            bytes.extend_from_slice(&task.registers);
        }
        state.encode_past(bytes);
    }

    fn canonical(&self, state: &State<T>, bytes: &mut Vec<u8>) {
        if !state.with_view(self.options.remembered(self.target.cache()), |view| self.target.canonical(view, bytes)) {
            self.encode(state, bytes);
        }
    }
}
