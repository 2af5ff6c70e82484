//! A target whose workload is one list of ops: what needs many ops to show is judged without searching for them.

use check::{Finding, Promise, Target, Task, View};
use disk::{Disk, Image};
use models::{
    journal::{Journal, Memory},
    nodes::NodeTarget,
};
use vfs::{Errno, Op, Outcome, Tree};

pub struct Scripted {
    pub target: NodeTarget<Journal>,
    pub ops: Vec<Op>,
}

impl Scripted {
    /// The ops, one a line as traces write them.
    pub fn new(target: NodeTarget<Journal>, script: &str) -> Self {
        let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
        Self { target, ops: lines.map(|line| line.parse().expect(line)).collect() }
    }
}

impl Target for Scripted {
    type Mounted = Memory;

    fn mkfs(&self) -> Image {
        self.target.mkfs()
    }

    fn mount(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        self.target.mount(disk)
    }

    fn unmount(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        self.target.unmount(memory, disk)
    }

    fn step(&self, memory: &mut Memory, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        self.target.step(memory, disk, task)
    }

    fn observe(&self, memory: &Memory, disk: &Disk) -> Result<Tree, Errno> {
        self.target.observe(memory, disk)
    }

    fn encode(&self, memory: &Memory, bytes: &mut Vec<u8>) {
        self.target.encode(memory, bytes);
    }

    fn promise(&self) -> Promise {
        self.target.promise()
    }

    /// The ops in turn. A recovered file system has nothing more to do, since its history is another one.
    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let after_crash = view.returned.is_empty() && !view.tree().same_as(&empty_tree(self));
        if !after_crash {
            ops.extend(self.ops.get(view.returned.len()).cloned());
        }
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        self.target.fsck(disk)
    }

    fn invariants(&self, memory: &Memory, disk: &Disk) -> Vec<Finding> {
        self.target.invariants(memory, disk)
    }
}

fn empty_tree(scripted: &Scripted) -> Tree {
    let mut disk = Disk::new(scripted.mkfs());
    let memory = scripted.mount(&mut disk).expect("a fresh file system mounts");
    scripted.observe(&memory, &disk).expect("a fresh file system can be read")
}
