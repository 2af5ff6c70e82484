//! One op on the target and on the reference, and where the two do not agree.

use disk::{Failing, Fault, Faults, OpIndex};
use explore::Property;
use vfs::{
    Difference, Errno, Op, OpKind, Outcome, Path, Reference, Tree, Value,
    contract::{Breach, Contract, Event},
    tree::Aspect,
};

use crate::{
    aftermath::Aftermath,
    crash::CONTENTS,
    fullness,
    legal::{self, Agreement, Growth, Refusing},
    locks::is_at_or_below,
    size::fits,
    state::{Foreseen, State, past},
    target::{Finding, Target, Task},
};

/// An op returned something else than the reference.
pub(crate) const OUTCOME: Property = Property::critical("outcome");
/// After an op, the tree is not that of the reference.
pub(crate) const TREE: Property = Property::critical("tree");
/// A request failed, and the op did not fail as a whole or succeed as a whole.
const FAULT: Property = Property::critical("fault");
/// A request failed, and the op says that it failed, but it was done as a whole.
const FAILED_BUT_DONE: Property = Property::not_critical("failed-but-done");

/// How far a remount is that has unmounted. If it fails then, the file system is gone, which no failed request excuses.
const UNMOUNTED: u8 = 1;

/// How an op ended.
#[derive(Default)]
pub(crate) struct Finished {
    /// What is wrong.
    pub wrong: Vec<Finding>,
    /// Whether there was no room for it, which the reference has.
    pub refused: bool,
}

/// What is asked of a target that says that it has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fullness {
    /// It must be full.
    Judged,
    /// Nothing: whoever asks has rules of its own.
    Excused,
}

impl From<Finding> for Finished {
    fn from(finding: Finding) -> Self {
        Self { wrong: vec![finding], refused: false }
    }
}

impl<T: Target> State<T> {
    /// Puts an op among those under way; its place there.
    pub(crate) fn begin(&mut self, op: Op, choice: u32) -> usize {
        self.tasks.push(Task { op, index: OpIndex(self.ops), choice, pc: 0, registers: [0; 12] });
        self.ops += 1;
        self.tasks.len() - 1
    }

    /// Takes an op under way to its next disk request or to its end, while these requests fail.
    pub(crate) fn step(&mut self, target: &T, task: usize, faults: &Faults) -> Option<Outcome> {
        let (bytes_max, begins) = (target.file_bytes_max(), self.tasks[task].pc == 0);
        // Most have no such bound, and need not be looked at.
        let is_too_large =
            begins && bytes_max < u64::MAX && !fits(&self.tasks[task].op, &self.reference.tree(), bytes_max);
        let under_way = &mut self.tasks[task];
        self.disk.set_op(Some(under_way.index));
        let outcome = if under_way.op == Op::Remount {
            Some(self.remount(target, task, faults.len()))
        } else if is_too_large {
            Some(Err(Errno::EOPNOTSUPP))
        } else {
            target.step(&mut self.mounted, &mut self.disk, under_way)
        };
        self.disk.set_op(None);
        outcome
    }

    /// A mount that fails for want of a request leaves nothing to look at, so it is tried again, as often as requests
    /// may fail, after fsck where that is the recovery: what was mounted in part may be marked as in use (jfs). What
    /// complains when it is unmounted is not mounted again: the complaint would be forgotten.
    fn remount(&mut self, target: &T, task: usize, retries: usize) -> Outcome {
        target.unmount(&mut self.mounted, &mut self.disk)?;
        self.tasks[task].pc = UNMOUNTED;
        if target.complaint(&self.mounted).is_some() {
            return Ok(Value::Done);
        }
        let first = target.mount(&mut self.disk);
        let disk = &mut self.disk;
        let mut recover = || target.fsck(disk).and_then(|_| target.mount(disk));
        self.mounted = (0..retries).fold(first, |mounted, _| mounted.or_else(|_| recover()))?;
        Ok(Value::Done)
    }

