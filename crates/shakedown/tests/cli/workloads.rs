//! Sets of workloads: where they come from, what becomes of them, and what is said of those that cannot be used.

use std::fs;

use serde_json::Value;

use super::program::{Ran, shakedown, text, violated};

fn check(arguments: &[&str]) -> Ran {
    shakedown(&[&["check"], arguments, &["--json"]].concat())
}

fn names(violation: &Value) -> Vec<&str> {
    violation["workloads"]["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn the_corpus_is_silent_where_nothing_is_wrong_and_says_what_it_left_out() {
    let ran = check(&["model:cow?log=on", "--ops", "corpus", "--crash", "prefix"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let summary = ran.json();
    let workloads = |key: &str| summary["workloads"][key].as_u64().unwrap();
    assert_eq!(workloads("generated"), workloads("distinct"));
    assert_eq!(workloads("finished") + workloads("left_out"), workloads("distinct"), "{}", summary["workloads"]);
    assert!(workloads("finished") > 15 && workloads("left_out") > 5, "{}", summary["workloads"]);
    let limits = summary["limits_hit"].to_string();
    assert!(limits.contains("workloads were left out: the target has no") && limits.contains("fallocate"), "{limits}");
    assert_eq!(summary["search"], "dfs");
    assert_eq!(summary["continue_after_crash"], false);
}

#[test]
fn a_violation_names_its_workloads() {
    let summary = check(&["model:cow?flaw=log-one-name", "--ops", "corpus", "--crash", "subsets"]).json();
    let found = summary["violations"].as_array().unwrap();
    let pinned = found.iter().find(|violation| violation["property"] == "pinned-name").unwrap();
    let names = names(pinned);
    assert!(["crashmonkey-05", "crashmonkey-07", "generic-104"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains(&"generic-322"), "{names:?}");
    assert_eq!(pinned["workloads"]["count"], names.len());
    assert!(names.contains(&pinned["trace"]["workload"].as_str().unwrap()), "{}", pinned["trace"]);
    let one = check(&["model:cow?flaw=log-one-name", "--ops", "corpus:crashmonkey-07", "--crash", "subsets"]).json();
    assert!(violated(&one).contains(&"pinned-name"));
    assert_eq!((one["workloads"]["distinct"].as_u64(), &one["search"]), (Some(1), &Value::from("bfs")));
}

#[test]
fn files_and_folders_hold_workloads_of_either_form() {
    let scratch = tempfile::tempdir().unwrap();
    let several = scratch.path().join("several.txt");
    fs::write(&several, "--- one\ncreate(\"/a\")\nsync()\n--- two\ncreate(\"/a\")\nfsync(\"/a\")\n").unwrap();
    let summary = check(&["model:journal", "--ops", text(&several)]).json();
    assert_eq!(summary["workloads"]["finished"], 2);
    assert_eq!(summary["ops"], 3, "what they begin with is done once");
    fs::write(scratch.path().join("j-lang1"), "# define\nA\n\n# run\nmkdir A 0755\nsync\ncheckpoint 1\n").unwrap();
    let summary = check(&["model:journal", "--ops", text(scratch.path())]).json();
    assert_eq!((&summary["workloads"]["distinct"], &summary["workloads"]["finished"]), (&3.into(), &3.into()));
}

#[test]
fn a_run_that_was_cut_short_goes_on_with_its_workloads() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let begun = check(&["model:cow?log=on", "--ops", "corpus", "--budget", "20states", "--out", text(&out)]).json();
    assert_eq!(begun["complete"], false);
    let resumed = check(&["--resume", text(&out)]).json();
    let workloads = |key: &str| resumed["workloads"][key].as_u64().unwrap();
    // What was cut short in the middle of an op is done again.
    assert!(workloads("finished") + workloads("left_out") >= workloads("distinct"), "{}", resumed["workloads"]);
    assert!(workloads("finished") > begun["workloads"]["finished"].as_u64().unwrap(), "{}", resumed["workloads"]);
}

#[test]
fn what_cannot_be_used_is_named_with_file_and_line() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, content).unwrap();
        text(&path).to_owned()
    };
    let cases = [
        (file("several.txt", "--- one\nsync()\n--- two\nsink()\n"), "several.txt: read line 4"),
        (
            file("j-lang", "# define\nfoo\n# run\nfsync foo\n"),
            "j-lang: read line 4 of the workload: \"/foo\" is not open",
        ),
        (file("empty.txt", "--- nothing\n"), "the workload \"nothing\" has no ops"),
        ("ace-seq4".to_owned(), "the nearest is \"ace-seq"),
        ("corpus:generic-32".to_owned(), "the nearest is \"generic-32"),
        (text(tempfile::tempdir().unwrap().path()).to_owned(), "no op"),
    ];
    for (given, expected) in cases {
        let ran = shakedown(&["check", "model:cow", "--ops", &given]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected} in: {}", ran.stderr);
    }
}
