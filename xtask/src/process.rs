//! Running other programs: a command either succeeds or becomes an error that shows the command line.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

/// Runs a command with this terminal's input and output.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", command_line(command)))?;
    if !status.success() {
        bail!("could not complete {} ({status})", command_line(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output; its error output is shown only if it fails.
///
/// # Errors
/// When it cannot be started, does not succeed, or writes something else than text.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        bail!("could not complete {} ({})\n{}", command_line(command), output.status, complaint(&output));
    }
    String::from_utf8(output.stdout).with_context(|| format!("could not read the output of {}", command_line(command)))
}

/// Runs a command and returns all that it wrote, whatever its exit code means.
///
/// # Errors
/// When it cannot be started.
pub fn output(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("could not start {}", command_line(command)))
}

/// The error output of a finished command, trimmed.
pub fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// The command as one would type it, without quoting.
pub fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Where a program is, if the search path has it.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Whether this runs in CI, where an arm that cannot run is a failure and not a remark.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_an_error_that_shows_the_command() {
        let error = capture(Command::new("cargo").arg("no-such-task")).unwrap_err().to_string();
        assert!(error.starts_with("could not complete cargo no-such-task"), "{error}");
    }

    #[test]
    fn a_missing_program_is_not_found() {
        assert!(find("cargo").is_some());
        assert!(find("a-program-that-nobody-has").is_none());
    }
}