    /// Lets the reference do an op too that has returned, and compares.
    ///
    /// If requests failed, the op may fail too, whatever the reference says. But one that failed must have changed
    /// nothing, and one that did not must have done everything. `foreseen` is what the reference does, if it is known.
    pub(crate) fn finish(
        &mut self,
        target: &T,
        done: &Task,
        outcome: &Outcome,
        faults: &Faults,
        (foreseen, fullness): (Option<Foreseen>, Fullness),
    ) -> Finished {
        // It is wrong whatever failed.
        if let Some(complaint) = target.complaint(&self.mounted) {
            return complaint.into();
        }
        let foreseen = foreseen.unwrap_or_else(|| self.foresee(&done.op));
        let mut finished = self.finish_unexcused(target, (done, outcome), (foreseen, fullness), !faults.is_empty());
        if !faults.is_empty() {
            let how = if outcome.is_ok() { "succeeded" } else { "failed" };
            for finding in &mut finished.wrong {
                let Finding { property, detail } = &finding;
                if *property == FAILED_BUT_DONE {
                    finding.detail = format!("{} while {}: {detail}", done.op, failing(faults));
                } else if finding.is_critical() {
                    let detail =
                        format!("{} while {}, it {how}, but {}: {detail}", done.op, failing(faults), property.name);
                    *finding = Finding { property: FAULT, detail };
                }
            }
        }
        finished
    }

    fn finish_unexcused(
        &mut self,
        target: &T,
        (done, outcome): (&Task, &Outcome),
        (expected, fullness): (Foreseen, Fullness),
        may_fail: bool,
    ) -> Finished {
        let mut refused = false;
        let is_unmounted = done.op == Op::Remount && done.pc == UNMOUNTED;
        let is_hurt = target.may_shut_down() && (may_fail || self.aftermath.is_hurt());
        if is_hurt && is_unmounted && outcome.is_ok() {
            return Finished { wrong: self.come_back(target, may_fail), refused };
        }
        let has_given_up = is_hurt && target.has_given_up(&self.mounted);
        // What one shows that has given up does not come to the disk, so that nothing was done.
        let done_when_failed =
            if may_fail && !has_given_up { self.done_when_failed(target, &done.op, outcome) } else { None };
        let failed_but_done = done_when_failed.as_ref().map(|(_, finding)| finding.clone());
        let part = self.part_that_fits(target, &done.op, outcome);
        let expected = part.as_ref().map_or(expected, |part| self.foresee(part));
        let op = part.as_ref().unwrap_or(&done.op);
        // One that was hurt may have no room for anything.
        let is_judged = fullness == Fullness::Judged && !is_hurt;
        let room = || if is_judged { self.room_after_all(target, op) } else { None };
        match legal::compare(self.refusing(target, op, is_judged), outcome, &self.reference, &expected) {
            Agreement::Differ | Agreement::Refused if let Some((reference, _)) = done_when_failed => {
                self.reference = reference;
            }
            Agreement::Differ if may_fail && outcome.is_err() && !is_unmounted => {}
            Agreement::Differ
                if is_hurt
                    && !is_unmounted
                    && outcome.as_ref().err().is_some_and(|errno| self.may_say_when_hurt(target, *errno)) => {}
            Agreement::Differ if has_given_up && self.is_as_shown(target, &done.op, outcome) => {}
            Agreement::Same => self.reference = expected.reference,
            Agreement::Refused if let Some(bytes) = fullness::is_refused(outcome).then(room).flatten() => {
                return differs(op, outcome, &expected, &fullness::tell(bytes)).into();
            }
            Agreement::Refused => refused = true,
            Agreement::Differ => return differs(&done.op, outcome, &expected, "").into(),
        }
        self.recent.push(done.op.kind(), outcome.as_ref().err().copied());
        self.room_used = self.room_used.saturating_add(if outcome.is_ok() { fullness::uses(op) } else { 0 });
        // A failed op changes and pins nothing. Kept in the history, it would tell states apart that are the same.
        let says_so = outcome.is_ok() && !(is_hurt && legal::promises_nothing(&done.op, self.aftermath.was_told()));
        if says_so || failed_but_done.is_some() {
            self.returned(op, done.index, outcome);
        } else {
            self.history.pass_over();
        }
        if is_hurt && outcome.is_err() && done.op.is_persistence() {
            self.aftermath.tell();
        }
        let mut wrong = match target.observe(&self.mounted, &self.disk) {
            Err(errno) if is_hurt && legal::may_be_unreadable_when_hurt(errno) => Vec::new(),
            Ok(found) if has_given_up => self.compare_with_shown(target, &done.op, outcome, found),
            _ => self.compare_trees(target),
        };
        if self.tasks.is_empty() {
            wrong.extend(target.invariants(&self.mounted, &self.disk));
        }
        wrong.extend(failed_but_done);
        Finished { wrong, refused }
    }

