//! A file system of nodes as a target.

use std::sync::Arc;

use check::{Finding, Promise, Target, Task, View};
use disk::{Block, Disk, Image};
use vfs::{
    Errno, Op, OpKind, Outcome, Tree,
    generate::{ObjectBounds, OpSet, object_ops},
    open::OpenFiles,
};

use super::{Nodes, fill, observe, ops::Volume};

/// A model as a target.
#[derive(Clone, Debug)]
pub struct NodeTarget<N> {
    nodes: N,
    bounds: ObjectBounds,
}

impl<N: Nodes> NodeTarget<N> {
    /// The target with the workload that the model proposes.
    pub fn new(nodes: N) -> Self {
        let bounds = nodes.bounds();
        Self { nodes, bounds }
    }

    /// The model itself.
    pub fn nodes(&self) -> &N {
        &self.nodes
    }

    /// How far its workload goes.
    pub fn bounds_mut(&mut self) -> &mut ObjectBounds {
        &mut self.bounds
    }
}

impl<N: Nodes> Target for NodeTarget<N> {
    /// Shared: a search keeps many states of one memory, and moves each of them several times.
    type Mounted = Arc<N::Memory>;

    fn mkfs(&self) -> Image {
        self.nodes.mkfs()
    }

    fn mount(&self, disk: &mut Disk) -> Result<Self::Mounted, Errno> {
        self.nodes.mount(disk).map(Arc::new)
    }

    fn unmount(&self, memory: &mut Self::Mounted, disk: &mut Disk) -> Result<(), Errno> {
        self.nodes.unmount(Arc::make_mut(memory), disk)
    }

    fn step(&self, memory: &mut Self::Mounted, disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let before = Arc::clone(memory);
        let memory = Arc::make_mut(memory);
        let outcome = Volume { nodes: &self.nodes, memory, disk }.run(&task.op);
        if let Err(errno) = outcome {
            self.nodes.undo(memory, Arc::unwrap_or_clone(before), errno);
        }
        Some(outcome)
    }

    fn observe(&self, memory: &Self::Mounted, disk: &Disk) -> Result<Tree, Errno> {
        observe::tree(&self.nodes, memory, disk)
    }

    fn encode(&self, memory: &Self::Mounted, bytes: &mut Vec<u8>) {
        self.nodes.encode(memory, bytes);
    }

    fn promise(&self) -> Promise {
        self.nodes.promise()
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let bounds = view.workload.within(&self.bounds, Target::ops(self));
        let known = ops.len();
        ops.extend(object_ops(view.tree(), &OpenFiles::new(), &bounds));
        fill::freshen(view, &mut ops[known..]);
    }

    fn write_bytes(&self) -> u64 {
        self.bounds.block.get()
    }

    fn ops(&self) -> OpSet {
        let of_all = OpSet::of(&[OpKind::Read, OpKind::Fdatasync, OpKind::Syncfs, OpKind::Remount]);
        self.nodes.ops().union(of_all)
    }

    fn name_bytes_max(&self) -> Option<usize> {
        Some(self.nodes.name_bytes_max())
    }

    fn bounds(&self) -> ObjectBounds {
        ObjectBounds { ops: self.nodes.ops(), ..self.bounds.clone() }
    }

    fn file_bytes_granted(&self) -> u64 {
        self.nodes.bounds().size_max
    }

    fn offers(&self, op: &Op, _: &Tree) -> bool {
        op.is_plain()
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        self.nodes.fsck(disk)
    }

    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        self.nodes.full_fsck(disk)
    }

    fn invariants(&self, memory: &Self::Mounted, disk: &Disk) -> Vec<Finding> {
        self.nodes.invariants(memory, disk)
    }

    fn uses_fua(&self) -> bool {
        self.nodes.uses_fua()
    }

    fn block_name(&self, block: Block) -> String {
        self.nodes.block_name(block)
    }

    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        self.nodes.block_content(block, content)
    }

    fn written(&self, disk: &Image, block: Block, content: &[u8]) -> Option<String> {
        self.nodes.written(disk, block, content)
    }
}
