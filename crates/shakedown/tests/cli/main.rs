//! The program as users run it: what it prints, what it writes, what its exit code says.

mod characterise;
mod check;
mod errors;
mod mount;
mod program;
mod replay;
mod runs;
mod text;
mod workloads;
mod zoo;