    /// What the reference is if an op was done that says that it failed, of those that are done in two parts; and what
    /// is to be said of it. What could not be opened is not open.
    fn done_when_failed(&self, target: &T, op: &Op, outcome: &Outcome) -> Option<(Reference, Finding)> {
        let errno = outcome.as_ref().err()?;
        let mut reference = self.reference.clone();
        for part in legal::done_when_failed(op, *errno, reference.open_files())? {
            reference.apply(&part).ok()?;
        }
        let (before, after) = (self.reference.tree(), reference.tree());
        let found = target.observe(&self.mounted, &self.disk).ok()?;
        let detail = format!("it failed with {errno}, but it was done");
        let is_done = !after.same_as(&before) && found.same_as(&after);
        is_done.then_some((reference, Finding { property: FAILED_BUT_DONE, detail }))
    }

    /// What was done of a write that wrote less than it was asked to, if there is no room for the rest.
    fn part_that_fits(&self, target: &T, op: &Op, outcome: &Outcome) -> Option<Op> {
        let (part, rest) = legal::in_part(op, outcome)?;
        let refusing = self.refusing(target, op, true);
        let is_granted = fits(op, &self.reference.tree(), refusing.file_bytes_granted);
        let growth = || if is_granted { Growth::Granted } else { Growth::Longer };
        refusing.has_no_room(&self.clone().run_whole(target, rest), growth).then_some(part)
    }

    /// What is known where an op is not done.
    fn refusing<'o>(&self, target: &T, op: &'o Op, is_judged: bool) -> Refusing<'o> {
        let needs_room_to_free = !is_judged || target.needs_room_to_free();
        let is_empty = || self.reference.tree().is_empty() && self.reference.open_files().is_empty();
        let is_first = self.tasks.is_empty() && (self.ops <= 1 || !needs_room_to_free) && is_empty();
        let file_bytes_granted = target.file_bytes_granted();
        let room_granted = if is_judged && self.tasks.is_empty() { target.room_granted() } else { 0 };
        let has_room =
            room_granted > 0 && fullness::has_room(op, &self.reference.tree(), (self.room_used, room_granted));
        Refusing { op, is_first: is_judged && is_first, has_room, needs_room_to_free, file_bytes_granted }
    }

    /// How many bytes a target takes for a new file that says that it has no room for an op.
    fn room_after_all(&self, target: &T, op: &Op) -> Option<u64> {
        if !target.has_one_supply() || !self.tasks.is_empty() {
            return None;
        }
        let mut on = self.clone();
        let bytes = self.disk.image().geometry().bytes() as u64;
        let most = (bytes, target.file_bytes_max());
        fullness::room_after_all(op, &self.reference.tree(), most, |op| on.run_whole(target, op.clone()))
    }

    /// Does an op from its beginning to its end, undisturbed.
    fn run_whole(&mut self, target: &T, op: Op) -> Outcome {
        let task = self.begin(op, 0);
        let outcome = loop {
            if let Some(outcome) = self.step(target, task, &Faults::new()) {
                break outcome;
            }
        };
        self.tasks.remove(task);
        outcome
    }

    /// Whether an op may be refused so after a request has failed: what cannot be read at all may refuse likewise.
    fn may_say_when_hurt(&self, target: &T, errno: Errno) -> bool {
        let is_unreadable = |errno| target.observe(&self.mounted, &self.disk).is_err_and(|other| other == errno);
        legal::may_say_when_hurt(errno) || (legal::may_be_unreadable_when_hurt(errno) && is_unreadable(errno))
    }

    /// Whether an op comes to what it should on the tree that was shown when the target gave up.
    fn is_as_shown(&self, target: &T, op: &Op, outcome: &Outcome) -> bool {
        self.aftermath.shown().is_some_and(|shown| on(shown, target, op).1 == *outcome)
    }

    /// The op in which a target gives up may be seen in part. From then on only what succeeds changes anything.
    fn compare_with_shown(&mut self, target: &T, op: &Op, outcome: &Outcome, found: Tree) -> Vec<Finding> {
        let shown = self.aftermath.shown();
        let expected = shown.map(|shown| if outcome.is_ok() { on(shown, target, op).0 } else { shown.clone() });
        let wrong = expected.filter(|expected| !found.same_as(expected)).map(|expected| Finding {
            property: TREE,
            detail: format!("it had given up, but {}", differences(&found, &expected)),
        });
        self.aftermath.show(found);
        wrong.into_iter().collect()
    }

    /// A file system that was hurt was mounted again. It may have given up what was only in memory, and is judged as if
    /// the power had been cut. Where it is not what it was before, and a request failed only now (`may_fail`) or writes
    /// are still pending, nobody can say what of it is durable; then the search ends here. So it does where nothing can
    /// be read before fsck has run.
    fn come_back(&mut self, target: &T, may_fail: bool) -> Vec<Finding> {
        self.recent.push(OpKind::Remount, None);
        self.history.pass_over();
        self.aftermath.hide();
        let found = match target.observe(&self.mounted, &self.disk) {
            Ok(found) => found,
            Err(errno) if legal::may_say_when_hurt(errno) && target.awaits_fsck(&self.disk) => {
                self.aftermath.end_here();
                return target.invariants(&self.mounted, &self.disk);
            }
            Err(errno) => return vec![Finding { property: TREE, detail: format!("cannot be read: {errno}") }],
        };
        if !found.same_as(&self.reference.tree()) {
            let under_way = self.under_way();
            let under_way: Vec<&[Event]> = under_way.iter().map(Vec::as_slice).collect();
            let crash = self.history.crash(self.history.len(), &under_way);
            let breaches = crash.judge(target.promise().contract.min(Contract::Atomic), &found);
            if !breaches.is_empty() {
                return breaches.iter().map(broken_by_remount).collect();
            }
            if may_fail || !self.disk.log().pending().is_empty() {
                self.aftermath.end_here();
            } else {
                let (reference, history) = past(target, &found);
                (self.reference, self.history) = (reference, history.after_ops(self.ops));
                self.returned.clear();
                self.aftermath = Aftermath::default();
                if target.awaits_fsck(&self.disk) {
                    self.aftermath.hurt();
                }
            }
        }
        target.invariants(&self.mounted, &self.disk)
    }

    /// Compares what a user sees with the reference, leaving out what ops under way are changing.
    fn compare_trees(&self, target: &T) -> Vec<Finding> {
        let expected = self.reference.tree();
        let found = match target.observe(&self.mounted, &self.disk) {
            Ok(found) => found,
            Err(errno) => return vec![Finding { property: TREE, detail: format!("cannot be read: {errno}") }],
        };
        if found.same_as(&expected) {
            return Vec::new();
        }
        let changing = self.changing();
        let is_changing = |Difference { path, aspect, .. }: &Difference| {
            // A directory that is made, removed or moved is counted by the one above.
            let counts = |changing: &Path| *aspect == Aspect::LinkCount && changing.parent().as_ref() == Some(path);
            changing.iter().any(|changing| is_at_or_below(path, changing) || counts(changing))
        };
        let differences = vfs::tree::diff(&found, &expected).0;
        let unexplained = differences.iter().filter(|difference| !is_changing(difference));
        unexplained
            .map(|difference| {
                let property = if difference.aspect == Aspect::Contents { CONTENTS } else { TREE };
                Finding { property, detail: difference.to_string() }
            })
            .collect()
    }
}

