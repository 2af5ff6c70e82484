//! Which ops a search proposes, as far as the user decides it.

use std::sync::Arc;

use vfs::{
    Op,
    generate::{ObjectBounds, OpSet},
};

/// What the user asks of a workload. What is left open is the target's to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Only these kinds of ops.
    pub ops: Option<OpSet>,
    /// At most so many names of files.
    pub files_max: Option<usize>,
    /// At most so many directories besides the root.
    pub dirs_max: Option<usize>,
    /// Exactly these ops, one after the other, instead of every op that is possible. After a power cut the rest
    /// follows.
    pub script: Option<Arc<[Op]>>,
}

impl Workload {
    /// Whether the user asks for anything.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The bounds that a target proposes, as the user wants them. Ops that the target does not have stay out.
    #[must_use]
    pub fn within(&self, bounds: &ObjectBounds) -> ObjectBounds {
        ObjectBounds {
            ops: self.ops.map_or(bounds.ops, |ops| ops.intersection(bounds.ops)),
            files_max: self.files_max.unwrap_or(bounds.files_max),
            dirs_max: self.dirs_max.unwrap_or(bounds.dirs_max),
            ..bounds.clone()
        }
    }
}
