//! Swarms, by the program.

use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

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
    let swarm = Swarm::start(Path::new("/tmp"));
    swarm.tasks().into_iter().for_each(|task| kill_process(task, Signal::KILL).unwrap());
    let ran = from(swarm.0.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let said = "could not finish 2 of 2 tasks; task 1: signal: 9";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stdout.contains("2 tasks died"), "{}", ran.stdout);
}

#[test]
fn nothing_is_left_of_a_swarm_that_is_killed() {
    let scratch = tempfile::tempdir().unwrap();
    let mut swarm = Swarm::start(scratch.path());
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "its tasks have a folder");
    swarm.0.kill().unwrap();
    swarm.0.wait().unwrap();
    let begun = Instant::now();
    while fs::read_dir(scratch.path()).unwrap().count() > 0 {
        assert!(begun.elapsed() < Duration::from_mins(1), "its tasks remove the folder when they end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A swarm that ends only when it is made to.
struct Swarm(Child);

impl Swarm {
    /// With its folder among these temporary files, and its two tasks under way.
    fn start(temporary: &Path) -> Self {
        let arguments = ["swarm", "model:journal", "--against", "ref", "--tasks", "2", "--budget", "10m"];
        let child = command(&arguments).env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let swarm = Self(child.unwrap());
        let begun = Instant::now();
        while swarm.tasks().len() < 2 {
            assert!(begun.elapsed() < Duration::from_mins(1), "it starts its tasks");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Until each knows whose task it is.
        std::thread::sleep(Duration::from_secs(1));
        swarm
    }

    fn tasks(&self) -> Vec<Pid> {
        let id = self.0.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
    }
}

#[test]
fn what_every_task_would_refuse_is_refused_in_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    let [malformed, unusable] = ["[ops", "[ops]\nmsync = 1\n"].map(|weights| {
        let file = scratch.path().join(format!("{}.toml", weights.len()));
        fs::write(&file, weights).unwrap();
        text(&file).to_owned()
    });
    let cases: [(&[&str], &str); 5] = [
        (&["--ops", "unlnk"], "could not use the ops"),
        (&["--ops", &malformed], &malformed),
        (&["--ops", &unusable], "not all has msync"),
        (&["--budget", "1s,2s"], "it bounds the time twice"),
        (&["--crash", "kill"], "no command serves it that could be killed"),
    ];
    for (more, expected) in cases {
        let ran = shakedown(&[&["swarm", "model:cow", "--against", "ref", "--tasks", "2"], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{more:?}: {ran:?}");
        assert!(ran.stderr.lines().count() == 1 && ran.stderr.contains(expected), "{more:?}: {}", ran.stderr);
    }
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
