//! A target as a searchable system.
//!
//! A state's actions are the ops of the target's workload. With one task an action is a whole op; with several, an
//! action begins an op or takes it to its next disk request, so that the search interleaves them in every way. The
//! outcomes of an action are the state after it and, if the search goes on after crashes, every state that recovery
//! makes of a power cut on the way.

use explore::{Property, Severity, Step, System};
use smallvec::SmallVec;
use vfs::{Op, Outcome, Path, tree::Aspect};

use crate::{
    counts::{Counts, Work},
    crash::{CONTENTS, Which},
    legal::{self, Agreement},
    options::CheckOptions,
    recovery::{RECOVERY_FAILS, Recoverer},
    state::State,
    target::{Finding, Target, Task},
    trace::CrashPoint,
};

/// An op returned something else than the reference.
const OUTCOME: Property = Property::critical("outcome");
/// After an op, the tree is not that of the reference.
const TREE: Property = Property::critical("tree");

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
        Self { target, options, recoverer: Recoverer::new(), counts: Counts::new() }
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
            Action::Run { op, choice } | Action::Begin { op, choice } => {
                let index = disk::OpIndex(next.ops);
                next.ops += 1;
                next.tasks.push(Task { op: op.clone(), index, choice: *choice, pc: 0, registers: [0; 12] });
                next.tasks.len() - 1
            }
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
        let under_way = &mut next.tasks[task];
        next.disk.set_op(Some(under_way.index));
        let outcome = self.target.step(&mut next.mounted, &mut next.disk, under_way);
        next.disk.set_op(None);
        let after = next.disk.position();
        // The last request of an op completes when the op returns; every earlier one while it is under way.
        let under_way_to = after.0 - usize::from(outcome.is_some() && after > before);
        for position in before.0 + 1..=under_way_to {
            self.cut_power(next, start, disk::Position(position), Which::New, visit);
        }
        let Some(outcome) = outcome else { return Advance::UnderWay };
        self.counts.op();
        let done = next.tasks.remove(task);
        let wrong = self.finish(next, &done, &outcome);
        let which = self.judged_on_return();
        if wrong.is_empty() && (after > before || which == Which::All) {
            self.cut_power(next, start, after, which, visit);
        }
        for Finding { property, detail } in &wrong {
            visit(Transition::Violation { property: *property, detail: &|| detail.clone(), crash: None });
        }
        let broken = wrong.iter().any(|finding| finding.property.severity == Severity::Critical);
        if broken { Advance::Broken(outcome) } else { Advance::Returned(outcome) }
    }

    /// Lets the reference do the op too, and compares.
    fn finish(&self, next: &mut State<T>, done: &Task, outcome: &Outcome) -> Vec<Finding> {
        let mut reference = next.reference.clone();
        let expected = reference.apply(&done.op);
        match legal::compare(outcome, &expected) {
            Agreement::Same => next.reference = reference,
            Agreement::Refused => {}
            Agreement::Differ => {
                let say = |outcome: &Outcome| match outcome {
                    Ok(_) => "succeeded".to_owned(),
                    Err(errno) => format!("failed with {errno}"),
                };
                let detail = match (outcome, &expected) {
                    (Ok(found), Ok(expected)) => format!("{} returned {found:?}, expected {expected:?}", done.op),
                    _ => format!("{} {}, expected that it {}", done.op, say(outcome), say(&expected)),
                };
                return vec![Finding { property: OUTCOME, detail }];
            }
        }
        // A failed op changes and pins nothing. Kept in the history, it would tell states apart that are the same.
        if outcome.is_ok() {
            next.returned(&done.op, done.index, outcome);
        }
        let mut wrong = self.compare_trees(next);
        if next.tasks.is_empty() {
            wrong.extend(self.target.invariants(&next.mounted, &next.disk));
        }
        wrong
    }

    /// Compares what a user sees with the reference, leaving out what ops under way are changing.
    fn compare_trees(&self, state: &State<T>) -> Vec<Finding> {
        let expected = state.reference.tree();
        let found = match self.target.observe(&state.mounted, &state.disk) {
            Ok(found) => found,
            Err(errno) => return vec![Finding { property: TREE, detail: format!("cannot be read: {errno}") }],
        };
        if found.same_as(&expected) {
            return Vec::new();
        }
        let changing: SmallVec<[&Path; 4]> = state.tasks.iter().flat_map(|task| task.op.paths()).collect();
        let differences = vfs::tree::diff(&found, &expected).0;
        let unexplained = differences.iter().filter(|difference| !touches(&changing, &difference.path));
        unexplained
            .map(|difference| {
                let property = if difference.aspect == Aspect::Contents { CONTENTS } else { TREE };
                Finding { property, detail: difference.to_string() }
            })
            .collect()
    }

    /// Whether an op may begin: it must touch nothing that an op under way has locked.
    pub(crate) fn may_begin(state: &State<T>, op: &Op) -> bool {
        let locked: SmallVec<[&Path; 4]> = state.tasks.iter().flat_map(|task| task.op.paths()).collect();
        !op.paths().iter().any(|path| touches(&locked, path))
    }

    /// The ops that may begin, each in every way.
    fn beginnings(&self, state: &State<T>, mut begin: impl FnMut(Op, u32)) {
        let mut ops = Vec::new();
        state.with_view(self.options.remembered(self.target.cache()), |view| {
            self.target.workload(view, &mut ops);
            for op in ops.into_iter().filter(|op| Self::may_begin(state, op)) {
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

/// Whether a path is one of these or lies below one.
fn touches(paths: &[&Path], path: &Path) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    paths.iter().any(|locked| path.as_str().strip_prefix(locked.as_str()).is_some_and(below))
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
