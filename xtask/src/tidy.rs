//! Style as an executable test: what review would otherwise have to say every time.
//!
//! A rule is a function from a file to findings; [`RULES`] is the whole list, and `xtask/tests/tidy.rs` runs it over
//! every file that git knows or would add. Each rule has, in [`samples`], a text that breaks it and one that keeps it.

mod attributes;
mod functions;
mod lines;
mod links;
mod names;
#[cfg(test)]
mod samples;
mod source;
mod tasks;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

pub use self::source::Source;
use crate::process;

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the repository's root.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, as a person would say it.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// One rule.
pub struct Rule {
    /// How the samples call it.
    pub name: &'static str,
    /// The kind of file that it reads.
    pub extension: &'static str,
    /// Lines (from 0) with what is wrong there.
    check: fn(&Source) -> Vec<(usize, String)>,
}

const fn rule(name: &'static str, extension: &'static str, check: fn(&Source) -> Vec<(usize, String)>) -> Rule {
    Rule { name, extension, check }
}

/// Every rule.
pub const RULES: [Rule; 15] = [
    rule("opening", "rs", lines::opening),
    rule("file length", "rs", lines::file_length),
    rule("line width", "rs", lines::width),
    rule("blanks", "rs", lines::blanks),
    rule("unfinished", "rs", lines::unfinished),
    rule("machine paths", "rs", lines::machine_paths),
    rule("function length", "rs", functions::length),
    rule("module names", "rs", names::modules),
    rule("safety", "rs", attributes::safety),
    rule("reasons", "rs", attributes::reasons),
    rule("blanks", "md", lines::blanks),
    rule("machine paths", "md", lines::machine_paths),
    rule("links", "md", links::resolve),
    rule("tasks", "md", tasks::exist),
    rule("machine paths", "toml", lines::machine_paths),
];

/// All findings in one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let applies = |rule: &&Rule| source.path().extension().is_some_and(|extension| extension == rule.extension);
    let finding = |(line, message)| Finding { path: source.path().to_owned(), line: line + 1, message };
    RULES.iter().filter(applies).flat_map(|rule| (rule.check)(source)).map(finding).collect()
}

/// Every file of the repository that some rule reads: tracked, or new and not ignored.
///
/// # Errors
/// When git cannot list the files or one cannot be read.
pub fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs", "*.md", "*.toml"]);
    let listing = process::capture(&mut git)?;
    // A file that was deleted but not yet committed is still listed.
    let present = listing.lines().filter(|path| root.join(path).is_file());
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))?;
        Ok(Source::new(root, path, &text))
    };
    present.map(read).collect()
}
