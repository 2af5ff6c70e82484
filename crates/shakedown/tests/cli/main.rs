//! The program as users run it: what it prints, what it writes, what its exit code says.

mod against;
mod characterise;
mod check;
mod clean;
mod errors;
mod mount;
mod program;
mod replay;
mod runs;
mod swarm;
mod text;
mod workloads;
mod zoo;