/// An op did not come to what it should.
fn differs(op: &Op, outcome: &Outcome, expected: &Foreseen, besides: &str) -> Finding {
    let say = |outcome: &Outcome| match outcome {
        Ok(_) => "succeeded".to_owned(),
        Err(errno) => format!("failed with {errno}"),
    };
    let detail = match (outcome, &expected.outcome) {
        (Ok(found), Ok(expected)) => format!("{op} {found}, expected that it {expected}"),
        _ => format!("{op} {}, expected that it {}{besides}", say(outcome), say(&expected.outcome)),
    };
    Finding { property: OUTCOME, detail }
}

/// What an op makes of a tree, and what it returns.
fn on<T: Target>(tree: &Tree, target: &T, op: &Op) -> (Tree, Outcome) {
    let mut reference = past(target, tree).0;
    let outcome = reference.apply(op);
    (reference.tree(), outcome)
}

fn broken_by_remount(breach: &Breach) -> Finding {
    let clause = breach.clause;
    let detail = format!("mounted again after a request had failed: {breach}");
    Finding { property: Property::critical(clause.name()), detail }
}

/// In what a tree differs from the expected one, in one line.
pub(crate) fn differences(found: &Tree, expected: &Tree) -> String {
    let lines = vfs::tree::diff(found, expected).0;
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The requests that fail, in words: `its read 1 and its write 3 fail`.
pub(crate) fn failing(faults: &Faults) -> String {
    let one = |fault: &Fault| {
        let what = match fault.what {
            Failing::Read => "read",
            Failing::Write => "write",
            Failing::Flush => "flush",
            Failing::Allocation => "allocation",
        };
        format!("its {what} {}", fault.after + 1)
    };
    let list = faults.iter().map(one).collect::<Vec<_>>().join(" and ");
    format!("{list} {}", if faults.len() == 1 { "fails" } else { "fail" })
}
