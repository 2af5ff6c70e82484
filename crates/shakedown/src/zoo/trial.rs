//! A case put to the test: the wrong target until the bug is found, the right one until nothing is left to search.

use std::time::Duration;

use anyhow::{Context as _, Result};
use check::{CheckReport, RunOptions, Trace, Violated};
use explore::{Severity, Stop};

use super::Case;
use crate::{registry::Named, settings::Settings};

/// What came of a case.
pub struct Trial {
    /// Which case.
    pub case: &'static Case,
    /// How the bug shows, in as few ops as possible, if it was found.
    pub trace: Option<Trace>,
    /// How long the search for it took.
    pub elapsed: Duration,
    /// What was found instead of it.
    pub instead: Vec<String>,
    /// What was found wrong with the right target.
    pub alarms: Vec<String>,
    /// The search of the right target.
    pub right: CheckReport,
}

impl Trial {
    /// Runs a case on this thread.
    ///
    /// # Errors
    /// The entry in the table is wrong.
    pub fn run(case: &'static Case) -> Result<Self> {
        let about_case = || format!("try the case {:?}", case.name);
        let wrong = Named::parse(case.wrong).with_context(about_case)?;
        let right = Named::parse(case.right).with_context(about_case)?;
        let mut report = search(case, &wrong, true).with_context(about_case)?;
        let mut elapsed = report.elapsed;
        if !report.violations.iter().any(|violated| case.is_shown_by(violated)) {
            // The first thing that goes wrong need not be the worst.
            report = search(case, &wrong, false).with_context(about_case)?;
            elapsed += report.elapsed;
        }
        let found = report.violations.iter().find(|violated| case.is_shown_by(violated));
        let trace = found.map(|found| check::settled(&*wrong.target, &found.trace, &Stop::default()));
        let instead = if found.is_some() { Vec::new() } else { names(&report.violations) };
        let mut right = search(case, &right, false).with_context(about_case)?;
        right.violations.retain(|violated| !case.is_repaired(violated));
        Ok(Self { case, trace, elapsed, instead, alarms: names(&right.violations), right })
    }

    /// How many ops it takes to show the bug; actions, for a target that has no ops.
    pub fn ops(&self) -> Option<usize> {
        let count = |trace: &Trace| if trace.ops.is_empty() { trace.schedule.len() } else { trace.ops.len() };
        self.trace.as_ref().map(count)
    }

    /// Whether the bug was found, and nothing else: the right target was searched to the end without an alarm.
    pub fn is_passed(&self) -> bool {
        self.trace.is_some() && self.alarms.is_empty() && self.right.complete
    }
}

impl Case {
    fn is_shown_by(&self, violated: &Violated) -> bool {
        violated.property == self.property
    }

    fn is_repaired(&self, violated: &Violated) -> bool {
        violated.severity == Severity::NotCritical && self.repaired.contains(&violated.property.as_str())
    }
}

fn names(violations: &[Violated]) -> Vec<String> {
    violations.iter().map(|violated| violated.property.clone()).collect()
}

fn search(case: &Case, named: &Named, until_violation: bool) -> Result<CheckReport> {
    search_within(None, &case.settings(named)?, named, until_violation)
}

/// One thread, so that each case gives the same result on any machine, beside whatever other cases.
fn search_within(
    states: Option<u64>,
    settings: &Settings,
    named: &Named,
    until_violation: bool,
) -> Result<CheckReport> {
    let mut run = RunOptions { until_violation, ..settings.run_options(named) };
    run.budget.states = states;
    Ok(named.target.check(settings.check_options(), &run, &mut |_, _| {})?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arguments::SearchOrder, zoo::all};

    const WRONG: &str = "model:cow?flaw=no-barrier";
    const CASE: Case = Case::searched(
        "test",
        "a test",
        [WRONG, "model:cow"],
        "recovery-fails",
        disk::CrashMode::Subsets,
        ("create,sync", 2),
    );

    #[test]
    fn a_bug_is_found_and_its_absence_is_no_bug() {
        static GOOD: Case = CASE;
        let trial = Trial::run(&GOOD).unwrap();
        assert_eq!((trial.ops(), trial.is_passed()), (Some(2), true));
        assert!(trial.right.states > 0 && trial.right.work.crash_states > 0);
    }

    #[test]
    fn a_bug_that_is_not_there_is_not_found() {
        static SILENT: Case = Case { wrong: "model:cow", ..CASE };
        let trial = Trial::run(&SILENT).unwrap();
        assert!(trial.trace.is_none() && trial.instead.is_empty() && !trial.is_passed());
    }

    #[test]
    fn another_property_is_not_the_one_that_was_asked_for() {
        static OTHER: Case = Case { property: "pinned-content", ..CASE };
        let trial = Trial::run(&OTHER).unwrap();
        assert_eq!((trial.ops(), trial.instead), (None, vec!["recovery-fails".to_owned()]));
    }

    #[test]
    fn a_right_target_that_is_wrong_is_a_false_alarm_even_if_the_case_says_that_it_repairs() {
        static ALARM: Case = Case { right: WRONG, repaired: &["recovery-fails"], ..CASE };
        let trial = Trial::run(&ALARM).unwrap();
        assert_eq!(trial.alarms, ["recovery-fails"], "critical damage is never repaired");
        assert!(trial.trace.is_some() && !trial.is_passed());
    }

    /// A log goes wrong when it wraps around, after some commits, and by then there is much in it to replay.
    #[test]
    fn where_recovery_writes_much_flaws_are_found_that_are_far_away_in_breadth() {
        let cases = ["journal-tail-before-checkpoint", "journal-reuse-before-superblock"];
        for name in cases {
            let case = all().find(|case| case.name == name).expect("it is in the zoo");
            let named = Named::parse(case.wrong).unwrap();
            let is_found_by = |search| {
                let settings = Settings { search, ..case.settings(&named).unwrap() };
                let report = search_within(Some(100), &settings, &named, true).unwrap();
                report.violations.iter().any(|violated| case.is_shown_by(violated))
            };
            assert!(is_found_by(SearchOrder::Recovery), "{name}");
            assert!(!is_found_by(SearchOrder::Bfs), "{name}");
        }
    }
}
