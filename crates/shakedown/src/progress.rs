//! How far a search is: live on a terminal, plain lines elsewhere, both on standard error.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use check::Work;
use explore::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarm::Moment;

use crate::{
    quantity::{about, bytes, count, plural, seconds},
    summary::rate,
};

/// How often a plain line is written.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// How often a task says how far it is.
const LINES_INTERVAL: Duration = Duration::from_millis(500);

/// Two short rows, so that nothing is cut off on a narrow terminal.
const LIVE: &str = "{spinner} {wide_msg}\n  {prefix}";

/// Where progress is shown.
pub enum Display {
    /// In one place, changing.
    Live(ProgressBar),
    /// A line now and then, the next one when the search is this old.
    Plain(Duration),
    /// A line of JSON now and then, for the swarm that this is a task of.
    Lines(Duration),
    /// Nowhere: whoever reads JSON waits for the end.
    Quiet,
}

impl Display {
    /// What suits standard error.
    pub fn new(json: bool) -> Self {
        if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template(LIVE).unwrap_or_else(|_| ProgressStyle::default_spinner()));
            Self::Live(bar)
        } else if json {
            Self::Quiet
        } else {
            Self::Plain(PLAIN_INTERVAL)
        }
    }

    /// For a task of a swarm.
    pub fn lines() -> Self {
        Self::Lines(Duration::ZERO)
    }

    /// Shows how far the search is.
    pub fn show(&mut self, progress: &Progress, work: &Work) {
        match self {
            Self::Live(bar) => {
                bar.set_message(reached(progress));
                bar.set_prefix(done(progress, work));
                bar.tick();
            }
            Self::Plain(next) if progress.elapsed >= *next => {
                *next = progress.elapsed + PLAIN_INTERVAL;
                let parts = [reached(progress), done(progress, work)];
                // Nobody is there to be told that progress cannot be shown.
                let _ = writeln!(io::stderr(), "{}", parts.join(" · ").trim_end_matches(" · "));
            }
            Self::Lines(next) if progress.elapsed >= *next => {
                *next = progress.elapsed + LINES_INTERVAL;
                let moment = Moment {
                    states: progress.states,
                    ops: work.ops,
                    depth: progress.depth,
                    violations: progress.violations,
                    seconds: progress.elapsed.as_secs_f64(),
                };
                // Whoever asked for it may be gone.
                let _ = writeln!(io::stderr(), "{}", serde_json::to_string(&moment).expect("plain data"));
            }
            Self::Lines(_) | Self::Plain(_) | Self::Quiet => {}
        }
    }

    /// Leaves nothing of the live rows behind.
    pub fn end(self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// How far the search has come.
fn reached(progress: &Progress) -> String {
    let elapsed = progress.elapsed.as_secs_f64();
    let parts = [
        seconds(elapsed),
        format!("{} states ({}/s)", count(progress.states), about(rate(progress.states, elapsed))),
        format!("depth {}", progress.depth),
        plural(progress.violations, "violation"),
        bytes(progress.memory_bytes),
    ];
    let unsaved = progress.unsaved.map(|why| format!("not saved: {why}"));
    parts.into_iter().chain(unsaved).collect::<Vec<_>>().join(" · ")
}

/// What it took; nothing for a target without ops.
fn done(progress: &Progress, work: &Work) -> String {
    let per_second = about(rate(work.ops, progress.elapsed.as_secs_f64()));
    let crash_states = count(work.crash_states);
    if work.ops == 0 {
        String::new()
    } else {
        format!("{} ops ({per_second}/s) · {crash_states} crash states", count(work.ops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_everything() {
        let progress = Progress {
            states: 12_000,
            states_revisited: 5,
            transitions: 12_005,
            waiting: 40,
            depth: 7,
            violations: 3,
            memory_bytes: 3 << 20,
            elapsed: Duration::from_secs(2),
            unsaved: None,
        };
        let work = Work { ops: 400, crash_states: 900, ..Work::default() };
        assert_eq!(reached(&progress), "2.0 s · 12,000 states (6000/s) · depth 7 · 3 violations · 3.0 MiB");
        let unsaved = Progress { unsaved: Some(io::ErrorKind::StorageFull), ..progress };
        assert_eq!(reached(&unsaved), format!("{} · not saved: no storage space", reached(&progress)));
        assert_eq!(done(&progress, &work), "400 ops (200/s) · 900 crash states");
        assert_eq!(done(&progress, &Work::default()), "");
    }
}
