//! How far the tasks of a swarm are: one live table on a terminal, a plain line now and then elsewhere.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use swarm::Moment;

use crate::quantity::{count, plural, seconds};

/// How often a plain line is written.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// More rows than a terminal has are of no use: the rest is told in one.
const ROWS_MAX: usize = 20;

/// Where progress is shown.
pub enum TasksDisplay {
    /// In one place, changing.
    Live(ProgressBar),
    /// A line now and then, the next one when the swarm is this old.
    Plain(Duration),
    /// Nowhere.
    Quiet,
}

impl TasksDisplay {
    /// What suits standard error.
    pub fn new(json: bool) -> Self {
        if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
            Self::Live(bar)
        } else if json {
            Self::Quiet
        } else {
            Self::Plain(PLAIN_INTERVAL)
        }
    }

    /// Shows how far each task is, and whether it is still under way.
    pub fn show(&mut self, moments: &[(Moment, bool)], elapsed: Duration) {
        match self {
            Self::Live(bar) => bar.set_message(table(moments, elapsed)),
            Self::Plain(next) if elapsed >= *next => {
                *next = elapsed + PLAIN_INTERVAL;
                // Nobody is there to be told that progress cannot be shown.
                let _ = writeln!(io::stderr(), "{}", sum(moments, elapsed));
            }
            Self::Plain(_) | Self::Quiet => {}
        }
    }

    /// Leaves nothing of the live table behind.
    pub fn end(self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn table(moments: &[(Moment, bool)], elapsed: Duration) -> String {
    let row = |(number, (moment, is_busy)): (usize, &(Moment, bool))| {
        let mark = if *is_busy { " " } else { "·" };
        format!(
            "{mark}{number:>3}  {:>12} states  {:>12} ops  depth {:>4}  {}",
            count(moment.states),
            count(moment.ops),
            moment.depth,
            plural(moment.violations, "violation")
        )
    };
    let rows = (1..).zip(moments).take(ROWS_MAX).map(row);
    let more = moments.len().saturating_sub(ROWS_MAX);
    let more = (more > 0).then(|| format!("     and {more} more"));
    rows.chain(more).chain([sum(moments, elapsed)]).collect::<Vec<_>>().join("\n")
}

/// All tasks in one line.
fn sum(moments: &[(Moment, bool)], elapsed: Duration) -> String {
    let of = |what: fn(&Moment) -> u64| moments.iter().map(|(moment, _)| what(moment)).sum::<u64>();
    let busy = moments.iter().filter(|(_, is_busy)| *is_busy).count();
    [
        seconds(elapsed.as_secs_f64()),
        format!("{busy} of {} tasks under way", moments.len()),
        format!("{} states", count(of(|moment| moment.states))),
        format!("{} ops", count(of(|moment| moment.ops))),
        plural(of(|moment| moment.violations), "violation"),
    ]
    .join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_task_and_a_sum() {
        let moment = Moment { states: 1200, ops: 3000, depth: 7, violations: 1, seconds: 2.0 };
        let text = table(&[(moment, true), (moment, false)], Duration::from_secs(2));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "   1         1,200 states         3,000 ops  depth    7  1 violation");
        assert!(lines[1].starts_with('·'));
        assert_eq!(lines[2], "2.0 s · 1 of 2 tasks under way · 2,400 states · 6,000 ops · 2 violations");
        assert_eq!(table(&[(moment, true); 30], Duration::ZERO).lines().count(), ROWS_MAX + 2);
    }
}
