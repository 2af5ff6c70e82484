//! The log-structured model, from single ops to searches with power cuts.

mod damage;
#[path = "../driver/mod.rs"]
mod driver;
mod ops;
mod searching;
mod verdicts;
