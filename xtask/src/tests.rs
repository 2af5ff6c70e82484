//! `cargo xtask test`: set-up, then every test there is, then the doc tests.

use anyhow::Result;

use crate::{process, setup, workspace};

/// Sets up and runs everything.
///
/// # Errors
/// At the first part that fails.
pub fn run() -> Result<()> {
    setup::run()?;
    setup::suites()?;
    setup::kernel()?;
    run_all()?;
    run_docs()
}

/// Unit and integration tests of the whole workspace, with nextest where it is installed.
///
/// # Errors
/// When a test fails.
pub fn run_all() -> Result<()> {
    if process::find("cargo-nextest").is_some() {
        return process::run(workspace::cargo().args(["nextest", "run", "--workspace"]));
    }
    process::run(workspace::cargo().args([
        "test",
        "--quiet",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ]))
}

/// The doc tests, which nextest cannot run.
///
/// # Errors
/// When one fails.
pub fn run_docs() -> Result<()> {
    process::run(workspace::cargo().args(["test", "--quiet", "--workspace", "--doc"]))
}
