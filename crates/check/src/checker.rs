//! A target as a searchable system.
//!
//! A state's actions are the ops of the target's workload. With one task an action is a whole op; with several, an
//! action begins an op or takes it to its next disk request, so that the search interleaves them in every way. The
//! outcomes of an action are the state after it and, if the search goes on after crashes, every state that recovery
//! makes of a power cut on the way.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use disk::{CrashMode, Disk, DiskLog, Entry, EntryKind, Failing, Fault, Faults, IoCounts, Position};
use explore::{Property, Step, System};
use vfs::{Op, Outcome, Place};

use crate::{
    compare::{Finished, Fullness, differences},
    counts::{Counts, Repeated, Work},
    crash::{Moment, Which},
    crash_point::CrashPoint,
    haste::Haste,
    move_under_way::MoveUnderWay,
    options::{CheckOptions, Equality},
    recovery::{Again, Interruptions, RECOVERY_FAILS, Recoverer, Scope},
    room::RoomBefore,
    score::{Score, Scorer},
    state::State,
    tally::Tally,
    target::{Finding, Target},
    unmounted::Unmounted,
    wanted::Wanted,
    workload::{Lack, Lacking, Workload},
};

/// A target that says that it makes no FUA writes made one.
const UNDECLARED_FUA: Property = Property::critical("undeclared-fua");

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

/// What went wrong on the way: nothing, a power cut, requests that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mishap {
    /// Which requests of the move failed.
    pub faults: Faults,
    /// Where the power was cut.
    pub crash: Option<CrashPoint>,
}

/// What a violation comes with: what is wrong, and what went wrong before.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// For people.
    pub detail: String,
    /// Without any, the target is wrong even while it runs undisturbed.
    pub mishap: Mishap,
}

/// One result of a move.
#[expect(clippy::large_enum_variant, reason = "it is handed over once and never kept; a box would cost an allocation")]
pub(crate) enum Transition<'a, T: Target> {
    State {
        state: State<T>,
        mishap: &'a dyn Fn() -> Mishap,
    },
    Violation {
        property: Property,
        detail: &'a dyn Fn() -> String,
        mishap: &'a dyn Fn() -> Mishap,
    },
    /// The move as a whole: what it asked of the disk between two positions of a log, and what the op returned.
    Requests {
        log: &'a DiskLog,
        from: Position,
        to: Position,
        outcome: Option<&'a Outcome>,
    },
}

/// Searches a target.
pub struct Checker<'a, T: Target> {
    pub(crate) target: &'a T,
    pub(crate) options: CheckOptions,
    pub(crate) recoverer: Recoverer<T>,
    pub(crate) interruptions: Interruptions,
    pub(crate) counts: Counts,
    pub(crate) haste: Haste,
    pub(crate) tally: Tally,
    pub(crate) unmounted: Unmounted,
    /// Why the fresh file system did not start, if a search found that it did not: it may start another time.
    pub(crate) not_started: OnceLock<Finding>,
    repeated: Mutex<Repeated>,
    pub(crate) workload: Workload,
    scorer: Scorer,
}

impl<'a, T: Target> Checker<'a, T> {
    /// A checker that has done nothing yet.
    pub fn new(target: &'a T, options: CheckOptions) -> Self {
        Self::with(target, options, scope_of(&options), Again::Sampled)
    }

