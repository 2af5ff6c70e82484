//! `characterise`: each column has a target that breaks it and one that does not.

use std::fs;

use serde_json::Value;

use super::program::{shakedown, text};

/// A target that breaks a column, and what it has in every column: held, broken, or not measured.
const WRONG: [(&str, &str, &str); 6] = [
    ("recovers", "model:cow?flaw=no-barrier", "✗-✓✓✓✓✓-✓✓✓-"),
    ("sync", "model:cow?flaw=super-not-flushed", "✗-✗✗✗✗✗-✓✓✓-"),
    ("fsync-name", "model:cow?flaw=log-one-name", "✗-✓✓✗✓✓-✓✗✗-"),
    ("rename", "model:cow?flaw=log-forgets-rename", "✗-✓✓✓✓✓-✗✗✗-"),
    ("ordered", "model:f2fs", "✓-✓✓✓✓✓-✓✗✗-"),
    ("fast-is-full", "model:journal?flaw=fsck-skips-inodes", "✓-✓✓✓✓✓-✓✓✗✗"),
];

/// Targets that keep what can be measured of them, but for what they do not promise.
const RIGHT: [(&str, &str); 5] = [
    ("model:cow", "✓-✓✓✓✓✓-✓✓✓-"),
    ("model:f2fs?fsync=checkpoint", "✓-✓✓✓✓✓-✓✓✓-"),
    ("model:journal", "✓-✓✓✓✓✓-✓✓✗✓"),
    ("model:journal?data=journal", "✓-✓✓✓✓✓-✓✓✓✓"),
    ("lib:littlefs?dirs=0", "✓✓✓-----✓✓✓-"),
];

/// The table of some targets, and a mark for each cell of each row.
fn table(targets: &[&str]) -> (Option<i32>, Value, Vec<String>) {
    let ran = shakedown(&[&["characterise", "--json"], targets].concat());
    let json = ran.json();
    let columns: Vec<&str> =
        json["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    let mark = |cell: &Value| match cell["held"].as_bool() {
        Some(true) => '✓',
        Some(false) => '✗',
        None => '-',
    };
    let row = |row: &Value| columns.iter().map(|column| mark(&row["cells"][column])).collect::<String>();
    let marks = json["rows"].as_array().unwrap().iter().map(row).collect();
    (ran.code, json.clone(), marks)
}

#[test]
fn what_is_wrong_breaks_its_column() {
    let (code, json, marks) = table(&WRONG.map(|(_, target, _)| target));
    assert_eq!(code, Some(1));
    for (((column, target, expected), found), row) in WRONG.iter().zip(&marks).zip(json["rows"].as_array().unwrap()) {
        assert_eq!(found, expected, "{target}");
        let cell = &row["cells"][column];
        assert_eq!(cell["held"], false, "{target} {column}");
        assert!(!cell["ops"].as_array().unwrap().is_empty() && cell["detail"].is_string(), "{cell}");
    }
}

#[test]
fn what_is_right_keeps_what_it_promises() {
    let (code, json, marks) = table(&RIGHT.map(|(target, _)| target));
    assert_eq!(code, Some(0), "a promise that was never made cannot be broken");
    assert_eq!(marks, RIGHT.map(|(_, expected)| expected));
    for cell in json["rows"].as_array().unwrap().iter().flat_map(|row| row["cells"].as_object().unwrap().values()) {
        match cell["held"].as_bool() {
            Some(true) => assert!(cell["crash_states"].as_u64().unwrap() > 0, "{cell}"),
            Some(false) => assert_eq!(cell["promised"], false, "{cell}"),
            None => assert!(!cell["why"].as_str().unwrap().is_empty(), "{cell}"),
        }
    }
}

#[test]
fn a_counterexample_is_kept_told_and_replayed() {
    let scratch = tempfile::tempdir().unwrap();
    let (out, page) = (scratch.path().join("table"), scratch.path().join("table.html"));
    let target = "model:cow?flaw=log-forgets-rename";
    let ran = shakedown(&["characterise", target, "--explain", "rename", "--out", text(&out), "--html", text(&page)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("rename of {target}\n\n   1. create(")), "{}", ran.stdout);
    let trace = out.join("traces/model-cow-flaw-log-forgets-rename-rename.json");
    assert!(ran.stdout.contains(&format!("See it again: shakedown replay {}", text(&trace))), "{}", ran.stdout);
    let again = shakedown(&["replay", text(&trace)]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("Broken: rename (critical)"), "{}", again.stdout);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<details") && page.contains("~~~~ power cut ~~~~"));
    assert!(!page.contains("<script") && !page.contains("http"), "it needs nothing else");
    let kept: Value = serde_json::from_str(&fs::read_to_string(out.join("characterise.json")).unwrap()).unwrap();
    assert_eq!(kept["rows"][0]["cells"]["rename"]["trace"], text(&trace));
}

#[test]
fn the_figures_are_the_same_every_time() {
    let measured = |threads: &str| {
        let json = shakedown(&["characterise", "model:f2fs", "--json", "--threads", threads]).json();
        let figures = |cell: &Value| [&cell["held"], &cell["crash_states"], &cell["broken"]].map(Clone::clone);
        let cells = json["rows"][0]["cells"].as_object().unwrap();
        (json["rows"][0]["crash_states"].clone(), cells.values().map(figures).collect::<Vec<_>>())
    };
    assert_eq!(measured("1"), measured("3"));
}

/// On the kernel that we run on too, whose clocks decide what else is written. As root alone; others are told what is
/// missing.
#[test]
fn a_file_system_of_the_host_is_measured() {
    let ran = shakedown(&["characterise", "host:ext2", "--depth", "0", "--crash", "flushed", "--json"]);
    if ran.code == Some(2) && std::env::var_os("CI").is_none() {
        assert!(ran.stderr.contains("mount a file system on this machine"), "{ran:?}");
        return;
    }
    let row = &ran.json()["rows"][0];
    assert_eq!(row["cells"]["recovers"]["held"], true, "{row}");
    assert!(row["workloads"].as_u64().unwrap() > 50 && row["crash_states"].as_u64().unwrap() > 50, "{row}");
}

#[test]
fn nonsense_is_refused() {
    let cases: [(&[&str], &str); 3] = [
        (&["characterise", "model:link"], "its files are its own to choose"),
        (&["characterise", "model:cow", "--explain", "renam"], "there is no such column; the nearest is \"rename\""),
        (&["characterise"], "<TARGET>"),
    ];
    for (arguments, hint) in cases {
        let ran = shakedown(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(hint), "{}", ran.stderr);
    }
}
