//! The README is true: its commands are run and print what it says, and its Rust example is one that is tested.

use std::{env, fs};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const EXPLORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../explore/src/lib.rs");

/// The blocks of code in a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    text.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_command_prints_what_the_readme_says() {
    let readme = fs::read_to_string(README).unwrap();
    assert!(blocks(&readme, "console").len() > 3, "the commands stand in `console` blocks");
    // Later commands use what earlier ones leave in the folder of the run.
    let scratch = tempfile::tempdir().unwrap();
    env::set_current_dir(scratch.path()).unwrap();
    trycmd::TestCases::new().case(README).run();
}

#[test]
fn the_rust_example_is_the_tested_one() {
    let source = fs::read_to_string(EXPLORE).unwrap();
    let comments: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let readme = fs::read_to_string(README).unwrap();
    let [example] = blocks(&readme, "rust")[..] else { panic!("the README has one example in Rust") };
    let documented = unindented(comments);
    assert!(
        documented.contains(&unindented(example.lines())),
        "the README's example is not that of explore:\n{example}"
    );
}

fn unindented<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().map(str::trim_start).collect::<Vec<_>>().join("\n")
}
