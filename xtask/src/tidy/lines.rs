//! Rules that look at one line at a time.

use super::Source;

/// A file that is longer wants to be two.
const FILE_LINES_MAX: usize = 600;
/// As in rustfmt.toml, which cannot break comments and literals.
const LINE_WIDTH_MAX: usize = 120;

/// What may stand in nobody's code.
const UNFINISHED_CODE: [&str; 4] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];
/// What may stand nowhere, comments included; written in two parts so that this line does not count.
const UNFINISHED_TEXT: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X:")];
/// Folders of somebody's machine.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/main"),
    concat!("/wo", "rk/shared"),
];

fn matching(lines: &[String], is_wrong: impl Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    lines.iter().enumerate().filter_map(|(index, line)| Some((index, is_wrong(line)?))).collect()
}

fn containing(lines: &[String], words: &[&str], what: &str) -> Vec<(usize, String)> {
    let complaint = |line: &str| words.iter().find(|word| line.contains(**word)).map(|word| format!("{what}: {word}"));
    matching(lines, complaint)
}

/// A file says at its head what it is.
pub fn opening(source: &Source) -> Vec<(usize, String)> {
    let says = source.lines().first().is_some_and(|line| line.starts_with("//! "));
    if says { Vec::new() } else { vec![(0, "the file must open with `//!` and what it is".to_owned())] }
}

/// Files are short.
pub fn file_length(source: &Source) -> Vec<(usize, String)> {
    let lines = source.lines().len();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![(FILE_LINES_MAX, format!("{lines} lines, more than {FILE_LINES_MAX}"))]
}

/// Lines fit, long literals too: a string goes on after a backslash at the end of a line.
pub fn width(source: &Source) -> Vec<(usize, String)> {
    matching(source.lines(), |line| {
        let width = line.chars().count();
        (width > LINE_WIDTH_MAX).then(|| format!("{width} characters, more than {LINE_WIDTH_MAX}"))
    })
}

/// No tabs, nothing after the end of a line, an end to the last line.
pub fn blanks(source: &Source) -> Vec<(usize, String)> {
    let mut findings = matching(source.lines(), |line| {
        let trailing = line.ends_with([' ', '\r']).then(|| "a blank at the end of the line".to_owned());
        trailing.or_else(|| line.contains('\t').then(|| "a tab".to_owned()))
    });
    if !source.ends_with_newline() {
        findings.push((source.lines().len().saturating_sub(1), "no end of line at the end of the file".to_owned()));
    }
    findings
}

/// Nothing is left for later.
pub fn unfinished(source: &Source) -> Vec<(usize, String)> {
    let mut findings = containing(source.code(), &UNFINISHED_CODE, "unfinished");
    findings.extend(containing(source.lines(), &UNFINISHED_TEXT, "unfinished"));
    findings
}

/// Nothing refers to the machine of whoever wrote it.
pub fn machine_paths(source: &Source) -> Vec<(usize, String)> {
    containing(source.lines(), &MACHINE_PATHS, "a path of one machine")
}
