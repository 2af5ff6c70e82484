//! Traces: seen again, made shorter, exported.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use super::program::{shakedown, text};

/// The traces of a small run that finds something.
fn traces(target: &str) -> (TempDir, Vec<PathBuf>) {
    let scratch = tempfile::tempdir().unwrap();
    let ran = shakedown(&["check", target, "--threads", "1", "--out", text(scratch.path())]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mut files: Vec<_> =
        fs::read_dir(scratch.path().join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    (scratch, files)
}

/// Replays a trace; with exit code 2 the complaint says it, otherwise the story.
fn assert_replay(trace: &Path, code: i32, says: &str) {
    let ran = shakedown(&["replay", text(trace)]);
    assert_eq!(ran.code, Some(code), "{says}: {ran:?}");
    let said = if code == 2 { &ran.stderr } else { &ran.stdout };
    assert!(said.contains(says), "{says} in: {said}");
}

#[test]
fn a_written_trace_shows_its_violation_with_every_step() {
    let (_scratch, files) = traces("model:link?writes=naive,files=1,blocks=2");
    for file in &files {
        let ran = shakedown(&["replay", text(file)]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("power cut") && ran.stdout.contains("Broken:"), "{}", ran.stdout);
    }
    let longest = shakedown(&["replay", text(&files[0])]).stdout;
    assert!(longest.matches("nlink").count() >= 2, "a tree after every step: {longest}");
}

#[test]
fn a_violation_that_is_gone_is_said_to_be_gone() {
    let (_scratch, files) = traces("model:link?writes=naive,files=1,blocks=2");
    let trace = fs::read_to_string(&files[0]).unwrap();
    fs::write(&files[0], trace.replace("writes=naive", "writes=ordered")).unwrap();
    assert_replay(&files[0], 0, "no longer violates");
}

#[test]
fn a_trace_that_does_not_fit_its_target_is_refused() {
    let (_scratch, files) = traces("model:philosophers?n=3");
    let trace = fs::read_to_string(&files[0]).unwrap();
    fs::write(&files[0], trace.replace("model:philosophers?n=3", "model:link")).unwrap();
    assert_replay(&files[0], 2, "this target has ops, not actions");
    fs::write(&files[0], trace.replace("model:philosophers", "model:nothing")).unwrap();
    assert_eq!(shakedown(&["replay", text(&files[0])]).code, Some(2));
}

#[test]
fn minimising_removes_what_does_not_matter() {
    let (scratch, files) = traces("model:link?writes=naive,files=2,blocks=3");
    let minimal: Value = serde_json::from_str(&fs::read_to_string(&files[1]).unwrap()).unwrap();
    assert_eq!(minimal["property"], "lost-block");
    // A file that has nothing to do with the violation.
    let mut longer = minimal.clone();
    let mut ops = vec![serde_json::from_str(r#"{"op": "create", "path": "/f1", "mode": 420}"#).unwrap()];
    ops.extend(minimal["ops"].as_array().unwrap().iter().cloned());
    longer["ops"] = ops.into();
    let mut schedule = vec![serde_json::json!({"run": {"op": 0}})];
    for a_move in minimal["schedule"].as_array().unwrap() {
        let mut a_move = a_move.clone();
        a_move["run"]["op"] = (a_move["run"]["op"].as_u64().unwrap() + 1).into();
        schedule.push(a_move);
    }
    longer["schedule"] = schedule.into();
    let file = scratch.path().join("longer.json");
    fs::write(&file, longer.to_string()).unwrap();

    let out = scratch.path().join("shorter.json");
    let ran = shakedown(&["replay", text(&file), "--minimise", "--out", text(&out)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let shorter: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(shorter["ops"].as_array().unwrap().len(), minimal["ops"].as_array().unwrap().len());
    assert_eq!(shakedown(&["replay", text(&out)]).code, Some(1), "it is a trace in its own right");
}

#[test]
fn a_trace_becomes_a_script() {
    let (_scratch, files) = traces("model:link?writes=naive,files=1,blocks=2");
    let sh = shakedown(&["replay", text(&files[0]), "--script", "sh"]);
    assert!(sh.stdout.starts_with("#!/bin/sh"), "{}", sh.stdout);
    let c = shakedown(&["replay", text(&files[0]), "--script", "c"]);
    assert!(c.stdout.contains("int main("), "{}", c.stdout);
}

/// There is no such kernel.
#[test]
fn a_script_needs_the_trace_and_not_its_target() {
    let (_scratch, files) = traces("model:link?writes=naive,files=1,blocks=2");
    let mut trace: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    trace["target"] = "guest:ntfs3?kernel=of-nobody".into();
    fs::write(&files[0], trace.to_string()).unwrap();
    let script = shakedown(&["replay", text(&files[0]), "--script", "sh"]);
    assert!(script.code == Some(0) && script.stdout.starts_with("#!/bin/sh"), "{script:?}");
    assert_eq!(shakedown(&["replay", text(&files[0])]).code, Some(2), "nobody executes it");
}

#[test]
fn a_trace_of_actions_is_seen_again_and_has_no_script() {
    let (_scratch, files) = traces("model:philosophers?n=3");
    assert_replay(&files[0], 1, "philosopher 2 takes the first fork");
    let script = shakedown(&["replay", text(&files[0]), "--script", "sh"]);
    assert_eq!(script.code, Some(2));
    assert!(script.stderr.contains("has no ops"), "{}", script.stderr);
}

#[test]
fn a_trace_of_actions_is_executed_and_not_looked_up() {
    let (_scratch, files) = traces("model:philosophers?n=3");
    let trace = fs::read_to_string(&files[0]).unwrap();
    fs::write(&files[0], trace.replace("n=3", "n=3,order=safe")).unwrap();
    // The last one finds another fork taken.
    assert_replay(&files[0], 2, "make move 3");

    let mut other: Value = serde_json::from_str(&trace).unwrap();
    // Nobody has moved, so the places are the philosophers: the last one takes a fork first.
    for (at, place) in [2, 0, 1].into_iter().enumerate() {
        other["schedule"][at]["act"]["action"] = place.into();
    }
    fs::write(&files[0], other.to_string()).unwrap();
    // Another way to the same deadlock.
    assert_replay(&files[0], 1, "1. philosopher 2 takes the first fork");

    other["schedule"][1]["act"]["action"] = 9.into();
    fs::write(&files[0], other.to_string()).unwrap();
    assert_replay(&files[0], 2, "make move 2");
}
