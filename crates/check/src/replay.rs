//! Executes a trace again, move by move, and keeps what there is to see.

use disk::{Block, DiskLog, EntryIndex, Image, Position, Taken};
use explore::Property;
use vfs::{Op, Outcome, Tree};

use crate::{
    checker::{Action, Checker, Mishap, Transition},
    compare::failing,
    crash_point::CrashPoint,
    options::CheckOptions,
    requests::{self, Fate, Request, Teller},
    state::State,
    target::{Finding, Target},
    trace::{Move, OpMove, Trace},
    wanted::Wanted,
};

/// A trace that does not lead where it says.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The target does not start.
    #[error("start the target: {0}")]
    Start(String),
    /// A move cannot be made.
    #[error("make move {number}: {what}")]
    NoSuchMove {
        /// Which, counted from 1.
        number: usize,
        /// Why not.
        what: &'static str,
    },
    /// The violation does not show.
    #[error("see the violation again: the trace does not show it in {tries} tries")]
    NotAgain {
        /// How often it was executed.
        tries: u32,
    },
    /// The trace is one of a target of another kind.
    #[error("replay the trace: it does not belong to this kind of target")]
    OtherKind,
}

/// What a replay showed.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The moves.
    pub moves: Vec<Shown>,
    /// What the last move violated, if the trace still holds: which property, and how.
    pub violation: Option<(Property, String)>,
}

/// One move as it happened.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What the move was, for people.
    pub says: String,
    /// Which op, counted from 0, if the target has ops.
    pub op: Option<usize>,
    /// What the op returned, if it did.
    pub outcome: Option<Outcome>,
    /// The disk requests of this move, and what became of them.
    pub requests: Vec<Request>,
    /// After how many of `requests` the power was cut.
    pub cut_after: Option<usize>,
    /// What a user sees afterwards; after a power cut, what recovery left. `None` if there is nothing to see.
    pub tree: Option<Tree>,
    /// What recovery asked of the disk.
    pub recovery_requests: Vec<Request>,
    /// What recovery reported.
    pub recovery: Vec<String>,
    /// What each of several targets said, where they do not agree.
    pub differs: Vec<String>,
}

impl Shown {
    /// A move of which nothing is known but what it was.
    pub fn says(says: String) -> Self {
        Self {
            says,
            op: None,
            outcome: None,
            requests: Vec::new(),
            cut_after: None,
            tree: None,
            recovery: Vec::new(),
            recovery_requests: Vec::new(),
            differs: Vec::new(),
        }
    }
}

/// Executes moves one by one.
pub(crate) struct Player<'a, T: Target> {
    checker: &'a Checker<'a, T>,
    pub state: State<T>,
    /// The ops under way, by their place in the trace.
    under_way: Vec<usize>,
}

/// What a move came to.
pub(crate) struct Made<T: Target> {
    pub violations: Vec<(Property, String, Option<CrashPoint>)>,
    /// The requests that the move made.
    pub log: Option<(DiskLog, Position, Position)>,
    pub outcome: Option<Outcome>,
    pub after: Vec<(State<T>, Option<CrashPoint>)>,
}

impl<T: Target> Made<T> {
    /// Which of these is the wanted power cut, or at least leaves the same on the medium at the same moment: requests
    /// that others have overwritten are no difference, and there are more or fewer of them in a shorter trace.
    fn find_cut<'c>(
        &self,
        cuts: &(impl Iterator<Item = Option<&'c CrashPoint>> + Clone),
        wanted: Option<&CrashPoint>,
    ) -> Option<usize> {
        cuts.clone().position(|cut| cut == wanted).or_else(|| {
            let wanted = wanted?;
            let image = self.crash_image(wanted)?;
            let leaves_the_same = |cut: &CrashPoint| {
                cut.entries == wanted.entries && self.crash_image(cut).is_some_and(|other| other == image)
            };
            cuts.clone().position(|cut| cut.is_some_and(leaves_the_same))
        })
    }

    /// What a power cut in this move leaves on the medium.
    fn crash_image(&self, crash: &CrashPoint) -> Option<Image> {
        let (log, from, to) = self.log.as_ref()?;
        let taken = crash.taken_in(log, *from).filter(|_| crash.entries <= to.0 - from.0)?;
        log.cut(Position(from.0 + crash.entries)).image_with(&taken).ok()
    }
}

impl<'a, T: Target> Player<'a, T> {
    pub fn new(checker: &'a Checker<'a, T>) -> Result<Self, ReplayError> {
        let state = checker.start().map_err(|finding| ReplayError::Start(finding.detail))?;
        Ok(Self { checker, state, under_way: Vec::new() })
    }

