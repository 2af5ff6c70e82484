//! Trials as programs and people read them.

use std::time::Duration;

use check::Trace;
use serde::Serialize;

use super::{Case, Trial};
use crate::{
    quantity::{count, plural, seconds},
    screen::Paint,
};

/// All trials as one object, as text that ends with a newline.
pub fn json(trials: &[Trial]) -> String {
    #[derive(Serialize)]
    struct Zoo<'a> {
        cases: Vec<Row<'a>>,
    }
    let zoo = Zoo { cases: trials.iter().map(Row::from).collect() };
    let mut text = serde_json::to_string_pretty(&zoo).expect("plain data");
    text.push('\n');
    text
}

/// A trial in JSON; the order of the keys is part of the interface up to `seconds`.
#[derive(Serialize)]
struct Row<'a> {
    name: &'static str,
    target: &'static str,
    property: &'static str,
    found: bool,
    false_alarm: bool,
    ops: Option<usize>,
    seconds: f64,
    about: &'static str,
    found_instead: &'a [String],
    right: Right<'a>,
    trace: Option<&'a Trace>,
}

/// The other half of a trial.
#[derive(Serialize)]
struct Right<'a> {
    target: &'static str,
    alarms: &'a [String],
    complete: bool,
    states: u64,
    crash_states: u64,
    seconds: f64,
}

impl<'a> From<&'a Trial> for Row<'a> {
    fn from(trial: &'a Trial) -> Self {
        let Case { name, about, wrong, right, property, .. } = *trial.case;
        Self {
            name,
            target: wrong,
            property,
            found: trial.trace.is_some(),
            false_alarm: !trial.alarms.is_empty(),
            ops: trial.ops(),
            seconds: trial.elapsed.as_secs_f64(),
            about,
            found_instead: &trial.instead,
            right: Right {
                target: right,
                alarms: &trial.alarms,
                complete: trial.right.complete,
                states: trial.right.states,
                crash_states: trial.right.work.crash_states,
                seconds: trial.right.elapsed.as_secs_f64(),
            },
            trace: trial.trace.as_ref(),
        }
    }
}

/// A trial in a line, and in one more for what went wrong. `among` are the cases that it is aligned with.
pub fn line(trial: &Trial, among: &[&Case], paint: Paint) -> String {
    let Case { name, about, right, property, .. } = *trial.case;
    let width = |of: fn(&Case) -> &str| among.iter().map(|case| of(case).chars().count()).max().unwrap_or(0);
    let (names, abouts, properties) = (width(|case| case.name), width(|case| case.about), width(|case| case.property));
    let mark = if trial.is_passed() { paint.good("✓") } else { paint.bad("✗") };
    let ops = trial.ops().map_or_else(|| "not found".to_owned(), |ops| plural(ops as u64, "op"));
    let time = seconds(trial.elapsed.as_secs_f64());
    let mut lines = vec![format!("{mark} {name:names$}  {about:abouts$}  {property:properties$}  {ops:>9}  {time:>7}")];
    if !trial.instead.is_empty() {
        lines.push(format!("  found instead: {}", trial.instead.join(", ")));
    }
    if !trial.alarms.is_empty() {
        lines.push(format!("  false alarm: {right} violates {}", trial.alarms.join(", ")));
    }
    if !trial.right.complete {
        let limits = trial.right.limits.iter().filter(|limit| limit.cuts_the_search()).map(ToString::to_string);
        let sampled = (trial.right.work.positions_sampled > 0).then(|| "crash states were sampled".to_owned());
        let limits: Vec<String> = limits.chain(sampled).collect();
        lines.push(format!("  {right} was not searched to the end: {}", limits.join("; ")));
    }
    lines.join("\n") + "\n"
}

/// What all trials came to.
pub fn summary(trials: &[Trial], elapsed: Duration, paint: Paint) -> String {
    let how_many = |is: fn(&Trial) -> bool| trials.iter().filter(|trial| is(trial)).count() as u64;
    let found = how_many(|trial| trial.trace.is_some());
    let alarms = how_many(|trial| !trial.alarms.is_empty());
    let incomplete = how_many(|trial| !trial.right.complete);
    let verdict =
        format!("{}: {} found, {}.", plural(trials.len() as u64, "case"), count(found), plural(alarms, "false alarm"));
    let verdict = if trials.iter().all(Trial::is_passed) { paint.good(&verdict) } else { paint.bad(&verdict) };
    let states = trials.iter().map(|trial| trial.right.states).sum();
    let crash_states = trials.iter().map(|trial| trial.right.work.crash_states).sum();
    let searched = match incomplete {
        0 => "all searched to the end".to_owned(),
        some => format!("{} not searched to the end", count(some)),
    };
    format!(
        "{verdict} The right variants have {} and {}, {searched}. {}\n",
        plural(states, "state"),
        plural(crash_states, "crash state"),
        seconds(elapsed.as_secs_f64())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right and wrong are exchanged: nothing is found, and the alarm is false.
    static EXCHANGED: Case = Case::searched(
        "exchanged",
        "nothing",
        ["model:cow", "model:cow?flaw=no-barrier"],
        "recovery-fails",
        disk::CrashMode::Subsets,
        ("create,sync", 2),
    );

    #[test]
    fn what_goes_wrong_is_said() {
        let trial = Trial::run(&EXCHANGED).unwrap();
        let told = line(&trial, &[&EXCHANGED], Paint::for_stdout());
        assert!(told.contains("exchanged  nothing  recovery-fails  not found"), "{told}");
        assert!(told.contains("\n  false alarm: model:cow?flaw=no-barrier violates recovery-fails\n"), "{told}");
        let json: serde_json::Value = serde_json::from_str(&json(std::slice::from_ref(&trial))).unwrap();
        let case = &json["cases"][0];
        assert_eq!((&case["found"], &case["false_alarm"], &case["ops"]), (&false.into(), &true.into(), &().into()));
        let said = summary(&[trial], Duration::from_secs(1), Paint::for_stdout());
        assert!(said.contains("1 case: 0 found, 1 false alarm."), "{said}");
    }
}
