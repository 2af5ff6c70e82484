//! What is asked of a target before the search.

use std::sync::atomic::{AtomicU32, Ordering};

use check::{Checkable, Promise, Target, Task, View};
use disk::{BlockSize, Disk, Geometry, Image};
use vfs::{Errno, Op, Outcome, Reference, Tree};

/// A reference that has room for one file without content, and counts what it is asked to do.
#[derive(Default)]
struct Full {
    steps: AtomicU32,
}

impl Target for Full {
    type Mounted = Reference;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 })
    }

    fn mount(&self, _: &mut Disk) -> Result<Reference, Errno> {
        Ok(Reference::new())
    }

    fn step(&self, mounted: &mut Reference, _: &mut Disk, task: &mut Task) -> Option<Outcome> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        Some(if mounted.tree().is_empty() { mounted.apply(&task.op) } else { Err(Errno::ENOSPC) })
    }

    fn observe(&self, mounted: &Reference, _: &Disk) -> Result<Tree, Errno> {
        Ok(mounted.tree())
    }

    fn encode(&self, _: &Reference, _: &mut Vec<u8>) {}

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, _: &mut Vec<Op>) {}

    fn has_one_supply(&self) -> bool {
        true
    }
}

/// A file of ops that do not fit would otherwise be done many times over, before the search and outside of its budget.
#[test]
fn what_a_target_lacks_is_found_out_by_doing_each_op_once() {
    let script: Vec<Op> = (0..9).map(|name| format!("create(\"/{name}\")").parse().unwrap()).collect();
    let target = Full::default();
    assert_eq!(target.lacks(&script), None);
    assert_eq!(target.steps.into_inner(), 9);
}
