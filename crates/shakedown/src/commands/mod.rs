//! One file for each verb of the command line.

pub mod characterise;
pub mod check;
pub mod kernel;
pub mod mount;
pub mod replay;
pub mod swarm;
pub mod targets;
pub mod zoo;

use std::{
    io::Read as _,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use explore::Stop;
use signal_hook::{
    SigId,
    consts::TERM_SIGNALS,
    flag,
    low_level::{pipe, unregister},
};

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

/// Signals within this time are one: `timeout` sends one to a process and to the group of it.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// While this lives, the first signal asks what is under way to end; one that comes [`ONE_SIGNAL`] later kills.
struct Watch {
    stop: Stop,
    actions: Vec<SigId>,
}

impl Watch {
    fn begin() -> Result<Self> {
        let mut watch = Self { stop: Stop::default(), actions: Vec::new() };
        let kills = Arc::new(AtomicBool::new(false));
        let (told, tell) = UnixStream::pair().context("watch for signals")?;
        for signal in TERM_SIGNALS {
            let in_watching = "watch for signals";
            let kill = flag::register_conditional_default(*signal, Arc::clone(&kills)).context(in_watching)?;
            let ask = flag::register(*signal, watch.stop.flag()).context(in_watching)?;
            watch.actions.extend([kill, ask]);
            let tell = tell.try_clone().and_then(|tell| pipe::register(*signal, tell)).context(in_watching)?;
            watch.actions.push(tell);
        }
        thread::spawn(move || let_the_next_one_kill(told, &kills));
        Ok(watch)
    }
}

/// Ends with the first signal, or when nobody watches any more.
fn let_the_next_one_kill(mut told: UnixStream, kills: &AtomicBool) {
    if told.read_exact(&mut [0]).is_ok() {
        thread::sleep(ONE_SIGNAL);
        kills.store(true, Ordering::Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            unregister(action);
        }
    }
}
