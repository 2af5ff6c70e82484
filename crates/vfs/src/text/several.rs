//! Several workloads in one text: each begins with a line `--- name`.

use super::{ParseWorkloadError, parse_workload};
use crate::Op;

/// What begins the line before a workload.
const SEPARATOR: &str = "---";

/// A workload and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedWorkload {
    /// What stands in the line before it; empty if there is no such line or nothing stands in it.
    pub name: String,
    /// Its ops.
    pub ops: Vec<Op>,
}

/// Reads workloads: one op a line, each workload after a line `--- name`. Without such a line, all is one workload.
///
/// # Errors
/// The first line that is not an op, with its number in the whole text.
pub fn parse_workloads(text: &str) -> Result<Vec<NamedWorkload>, ParseWorkloadError> {
    let mut workloads = Vec::new();
    let (mut name, mut lines, mut before) = (String::new(), String::new(), 0);
    for (number, line) in text.lines().enumerate() {
        if let Some(next) = line.trim().strip_prefix(SEPARATOR) {
            finish(&mut workloads, &name, &lines, before)?;
            (name, before) = (next.trim().to_owned(), number + 1);
            lines.clear();
        } else {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    finish(&mut workloads, &name, &lines, before)?;
    Ok(workloads)
}

/// Before the first line of a workload there may be words for people, which are none.
fn finish(
    workloads: &mut Vec<NamedWorkload>,
    name: &str,
    lines: &str,
    before: usize,
) -> Result<(), ParseWorkloadError> {
    let ops = parse_workload(lines)
        .map_err(|ParseWorkloadError { line, error }| ParseWorkloadError { line: line + before, error })?;
    if !ops.is_empty() || !name.is_empty() {
        workloads.push(NamedWorkload { name: name.to_owned(), ops });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_have_names_and_errors_their_lines() {
        let text = "# two of them\n\n--- one\nsync()\n\n--- two # not a comment\ncreate(\"/f\")\nsync()\n";
        let found = parse_workloads(text).unwrap();
        let found: Vec<(&str, usize)> = found.iter().map(|found| (found.name.as_str(), found.ops.len())).collect();
        assert_eq!(found, [("one", 1), ("two # not a comment", 2)]);
        let error = parse_workloads("--- one\nsync()\n--- two\n\nsink()\n").unwrap_err();
        assert_eq!(error.line, 5);
    }

    #[test]
    fn one_workload_needs_no_name() {
        let found = parse_workloads("sync()\nsync()\n").unwrap();
        assert_eq!((found.len(), found[0].name.as_str(), found[0].ops.len()), (1, "", 2));
        assert_eq!(parse_workloads("# nothing\n"), Ok(Vec::new()));
        assert_eq!(parse_workloads("--- empty\n").unwrap()[0].ops.len(), 0);
    }
}
