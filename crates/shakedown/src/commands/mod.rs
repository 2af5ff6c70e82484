//! One file for each verb of the command line.

pub mod characterise;
pub mod check;
pub mod kernel;
pub mod mount;
pub mod replay;
pub mod swarm;
pub mod targets;
pub mod zoo;

use anyhow::{Context as _, Result};
use explore::Stop;
use signal_hook::{SigId, consts::TERM_SIGNALS, flag, low_level::unregister};

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

/// While this lives, the first signal asks what is under way to end; the second one kills.
struct Watch {
    stop: Stop,
    actions: Vec<SigId>,
}

impl Watch {
    fn begin() -> Result<Self> {
        let mut watch = Self { stop: Stop::default(), actions: Vec::new() };
        for signal in TERM_SIGNALS {
            let flag = || watch.stop.flag();
            let kill = flag::register_conditional_default(*signal, flag()).context("watch for signals")?;
            let ask = flag::register(*signal, flag()).context("watch for signals")?;
            watch.actions.extend([kill, ask]);
        }
        Ok(watch)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            unregister(action);
        }
    }
}
