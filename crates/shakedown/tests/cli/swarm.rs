//! Swarms, by the program.

use std::{fs, process::Stdio, time::Duration};

use super::program::{command, from, shakedown, text};

#[test]
fn tasks_differ_and_are_merged() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("swarm");
    let wrong = "model:journal?flaw=grow-refused";
    let ran =
        shakedown(&["swarm", wrong, "--against", "ref", "--tasks", "3", "--depth", "3", "--json", "--out", text(&out)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let merged = ran.json();
    assert_eq!(merged["dead"], 0);
    let violations = merged["violations"].as_array().unwrap();
    assert_eq!((violations.len(), violations[0]["property"].as_str()), (1, Some("outcome")));
    assert_eq!(violations[0]["tasks"], serde_json::json!([1, 2, 3]));
    // All of them search the same small space to its end.
    assert_eq!(merged["overlap"], 1.0);
    assert!(merged["states_distinct"].as_u64().unwrap() > 10);
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(out.join("swarm.json")).unwrap()).unwrap();
    assert_eq!(kept, merged);
    assert!(out.join("tasks/003/summary.json").exists());
    let again = shakedown(&["replay", text(&out.join("traces/001.json"))]);
    assert_eq!(again.code, Some(1), "what a swarm found can be seen again: {again:?}");
    let told = shakedown(&["swarm", wrong, "--against", "ref", "--tasks", "2", "--depth", "3", "--out", text(&out)]);
    assert!(told.stdout.contains("See it again: shakedown replay"), "{}", told.stdout);
}

#[test]
fn a_swarm_whose_tasks_die_is_no_success() {
    let ran = shakedown(&["swarm", "model:cow", "--against", "ref", "--tasks", "2", "--ops", "unlnk"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("could not finish 2 of 2 tasks; task 1: error: could not use the ops"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("2 tasks died"), "{}", ran.stdout);
}

#[test]
fn an_interrupted_swarm_ends_all_its_tasks_and_says_what_they_found() {
    let mut swarm =
        command(&["swarm", "model:journal", "--against", "ref", "--tasks", "2", "--budget", "10m", "--json"]);
    let child = swarm.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let merged = ran.json();
    assert_eq!((&merged["interrupted"], &merged["dead"]), (&true.into(), &0.into()));
    assert!(merged["states"].as_u64().unwrap() > 0);
}
