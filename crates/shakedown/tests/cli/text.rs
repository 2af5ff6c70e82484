//! What a person reads, as a whole, with what differs from run to run blotted out.

use super::program::{shakedown, text};

/// Blots out measurements and the folder's name; counts are golden elsewhere.
fn redacted(output: &str, folder: &str) -> String {
    let redact = |line: &str| {
        let row = ["states", "ops", "crash states", "recoveries", "memory", "time"];
        let is_row = |name: &&&str| line.strip_prefix("  ").is_some_and(|line| line.starts_with(**name));
        if let Some(name) = row.iter().find(is_row) {
            return format!("  {name}: [...]");
        }
        match line.split_once("),") {
            Some((property, times)) if times.ends_with("times") => format!("{property}), [...] times"),
            _ => line.to_owned(),
        }
    };
    let lines: Vec<String> = output.lines().map(|line| redact(line).replace(folder, "[DIR]")).collect();
    lines.join("\n").replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}

#[test]
fn a_counterexample_is_told_as_a_person_would() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = text(scratch.path());
    let target = "model:link?writes=naive,files=1,blocks=2";
    let ran = shakedown(&["check", target, "--threads", "1", "--out", folder]);
    assert_eq!(ran.stderr, "", "a quick search has no progress to report");
    insta::assert_snapshot!("violations", redacted(&ran.stdout, folder));
}

#[test]
fn a_search_that_was_cut_short_says_what_that_means() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = text(scratch.path());
    let arguments =
        ["check", "model:philosophers?order=safe", "--threads", "1", "--budget", "9states,1h", "--out", folder];
    insta::assert_snapshot!("cut_short", redacted(&shakedown(&arguments).stdout, folder));
}

#[test]
fn help_has_examples() {
    let verbs: [&[&str]; 9] = [
        &[],
        &["check"],
        &["replay"],
        &["targets"],
        &["zoo"],
        &["characterise"],
        &["mount"],
        &["swarm"],
        &["kernel", "build"],
    ];
    for arguments in &verbs.map(|verb| [verb, &["--help"]].concat()) {
        let ran = shakedown(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}");
        assert!(ran.stdout.contains("Example"), "{arguments:?}: {}", ran.stdout);
    }
    for later in ["cover", "guard"] {
        assert!(!shakedown(&["--help"]).stdout.contains(&format!("  {later}")), "{later} does not exist yet");
    }
    assert_eq!(shakedown(&["--version"]).stdout, format!("shakedown {}\n", env!("CARGO_PKG_VERSION")));
}
