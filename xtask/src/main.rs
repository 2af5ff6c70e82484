//! `cargo xtask TASK`: the one door to building, testing, measuring and reproducing.

use std::process::ExitCode;

use clap::Parser;
use xtask::task::Task;

/// The project's own tasks
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

fn main() -> ExitCode {
    match Arguments::parse().task.perform() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
