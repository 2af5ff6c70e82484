//! File systems small enough to be searched to their last state, each right and wrong in known ways.

pub mod mapping;
pub mod philosophers;
