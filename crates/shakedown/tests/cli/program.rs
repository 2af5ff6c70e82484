//! Starts the program and keeps what it said.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A finished run of the program.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// A command that is not yet started.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shakedown"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program.
pub fn shakedown(arguments: &[&str]) -> Ran {
    from(command(arguments).output().expect("the program was built for this test"))
}

/// What a process left.
pub fn from(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("the program writes text");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a scratch folder with a plain name")
}

/// The names of the violated properties of a summary.
pub fn violated(summary: &Value) -> Vec<&str> {
    let violations = summary["violations"].as_array().expect("a summary");
    violations.iter().map(|violation| violation["property"].as_str().expect("a name")).collect()
}
