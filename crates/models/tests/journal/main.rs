//! The journaling file system, from damaged images to searches of everything that it does in a few ops.

mod damage;
#[path = "../driver/mod.rs"]
mod driver;
mod flaws;
mod recovery;
mod right;
mod searching;
