//! The log-structured model, from single ops to searches with power cuts.

mod damage;
mod ops;
mod searching;
mod verdicts;
