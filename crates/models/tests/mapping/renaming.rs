//! The canonical form does not depend on which file, which block and which value is which.
//!
//! A random run is made twice: once as it comes, and once with other files, other blocks and other data in the same
//! places. After every disk request both states must have the same canonical bytes. The models that run know no
//! symmetry, so that every block can be chosen; the one that is asked for the canonical form does.

use std::collections::HashSet;

use check::{Target, Task, View, Workload};
use disk::{CrashMode, Disk, OpIndex};
use fastrand::Rng;
use models::mapping::{FileMapping, Index, Layout, Link, Reserved, Variant, Writes};
use vfs::{Op, Reference, Tree};

use crate::searching::variant;

/// More trees than this are not kept: how many a crash may go back to is not what is tested here.
const TREES_MAX: usize = 4;
/// Data of the run as it comes; that of its twin is higher by [`FILLS`].
const FILL_MIN: u8 = 0x40;
const FILLS: u8 = 90;

/// The modes in which the models know symmetries and the states differ in form.
const MODES: [CrashMode; 3] = [CrashMode::Off, CrashMode::Flushed, CrashMode::Subsets];

/// One of the two runs.
struct Run<L> {
    target: FileMapping<L>,
    mounted: Reserved,
    disk: Disk,
    tasks: Vec<Task>,
    reference: Reference,
    trees: Vec<Tree>,
    returned: Vec<OpIndex>,
}

impl<L: Layout> Run<L> {
    fn new(variant: Variant) -> Self {
        let target = FileMapping::new(Variant { symmetry: false, ..variant });
        let mut disk = Disk::with_cache(target.mkfs(), variant.cache);
        let mounted = target.mount(&mut disk).expect("a fresh file system mounts");
        let reference = Reference::from_tree(&target.observe(&mounted, &disk).expect("it can be read"));
        let trees = vec![reference.tree()];
        Self { target, mounted, disk, tasks: Vec::new(), reference, trees, returned: Vec::new() }
    }

    fn begin(&mut self, op: &str, index: u32, choice: u32) {
        let op: Op = op.parse().expect("the test writes ops as they print");
        self.tasks.push(Task { op, index: OpIndex(index), choice, pc: 0, registers: [0; 12] });
    }

    /// Begins an op in a random way, or in the first if there are fewer; says which blocks it takes.
    fn begin_anyhow(&mut self, op: &str, index: u32, random: &mut Rng) -> Option<[u8; 2]> {
        self.begin(op, index, random.u32(..4));
        let task = self.tasks.last().expect("just begun").clone();
        fresh(self, &task).or_else(|| {
            let first = Task { choice: 0, ..task };
            let taken = fresh(self, &first);
            *self.tasks.last_mut().expect("just begun") = first;
            taken
        })
    }

    /// Takes an op to its next disk request. What it returns, the reference does too.
    fn go(&mut self, at: usize) {
        let task = &mut self.tasks[at];
        self.disk.set_op(Some(task.index));
        let outcome = self.target.step(&mut self.mounted, &mut self.disk, task);
        let Some(outcome) = outcome else { return };
        let done = self.tasks.remove(at);
        if outcome.is_ok() && self.reference.apply(&done.op).is_ok() {
            self.trees.push(self.reference.tree());
            self.returned.push(done.index);
            if self.trees.len() > TREES_MAX {
                self.trees.remove(0);
                self.returned.remove(0);
            }
        }
        self.disk.settle();
    }

    fn canonical(&self, symmetric: &FileMapping<L>, crash: CrashMode) -> Vec<u8> {
        let trees: Vec<&Tree> = self.trees.iter().collect();
        let Self { mounted, disk, tasks, returned, .. } = self;
        let mut bytes = Vec::new();
        assert!(symmetric.canonical(
            &View { mounted, disk, tasks, trees: &trees, returned, workload: &Workload::default(), crash },
            &mut bytes
        ));
        bytes
    }
}

/// What becomes of files and blocks in the twin.
struct Renaming {
    files: Vec<u8>,
    blocks: Vec<u8>,
}

impl Renaming {
    /// A random one. Files that share an inode block go on sharing one.
    fn new(random: &mut Rng, variant: &Variant, inodes_per_block: u8) -> Self {
        let groups = order(random, variant.files / inodes_per_block);
        let files = groups.iter().flat_map(|group| {
            let within = order(random, inodes_per_block);
            within.into_iter().map(move |file| group * inodes_per_block + file).collect::<Vec<_>>()
        });
        let files = files.collect();
        Self { files, blocks: order(random, variant.blocks) }
    }

