//! One state of the search: the file system, its disk, the reference, and the past that a crash may bring back.

use std::{cell::OnceCell, sync::Arc};

use disk::{CrashMode, Disk, Image, OpIndex};
use smallvec::SmallVec;
use vfs::{
    Errno, Op, OpKind, Outcome, Place, Reference, Tree,
    contract::{Event, History},
    shape::{Shape, ShapeOptions},
};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    aftermath::Aftermath,
    options::CheckOptions,
    recovery::Recovered,
    score::Feature,
    target::{Target, Task, View},
    workload::Workload,
};

/// A mounted target with everything that is needed to judge what comes next.
pub struct State<T: Target> {
    pub(crate) mounted: T::Mounted,
    pub(crate) disk: Disk,
    /// Ops under way, in the order in which they began.
    pub(crate) tasks: SmallVec<[Task; 2]>,
    pub(crate) reference: Reference,
    /// What has returned since everything was last durable, and which op each event is.
    pub(crate) history: History,
    pub(crate) returned: SmallVec<[OpIndex; 4]>,
    /// Ops begun so far.
    pub(crate) ops: u32,
    /// What of the room was used that the target grants. It tells no states apart: it only ends an excuse.
    pub(crate) room_used: u64,
    /// Where in the set of workloads it is, if there is one.
    pub(crate) place: Place,
    /// Requests that failed so far.
    pub(crate) faults: u8,
    pub(crate) aftermath: Aftermath,
    pub(crate) recent: Recent,
    /// How many blocks recovery wrote on the way here, see [`Score::Recovery`](crate::Score::Recovery).
    pub(crate) recovery_wrote: u32,
    /// What recovery did, if that has not been done to the disk yet: most recovered states turn out to be known, and
    /// then it never is.
    asleep: Option<Asleep<T>>,
}

/// The reference after an op, and what the op returns.
pub(crate) struct Foreseen {
    pub reference: Reference,
    pub outcome: Outcome,
}

/// A recovery that is still to be done to a disk, and the disk once it was.
struct Asleep<T: Target> {
    recovered: Arc<Recovered<T>>,
    awake: OnceCell<Disk>,
}

impl<T: Target> Asleep<T> {
    fn new(recovered: &Arc<Recovered<T>>) -> Self {
        Self { recovered: Arc::clone(recovered), awake: OnceCell::new() }
    }
}

/// The kinds of the last ops, and how often the file system as a whole was synced, remounted or recovered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    /// The last one first; 0 is none.
    kinds: [u8; SUFFIX_MAX],
    /// Why the last one failed.
    failed: Option<Errno>,
    whole: u8,
}

/// The most last ops that a state can be told apart by.
pub const SUFFIX_MAX: usize = 8;
/// Beyond this, how often everything was made durable makes no difference.
const WHOLE_MAX: u8 = 3;

impl Recent {
    pub fn push(&mut self, kind: OpKind, failed: Option<Errno>) {
        self.failed = failed;
        self.kinds.rotate_right(1);
        self.kinds[0] = kind as u8 + 1;
        self.whole = (self.whole + u8::from(kind.is_whole())).min(WHOLE_MAX);
    }
}

impl<T: Target> Clone for State<T> {
    fn clone(&self) -> Self {
        Self {
            mounted: self.mounted.clone(),
            disk: self.disk.clone(),
            tasks: self.tasks.clone(),
            reference: self.reference.clone(),
            history: self.history.clone(),
            returned: self.returned.clone(),
            ops: self.ops,
            room_used: self.room_used,
            place: self.place,
            faults: self.faults,
            aftermath: self.aftermath.clone(),
            recent: self.recent,
            recovery_wrote: self.recovery_wrote,
            asleep: self.asleep.as_ref().map(|asleep| Asleep::new(&asleep.recovered)),
        }
    }
}

impl<T: Target> State<T> {
    /// A file system that was just mounted and looks like `tree`; all of it is durable.
    pub(crate) fn fresh(target: &T, mounted: T::Mounted, disk: Disk, tree: &Tree, ops: u32) -> Self {
        let (reference, history) = past(target, tree);
        let (tasks, returned) = (SmallVec::new(), SmallVec::new());
        let (aftermath, recent) = (Aftermath::default(), Recent::default());
        Self {
            mounted,
            disk,
            tasks,
            reference,
            history,
            returned,
            ops,
            room_used: 0,
            place: Place::default(),
            faults: 0,
            aftermath,
            recent,
            recovery_wrote: 0,
            asleep: None,
        }
    }

