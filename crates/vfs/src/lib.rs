//! What a file system is asked to do and what it must answer.
//!
//! Pure data and meaning: operations, outcomes, trees, the reference file system whose answers are right by
//! definition, workload generators, canonical encodings, and the contracts that say which trees a crash may leave.
//! This crate touches no target and no disk.

pub mod contents;
pub mod contract;
pub mod conventions;
pub mod corpus;
pub mod entries;
pub mod errno;
pub mod flags;
pub mod form;
pub mod generate;
mod json;
pub mod kind;
pub mod nearest;
pub mod op;
pub mod open;
pub mod path;
pub mod radix;
pub mod reference;
pub mod shape;
pub mod text;
pub mod tree;
pub mod workloads;

pub use contents::Contents;
pub use conventions::{Conventions, DirLinks, Modes, Names, OwnAttributes};
pub use entries::Entries;
pub use errno::Errno;
pub use flags::OpenFlags;
pub use kind::{Fallocate, OpKind, Rename, WriteVia};
pub use op::{Data, Fd, File, Op, Outcome, Value, WriteAt};
pub use open::{OpenFile, OpenFiles};
pub use path::Path;
pub use radix::Radix;
pub use reference::{Config, Credentials, Reference};
pub use tree::{Aspect, Difference, Node, NodeId, NodeKind, Runs, Special, Tree, TreeDiff, diff};
pub use workloads::{Place, WorkloadSet};