    fn block(&self, block: u8) -> u8 {
        self.blocks.get(usize::from(block)).copied().unwrap_or(block)
    }
}

/// A random order of the numbers below `end`.
fn order(random: &mut Rng, end: u8) -> Vec<u8> {
    let mut order: Vec<u8> = (0..end).collect();
    random.shuffle(&mut order);
    order
}

/// Which blocks an op would take; none if it fails.
fn fresh<L: Layout>(run: &Run<L>, task: &Task) -> Option<[u8; 2]> {
    let mut probe = task.clone();
    let outcome = run.target.step(&mut run.mounted.clone(), &mut run.disk.clone(), &mut probe);
    (!matches!(outcome, Some(Err(_)))).then(|| [probe.registers[3], probe.registers[4]])
}

/// Begins the twin of an op that takes these blocks, with the choice that takes the renamed ones.
fn begin_twin<L: Layout>(twin: &mut Run<L>, op: &str, index: u32, taken: Option<[u8; 2]>, renaming: &Renaming) {
    let wanted = taken.map(|blocks| blocks.map(|block| renaming.block(block)));
    let takes_them = |choice: &u32| {
        let op = op.parse().expect("an op");
        fresh(twin, &Task { op, index: OpIndex(index), choice: *choice, pc: 0, registers: [0; 12] }) == wanted
    };
    let choice = (0..256).find(takes_them).expect("what is free here is free there");
    twin.begin(op, index, choice);
}

/// An op that may work now: its kind, and its file.
fn random_op<L: Layout>(random: &mut Rng, run: &Run<L>, files: u8) -> (&'static str, u8) {
    let busy = |file: u8| run.tasks.iter().any(|task| task.op.paths()[0].as_str() == format!("/f{file}"));
    let idle: Vec<u8> = (0..files).filter(|file| !busy(*file)).collect();
    let file = idle[random.usize(..idle.len())];
    let exists = run.reference.tree().lookup(&vfs::Path::root().join(&format!("f{file}"))).is_some();
    let kind = if exists { ["append", "append", "append", "unlink"][random.usize(..4)] } else { "create" };
    (kind, file)
}

fn op_text(kind: &str, number: u8, fill: u8) -> String {
    match kind {
        "append" => format!("write(\"/f{number}\", at=end, len=4, fill={fill})"),
        "create" => format!("create(\"/f{number}\", mode=0644)"),
        _ => format!("unlink(\"/f{number}\")"),
    }
}

/// Runs a random workload twice and compares after every request.
fn compare_twins<L: Layout>(variant: Variant, inodes_per_block: u8, crash: CrashMode, seed: u64) {
    let random = &mut Rng::with_seed(seed);
    let renaming = Renaming::new(random, &variant, inodes_per_block);
    let symmetric = FileMapping::<L>::new(variant);
    let (mut run, mut twin) = (Run::<L>::new(variant), Run::<L>::new(variant));
    let mut ops = 0;
    let mut forms = HashSet::new();
    while ops < FILLS {
        if run.tasks.len() < variant.threads && random.bool() {
            let index = ops;
            ops += 1;
            let (kind, file) = random_op(random, &run, variant.files);
            let taken = run.begin_anyhow(&op_text(kind, file, FILL_MIN + index), u32::from(index), random);
            let twin_op = op_text(kind, renaming.files[usize::from(file)], FILL_MIN + FILLS + index);
            begin_twin(&mut twin, &twin_op, u32::from(index), taken, &renaming);
            let last = run.tasks.len() - 1;
            run.go(last);
            twin.go(last);
        } else if !run.tasks.is_empty() {
            let task = random.usize(..run.tasks.len());
            run.go(task);
            twin.go(task);
        }
        let canonical = run.canonical(&symmetric, crash);
        assert_eq!(canonical, twin.canonical(&symmetric, crash), "{variant:?} under {crash}, seed {seed}, op {ops}");
        forms.insert(canonical);
    }
    // A form that is the same for everything would pass so far.
    assert!(forms.len() > 20, "{variant:?} under {crash}, seed {seed}: {} forms", forms.len());
}

#[test]
fn renaming_does_not_change_the_canonical_form() {
    for writes in [Writes::Naive, Writes::Cached, Writes::Ordered, Writes::Barrier] {
        for (threads, crash) in [1, 2].into_iter().flat_map(|threads| MODES.map(|crash| (threads, crash))) {
            let variants = [(4, 7), (4, 9)].map(|size| variant(writes, threads, size));
            (0..6).for_each(|seed| compare_twins::<Link>(variants[0], 2, crash, seed));
            (0..6).for_each(|seed| compare_twins::<Index>(variants[1], 1, crash, seed));
        }
    }
}
