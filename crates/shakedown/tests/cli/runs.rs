//! The folder of a run: what is in it, and how a run goes on that was cut short.

use std::{fs, path::Path, process::Stdio, time::Duration};

use serde_json::Value;

use super::program::{command, from, shakedown, text, violated};

const NAIVE: &str = "model:link?writes=naive";

/// Every file below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(text(path.strip_prefix(folder).unwrap()).to_owned());
            }
        }
    }
    found.sort();
    found
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

/// What must not depend on interruptions.
fn result(summary: &Value) -> Vec<Value> {
    let mut result = vec![summary["states"].clone(), summary["complete"].clone()];
    for violation in summary["violations"].as_array().unwrap() {
        result.extend([violation["property"].clone(), violation["count"].clone()]);
    }
    result
}

#[test]
fn a_finished_run_leaves_its_summary_and_its_traces() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deep/run");
    let ran = shakedown(&["check", NAIVE, "--json", "--out", text(&out)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(files(&out), ["summary.json", "traces/001.json", "traces/002.json"]);
    assert_eq!(summary(&out), ran.json());
    for (number, violation) in (1..).zip(summary(&out)["violations"].as_array().unwrap()) {
        assert_eq!(violation["trace"], format!("traces/00{number}.json"));
        let trace = fs::read_to_string(out.join(violation["trace"].as_str().unwrap())).unwrap();
        let trace: Value = serde_json::from_str(&trace).unwrap();
        assert_eq!(trace["property"], violation["property"]);
        assert!(trace["ops"].as_array().unwrap().len() <= 3, "minimised: {trace}");
    }

    let again = shakedown(&["check", "--resume", text(&out)]);
    assert_eq!(again.code, Some(1), "as the run found");
    assert!(again.stdout.contains("is finished"), "{}", again.stdout);

    let other = shakedown(&["check", "model:philosophers?order=safe", "--out", text(&out)]);
    assert_eq!(other.code, Some(0), "{other:?}");
    assert_eq!(files(&out), ["summary.json"], "an earlier run is replaced");
}

#[test]
fn a_run_that_was_cut_short_goes_on_to_the_same_end() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    let uninterrupted = shakedown(&["check", NAIVE, "--json"]).json();
    let first = shakedown(&["check", NAIVE, "--budget", "50states", "--out", out, "--json", "--threads", "1"]);
    let states = |ran: &super::program::Ran| ran.json()["states"].as_u64().unwrap();
    assert_eq!(first.json()["complete"], false);
    assert!(first.json()["limits_hit"].to_string().contains("50 states"), "{first:?}");
    assert!(files(scratch.path()).contains(&"search.checkpoint".to_owned()));

    let second = shakedown(&["check", "--resume", out, "--budget", "200states", "--json", "--threads", "1"]);
    assert!(states(&first) < states(&second) && states(&second) < uninterrupted["states"].as_u64().unwrap());
    let last = shakedown(&["check", "--resume", out, "--json"]);
    assert_eq!(result(&last.json()), result(&uninterrupted));
    assert_eq!(last.json()["resumed"], 2);
    assert!(last.json()["seconds"].as_f64() > second.json()["seconds"].as_f64(), "all parts count");
    assert_eq!(files(scratch.path()), ["summary.json", "traces/001.json", "traces/002.json"]);
}

/// A summary of a run that was begun before these keys were there.
#[test]
fn a_run_of_an_earlier_build_is_known_as_finished() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    shakedown(&["check", "model:link", "--depth", "2", "--out", out]);
    let file = scratch.path().join("summary.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for newer in ["shuffle", "kernel"] {
        assert!(summary.as_object_mut().unwrap().remove(newer).is_some(), "{newer}");
    }
    fs::write(&file, summary.to_string()).unwrap();
    let resumed = shakedown(&["check", "--resume", out]);
    assert!(resumed.stdout.contains("is finished"), "{resumed:?}");
}

/// A run that is killed leaves the checkpoint of some moment, and of an earlier part its summary and its traces.
#[test]
fn a_run_that_was_killed_goes_on_from_its_checkpoint() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    let plan = ["check", NAIVE, "--crash", "subsets", "--depth", "6", "--threads", "1", "--json"];
    let uninterrupted = shakedown(&plan).json();
    let first = shakedown(&[&plan[..], &["--out", out, "--budget", "40states"]].concat()).json();
    let kept = fs::read(scratch.path().join("summary.json")).unwrap();
    // The first part is killed after this, and the second one after it was saved once more.
    fs::remove_file(scratch.path().join("summary.json")).unwrap();
    fs::remove_dir_all(scratch.path().join("traces")).unwrap();
    let second = shakedown(&["check", "--resume", out, "--threads", "1", "--budget", "80states", "--json"]).json();
    assert_eq!((&first["resumable"], &second["resumable"]), (&true.into(), &true.into()));
    fs::write(scratch.path().join("summary.json"), kept).unwrap();
    fs::write(scratch.path().join("search.part"), "half").unwrap();

    let last = shakedown(&["check", "--resume", out, "--threads", "1", "--json"]).json();
    assert_eq!(result(&last), result(&uninterrupted));
    for key in ["states_revisited", "ops", "crash_states", "depth", "limits_hit"] {
        assert_eq!(last[key], uninterrupted[key], "{key}");
    }
    assert_eq!(last["resumed"], 2);
    assert!(last["seconds"].as_f64() > second["seconds"].as_f64(), "all parts count");
    let is_of_search = |file: &String| file.starts_with("search.");
    assert!(!files(scratch.path()).iter().any(is_of_search), "{:?}", files(scratch.path()));
}

