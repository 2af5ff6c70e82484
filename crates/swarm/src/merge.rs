//! What the tasks of a swarm came to together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    diversify::Task,
    overlap::{Overlap, overlap},
    process::Ended,
};

/// One task and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskReport {
    /// Counted from 1.
    pub number: usize,
    /// Its seed.
    pub seed: u64,
    /// Its order.
    pub search: String,
    /// How it remembered states.
    pub visited: String,
    /// The distribution of its weights, if it has any.
    pub distribution: Option<String>,
    /// How it died, if it did.
    pub died: Option<String>,
    /// Distinct states.
    pub states: u64,
    /// Ops that were run to their end.
    pub ops: u64,
    /// How long it took.
    pub seconds: f64,
    /// What it found violated.
    pub violations: Vec<String>,
}

/// A property that some tasks found violated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergedViolation {
    /// Which.
    pub property: String,
    /// How bad.
    pub severity: String,
    /// How often it was met by all.
    pub count: u64,
    /// Whether no task has seen it each time that the same was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nondeterministic: bool,
    /// By which tasks.
    pub tasks: Vec<usize>,
    /// The trace with the fewest ops in it, of those that show it each time if there are any.
    pub trace: Value,
}

/// What all tasks came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Merged {
    /// Each task.
    pub tasks: Vec<TaskReport>,
    /// How many of them died.
    pub dead: usize,
    /// What they have seen together.
    #[serde(flatten)]
    pub overlap: Overlap,
    /// The states of all tasks, those that several have seen counted by each.
    pub states: u64,
    /// The ops of all tasks.
    pub ops: u64,
    /// What was found, by property.
    pub violations: Vec<MergedViolation>,
}

/// A summary of `shakedown check`, as far as it matters here.
#[derive(Deserialize)]
struct Summary {
    states: u64,
    ops: u64,
    seconds: f64,
    violations: Vec<Violation>,
}

#[derive(Deserialize)]
struct Violation {
    property: String,
    severity: String,
    count: u64,
    #[serde(default)]
    nondeterministic: bool,
    trace: Value,
}

/// Puts together what tasks came to: how each ended, its summary as JSON, and the hashes of its states. A task without
/// a readable summary has died, whatever its exit code said.
pub fn merge(ended: Vec<(Task, Ended, Option<String>, Vec<u64>)>) -> Merged {
    let mut tasks = Vec::new();
    let mut violations: BTreeMap<String, MergedViolation> = BTreeMap::new();
    let mut states = Vec::new();
    for (task, ended, summary, hashes) in ended {
        let summary = summary.map(|text| serde_json::from_str::<Summary>(&text));
        let (summary, died) = match (ended, summary) {
            (Ended::Died(how), _) => (None, Some(how)),
            (_, Some(Ok(summary))) => (Some(summary), None),
            (_, Some(Err(error))) => (None, Some(format!("its summary cannot be read: {error}"))),
            (_, None) => (None, Some("it left no summary".to_owned())),
        };
        for found in summary.iter().flat_map(|summary| &summary.violations) {
            add(&mut violations, found, task.number);
        }
        states.push(if summary.is_some() { hashes } else { Vec::new() });
        tasks.push(report(&task, summary.as_ref(), died));
    }
    let mut violations: Vec<MergedViolation> = violations.into_values().collect();
    // Alphabetical otherwise, so that the same findings read the same.
    violations.sort_by_key(|found| found.severity != "critical");
    Merged {
        dead: tasks.iter().filter(|task| task.died.is_some()).count(),
        overlap: overlap(&states),
        states: tasks.iter().map(|task| task.states).sum(),
        ops: tasks.iter().map(|task| task.ops).sum(),
        tasks,
        violations,
    }
}

fn report(task: &Task, summary: Option<&Summary>, died: Option<String>) -> TaskReport {
    let found = |summary: &Summary| summary.violations.iter().map(|violation| violation.property.clone()).collect();
    TaskReport {
        number: task.number,
        seed: task.seed,
        search: task.search.to_owned(),
        visited: task.visited.to_owned(),
        distribution: task.distribution.map(str::to_owned),
        died,
        states: summary.map_or(0, |summary| summary.states),
        ops: summary.map_or(0, |summary| summary.ops),
        seconds: summary.map_or(0.0, |summary| summary.seconds),
        violations: summary.map(found).unwrap_or_default(),
    }
}

