//! File systems small enough to be searched to their last state, each right and wrong in known ways.

pub mod cow;
pub mod f2fs;
pub mod journal;
pub mod mapping;
pub mod nodes;
pub mod philosophers;
