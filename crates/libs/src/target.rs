//! A library as a target.
//!
//! A library keeps pointers into its own memory, which no search could clone. So a state is the disk and nothing
//! else: each op mounts the file system, does the op, and unmounts it; to observe is to mount and walk. What is
//! searched is thus every history in which the file system is unmounted between ops. What a library would keep in
//! memory from one op to the next is never lost here, since it never gets that far; what is lost is what it had not
//! written, or had written and not flushed, when the power went in the middle of an op, of a mount or of an unmount.

use check::{Promise, Target, Task, View};
use disk::{Block, Disk, Image};
use vfs::{
    Errno, Op, OpKind, Outcome, Tree,
    generate::{ObjectBounds, OpSet, object_ops},
    open::OpenFiles,
};

use crate::device::Device;

/// A mounted file system, while one op is done or while it is looked at.
pub(crate) trait Volume {
    /// Does an op; one that the library does not offer fails with `EOPNOTSUPP`.
    fn run(&mut self, op: &Op) -> Outcome;

    /// Walks the tree by the library's own calls.
    fn observe(&mut self) -> Result<Tree, Errno>;
}

/// What is done between a mount and an unmount.
pub(crate) type Work<'w> = &'w mut dyn FnMut(&mut dyn Volume);

/// A file-system library with its settings.
pub(crate) trait Library: Send + Sync {
    /// A file system, freshly made by the library.
    fn mkfs(&self) -> Image;

    /// Mounts what is on the device, does the work, unmounts. An error is that of the mount, in which case nothing was
    /// done, or of the unmount.
    fn session(&self, device: Device<'_>, work: Work<'_>) -> Result<(), Errno>;

    /// What its documentation promises.
    fn promise(&self) -> Promise;

    /// How far the workload goes.
    fn bounds(&self) -> ObjectBounds;

    /// Whether an op that POSIX allows is one that the library says it can do. Each refusal has its reason beside it.
    fn offers(&self, op: &Op, tree: &Tree) -> bool;

    /// The bytes of the longest name, with where that is said.
    fn name_bytes_max(&self) -> usize;

    /// What lies in a block, for people.
    fn block_name(&self, block: Block) -> String;
}

/// A library as a target.
pub(crate) struct LibraryTarget<L> {
    library: L,
    bounds: ObjectBounds,
}

impl<L: Library> LibraryTarget<L> {
    pub fn new(library: L) -> Self {
        let bounds = library.bounds();
        Self { library, bounds }
    }

    /// What the work gave, unless the library could not be mounted, or unmounted after work that went well.
    fn within<R>(
        &self,
        device: Device<'_>,
        mut work: impl FnMut(&mut dyn Volume) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let mut result = None;
        let ending = device.ending();
        let ended = self.library.session(device, &mut |volume| {
            result = Some(work(volume));
            ending.set(true);
        });
        match (result, ended) {
            (Some(Err(errno)), _) | (_, Err(errno)) => Err(errno),
            (Some(Ok(done)), Ok(())) => Ok(done),
            (None, Ok(())) => unreachable!("a session that succeeds has done its work"),
        }
    }
}

impl<L: Library> Target for LibraryTarget<L> {
    type Mounted = ();

    fn mkfs(&self) -> Image {
        self.library.mkfs()
    }

    fn mount(&self, disk: &mut Disk) -> Result<(), Errno> {
        self.within(Device::live(disk), |_| Ok(()))
    }

    /// Nothing is left to do: each op ends with the library's own unmount, and what that did not flush stays pending.
    fn unmount(&self, (): &mut (), _: &mut Disk) -> Result<(), Errno> {
        Ok(())
    }

    fn step(&self, (): &mut (), disk: &mut Disk, task: &mut Task) -> Option<Outcome> {
        Some(self.within(Device::live(disk), |volume| volume.run(&task.op)))
    }

    fn observe(&self, (): &(), disk: &Disk) -> Result<Tree, Errno> {
        self.within(Device::look(disk), |volume| volume.observe())
    }

    fn encode(&self, (): &(), _: &mut Vec<u8>) {}

    fn promise(&self) -> Promise {
        self.library.promise()
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        let tree = view.tree();
        let possible = object_ops(tree, &OpenFiles::new(), &view.workload.within(&self.bounds, Target::ops(self)));
        ops.extend(possible.into_iter().filter(|op| self.library.offers(op, tree)));
    }

    fn write_bytes(&self) -> u64 {
        self.bounds.block.get()
    }

    fn ops(&self) -> OpSet {
        self.bounds.ops.union(OpSet::of(&[OpKind::Read, OpKind::Remount]))
    }

    fn name_bytes_max(&self) -> Option<usize> {
        Some(self.library.name_bytes_max())
    }

    fn bounds(&self) -> ObjectBounds {
        self.bounds.clone()
    }

    fn offers(&self, op: &Op, tree: &Tree) -> bool {
        op.is_plain() && self.library.offers(op, tree)
    }

    fn block_name(&self, block: Block) -> String {
        self.library.block_name(block)
    }
}
