//! Use after recovery: whether a recovered file system works, as the contract `mountable` demands.
//!
//! A few ops are run on a copy of it and compared with the reference like all others; meanwhile it is unmounted and
//! mounted, and must look the same. The search goes on from the state before.

use disk::{Disk, Faults};
use explore::Property;
use vfs::{Data, Errno, File, Op, Path, Rename, Tree, WriteAt, WriteVia};

use crate::{
    compare::{Fullness, OUTCOME},
    state::State,
    target::{Finding, Target},
};

/// A recovered file system cannot be used like one that never crashed.
pub(crate) const USABLE: Property = Property::critical("usable");

/// What is written.
const FILL: u8 = 0x5a;

/// What a trial came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    /// What is wrong with the file system, if anything is.
    pub wrong: Option<Finding>,
    /// The ops that it had no room for, as it may have.
    pub refused: Vec<Refused>,
}

/// An op that there was no room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Which list it is in, and whether it is the first of that list: then nothing was granted before it.
    pub list: usize,
    pub first: bool,
    pub op: Op,
    pub errno: Errno,
}

/// Tries a file system with the ops that its target wants it tried with, each list on a copy of its own. `done` is
/// called with the disk of each as the last op left it, with everything that was read recorded if it was recording.
pub(crate) fn try_all<T: Target>(
    target: &T,
    mounted: &T::Mounted,
    disk: &Disk,
    tree: &Tree,
    mut done: impl FnMut(&mut Disk),
) -> Tried {
    let mut tried = Tried::default();
    for (list, ops) in target.probe(tree).into_iter().enumerate() {
        let mut disk = disk.clone();
        tried.wrong = try_out(target, mounted, &mut disk, tree, (ops, list, &mut tried.refused));
        done(&mut disk);
        if tried.wrong.is_some() {
            break;
        }
    }
    tried
}

/// Tries one list.
fn try_out<T: Target>(
    target: &T,
    mounted: &T::Mounted,
    disk: &mut Disk,
    tree: &Tree,
    (ops, list, refused): (Vec<Op>, usize, &mut Vec<Refused>),
) -> Option<Finding> {
    let mut state = State::fresh(target, mounted.clone(), disk.clone(), tree, 0);
    let remount = (!ops.contains(&Op::Remount)).then_some(Op::Remount);
    let wrong = ops.into_iter().chain(remount).enumerate().find_map(|(place, op)| {
        wrong_after(target, &mut state, op.clone(), |errno| {
            refused.push(Refused { list, first: place == 0, op, errno });
        })
    });
    *disk = state.disk;
    wrong
}

/// Runs an op as a whole. What is not critical is left to the search: it is no reason to call a file system unusable.
fn wrong_after<T: Target>(target: &T, state: &mut State<T>, op: Op, refused: impl FnOnce(Errno)) -> Option<Finding> {
    let undisturbed = Faults::new();
    let task = state.begin(op, 0);
    let outcome = loop {
        if let Some(outcome) = state.step(target, task, &undisturbed) {
            break outcome;
        }
    };
    let done = state.tasks.remove(task);
    // Room that was lost is told from room that was never there by more than one op, see `room.rs`.
    let finished = state.finish(target, &done, &outcome, &undisturbed, (None, Fullness::Excused));
    let wrong = finished.wrong.into_iter().find(Finding::is_critical);
    if let (None, Err(errno @ (Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG))) = (&wrong, &outcome) {
        refused(*errno);
    }
    let wrong = wrong?;
    if target.is_of_the_machine(&wrong) {
        return Some(wrong);
    }
    let detail = if wrong.property == OUTCOME {
        format!("after recovery, {}", wrong.detail)
    } else {
        format!("after recovery and {}, {}: {}", done.op, wrong.property.name, wrong.detail)
    };
    Some(Finding { property: USABLE, detail })
}

/// What every POSIX file system can do: a new file is made, written with so many bytes, read, renamed, found again
/// after an unmount, and removed.
pub(crate) fn usual_ops(tree: &Tree, bytes: u64) -> Vec<Op> {
    let mut names = (0..).map(|number| Path::root().join(&format!("probe{number}")));
    let mut new_name = || names.find(|path| tree.lookup(path).is_none()).expect("a tree is finite");
    let (path, to) = (new_name(), new_name());
    let (file, data) = (File::Path(path.clone()), Data { len: bytes, fill: FILL });
    vec![
        Op::Create { path: path.clone(), mode: 0o644 },
        Op::Write { file: file.clone(), at: WriteAt::Offset(0), data, via: WriteVia::Buffered },
        Op::Read { file, offset: 0, len: bytes },
        Op::Rename { from: path, to: to.clone(), how: Rename::Replace },
        Op::Remount,
        Op::Unlink { path: to },
    ]
}

#[cfg(test)]
mod tests {
    use vfs::Reference;

    use super::*;

    #[test]
    fn the_usual_ops_succeed_whatever_names_there_are_and_leave_nothing() {
        let mut reference = Reference::new();
        for taken in ["create(\"/probe0\")", "mkdir(\"/probe2\")"] {
            reference.apply(&taken.parse().unwrap()).unwrap();
        }
        let before = reference.tree();
        let ops = usual_ops(&before, 512);
        let paths: Vec<&str> = ops.iter().flat_map(Op::paths).map(Path::as_str).collect();
        assert!(paths.iter().all(|path| ["/probe1", "/probe3"].contains(path)), "{paths:?}");
        assert!(ops.iter().all(|op| reference.apply(op).is_ok()));
        assert!(reference.tree().same_as(&before));
    }
}
