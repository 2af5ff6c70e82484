//! `cargo xtask ci`: everything that has to hold before a change is taken, in the order in which it fails fastest.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::shakedown::Shakedown;
use crate::workspace::{Metadata, cargo};
use crate::{main_job, process, setup, tests};

struct Step {
    title: &'static str,
    run: fn() -> Result<()>,
    /// What a person runs to see or repair just this step.
    remedy: &'static str,
}

const STEPS: [Step; 13] = [
    Step {
        title: "formatting",
        run: || process::run(cargo().args(["fmt", "--all", "--check"])),
        remedy: "cargo fmt --all",
    },
    Step {
        title: "clippy",
        run: || process::run(cargo().args(CLIPPY)),
        remedy: "cargo clippy --workspace --all-targets",
    },
    Step { title: "layering", run: || house_rule("layering"), remedy: "cargo test -p xtask --test layering" },
    Step { title: "tidy", run: || house_rule("tidy"), remedy: "cargo test -p xtask --test tidy" },
    Step { title: "licences", run: || house_rule("licences"), remedy: "cargo test -p xtask --test licences" },
    Step { title: "advisories", run: advisories, remedy: "cargo deny check" },
    Step { title: "set-up", run: setup::run, remedy: "cargo xtask setup" },
    Step { title: "test suites of others", run: setup::suites, remedy: "cargo xtask setup" },
    Step { title: "guest kernel", run: setup::kernel, remedy: "cargo run -- kernel build" },
    Step { title: "all tests", run: tests::run_all, remedy: "cargo xtask test" },
    Step { title: "doc tests", run: tests::run_docs, remedy: "cargo test --workspace --doc" },
    Step { title: "zoo", run: zoo, remedy: "cargo run -- zoo" },
    Step { title: "README commands", run: readme, remedy: "cargo test -p shakedown --test readme && cargo xtask run" },
];

const CLIPPY: [&str; 7] = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];

/// Runs every step, or stops at the first that fails.
///
/// # Errors
/// The failure, with what to run.
pub fn run() -> Result<()> {
    let start = Instant::now();
    for (index, step) in STEPS.iter().enumerate() {
        println!("\n== {}/{} {}", index + 1, STEPS.len(), step.title);
        let step_start = Instant::now();
        let result = (step.run)();
        let took = seconds(step_start.elapsed());
        result.map_err(|error| {
            anyhow!("{error:#}\nxtask: {} failed after {took}; to repeat it: {}", step.title, step.remedy)
        })?;
        println!("== {} passed in {took}", step.title);
    }
    println!("\nall {} steps passed in {}", STEPS.len(), seconds(start.elapsed()));
    Ok(())
}

fn house_rule(name: &str) -> Result<()> {
    process::run(cargo().args(["test", "--quiet", "--package", "xtask", "--test", name]))
}

/// Licences and sources were looked at by then; what is left to `cargo deny` is what others know of the crates:
/// vulnerabilities, and what was yanked. Building it takes as long as half of all other steps, and it asks the network,
/// whose answer may change without any change here. So it is run where it is installed, and its absence is said aloud.
fn advisories() -> Result<()> {
    if process::find("cargo-deny").is_none() {
        println!("SKIPPED: cargo-deny is not installed (cargo install --locked cargo-deny)");
        return Ok(());
    }
    process::run(cargo().args(["deny", "check"]))
}

/// Every known bug is found, and no right variant is accused.
fn zoo() -> Result<()> {
    process::run(Shakedown::to_use(&Metadata::read()?)?.command().arg("zoo"))
}

fn readme() -> Result<()> {
    process::run(cargo().args(["test", "--quiet", "--package", "shakedown", "--test", "readme"]))?;
    main_job::run()
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
