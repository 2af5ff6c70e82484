//! What a search promises, tested from outside on systems of a few lines: golden counts, completeness against brute
//! force, budgets, panics, traces, checkpoints.

mod bounded;
mod budgets;
mod checkpoints;
mod counts;
mod damage;
mod orders;
mod panics;
mod stopping;
mod systems;
mod violations;
mod visited;
mod walks;
