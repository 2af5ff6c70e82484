//! The crash contracts: every clause by example, and the judge against an oracle that enumerates everything.

mod agreement;
mod brute;
mod case;
mod clauses;
mod guarantees;
mod random;
mod together;
mod world;
