//! The project's own tasks, behind `cargo xtask`: one module a task, each of them a function that returns `Ok` or says
//! what to do.
//!
//! Tasks use the library crates only through the `shakedown` program, as users do: what a task shows, anyone can
//! repeat from a shell. The house rules (layering, tidy) are functions here and tests in `xtask/tests`.

pub mod bench;
pub mod ci;
pub mod layering;
pub mod licences;
pub mod main_job;
pub mod process;
pub mod results;
pub mod setup;
pub mod shakedown;
pub mod task;
pub mod tests;
pub mod tidy;
pub mod workspace;
