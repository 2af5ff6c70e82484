//! Targets against each other, by the program.

use std::fs;

use super::program::{shakedown, text, violated};

#[test]
fn right_models_agree_with_each_other_and_with_the_reference() {
    let ran =
        shakedown(&["check", "model:journal", "--against", "model:cow", "--against", "ref", "--depth", "4", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let summary = ran.json();
    assert_eq!(summary["against"], serde_json::json!(["model:cow", "ref"]));
    assert_eq!(summary["equality"], "tree");
    assert!(summary["ops"].as_u64().unwrap() > 100);
}

#[test]
fn a_wrong_side_is_named_its_trace_replayed_and_written_as_a_script() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let wrong = "model:journal?flaw=grow-refused";
    let ran =
        shakedown(&["check", "model:cow", "--against", wrong, "--against", "ref", "--depth", "3", "--out", text(&out)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("the odd one out, and succeeded on model:cow and ref"), "{}", ran.stdout);
    let trace = out.join("traces/001.json");
    let saved = fs::read_to_string(&trace).unwrap();
    assert!(saved.contains("\"version\": 2") && saved.contains("\"against\""), "{saved}");
    let replayed = shakedown(&["replay", text(&trace)]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.stdout.starts_with("outcome of model:cow?"), "{}", replayed.stdout);
    let script = shakedown(&["replay", text(&trace), "--script", "sh"]);
    assert_eq!(script.code, Some(0));
    assert!(script.stdout.contains("truncate"), "{}", script.stdout);
}

/// The reference as it is mounted, against the running kernel. It lives in memory, so nothing of it survives a remount.
/// As root alone; others are told what is missing.
#[test]
fn the_mounted_reference_does_what_ext4_does() {
    let mounted = format!("fuse:\"{} mount {{mnt}}\"", env!("CARGO_BIN_EXE_shakedown"));
    let sides = ["check", &mounted, "--against", "host:ext4"];
    for (ops, depth) in [("all,-remount", "2"), ("create,write,fallocate", "3")] {
        let ran = shakedown(&[&sides[..], &["--ops", ops, "--depth", depth, "--json"]].concat());
        if ran.code == Some(2) && std::env::var_os("CI").is_none() {
            assert!(ran.stderr.contains("mount a file system on this machine"), "{ran:?}");
            return;
        }
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.json()["ops"].as_u64().unwrap() > 10);
    }
}

/// Two errors of this library have changed places.
#[test]
fn a_library_that_fails_in_another_way_is_the_odd_one_out() {
    let scratch = tempfile::tempdir().unwrap();
    let ops = scratch.path().join("ops");
    fs::write(&ops, "create(\"/f\")\nmkdir(\"/d\")\nrename(\"/f\", \"/d\")\n").unwrap();
    let sides = ["check", "lib:ext4", "--against", "model:journal", "--against", "ref"];
    let ran = shakedown(&[&sides[..], &["--ops", text(&ops), "--json"]].concat());
    let summary = ran.json();
    assert_eq!(violated(&summary), ["outcome"]);
    let detail = summary["violations"][0]["trace"]["detail"].as_str().unwrap();
    assert!(detail.contains("failed with ENOTDIR on lib:ext4, the odd one out, and failed with EISDIR"), "{detail}");
}

const WEIGHTS: &str = "[ops]\nopen = 1\ncreate = 1\nwrite = 3\nunlink = 1\nremount = 0.2\n";

#[test]
fn weights_are_drawn_by_and_what_came_of_them_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("weights.toml");
    fs::write(&file, WEIGHTS).unwrap();
    let sides = ["check", "ref", "--against", "ref", "--ops", text(&file), "--threads", "1", "--json"];
    // A search does few ops from an empty tree, and most writes in it end at a file that is missing.
    let searches = [
        (["--search", "random", "--budget", "3000states"], 300, 0.8),
        (["--depth", "4", "--budget", "3000states"], 3, 3.5),
    ];
    for (more, values_min, variation_max) in searches {
        let ran = shakedown(&[&sides[..], &more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let summary = ran.json();
        let coverage = summary["input_coverage"].as_array().unwrap();
        let lengths = coverage.iter().find(|one| one["op"] == "write" && one["argument"] == "len").unwrap();
        assert!(lengths["values"].as_u64().unwrap() > values_min, "{lengths}");
        let variation = lengths["coefficient_of_variation"].as_f64().unwrap();
        assert!(variation < variation_max, "{lengths}");
        assert_eq!(summary["weights"], WEIGHTS);
        let again = shakedown(&[&sides[..], &more].concat()).json();
        assert_eq!(again["input_coverage"], summary["input_coverage"], "the same seed draws the same");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("weights.toml");
    fs::write(&file, "[ops]\nsymlink = 1\n").unwrap();
    let weights = text(&file);
    let cases: [(&[&str], &str); 7] = [
        (&["ref"], "could not check ref alone"),
        (&["model:cow", "--against", "ref", "--crash", "prefix"], "run undisturbed"),
        (&["model:cow", "--against", "ref", "--faults", "1"], "run undisturbed"),
        (&["model:cow", "--against", "ref", "--equality", "shape"], "told apart by tree or full"),
        (
            &["model:cow", "--against", "model:philosophers"],
            "could not compare model:philosophers with anything: it has",
        ),
        (&["model:cow", "--against", "rfe"], "there is no such target; the nearest is \"ref\""),
        (&["model:cow", "--against", "ref", "--ops", weights], "not all has symlink"),
    ];
    for (arguments, expected) in cases {
        let ran = shakedown(&[&["check"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_cut_comparison_is_resumed_with_the_same_sides() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let cut =
        ["check", "model:journal", "--against", "ref", "--depth", "4", "--budget", "50states", "--out", text(&out)];
    assert_eq!(shakedown(&cut).code, Some(0));
    let whole = shakedown(&["check", "model:journal", "--against", "ref", "--depth", "4", "--json"]).json();
    let resumed = shakedown(&["check", "--resume", text(&out), "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(resumed.json()["against"], serde_json::json!(["ref"]));
    assert_eq!(resumed.json()["states"], whole["states"]);
}
