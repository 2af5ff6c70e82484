//! What `check` finds, and how it says so to programs.

use std::process::Stdio;

use serde_json::Value;

use super::program::{command, from, shakedown, violated};

/// The keys that are promised to users.
const KEYS: [&str; 23] = [
    "against",
    "bytes_per_state",
    "complete",
    "crash_states",
    "crash_states_distinct",
    "depth",
    "input_coverage",
    "kernel",
    "limits_hit",
    "ops",
    "ops_per_second",
    "peak_memory_bytes",
    "recoveries",
    "recoveries_memoised",
    "search",
    "seconds",
    "seed",
    "states",
    "states_per_second",
    "states_revisited",
    "target",
    "version",
    "workloads",
];

#[test]
fn the_naive_order_loses_blocks_and_contents() {
    let ran = shakedown(&["check", "model:link?writes=naive", "--crash", "prefix", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let summary = ran.json();
    for property in ["lost-block", "contents"] {
        assert!(violated(&summary).contains(&property), "{property} in {summary}");
    }
    assert_eq!(summary["complete"], true);
    for violation in summary["violations"].as_array().unwrap() {
        assert_eq!(violation["severity"], "critical");
        assert!(violation["count"].as_u64().unwrap() > 0);
        assert!(!violation["trace"]["ops"].as_array().unwrap().is_empty(), "the trace itself, without --out");
    }
}

#[test]
fn one_flush_at_the_end_of_an_op_is_enough_for_a_disk_that_loses_its_cache_as_a_whole() {
    let ran = shakedown(&["check", "model:link?writes=cached", "--crash", "flushed", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let summary = ran.json();
    assert_eq!(summary["complete"], true);
    assert_eq!(violated(&summary), Vec::<&str>::new());
    assert_eq!(summary["limits_hit"], Value::Array(Vec::new()));
}

#[test]
fn the_summary_has_every_promised_key_and_nothing_stands_beside_it() {
    let ran = shakedown(&["check", "model:link?files=1,blocks=2", "--json", "--seed", "7"]);
    assert_eq!(ran.stderr, "");
    let summary = ran.json();
    for key in KEYS {
        assert!(summary.get(key).is_some(), "{key} in {summary}");
    }
    assert_eq!(summary["target"], "model:link?files=1,blocks=2");
    assert_eq!(summary["seed"], 7);
    assert_eq!(summary["search"], "bfs");
    assert!(summary["peak_memory_bytes"].as_u64().unwrap() > 1 << 20, "a process has more than a megabyte");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let result = |threads| {
        let ran = shakedown(&["check", "model:index?writes=naive,files=2,blocks=4", "--threads", threads, "--json"]);
        let summary = ran.json();
        let counts = |violation: &Value| (violation["property"].clone(), violation["count"].clone());
        let violations: Vec<_> = summary["violations"].as_array().unwrap().iter().map(counts).collect();
        (ran.code, summary["states"].clone(), summary["complete"].clone(), violations)
    };
    assert_eq!(result("1"), result("2"));
}

#[test]
fn philosophers_deadlock_unless_one_of_them_differs() {
    let left = shakedown(&["check", "model:philosophers?n=5,order=left", "--json"]);
    assert_eq!((left.code, violated(&left.json())), (Some(1), vec!["deadlock"]));
    assert_eq!(left.json()["states"], 242, "3^5 - 1");
    let safe = shakedown(&["check", "model:philosophers?n=5,order=safe", "--json"]);
    assert_eq!((safe.code, violated(&safe.json())), (Some(0), Vec::new()));
    let naive = shakedown(&["check", "model:philosophers?order=naive", "--json"]);
    assert_eq!(violated(&naive.json()), ["deadlock"], "another word for left");
}

#[test]
fn what_was_cut_off_or_sampled_is_said() {
    let small = "model:link?files=1,blocks=3";
    let limits = |arguments: &[&str]| {
        let summary = shakedown(&[&["check", small, "--json"], arguments].concat()).json();
        (summary["complete"].as_bool().unwrap(), summary["limits_hit"].to_string())
    };
    let (complete, said) = limits(&["--depth", "2"]);
    assert!(complete && said.contains("depth 2"), "{said}");
    let (complete, said) = limits(&["--visited", "hash"]);
    assert!(!complete && said.contains("omitted"), "{said}");
    let (complete, said) = limits(&["--visited", "bitstate", "--bitstate-bits", "20"]);
    assert!(!complete && said.contains("omitted"), "{said}");
    let (complete, said) = limits(&["--search", "random", "--budget", "5states,10s"]);
    assert!(!complete && said.contains("sample"), "{said}");
    let (complete, said) = limits(&["--crash", "subsets", "--crash-states", "1"]);
    assert!(!complete && said.contains("over 1 crash states"), "{said}");
}

#[test]
fn the_first_violation_is_enough_if_asked() {
    let arguments = ["check", "model:link?writes=naive", "--until-violation", "--threads", "1", "--json"];
    let summary = shakedown(&arguments).json();
    assert_eq!(summary["complete"], false);
    assert!(summary["limits_hit"].to_string().contains("first violation"), "{summary}");
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let mut child = command(&["targets"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn targets_are_listed_with_their_options_and_promises() {
    let ran = shakedown(&["targets", "--json"]);
    assert_eq!(ran.code, Some(0));
    let listed = ran.json();
    let targets = listed["targets"].as_array().unwrap();
    let names: Vec<_> = targets.iter().map(|target| target["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["model:link", "model:index", "model:philosophers"]);
    assert_eq!(names[3..6], ["model:f2fs", "model:cow", "model:journal"]);
    assert_eq!(names[6..9], ["lib:littlefs", "lib:fatfs", "lib:ext4"]);
    let others: Vec<_> = names[9..].iter().filter(|name| !name.starts_with("guest:")).collect();
    assert_eq!((names[9], names.len() - 9 - others.len()), ("guest:ext2", 18));
    assert_eq!(others[..5], ["host:ext2", "host:ext3", "host:ext4", "host:xfs", "host:btrfs"].each_ref());
    assert_eq!(others[5..], [&"fuse", &"ref"]);
    assert_eq!(targets[0]["contract"], "mountable");
    assert_eq!(targets[2]["contract"], Value::Null);
    assert_eq!(targets[0]["options"][0]["values"], "naive|cached|ordered|barrier");
    assert_eq!(targets[0]["options"][0]["default"], "ordered");
    let text = shakedown(&["targets"]).stdout;
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}