    /// The state in which recovery leaves a crash image. Its disk is asleep.
    pub(crate) fn recovered(target: &T, recovered: &Arc<Recovered<T>>, crashed: &Image, before: &Self) -> Option<Self> {
        let (mounted, tree) = recovered.file_system.as_ref()?;
        let disk = Disk::with_cache(crashed.clone(), target.cache());
        let (reference, history) = recovered.past.get_or_init(|| past(target, tree)).clone();
        let mut recent = before.recent;
        recent.push(OpKind::Crash, None);
        Some(Self {
            mounted: target.recovered_from(mounted, crashed),
            disk,
            tasks: SmallVec::new(),
            reference,
            history: history.after_ops(before.ops),
            returned: SmallVec::new(),
            ops: before.ops,
            room_used: before.room_used,
            place: before.place,
            faults: before.faults,
            aftermath: Aftermath::default(),
            recent,
            recovery_wrote: recovered.blocks_written,
            asleep: Some(Asleep::new(recovered)),
        })
    }

    /// Does to the disk what recovery did.
    #[must_use]
    pub(crate) fn woken(mut self, target: &T, options: &CheckOptions) -> Self {
        if let Some(asleep) = self.asleep.take() {
            asleep.recovered.repeat_on(&mut self.disk);
            self.settle(target, options);
        }
        self
    }

    /// The same state with its disk awake. That is done once for all actions of a state.
    pub(crate) fn awake(&self, target: &T, options: &CheckOptions) -> Self {
        let mut state = self.clone();
        if let Some(asleep) = &self.asleep {
            state.disk = asleep.awake.get_or_init(|| self.clone().woken(target, options).disk).clone();
            state.asleep = None;
        }
        state
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.is_some()
    }

    /// Calls `look` with the target's view of this state.
    pub(crate) fn with_view<R>(
        &self,
        workload: &Workload,
        crash: CrashMode,
        look: impl FnOnce(&View<'_, T>) -> R,
    ) -> R {
        let mut trees: SmallVec<[&Tree; 8]> = SmallVec::new();
        trees.push(self.history.base());
        trees.extend(self.history.events().map(|event| &event.after));
        let (mounted, disk, tasks, returned) = (&self.mounted, &self.disk, &self.tasks, &self.returned);
        look(&View { mounted, disk, tasks, trees: &trees, returned, workload, crash })
    }

    /// Every order in which the ops under way might still have their effect, for the judgement of a crash. So might ops
    /// that were given up.
    pub(crate) fn under_way(&self) -> Vec<Vec<Event>> {
        let under_way = self.tasks.iter().map(|task| &task.op);
        let ops: SmallVec<[&Op; 2]> = under_way.chain(self.aftermath.given_up()).collect();
        orders(&ops).into_iter().map(|order| self.effects(&order)).collect()
    }

    /// What these ops would do, one after the other.
    fn effects(&self, ops: &[&Op]) -> Vec<Event> {
        let mut reference = self.reference.clone();
        let effect = |op: &&Op| {
            let outcome = reference.apply(op);
            Event { op: (*op).clone(), outcome, after: reference.tree() }
        };
        ops.iter().map(effect).collect()
    }

    /// What an op will do if it succeeds and nothing else happens before it returns.
    pub(crate) fn foresee(&self, op: &Op) -> Foreseen {
        let mut reference = self.reference.clone();
        let outcome = reference.apply(op);
        Foreseen { reference, outcome }
    }

    /// The op under way, if it is the only one that a crash may show.
    pub(crate) fn alone(&self) -> Option<&Op> {
        match self.tasks.as_slice() {
            [task] if self.aftermath.given_up().next().is_none() => Some(&task.op),
            _ => None,
        }
    }

    /// Whether nothing more is demanded after the return of the op under way than before it, so that the crash states
    /// of both are judged together. One that failed has no effect, which what it `wrote` was not judged by.
    pub(crate) fn returns_quietly(&self, outcome: &Outcome, wrote: bool) -> bool {
        let demands_more = |op| if outcome.is_ok() { self.history.demands_more_after(op) } else { wrote };
        self.alone().is_some_and(|op| !demands_more(op))
    }

    /// An op returned: the reference does it too, unless the target may refuse it.
    pub(crate) fn returned(&mut self, op: &Op, index: OpIndex, outcome: &Outcome) {
        self.history.push(Event { op: op.clone(), outcome: outcome.clone(), after: self.reference.tree() });
        self.returned.push(index);
    }

    /// Appends the shape of the tree and the recent past, see [`Equality::Shape`](crate::Equality::Shape).
    pub(crate) fn encode_shape(&self, suffix: u8, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.shape().to_le_bytes());
        for task in &self.tasks {
            task.encode(bytes);
        }
        bytes.push(self.recent.whole);
        bytes.extend_from_slice(&self.recent.kinds[..usize::from(suffix).min(SUFFIX_MAX)]);
    }