    /// Makes a move without going on to one of its outcomes.
    pub fn try_move(&self, a_move: &Move, ops: &[Op], wanted: Wanted<'_>) -> Result<Made<T>, &'static str> {
        let action = match a_move {
            Move::Run(OpMove { op, choice, .. }) => Action::Run { op: ops[*op].clone(), choice: *choice },
            Move::Begin(OpMove { op, choice, .. }) => Action::Begin { op: ops[*op].clone(), choice: *choice },
            Move::Go(OpMove { op, .. }) => {
                let task = self.under_way.iter().position(|under_way| under_way == op);
                Action::Go { task: task.ok_or("that op is not under way")? }
            }
            Move::Act { .. } => return Err("this target has ops, not actions"),
        };
        let mut made = Made { violations: Vec::new(), log: None, outcome: None, after: Vec::new() };
        let faults = a_move.op().map(|a_move| a_move.faults.clone()).unwrap_or_default();
        self.checker.make_with(&self.state, &action, &faults, wanted, &mut |transition| match transition {
            Transition::State { state, mishap } => made.after.push((state, mishap().crash)),
            Transition::Violation { property, detail, mishap } => {
                made.violations.push((property, detail(), mishap().crash));
            }
            Transition::Requests { log, from, to, outcome } => {
                made.log = Some((log.clone(), from, to));
                made.outcome = outcome.cloned();
            }
        });
        Ok(made)
    }

    /// What went wrong on the way to the outcome with this number, among all that a search sees, if there are so many.
    pub fn mishap_of(&self, action: &Action, outcome: usize) -> Option<Mishap> {
        let options = &self.checker.options;
        if !options.continue_after_crash && options.faults == 0 {
            // A search goes on from nothing but the undisturbed state then.
            return (outcome == 0).then(Mishap::default);
        }
        let mut mishaps = Vec::new();
        self.checker.make(&self.state, action, &mut |transition| {
            if let Transition::State { mishap, .. } = transition {
                mishaps.push(mishap());
            }
        });
        (outcome < mishaps.len()).then(|| mishaps.swap_remove(outcome))
    }

    /// Goes on to the outcome that the move names; its power cut, as the pipeline names it.
    pub fn go_on(&mut self, a_move: &Move, mut made: Made<T>) -> Result<Option<CrashPoint>, &'static str> {
        let wanted = a_move.op().ok_or("this target has ops, not actions")?;
        let cuts = made.after.iter().map(|(_, crash)| crash.as_ref());
        let found = made.find_cut(&cuts, wanted.crash.as_ref()).ok_or("the target no longer gets there")?;
        let (state, crash) = made.after.swap_remove(found);
        let op = wanted.op;
        if crash.is_some() {
            self.under_way.clear();
        } else if matches!(a_move, Move::Begin(_)) && state.tasks.len() > self.state.tasks.len() {
            self.under_way.push(op);
        } else if matches!(a_move, Move::Go(_)) && state.tasks.len() < self.state.tasks.len() {
            self.under_way.retain(|under_way| *under_way != op);
        }
        self.state = state;
        Ok(crash)
    }

    /// The ops under way, by their place in the trace.
    pub fn under_way(&self) -> &[usize] {
        &self.under_way
    }

    /// Whether the target could be asked this now: with several tasks, an op must not touch what another one holds.
    pub fn may_begin(&self, op: &Op) -> bool {
        self.state.tasks.len() < self.checker.target.tasks() && self.state.may_begin(op)
    }
}

/// Executes a trace.
///
/// # Errors
/// A move of the trace cannot be made: the trace belongs to another target, or to another version of it.
pub fn replay<T: Target>(target: &T, trace: &Trace) -> Result<Replayed, ReplayError> {
    let checker = Checker::twice(target, trace.options);
    if trace.schedule.is_empty() {
        let found = violated_at_start(&checker, &trace.property);
        let violation = found.map(|Finding { property, detail }| (property, detail));
        return Ok(Replayed { moves: Vec::new(), violation });
    }
    let mut player = Player::new(&checker)?;
    let mut shown = Vec::new();
    let mut in_cache = InCache::default();
    let mut violation = None;
    for (number, a_move) in (1..).zip(&trace.schedule) {
        let wrong = |what| ReplayError::NoSuchMove { number, what };
        let wanted = a_move.op().and_then(|a_move| a_move.crash.clone());
        let is_last = number == trace.schedule.len();
        let look = if is_last { Wanted::at_the_end } else { Wanted::on_the_way };
        let made = player.try_move(a_move, &trace.ops, look(&trace.property, wanted.as_ref())).map_err(wrong)?;
        let requests = made.log.as_ref().map_or(0, |(_, from, to)| to.0 - from.0);
        if wanted.as_ref().is_some_and(|crash| crash.entries > requests) {
            return Err(wrong("the power is cut after a request that it does not make"));
        }
        if wanted.as_ref().is_some_and(|crash| made.crash_image(crash).is_none()) {
            return Err(wrong("its power cut takes requests that are not pending there"));
        }
        if let Some(crash) = &wanted {
            in_cache.decide(target, &mut shown, &made, crash);
        }
        shown.push(show(target, &trace.options, a_move, &trace.ops, &made, wanted.as_ref()));
        if is_last {
            let same: Vec<_> = made.violations.iter().filter(|(found, ..)| found.name == trace.property).collect();
            let found = made.find_cut(&same.iter().map(|(.., crash)| crash.as_ref()), wanted.as_ref());
            violation = found.map(|found| (same[found].0, same[found].1.clone()));
        } else {
            let extent = made.log.as_ref().map(|(_, from, to)| (*from, *to));
            player.go_on(a_move, made).map_err(wrong)?;
            in_cache.push(shown.len() - 1, extent.filter(|_| wanted.is_none()), player.state.disk.position());
        }
    }
    Ok(Replayed { moves: shown, violation })
}

