//! How far a search is: a live line on a terminal, plain lines elsewhere, both on standard error.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use check::Work;
use explore::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    quantity::{about, bytes, count, seconds},
    summary::rate,
};

/// How often a plain line is written.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// Where progress is shown.
pub enum Display {
    /// One line that changes.
    Live(ProgressBar),
    /// A line now and then, the next one when the search is this old.
    Plain(Duration),
    /// Nowhere: whoever reads JSON waits for the end.
    Quiet,
}

impl Display {
    /// What suits standard error.
    pub fn new(json: bool) -> Self {
        if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(
                ProgressStyle::with_template("{spinner} {wide_msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            Self::Live(bar)
        } else if json {
            Self::Quiet
        } else {
            Self::Plain(PLAIN_INTERVAL)
        }
    }

    /// Shows how far the search is.
    pub fn show(&mut self, progress: &Progress, work: &Work) {
        match self {
            Self::Live(bar) => {
                bar.set_message(line(progress, work));
                bar.tick();
            }
            Self::Plain(next) if progress.elapsed >= *next => {
                *next = progress.elapsed + PLAIN_INTERVAL;
                // Nobody is there to be told that progress cannot be shown.
                let _ = writeln!(io::stderr(), "{}", line(progress, work));
            }
            Self::Plain(_) | Self::Quiet => {}
        }
    }

    /// Leaves no trace of the live line.
    pub fn end(self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn line(progress: &Progress, work: &Work) -> String {
    let elapsed = progress.elapsed.as_secs_f64();
    let mut parts = vec![
        seconds(elapsed),
        format!("{} states ({}/s)", count(progress.states), about(rate(progress.states, elapsed))),
    ];
    if work.ops > 0 {
        parts.push(format!("{} ops ({}/s)", count(work.ops), about(rate(work.ops, elapsed))));
        parts.push(format!("{} crash states", count(work.crash_states)));
    }
    parts.push(format!("depth {}", progress.depth));
    parts.push(format!("{} waiting", count(progress.waiting)));
    parts.push(format!("{} violations", count(progress.violations)));
    parts.push(bytes(progress.memory_bytes));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_everything() {
        let progress = Progress {
            states: 12_000,
            states_revisited: 5,
            transitions: 12_005,
            waiting: 40,
            depth: 7,
            violations: 3,
            memory_bytes: 3 << 20,
            elapsed: Duration::from_secs(2),
        };
        let work = Work { ops: 400, crash_states: 900, ..Work::default() };
        assert_eq!(
            line(&progress, &work),
            "2.0 s · 12,000 states (6000/s) · 400 ops (200/s) · 900 crash states · depth 7 · 40 waiting · 3 violations \
             · 3.0 MiB"
        );
        let plain = line(&progress, &Work::default());
        assert!(!plain.contains("ops") && !plain.contains("crash"), "{plain}");
    }
}
