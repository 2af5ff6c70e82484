//! The programs that a kernel's build needs, and how they come here.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::geteuid;

use super::{BuildError, Progress};

/// A program and the Debian package that brings it.
const TOOLS: [(&str, &str); 9] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// Headers of the C library come without a program.
const HEADERS: (&str, &str) = ("/usr/include/stdio.h", "libc6-dev");

/// Sees to it that all tools are there.
pub(super) fn require(progress: &mut dyn FnMut(Progress)) -> Result<(), BuildError> {
    let mut missing: Vec<(&str, &str)> = TOOLS.into_iter().filter(|(tool, _)| !is_on_path(tool)).collect();
    if !Path::new(HEADERS.0).exists() {
        missing.push(HEADERS);
    }
    if missing.is_empty() { Ok(()) } else { install(&missing, progress) }
}

/// Installs packages where that is possible, or says what is missing.
pub(super) fn install(missing: &[(&str, &str)], progress: &mut dyn FnMut(Progress)) -> Result<(), BuildError> {
    let list = |part: fn(&(&str, &str)) -> String| missing.iter().map(part).collect::<Vec<_>>();
    let (what, packages) = (list(|one| one.0.to_owned()).join(", "), list(|one| one.1.to_owned()));
    let cannot = || {
        let missing = format!("{what} {}", if missing.len() == 1 { "is" } else { "are" });
        BuildError::Missing { missing, packages: packages.join(" ") }
    };
    if !geteuid().is_root() || !is_on_path("apt-get") {
        return Err(cannot());
    }
    progress(Progress::Doing(format!("installing {}", packages.join(", "))));
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).output()
    };
    // A list that cannot be brought up to date may still do.
    let _ = apt_get(&["--quiet", "update"]);
    let mut arguments = vec!["--quiet", "--yes", "--no-install-recommends", "install"];
    arguments.extend(packages.iter().map(String::as_str));
    let output = apt_get(&arguments)?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Failed { step: "apt-get install", said: last_words(&[output.stdout, output.stderr].concat()) })
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// So many lines of a failed program's output tell why.
const LINES: usize = 5;

pub(super) fn last_words(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_told_in_one_line() {
        let output = (0..100).map(|number| format!("  line {number}\n\n")).collect::<Vec<_>>().concat();
        assert_eq!(last_words(output.as_bytes()), "line 95; line 96; line 97; line 98; line 99");
        assert_eq!(last_words(b""), "");
    }
}