/// How a fresh file system violates a property, if it does.
pub(crate) fn violated_at_start<T: Target>(checker: &Checker<'_, T>, property: &str) -> Option<Finding> {
    let found = checker.start().map_or_else(Some, |start| checker.wrong_at_start(&start));
    found.filter(|finding| finding.property.name == property)
}

fn show<T: Target>(
    target: &T,
    options: &CheckOptions,
    a_move: &Move,
    ops: &[Op],
    made: &Made<T>,
    crash: Option<&CrashPoint>,
) -> Shown {
    let op = a_move.op().map_or(0, |a_move| a_move.op);
    let faults = a_move.op().filter(|a_move| !a_move.faults.is_empty());
    let faults = faults.map_or_else(String::new, |a_move| format!(", while {}", failing(&a_move.faults)));
    let says = match a_move {
        Move::Go(_) => format!("{} goes on{faults}", ops[op]),
        _ => format!("{}{faults}", ops[op]),
    };
    let mut shown = Shown {
        op: Some(op),
        outcome: made.outcome.clone().filter(|_| crash.is_none()),
        cut_after: crash.map(|crash| crash.entries),
        ..Shown::says(says)
    };
    if let Some((log, from, to)) = &made.log {
        show_requests(target, log, *from, *to, crash, &mut shown);
        shown.tree = match crash {
            None => made.after.iter().find(|(_, crash)| crash.is_none()).map(|(state, _)| state.reference.tree()),
            Some(crash) => made.crash_image(crash).and_then(|image| recover(target, options, &image, &mut shown)),
        };
    }
    shown
}

/// What recovery makes of a crash state, and what it says.
fn recover<T: Target>(target: &T, options: &CheckOptions, image: &Image, shown: &mut Shown) -> Option<Tree> {
    let recovered = Checker::new(target, *options).recoverer.recover(target, image);
    let mut teller = Teller::new(target, image.clone());
    shown.recovery_requests.extend(recovered.log.iter().map(|entry| teller.tell(entry, Fate::Done, None)));
    let findings = recovered.findings.iter().chain(&recovered.afterwards);
    shown.recovery.extend(findings.map(|finding| format!("{}: {}", finding.property.name, finding.detail)));
    recovered.file_system.as_ref().map(|(_, tree)| tree.clone())
}

fn show_requests<T: Target>(
    target: &T,
    log: &DiskLog,
    from: Position,
    to: Position,
    crash: Option<&CrashPoint>,
    shown: &mut Shown,
) {
    let cut = crash.map(|crash| log.cut(Position(from.0 + crash.entries)));
    let taken = crash.and_then(|crash| crash.taken_in(log, from)).unwrap_or_default();
    let mut teller = Teller::new(target, log.image_at(from));
    for (index, entry) in log.entries().filter(|(index, _)| (from.0..to.0).contains(&index.0)) {
        let fate = cut.as_ref().map_or(Fate::Done, |cut| requests::fate(cut, &taken.0, index));
        shown.requests.push(teller.tell(entry, fate, torn(&taken, index)));
    }
}

/// The blocks of a request that reached the medium, if it was torn.
fn torn(taken: &Taken, index: EntryIndex) -> Option<&[Block]> {
    taken.0.iter().find(|taken| taken.entry == index)?.blocks.as_deref()
}

/// Moves whose requests may still be in the cache, by their place in the story and where in the log each began.
#[derive(Default)]
struct InCache(Vec<(usize, Position)>);

impl InCache {
    /// A move was made that began there. `next`: where the one after it will begin, if it begins where this one ended;
    /// otherwise the log was begun anew, and nothing of what was before is in the cache.
    fn push(&mut self, place: usize, made: Option<(Position, Position)>, next: Position) {
        match made {
            Some((from, to)) if to == next => self.0.push((place, from)),
            _ => self.0.clear(),
        }
    }

    /// Says at earlier moves what a power cut in this one made of their requests.
    fn decide<T: Target>(&self, target: &T, shown: &mut [Shown], made: &Made<T>, crash: &CrashPoint) {
        let Some((log, from, _)) = &made.log else { return };
        let number = shown.len() + 1;
        let cut = log.cut(Position(from.0 + crash.entries));
        let taken = crash.taken_in(log, *from).unwrap_or_default();
        let mut teller = Teller::new(target, log.base().clone());
        for (index, entry) in log.entries().filter(|(index, _)| index.0 < from.0) {
            let fate = requests::fate(&cut, &taken.0, index);
            let told = teller.tell(entry, fate, torn(&taken, index));
            let mut moves = self.0.iter().rev();
            if let Some((place, start)) = moves.find(|(_, start)| start.0 <= index.0)
                && let Some(request) = shown[*place].requests.get_mut(index.0 - start.0)
                && cut.pending().any(|(pending, _)| pending == index)
            {
                *request = Request { decided_in: Some(number), ..told };
            }
        }
    }
}