/// The end of a search is written before its checkpoint is removed: a kill in between leaves both.
#[test]
fn a_run_that_ended_stays_ended() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    let checkpoint = scratch.path().join("search.checkpoint");
    shakedown(&["check", NAIVE, "--budget", "50states", "--out", out]);
    let saved = fs::read(&checkpoint).unwrap();
    shakedown(&["check", "--resume", out]);
    fs::write(&checkpoint, saved).unwrap();
    let again = shakedown(&["check", "--resume", out]);
    assert!(again.stdout.contains("is finished"), "{again:?}");
}

/// Making waiting states and violations again is not work that a run has done.
#[test]
fn what_is_done_again_to_resume_is_not_counted() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    let plan = ["check", "model:cow?flaw=no-barrier", "--crash", "subsets", "--depth", "3", "--threads", "1", "--json"];
    let uninterrupted = shakedown(&plan).json();
    assert_eq!(uninterrupted["complete"], true);
    shakedown(&[&plan[..], &["--out", out, "--budget", "60states"]].concat());
    shakedown(&["check", "--resume", out, "--budget", "120states", "--threads", "1", "--json"]);
    let resumed = shakedown(&["check", "--resume", out, "--threads", "1", "--json"]).json();
    assert_eq!(resumed["resumed"], 2);
    for key in ["states", "states_revisited", "ops", "crash_states"] {
        assert_eq!(resumed[key], uninterrupted[key], "{key}");
    }
    let recoveries = |run: &Value| run["recoveries"].as_u64().unwrap() + run["recoveries_memoised"].as_u64().unwrap();
    assert_eq!(recoveries(&resumed), recoveries(&uninterrupted));
}

#[test]
fn a_limit_of_an_earlier_part_is_not_forgotten() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    let plan = ["--crash", "subsets", "--crash-states", "1", "--depth", "4"];
    let start = ["check", "model:link?files=1,blocks=3", "--budget", "4states", "--out", out, "--json"];
    let first = shakedown(&[&start[..], &plan].concat()).json();
    let sampled = first["positions_sampled"].as_u64().unwrap();
    assert!(sampled > 0, "{first}");
    let last = shakedown(&["check", "--resume", out, "--json"]).json();
    assert!(last["positions_sampled"].as_u64().unwrap() >= sampled);
    assert_eq!(last["complete"], false, "what was sampled once was not exhausted: {last}");
    assert_eq!(last["resumable"], false);
    assert!(!scratch.path().join("search.checkpoint").exists());
}

#[test]
fn random_walks_cannot_be_resumed() {
    let scratch = tempfile::tempdir().unwrap();
    let out = text(scratch.path());
    shakedown(&["check", "model:philosophers", "--search", "random", "--budget", "9states", "--out", out]);
    let ran = shakedown(&["check", "--resume", out]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("another seed"), "{}", ran.stderr);
}

#[test]
fn an_interrupted_run_ends_with_its_summary_and_can_be_resumed() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    // Far too large to end by itself.
    let mut command = command(&["check", "model:philosophers?n=20,order=safe", "--json", "--out", text(&out)]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Signals are watched for before the folder is made.
    while !out.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Twice, as `timeout` does.
    let pid = child.id();
    let twice = format!("kill -INT {pid} && {{ sleep 0.01; kill -INT {pid}; true; }}");
    let kill = std::process::Command::new("sh").args(["-c", &twice]).status().unwrap();
    assert!(kill.success());
    let ran = from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let summary = ran.json();
    assert_eq!(summary["limits_hit"], serde_json::json!(["interrupted"]));
    assert_eq!(violated(&summary), Vec::<&str>::new());
    assert_eq!(files(&out), ["search.checkpoint", "summary.json"]);

    let more = summary["states"].as_u64().unwrap() + 1000;
    let budget = format!("{more}states");
    let resumed = shakedown(&["check", "--resume", text(&out), "--budget", &budget, "--json"]);
    assert!(resumed.json()["states"].as_u64().unwrap() >= more, "{resumed:?}");
}
