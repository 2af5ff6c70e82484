//! A file system that is in no table here: what its user says of it.

use vfs::{Conventions, contract::Contract};

/// What a user says of a file system. In each command, `{dev}` stands for the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// As the kernel calls it.
    pub name: String,
    /// Makes a file system; without it the disk is full of zeros.
    pub mkfs: Option<String>,
    /// Looks at what was recovered: any exit code but 0 is a violation.
    pub fsck: Option<String>,
    /// Runs before the first mount after a crash: an exit code above 1 says that it could not repair everything.
    pub repair: Option<String>,
    /// What is demanded of it.
    pub contract: Contract,
    /// What it shows in its own way.
    pub conventions: Conventions,
}
