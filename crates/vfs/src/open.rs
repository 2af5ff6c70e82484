//! Which files are open: what a tree does not show and what nevertheless decides which ops are possible.

use std::collections::BTreeMap;

use crate::{Fd, NodeId, OpenFlags};

/// One open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenFile {
    /// What is open. It may have lost its last name, and is then in no tree.
    pub node: NodeId,
    /// How it was opened.
    pub flags: OpenFlags,
}

/// The slots that are in use.
pub type OpenFiles = BTreeMap<Fd, OpenFile>;
