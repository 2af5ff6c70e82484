//! One file for each verb of the command line.

pub mod characterise;
pub mod check;
pub mod kernel;
pub mod mount;
pub mod replay;
pub mod swarm;
pub mod targets;
pub mod zoo;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use explore::Stop;
use signal_hook::{consts::TERM_SIGNALS, flag};

/// What a command came to, as far as its exit code tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    NothingFound,
    /// A property was violated.
    Violation,
}

impl Verdict {
    fn of(violated: bool) -> Self {
        if violated { Self::Violation } else { Self::NothingFound }
    }
}

/// The first signal asks the search to end; the second one kills.
fn stop_on_signals() -> Result<Stop> {
    let stop = Stop::default();
    for signal in TERM_SIGNALS {
        flag::register_conditional_default(*signal, stop.flag())
            .and_then(|_| flag::register(*signal, Arc::clone(&stop.flag())))
            .context("watch for signals")?;
    }
    Ok(stop)
}
