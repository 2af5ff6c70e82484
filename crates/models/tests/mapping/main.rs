//! The file-mapping models, from single ops to searches of everything that they can do.

mod fsck;
mod futures;
mod ops;
mod renaming;
mod searching;
mod symmetry;
mod verdicts;
