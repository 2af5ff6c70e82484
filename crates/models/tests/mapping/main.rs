//! The file-mapping models, from single ops to searches of everything that they can do.

#[path = "../driver/mod.rs"]
mod driver;
mod fsck;
mod futures;
mod ops;
mod renaming;
mod searching;
mod symmetry;
mod verdicts;