    /// Appends the tree, the open files and the ops under way, see [`Equality::Tree`](crate::Equality::Tree).
    pub(crate) fn encode_tree(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.reference.tree().fingerprint().to_le_bytes());
        self.encode_open_files(bytes);
        self.tasks.iter().for_each(|task| task.encode(bytes));
    }

    /// By what this state is like others, for [`Score::Novelty`](crate::Score::Novelty).
    pub(crate) fn features(&self, target: &T, options: &CheckOptions) -> [Feature; 4] {
        let Recent { kinds, failed, .. } = self.recent;
        let pending = |disk: &Disk| disk.log().pending().len();
        let writes = if self.is_asleep() { pending(&self.awake(target, options).disk) } else { pending(&self.disk) };
        [
            Feature::LastOps([kinds[0], kinds[1]]),
            Feature::Outcome { kind: kinds[0], errno: failed.map_or(0, |errno| errno as u8 + 1) },
            Feature::Shape(self.shape()),
            Feature::Unfinished { writes, ops: self.tasks.len() },
        ]
    }

    /// The shape of the tree, made once for all states that the same recovery made.
    fn shape(&self) -> u128 {
        match &self.asleep {
            Some(asleep) => *asleep.recovered.shape.get_or_init(|| self.shape_of_tree()),
            None => self.shape_of_tree(),
        }
    }

    fn shape_of_tree(&self) -> u128 {
        let options = ShapeOptions { attributes: false, ops_kept: 0, ..ShapeOptions::default() };
        Shape::fingerprint_of(&self.reference.tree(), self.reference.open_files(), options)
    }

    /// Appends the trees that a crash may go back to, the ops between them, the open files and what faults left behind.
    pub(crate) fn encode_past(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.history.base().fingerprint().to_le_bytes());
        for event in self.history.events() {
            let text = event.op.to_string();
            bytes.extend_from_slice(&xxh3_128(text.as_bytes()).to_le_bytes());
            bytes.extend_from_slice(&event.after.fingerprint().to_le_bytes());
        }
        self.encode_open_files(bytes);
        self.aftermath.encode(&self.tasks, bytes);
    }

    fn encode_open_files(&self, bytes: &mut Vec<u8>) {
        for (fd, open) in self.reference.open_files() {
            bytes.extend_from_slice(&xxh3_128(format!("{fd:?} {open:?}").as_bytes()).to_le_bytes());
        }
    }

    /// Forgets what can no longer matter: entries that are durable, and the history that they leave behind.
    pub(crate) fn settle(&mut self, target: &T, options: &CheckOptions) {
        if options.forgets_what_was_judged(target) && options.crash != CrashMode::Flushed {
            // Every write counts as durable from now on, which leaves nothing to enumerate again.
            self.disk = self.disk.all_durable(target.cache());
        } else {
            self.disk.settle();
        }
        self.aftermath.settle(self.disk.log());
        // Where each guarantee is judged, what pinned something must stay to be told.
        if target.promise().write_through && !options.each_guarantee {
            let pending = self.disk.log().pending();
            let is_durable = |op: &OpIndex| pending.iter().all(|(_, entry)| entry.op != Some(*op));
            let durable = self.returned.iter().take_while(|op| is_durable(op)).count();
            self.history.forget(durable);
            self.returned.drain(..durable);
        }
    }
}

/// The reference and the history of a file system that looks like `tree`, all of it durable.
pub(crate) fn past<T: Target>(target: &T, tree: &Tree) -> (Reference, History) {
    let promise = target.promise();
    let mut reference = Reference::from_tree(tree);
    reference.keep_to(target.conventions());
    let history = History::new(reference.tree()).synchronous(promise.synchronous).zeros(promise.zeros);
    (reference, history)
}

/// All orders of the ops under way. There are at most a few.
fn orders<'a>(ops: &[&'a Op]) -> Vec<Vec<&'a Op>> {
    if ops.len() < 2 {
        return vec![ops.to_vec()];
    }
    let starting_with = |first: usize| {
        let mut rest = ops.to_vec();
        let op = rest.remove(first);
        orders(&rest).into_iter().map(move |order| [vec![op], order].concat())
    };
    (0..ops.len()).flat_map(starting_with).collect()
}
