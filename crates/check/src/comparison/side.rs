//! One side of a comparison: any target, with its types hidden.
//!
//! A target's memory has a type of its own, so several different targets cannot stand in one state of a search. Behind
//! [`Side`] they can: memory is boxed and can be cloned, and an op is done as a whole, without a power cut.

use std::any::Any;

use disk::{CrashMode, Disk, Image, OpIndex};
use explore::Property;
use vfs::{
    Conventions, Errno, Op, Outcome, Tree, Value,
    generate::{ObjectBounds, OpSet},
};

use crate::{
    recovery::RECOVERY_FAILS,
    size::fits,
    target::{Finding, Target, Task},
};

/// Something that ops are done to, beside others.
pub trait Side: Send + Sync {
    /// Whether it can be checked on this machine, see [`Target::ready`].
    ///
    /// # Errors
    /// Something is missing, and the words say what to do about it.
    fn ready(&self) -> Result<(), String>;

    /// Whether it can begin with any tree; one that cannot begins with what its mkfs makes.
    fn adopts(&self) -> bool {
        false
    }

    /// A fresh file system, mounted; one that [`Side::adopts`] looks like `tree` and keeps to these conventions.
    ///
    /// # Errors
    /// What is wrong with it.
    fn start(&self, tree: Option<&Tree>, conventions: Conventions) -> Result<SideState, Finding>;

    /// Does an op as a whole; `Op::Remount` is an unmount and a mount.
    ///
    /// # Errors
    /// The errno of the op.
    fn run(&self, state: &mut SideState, op: &Op, index: OpIndex) -> Outcome;

    /// What a user sees.
    ///
    /// # Errors
    /// It cannot be read.
    fn observe(&self, state: &SideState) -> Result<Tree, Errno>;

    /// What it, or what runs it, reports to be wrong: a complaint stands alone, since it says more than all else.
    fn wrong(&self, state: &SideState) -> Vec<Finding>;

    /// Whether what violates this is the machine on which it runs, see [`Target::is_of_the_machine`].
    fn is_of_the_machine(&self, property: Property) -> bool {
        let _ = property;
        false
    }

    /// Appends what decides its future.
    fn encode(&self, state: &SideState, bytes: &mut Vec<u8>);

    /// What it shows in its own way, see [`Target::conventions`].
    fn conventions(&self) -> Conventions;

    /// The kinds of ops that it has.
    fn ops(&self) -> OpSet;

    /// The bytes of its longest name, if that is fewer than Linux allows.
    fn name_bytes_max(&self) -> Option<usize>;

    /// The bytes that its files may have together, see [`Target::file_bytes_max`].
    fn file_bytes_max(&self) -> u64 {
        u64::MAX
    }

    /// The bytes that each of its files may have, see [`Target::file_bytes_granted`].
    fn file_bytes_granted(&self) -> u64 {
        0
    }

    /// The room that it has for whatever is asked of it first, see [`Target::room_granted`].
    fn room_granted(&self) -> u64 {
        0
    }

    /// Whether it may have no room for what only takes away or changes, see [`Target::needs_room_to_free`].
    fn needs_room_to_free(&self) -> bool {
        false
    }

    /// Whether all that it holds takes its room from one supply, see [`Target::has_one_supply`].
    fn has_one_supply(&self) -> bool {
        false
    }

    /// How far a workload of it goes, see [`Target::bounds`].
    fn bounds(&self) -> ObjectBounds;

    /// Whether it has an op of a kind that it has with these very arguments, see [`Target::offers`].
    fn offers(&self, op: &Op, tree: &Tree) -> bool;
}

/// A mounted file system behind a [`Side`]. Between ops nothing of its disk is pending: the power is never cut here.
#[derive(Clone)]
pub struct SideState {
    memory: Box<dyn Memory>,
    image: Image,
    /// Whether it was made with a `lost+found` that shows.
    pub(super) made_with_lost_and_found: bool,
}

/// What a file system keeps in memory, whatever its type.
trait Memory: Any + Send + Sync {
    fn cloned(&self) -> Box<dyn Memory>;
}

impl<M: Any + Clone + Send + Sync> Memory for M {
    fn cloned(&self) -> Box<dyn Memory> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Memory> {
    fn clone(&self) -> Self {
        // The box is a memory too; it is what lies in it that is to be cloned.
        (**self).cloned()
    }
}

impl SideState {
    pub(super) fn new<M: Any + Clone + Send + Sync>(memory: M, image: Image) -> Self {
        Self { memory: Box::new(memory), image, made_with_lost_and_found: false }
    }