    /// The same with the ops that the user asks for.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.tally = Tally::of(workload.script.clone());
        self.counts = Counts::new(workload.weighted.as_ref());
        self.workload = workload;
        self
    }

    /// The same with another score for a best-first search.
    #[must_use]
    pub fn score(mut self, score: Score) -> Self {
        self.scorer = Scorer::new(score);
        self
    }

    /// The same in a search that goes so deep and no deeper.
    #[must_use]
    pub fn depth(mut self, depth: Option<u32>) -> Self {
        self.unmounted = Unmounted::AtTheEnd { depth };
        self
    }

    /// The same; unless `memoise`, every recovery is run, whatever was recovered before.
    #[must_use]
    pub fn memoise(mut self, memoise: bool) -> Self {
        if !memoise {
            self.recoverer = self.recoverer.forgetful();
        }
        self
    }

    /// A checker that runs every recovery twice, and unmounts after every op: what is not deterministic, and what is
    /// not given back, shows on its own, whatever was done before.
    pub(crate) fn twice(target: &'a T, options: CheckOptions) -> Self {
        Self { unmounted: Unmounted::Always, ..Self::with(target, options, scope_of(&options), Again::Each) }
    }

    /// A checker that looks at what recovered trees show, and at nothing else.
    pub(crate) fn of_trees(target: &'a T, options: CheckOptions) -> Self {
        let options = CheckOptions { recovery_crashes: false, ..options };
        Self::with(target, options, Scope::Tree, Again::Sampled)
    }

    fn with(target: &'a T, options: CheckOptions, scope: Scope, again: Again) -> Self {
        let recoverer = Recoverer::new(scope, again);
        let (interruptions, counts, workload) = (Interruptions::default(), Counts::new(None), Workload::default());
        let (haste, tally, scorer) = (Haste::default(), Tally::of(None), Scorer::new(Score::None));
        let (repeated, unmounted) = (Mutex::default(), Unmounted::AtTheEnd { depth: None });
        let not_started = OnceLock::new();
        Self {
            target,
            options,
            recoverer,
            interruptions,
            counts,
            haste,
            tally,
            unmounted,
            not_started,
            repeated,
            workload,
            scorer,
        }
    }

    /// How much has been done, what was only done again left out.
    pub fn work(&self) -> Work {
        self.repeated().left_out_of(self.all_work())
    }

    fn repeated(&self) -> MutexGuard<'_, Repeated> {
        self.repeated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_work(&self) -> Work {
        let recoveries = self.recoverer.counts();
        let counted = self.counts.work();
        Work {
            recoveries: recoveries.run,
            recoveries_memoised: recoveries.memoised,
            recovery_crash_states: self.interruptions.states(),
            positions_sampled: counted.positions_sampled + self.interruptions.sampled(),
            ..counted
        }
    }

    /// The freshly made and mounted file system; `Err` is what is wrong with it.
    pub(crate) fn start(&self) -> Result<State<T>, Finding> {
        let failed = |detail: String| Finding { property: RECOVERY_FAILS, detail };
        let mut disk = Disk::with_cache(self.target.mkfs(), self.target.cache());
        let mounted = self.target.mount(&mut disk);
        let mounted = mounted.map_err(|errno| failed(format!("a fresh file system does not mount: {errno}")))?;
        if let Some(complaint) = self.target.complaint(&mounted) {
            return Err(complaint);
        }
        let tree = self.target.observe(&mounted, &disk);
        let tree = tree.map_err(|errno| failed(format!("a fresh file system cannot be read: {errno}")))?;
        let disk = Disk::with_cache(disk.image().clone(), self.target.cache());
        let mut state = State::fresh(self.target, mounted, disk, &tree, 0);
        state.place = self.workload.script.as_ref().map(|set| set.root()).unwrap_or_default();
        Ok(state)
    }

    /// What goes wrong if the power is cut before the first op.
    pub(crate) fn wrong_at_start(&self, start: &State<T>) -> Option<Finding> {
        if self.options.crash == CrashMode::Off {
            return None;
        }
        let recovered = self.recoverer.recover(self.target, start.disk.image());
        let critical = recovered.findings.iter().find(|finding| finding.is_critical()).cloned();
        let differs = || {
            let (found, expected) = (&recovered.file_system.as_ref()?.1, start.reference.tree());
            let differs = !found.same_as(&expected);
            differs.then(|| Finding { property: RECOVERY_FAILS, detail: differences(found, &expected) })
        };
        let afterwards = || self.afterwards(&recovered, start.disk.image());
        let lost_room = || RoomBefore::new(start).lost_by(self.target, &self.options, &recovered);
        let Finding { property, detail } = critical.or_else(differs).or_else(afterwards).or_else(lost_room)?;
        Some(Finding { property, detail: format!("with the power cut before the first op, {detail}") })
    }

    /// Makes a move, undisturbed and with every fault that it may still meet, and calls `visit` with everything that
    /// comes of it.
    pub(crate) fn make(&self, state: &State<T>, action: &Action, visit: &mut dyn FnMut(Transition<T>)) {
        let asked = self.make_with(state, action, &Faults::new(), Wanted::Everything, visit);
        let room = usize::from(self.options.faults.saturating_sub(state.faults));
        if room > 0 {
            let mut tried = HashSet::new();
            self.make_faulty(state, action, (&Faults::new(), asked), (room, &mut tried), visit);
        }
    }

    /// Lets every request fail that was made in a move with these faults, together with them.
    fn make_faulty(
        &self,
        state: &State<T>,
        action: &Action,
        (faults, asked): (&Faults, IoCounts),
        (room, tried): (usize, &mut HashSet<Faults>),
        visit: &mut dyn FnMut(Transition<T>),
    ) {
        for what in Failing::ALL {
            for fault in (0..asked.of(what)).map(|after| Fault { what, after }) {
                let mut more = faults.clone();
                more.push(fault);
                more.sort_unstable();
                if faults.contains(&fault) || !tried.insert(more.clone()) {
                    continue;
                }
                if self.haste.leave() {
                    return;
                }
                let asked = self.make_with(state, action, &more, Wanted::Everything, visit);
                if more.len() < room {
                    self.make_faulty(state, action, (&more, asked), (room, tried), visit);
                }
            }
        }
    }

    /// Makes a move while these requests fail; returns how many requests it made, if faults are to be tried at all.
    pub(crate) fn make_with(
        &self,
        state: &State<T>,
        action: &Action,
        faults: &Faults,
        wanted: Wanted<'_>,
        visit: &mut dyn FnMut(Transition<T>),
    ) -> IoCounts {
        let mut next = state.awake(self.target, &self.options);
        // Requests are counted where one more may fail.
        if !faults.is_empty() || state.faults < self.options.faults {
            next.disk.arm(faults.clone());
            next.faults += u8::try_from(faults.len()).expect("as many as the options allow");
        }
        next.place = self.place_after(state, action);
        let task = match action {
            Action::Run { op, choice } | Action::Begin { op, choice } => next.begin(op.clone(), *choice),
            Action::Go { task } => *task,
        };
        let mut made = MoveUnderWay::new(state, next.disk.position(), task, (faults, wanted));
        let whole = matches!(action, Action::Run { .. });
        let mut asked = IoCounts::default();
        let advance = loop {
            match self.advance(&mut next, &mut made, &mut asked, visit) {
                Advance::UnderWay if whole => {}
                advance => break advance,
            }
        };
        if matches!(advance, Advance::UnderWay) {
            asked = next.disk.disarm();
            next.aftermath.disturb(next.tasks[task].index, faults);
        }
        let outcome = match &advance {
            Advance::UnderWay => None,
            Advance::Returned(outcome) | Advance::Broken(outcome) => Some(outcome),
        };
        let (log, from, to) = (next.disk.log(), made.start, next.disk.position());
        visit(Transition::Requests { log, from, to, outcome });
        self.check_declared(log, &made, visit);
        if next.aftermath.is_over() {
            self.counts.ended_unjudged();
        } else if !matches!(advance, Advance::Broken(_)) {
            next.recovery_wrote = made.recovery_wrote.get().unwrap_or(next.recovery_wrote);
            next.settle(self.target, &self.options);
            self.tally.reached(next.place);
            visit(Transition::State { state: next, mishap: &|| made.mishap(None) });
        }
        asked
    }

    /// A target that says that it makes no FUA writes is searched with fewer states, and must keep its word.
    fn check_declared(&self, log: &DiskLog, made: &MoveUnderWay<'_, T>, visit: &mut dyn FnMut(Transition<T>)) {
        let is_fua = |entry: &Entry| matches!(entry.kind, EntryKind::Fua { .. });
        let mut since = log.entries().rev().take_while(|(index, _)| index.0 >= made.start.0);
        if !self.target.uses_fua() && since.any(|(_, entry)| is_fua(entry)) {
            let detail = || "the target made a FUA write, but says that it never does (`Target::uses_fua`)".to_owned();
            let mishap = &|| made.mishap(None);
            visit(Transition::Violation { property: UNDECLARED_FUA, detail: &detail, mishap });
        }
    }

    /// Takes one op to its next disk request or to its end, and judges every crash on the way.
    fn advance(
        &self,
        next: &mut State<T>,
        made: &mut MoveUnderWay<'_, T>,
        asked: &mut IoCounts,
        visit: &mut dyn FnMut(Transition<T>),
    ) -> Advance {
        let before = next.disk.position();
        let outcome = next.step(self.target, made.task, made.faults);
        let after = next.disk.position();
        // The last request of an op completes when the op returns; every earlier one while it is under way. What an op
        // did that failed for want of a request may be seen or not, as if it was under way.
        let faults = next.aftermath.faults_of(next.tasks[made.task].index, made.faults);
        let failed = !faults.is_empty() && matches!(outcome, Some(Err(_)));
        let quiet = outcome.as_ref().is_some_and(|outcome| next.returns_quietly(outcome, after > before));
        let under_way_to = after.0 - usize::from(outcome.is_some() && !failed && !quiet && after > before);
        self.cut_power_along(&Moment::new(next, made), (before, Position(under_way_to)), visit);
        let Some(outcome) = outcome else { return Advance::UnderWay };
        self.counts.op(&next.tasks[made.task].op, &outcome);
        *asked = next.disk.disarm();
        if let Some(lacking) = self.lacking(next, made.task, &outcome) {
            self.tally.left_out(next.place, lacking);
            return Advance::Broken(outcome);
        }
        let done = next.tasks.remove(made.task);
        let Finished { wrong, refused } =
            next.finish(self.target, &done, &outcome, &faults, (made.foreseen.take(), Fullness::Judged));
        self.counts.refused(refused);
        next.aftermath.end(&done, failed);
        if !faults.is_empty() && self.target.may_shut_down() {
            next.aftermath.hurt();
        }
        let broken = wrong.iter().any(Finding::is_critical);
        let complaint = if broken { None } else { self.complaint_at_unmount(next, made.wanted) };
        let which = self.judged_on_return();
        if !broken && !failed && !quiet && !next.aftermath.is_over() && (after > before || which == Which::All) {
            self.cut_power(&Moment::new(next, made), which, visit);
        }
        for Finding { property, detail } in wrong.iter().chain(&complaint) {
            let mishap = &|| made.mishap(None);
            visit(Transition::Violation { property: *property, detail: &|| detail.clone(), mishap });
        }
        if broken { Advance::Broken(outcome) } else { Advance::Returned(outcome) }
    }

    /// Appends what decides which actions come next, besides the file system: how many faults there were, and how far a
    /// script is.
    fn encode_plan(&self, state: &State<T>, bytes: &mut Vec<u8>) {
        if self.options.faults > 0 {
            bytes.push(state.faults);
        }
        if self.workload.script.is_some() {
            state.place.encode(bytes);
        }
    }

    /// Where in the set of workloads an action leads.
    fn place_after(&self, state: &State<T>, action: &Action) -> Place {
        let (Some(set), Action::Run { op, .. } | Action::Begin { op, .. }) = (&self.workload.script, action) else {
            return state.place;
        };
        set.child(state.place, op).unwrap_or(state.place)
    }

    /// What an op of a workload says that the target does not have.
    fn lacking(&self, next: &State<T>, task: usize, outcome: &Outcome) -> Option<Lacking> {
        // What complains is wrong, whatever it says.
        if self.workload.script.is_none() || self.target.complaint(&next.mounted).is_some() {
            return None;
        }
        let op = &next.tasks[task].op;
        let what = Lack::told_by(self.target, op, outcome, &next.reference)?;
        let differs = next.reference.clone().apply(op) != *outcome;
        differs.then(|| Lacking { op: op.clone(), what })
    }

    /// The ops that may begin, each in every way.
    fn beginnings(&self, state: &State<T>, mut begin: impl FnMut(Op, u32)) {
        let mut ops = Vec::new();
        state.with_view(&self.workload, self.options.remembered(self.target), |view| {
            match (&self.workload.script, &self.workload.weighted) {
                (Some(set), _) => ops.extend(set.children(state.place).map(|(op, _)| op.clone())),
                (None, Some(weighted)) => {
                    let seen = (view.tree(), state.reference.open_files());
                    let offered = |op: &Op| Workload::is_offered(self.target, op, seen);
                    ops = weighted.draw(view.tree(), state.ops, offered);
                }
                (None, None) => self.target.workload(view, &mut ops),
            }
            for op in ops.into_iter().filter(|op| state.may_begin(op)) {
                (0..self.target.choices(view, &op)).for_each(|choice| begin(op.clone(), choice));
            }
        });
    }
}

