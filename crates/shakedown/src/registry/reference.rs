//! The reference as a target, to be compared with.

use check::InProcess;

use super::{Entry, Kind};

pub const REFERENCE: Entry = Entry {
    name: "ref",
    about: "the reference, in process: right by definition, so name what to compare it with (--against)",
    kind: Kind::Undisturbed,
    options: &[],
    make: |_| Box::new(InProcess),
};
