//! Finds the ways in which a file system loses data, and proves them: the command line.
//!
//! Thin on purpose: it parses, calls, prints. What it prints is made by [`summary`] for machines and by [`report`] for
//! people; what can be checked is in [`registry`].

mod arguments;
mod budget;
mod characterise;
mod commands;
mod folder;
mod idle_flags;
mod memory;
mod plain;
mod progress;
mod quantity;
mod quiet;
mod registry;
mod report;
mod screen;
mod settings;
mod story;
mod summary;
mod tasks_display;
mod text_file;
mod usage;
mod workloads;
mod zoo;

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;

use crate::{
    arguments::{Arguments, Command},
    commands::Verdict,
};

/// A search makes and drops small objects by the million, on all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Wrong usage or environment.
const EXIT_TROUBLE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(&error),
    };
    let result = match &arguments.command {
        Command::Check(check) => commands::check::run(check),
        Command::Replay(replay) => commands::replay::run(replay),
        Command::Characterise(characterise) => commands::characterise::run(characterise),
        Command::Targets(targets) => commands::targets::run(targets),
        Command::Zoo(zoo) => commands::zoo::run(zoo),
        Command::Swarm(swarm) => commands::swarm::run(swarm),
        Command::Kernel(kernel) => commands::kernel::run(kernel),
        Command::Mount(mount) => commands::mount::run(mount),
    };
    match result {
        Ok(Verdict::NothingFound) => ExitCode::SUCCESS,
        Ok(Verdict::Violation) => ExitCode::FAILURE,
        Err(error) => complain(&fragment(&error)),
    }
}

/// Says in one line what could not be done.
fn complain(fragment: &str) -> ExitCode {
    let line = fragment.split_whitespace().collect::<Vec<_>>().join(" ");
    // If standard error is closed, the exit code still tells.
    let _ = writeln!(std::io::stderr(), "error: could not {line}");
    ExitCode::from(EXIT_TROUBLE)
}

/// An error with its causes, each said once: many messages quote their cause.
fn fragment(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.last().is_some_and(|earlier| earlier.contains(&cause)) {
            said.push(cause);
        }
    }
    said.join(": ")
}