fn scope_of(options: &CheckOptions) -> Scope {
    if options.probe { Scope::Use } else { Scope::Soundness }
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

    fn ends_with(&self, property: Property) -> bool {
        self.target.is_of_the_machine(&Finding { property, detail: String::new() })
    }

    fn initial(&self) -> Vec<State<T>> {
        match self.start() {
            Ok(state) => vec![state],
            Err(finding) => {
                self.not_started.get_or_init(|| finding);
                Vec::new()
            }
        }
    }

    fn actions(&self, state: &State<T>, actions: &mut Vec<Action>) {
        if state.is_asleep() {
            return self.actions(&state.awake(self.target, &self.options), actions);
        }
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
            Transition::Violation { property, .. } if self.is_given_up(property) => {}
            Transition::Violation { property, detail, mishap } => {
                self.tally.violated(property.name, self.place_after(state, action));
                step.violated(property, || Evidence { detail: detail(), mishap: mishap() });
            }
            Transition::Requests { .. } => {}
        });
    }

    fn inspect(&self, state: &State<T>, _: usize, step: &mut Step<'_, Self>) {
        if state.ops == 0
            && let Some(Finding { property, detail }) = self.wrong_at_start(state)
            && !self.is_given_up(property)
        {
            step.violated(property, || Evidence { detail, mishap: Mishap::default() });
        }
    }

    /// Covers the disk with what is pending, the memory, the ops under way, and the trees that a crash may go back
    /// to. It leaves out how many ops there were, which only numbers them. A big image is covered by its 128-bit hash.
    fn encode(&self, state: &State<T>, bytes: &mut Vec<u8>) {
        if state.is_asleep() {
            return self.encode(&state.awake(self.target, &self.options), bytes);
        }
        bytes.extend_from_slice(&state.disk.fingerprint(self.options.remembered(self.target)).to_le_bytes());
        self.target.encode(&state.mounted, bytes);
        state.tasks.iter().for_each(|task| task.encode(bytes));
        state.encode_past(bytes);
        self.encode_plan(state, bytes);
    }

    fn canonical(&self, state: &State<T>, bytes: &mut Vec<u8>) {
        match self.options.equality {
            Equality::Full => {}
            Equality::Shape { suffix } => {
                state.encode_shape(suffix, bytes);
                return self.encode_plan(state, bytes);
            }
            Equality::Tree => {
                state.encode_tree(bytes);
                return self.encode_plan(state, bytes);
            }
        }
        let remembered = self.options.remembered(self.target);
        // Whether a symmetry maps what faults left behind too is not known.
        if state.aftermath.is_empty()
            && state.with_view(&self.workload, remembered, |view| self.target.canonical(view, bytes))
        {
            self.encode_plan(state, bytes);
        } else {
            self.encode(state, bytes);
        }
    }

    fn interrupt(&self) {
        self.hurry();
    }

    fn interrupt_is_over(&self) {
        self.take_time();
    }

    fn was_cut_short(&self) -> bool {
        self.haste.left_work()
    }

    fn repetition_begins(&self) {
        self.counts.repeat(true);
        self.repeated().begin(self.all_work());
    }

    fn repetition_is_over(&self) {
        self.repeated().end(self.all_work());
        self.counts.repeat(false);
    }

    fn score(&self, state: &State<T>) -> i64 {
        self.scorer.score(state, self.target, &self.options)
    }
}