fn add(violations: &mut BTreeMap<String, MergedViolation>, found: &Violation, task: usize) {
    let length = |trace: &Value| trace["ops"].as_array().map_or(usize::MAX, Vec::len);
    let merged = violations.entry(found.property.clone()).or_insert_with(|| MergedViolation {
        property: found.property.clone(),
        severity: found.severity.clone(),
        count: 0,
        nondeterministic: found.nondeterministic,
        tasks: Vec::new(),
        trace: found.trace.clone(),
    });
    merged.count += found.count;
    merged.tasks.push(task);
    if (found.nondeterministic, length(&found.trace)) < (merged.nondeterministic, length(&merged.trace)) {
        (merged.nondeterministic, merged.trace) = (found.nondeterministic, found.trace.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Variety, diversify};

    fn summary(states: u64, violations: &[(&str, usize)]) -> String {
        let violation = |(property, ops): &(&str, usize)| {
            let trace = json!({"ops": vec![0; *ops]});
            json!({"property": property, "severity": "critical", "count": 2, "trace": trace})
        };
        let violations: Vec<Value> = violations.iter().map(violation).collect();
        json!({"states": states, "ops": 10, "seconds": 1.0, "violations": violations}).to_string()
    }

    #[test]
    fn a_trace_that_shows_its_violation_each_time_is_better_than_a_shorter_one() {
        let tasks = diversify(3, Variety { seed: 0, has_weights: false, has_budget: true });
        let came_to = [(true, 1), (false, 5), (true, 2)].map(|(nondeterministic, ops)| {
            let mut summary: Value = serde_json::from_str(&summary(1, &[("tree", ops)])).unwrap();
            summary["violations"][0]["nondeterministic"] = json!(nondeterministic);
            summary.to_string()
        });
        for (first, expected) in [(0, (false, 5)), (2, (true, 2))] {
            let ended = tasks.iter().cloned().zip(&came_to).skip(first);
            let ended = ended.map(|(task, summary)| (task, Ended::Violation, Some(summary.clone()), Vec::new()));
            let found = merge(ended.collect()).violations.remove(0);
            let ops = found.trace["ops"].as_array().map_or(0, Vec::len);
            assert_eq!((found.nondeterministic, ops), expected);
        }
    }

    #[test]
    fn the_dead_count_for_nothing_and_are_named() {
        let tasks = diversify(4, Variety { seed: 0, has_weights: false, has_budget: true });
        let [one, two, three, four] = <[Task; 4]>::try_from(tasks).unwrap();
        let merged = merge(vec![
            (one, Ended::Violation, Some(summary(3, &[("tree", 4), ("outcome", 1)])), vec![1, 2, 3]),
            (two, Ended::Violation, Some(summary(2, &[("tree", 2)])), vec![3, 4]),
            (three, Ended::Died("signal: 9".to_owned()), Some(summary(9, &[("tree", 1)])), vec![7]),
            (four, Ended::Clean, None, vec![8]),
        ]);
        assert_eq!((merged.dead, merged.states, merged.ops), (2, 5, 20));
        assert_eq!(merged.overlap, Overlap { states_distinct: 4, states_shared: 1, overlap: 0.25 });
        let found: Vec<_> = merged.violations.iter().map(|one| (&*one.property, one.count, &*one.tasks)).collect();
        assert_eq!(found, [("outcome", 2, &[1][..]), ("tree", 4, &[1, 2][..])]);
        assert_eq!(merged.violations[1].trace["ops"].as_array().map(Vec::len), Some(2), "the shorter trace");
        assert_eq!(merged.tasks[2].died.as_deref(), Some("signal: 9"));
        assert_eq!(merged.tasks[3].died.as_deref(), Some("it left no summary"));
    }
}