    /// How large its disk is.
    pub(super) fn bytes(&self) -> u64 {
        self.image.geometry().bytes() as u64
    }

    /// The memory, by the type that its side gave it.
    pub(super) fn memory<M: Any>(&self) -> &M {
        let memory: &dyn Any = &*self.memory;
        memory.downcast_ref().expect("a state is handed only to the side that made it")
    }

    pub(super) fn memory_mut<M: Any>(&mut self) -> &mut M {
        let memory: &mut dyn Any = &mut *self.memory;
        memory.downcast_mut().expect("a state is handed only to the side that made it")
    }

    fn disk<T: Target>(&self, target: &T) -> Disk {
        Disk::with_cache(self.image.clone(), target.cache())
    }
}

impl<T: Target> Side for T {
    fn ready(&self) -> Result<(), String> {
        Target::ready(self)
    }

    fn start(&self, _: Option<&Tree>, _: Conventions) -> Result<SideState, Finding> {
        let failed = |errno| Finding {
            property: RECOVERY_FAILS,
            detail: format!("a fresh file system does not mount: {errno}"),
        };
        let mut disk = Disk::with_cache(self.mkfs(), self.cache());
        let mounted = self.mount(&mut disk).map_err(failed)?;
        if let Some(complaint) = self.complaint(&mounted) {
            return Err(complaint);
        }
        Ok(SideState::new(mounted, disk.image().clone()))
    }

    fn run(&self, state: &mut SideState, op: &Op, index: OpIndex) -> Outcome {
        let mut disk = state.disk(self);
        let bytes_max = Target::file_bytes_max(self);
        if bytes_max < u64::MAX && Side::observe(self, state).is_ok_and(|tree| !fits(op, &tree, bytes_max)) {
            return Err(Errno::EOPNOTSUPP);
        }
        let mounted = state.memory_mut::<T::Mounted>();
        let outcome = if *op == Op::Remount {
            remount(self, mounted, &mut disk)
        } else {
            let mut task = Task { op: op.clone(), index, choice: 0, pc: 0, registers: [0; 12] };
            loop {
                if let Some(outcome) = self.step(mounted, &mut disk, &mut task) {
                    break outcome;
                }
            }
        };
        state.image = disk.image().clone();
        outcome
    }

    fn observe(&self, state: &SideState) -> Result<Tree, Errno> {
        Target::observe(self, state.memory(), &state.disk(self))
    }

    fn wrong(&self, state: &SideState) -> Vec<Finding> {
        let mounted = state.memory();
        match self.complaint(mounted) {
            Some(complaint) => vec![complaint],
            None => self.invariants(mounted, &state.disk(self)),
        }
    }

    fn is_of_the_machine(&self, property: Property) -> bool {
        Target::is_of_the_machine(self, &Finding { property, detail: String::new() })
    }

    fn encode(&self, state: &SideState, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&state.disk(self).fingerprint(CrashMode::Off).to_le_bytes());
        Target::encode(self, state.memory(), bytes);
    }

    fn conventions(&self) -> Conventions {
        Target::conventions(self)
    }

    fn ops(&self) -> OpSet {
        Target::ops(self)
    }

    fn name_bytes_max(&self) -> Option<usize> {
        Target::name_bytes_max(self)
    }

    fn file_bytes_max(&self) -> u64 {
        Target::file_bytes_max(self)
    }

    fn file_bytes_granted(&self) -> u64 {
        Target::file_bytes_granted(self)
    }

    fn room_granted(&self) -> u64 {
        Target::room_granted(self)
    }

    fn needs_room_to_free(&self) -> bool {
        Target::needs_room_to_free(self)
    }

    fn has_one_supply(&self) -> bool {
        Target::has_one_supply(self)
    }

    fn bounds(&self) -> ObjectBounds {
        Target::bounds(self)
    }

    fn offers(&self, op: &Op, tree: &Tree) -> bool {
        Target::offers(self, op, tree)
    }
}

/// What complains when it is unmounted is not mounted again: the complaint would be forgotten.
fn remount<T: Target>(target: &T, mounted: &mut T::Mounted, disk: &mut Disk) -> Outcome {
    target.unmount(mounted, disk)?;
    if target.complaint(mounted).is_none() {
        *mounted = target.mount(disk)?;
    }
    Ok(Value::Done)
}
