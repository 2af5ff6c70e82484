//! One file for each verb of the command line.

pub mod check;
pub mod kernel;
pub mod replay;
pub mod targets;
pub mod zoo;

/// What a command came to, as far as its exit code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    NothingFound,
    /// A property was violated.
    Violation,
}

impl Verdict {
    fn of(violated: bool) -> Self {
        if violated { Self::Violation } else { Self::NothingFound }
    }
}
