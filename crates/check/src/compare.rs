//! One op on the target and on the reference, and where the two do not agree.

use disk::OpIndex;
use explore::Property;
use smallvec::SmallVec;
use vfs::{Op, Outcome, Path, Value, tree::Aspect};

use crate::{
    crash::CONTENTS,
    legal::{self, Agreement},
    state::State,
    target::{Finding, Target, Task},
};

/// An op returned something else than the reference.
pub(crate) const OUTCOME: Property = Property::critical("outcome");
/// After an op, the tree is not that of the reference.
const TREE: Property = Property::critical("tree");

impl<T: Target> State<T> {
    /// Whether an op may begin: it must touch nothing that an op under way has locked, and a remount needs all of it.
    pub(crate) fn may_begin(&self, op: &Op) -> bool {
        let locked: SmallVec<[&Path; 4]> = self.tasks.iter().flat_map(|task| task.op.paths()).collect();
        !op.paths().iter().any(|path| touches(&locked, path)) && (*op != Op::Remount || self.tasks.is_empty())
    }

    /// Puts an op among those under way; its place there.
    pub(crate) fn begin(&mut self, op: Op, choice: u32) -> usize {
        self.tasks.push(Task { op, index: OpIndex(self.ops), choice, pc: 0, registers: [0; 12] });
        self.ops += 1;
        self.tasks.len() - 1
    }

    /// Takes an op under way to its next disk request or to its end.
    pub(crate) fn step(&mut self, target: &T, task: usize) -> Option<Outcome> {
        let under_way = &mut self.tasks[task];
        self.disk.set_op(Some(under_way.index));
        let outcome = if under_way.op == Op::Remount {
            Some(self.remount(target))
        } else {
            target.step(&mut self.mounted, &mut self.disk, under_way)
        };
        self.disk.set_op(None);
        outcome
    }

    fn remount(&mut self, target: &T) -> Outcome {
        target.unmount(&mut self.mounted, &mut self.disk)?;
        self.mounted = target.mount(&mut self.disk)?;
        Ok(Value::Done)
    }

    /// Lets the reference do an op too that has returned, and compares.
    pub(crate) fn finish(&mut self, target: &T, done: &Task, outcome: &Outcome) -> Vec<Finding> {
        let mut reference = self.reference.clone();
        let expected = reference.apply(&done.op);
        match legal::compare(&done.op, outcome, &expected) {
            Agreement::Same => self.reference = reference,
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
            self.returned(&done.op, done.index, outcome);
        }
        let mut wrong = self.compare_trees(target);
        if self.tasks.is_empty() {
            wrong.extend(target.invariants(&self.mounted, &self.disk));
        }
        wrong
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
        let changing: SmallVec<[&Path; 4]> = self.tasks.iter().flat_map(|task| task.op.paths()).collect();
        let differences = vfs::tree::diff(&found, &expected).0;
        let unexplained = differences.iter().filter(|difference| !touches(&changing, &difference.path));
        unexplained
            .map(|difference| {
                let property = if difference.aspect == Aspect::Contents { CONTENTS } else { TREE };
                Finding { property, detail: difference.to_string() }
            })
            .collect()
    }
}

/// Whether a path is one of these or lies below one.
fn touches(paths: &[&Path], path: &Path) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    paths.iter().any(|locked| path.as_str().strip_prefix(locked.as_str()).is_some_and(below))
}
