//! The reference, in process, as something that can be named and compared with.

use disk::{BlockSize, Geometry, Image, OpIndex};
use explore::{Progress, SearchError, Stop};
use vfs::{
    Conventions, Errno, Op, OpKind, Outcome, Reference, Tree,
    generate::{ObjectBounds, OpSet},
};

use super::{Comparison, Side, SideState};
use crate::{
    counts::Work,
    options::CheckOptions,
    replay::{ReplayError, Replayed},
    run::{CheckReport, Checkable, RunOptions},
    target::{Finding, Promise},
    trace::Trace,
    workload::Lacking,
};

/// The reference. By itself it is right by definition, so there is nothing to find.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

impl InProcess {
    /// Everything but a power cut, which has no meaning without a disk.
    const OPS: OpSet = OpSet::ALL.without(OpSet::of(&[OpKind::Crash]));

    fn alone(name: &str) -> Comparison {
        Comparison { named: vec![(name.to_owned(), Box::new(Self))] }
    }
}

impl Side for InProcess {
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn adopts(&self) -> bool {
        true
    }

    fn start(&self, tree: Option<&Tree>, conventions: Conventions) -> Result<SideState, Finding> {
        let mut reference = tree.map_or_else(Reference::new, Reference::from_tree);
        reference.keep_to(conventions);
        let no_disk = Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 });
        Ok(SideState::new(reference, no_disk))
    }

    fn run(&self, state: &mut SideState, op: &Op, _: OpIndex) -> Outcome {
        state.memory_mut::<Reference>().apply(op)
    }

    fn observe(&self, state: &SideState) -> Result<Tree, Errno> {
        Ok(state.memory::<Reference>().tree())
    }

    fn wrong(&self, _: &SideState) -> Vec<Finding> {
        Vec::new()
    }

    fn encode(&self, state: &SideState, bytes: &mut Vec<u8>) {
        let reference = state.memory::<Reference>();
        bytes.extend_from_slice(&reference.tree().fingerprint().to_le_bytes());
        bytes.extend_from_slice(format!("{:?}", reference.open_files()).as_bytes());
    }

    fn conventions(&self) -> Conventions {
        Conventions::default()
    }

    fn ops(&self) -> OpSet {
        Self::OPS
    }

    fn name_bytes_max(&self) -> Option<usize> {
        None
    }

    fn bounds(&self) -> ObjectBounds {
        let ops = Self::OPS.without(OpSet::of(&[OpKind::Open, OpKind::Close]));
        ObjectBounds { ops, ..ObjectBounds::default() }
    }

    fn offers(&self, _: &Op, _: &Tree) -> bool {
        true
    }
}

impl Checkable for InProcess {
    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn ops(&self) -> OpSet {
        Self::OPS
    }

    fn lacks(&self, _: &[Op]) -> Option<Lacking> {
        None
    }

    fn side(&self) -> Option<&dyn Side> {
        Some(self)
    }

    fn check(
        &self,
        options: CheckOptions,
        run: &RunOptions,
        progress: &mut (dyn FnMut(&Progress, &Work) + Send),
    ) -> Result<CheckReport, SearchError> {
        Self::alone(&run.target).check(options, run, progress)
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, ReplayError> {
        Self::alone(&trace.target).replay(trace)
    }

    fn minimise(&self, trace: &Trace, stop: &Stop) -> Result<Trace, ReplayError> {
        Self::alone(&trace.target).minimise(trace, stop)
    }
}
