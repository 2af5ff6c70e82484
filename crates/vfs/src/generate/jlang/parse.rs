//! Reads files of J-lang: sections that begin with `# define`, `# declare`, `# setup` and `# run`, one call a line.

use std::collections::BTreeMap;

use super::{Call, Lowering, Range};
use crate::{Fallocate, Op, OpenFlags, Path, nearest::Suggestion};

/// A line of a file that is not J-lang.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read line {line} of the workload: {what}")]
pub struct ParseJlangError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The part of a file that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Define,
    Declare,
    Calls,
}

const SECTIONS: [(&str, Section); 4] =
    [("define", Section::Define), ("declare", Section::Declare), ("setup", Section::Calls), ("run", Section::Calls)];

const CALLS: [&str; 23] = [
    "open",
    "opendir",
    "creat",
    "close",
    "mkdir",
    "rmdir",
    "unlink",
    "remove",
    "link",
    "symlink",
    "rename",
    "write",
    "dwrite",
    "mmapwrite",
    "falloc",
    "truncate",
    "fsetxattr",
    "removexattr",
    "fsync",
    "fdatasync",
    "sync",
    "checkpoint",
    "none",
];

/// Whether a text is J-lang rather than our own form, in which `# run` is a comment: it has a section, and the first
/// line that is no comment is neither an op of ours, which has its arguments in brackets, nor the name of a workload.
pub fn is_jlang(text: &str) -> bool {
    let lines = || text.lines().map(str::trim);
    let first = lines().find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_ours = |line: &str| line.contains('(') || line.starts_with("---");
    !first.is_some_and(is_ours) && lines().any(|line| matches!(section(line), Some(Ok(_))))
}

/// The workload in a text of J-lang.
///
/// # Errors
/// The first line that is wrong, with its number.
pub fn parse(text: &str) -> Result<Vec<Op>, ParseJlangError> {
    let mut reader = Reader::default();
    for (line, text) in (1..).zip(text.lines()) {
        reader.line(text.trim()).map_err(|what| ParseJlangError { line, what })?;
    }
    Ok(reader.lowering.finish())
}

/// The section that a line begins; `Err` with a word that is none.
fn section(line: &str) -> Option<Result<Section, &str>> {
    let word = line.trim().strip_prefix('#')?.trim();
    let known = SECTIONS.iter().find(|(name, _)| *name == word).map(|(_, section)| *section);
    Some(known.ok_or(word))
}

#[derive(Default)]
struct Reader {
    section: Option<Section>,
    /// The paths of the section `define`, by what calls name them: without slashes.
    names: BTreeMap<String, Path>,
    lowering: Lowering,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        match section(line) {
            Some(Ok(section)) => self.section = Some(section),
            Some(Err(word)) => return Err(format!("there is no section {word:?}")),
            None if line.is_empty() => {}
            None => match self.section {
                None => return Err("it stands before the first section".to_owned()),
                Some(Section::Define) => self.define(line)?,
                // It declares a counter of checkpoints, which nothing here needs.
                Some(Section::Declare) => {}
                Some(Section::Calls) => {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    if let Some(call) = self.call(&words)? {
                        self.lowering.push(call).map_err(|error| error.to_string())?;
                    }
                }
            },
        }
        Ok(())
    }

    /// A path from the root, which is called `test`.
    fn define(&mut self, line: &str) -> Result<(), String> {
        let path = if line == "test" { "/".to_owned() } else { format!("/{line}") };
        let path = Path::new(&path).map_err(|error| error.to_string())?;
        let name = line.replace('/', "");
        if let Some(known) = self.names.get(&name).filter(|known| **known != path) {
            return Err(format!("calls would name both {known} and {path} {name:?}: paths lose their slashes there"));
        }
        self.names.insert(name, path);
        Ok(())
    }

    /// What a line asks for; `None` if that is `CrashMonkey`'s own business.
    fn call(&self, words: &[&str]) -> Result<Option<Call>, String> {
        let path = |name: &str| {
            let known = self.names.get(name).cloned();
            known.ok_or_else(|| format!("{name:?} is not among the names that the section define lists"))
        };
        let range = |offset: &str, len: &str| {
            let offset = offset.parse::<i64>().map_err(|_| format!("{offset:?} is no offset"))?.cast_unsigned();
            let len = len.parse().map_err(|_| format!("{len:?} is no length"))?;
            Ok::<_, String>(Range { offset, len })
        };
        Ok(Some(match *words {
            ["open" | "creat", file, flags, access] => Call::Open(path(file)?, open_flags(flags)?, mode(access)?),
            ["opendir", directory, _] => Call::OpenDir(path(directory)?),
            ["close", file] => Call::Close(path(file)?),
            ["mkdir", directory, access] => Call::Mkdir(path(directory)?, mode(access)?),
            ["rmdir", directory] => Call::Rmdir(path(directory)?),
            ["unlink" | "remove", file] => Call::Unlink(path(file)?),
            ["link", from, to] => Call::Link(path(from)?, path(to)?),
            ["symlink", from, to] => Call::Symlink(path(from)?, path(to)?),
            ["rename", from, to] => Call::Rename(path(from)?, path(to)?),
            ["write", file, offset, len] => Call::Write(path(file)?, range(offset, len)?),
            ["dwrite", file, offset, len] => Call::Dwrite(path(file)?, range(offset, len)?),
            ["mmapwrite", file, offset, len] => Call::Mmapwrite(path(file)?, range(offset, len)?),
            ["falloc", file, how, offset, len] => Call::Falloc(path(file)?, allocation(how)?, range(offset, len)?),
            ["truncate", file, size] => {
                Call::Truncate(path(file)?, size.parse().map_err(|_| format!("{size:?} is no size"))?)
            }
            ["fsetxattr", file] => Call::Fsetxattr(path(file)?),
            ["removexattr", file] => Call::Removexattr(path(file)?),
            ["fsync", file] => Call::Fsync(path(file)?),
            ["fdatasync", file] => Call::Fdatasync(path(file)?),
            ["sync"] => Call::Sync,
            ["none" | "checkpoint"] | ["checkpoint", _] => return Ok(None),
            _ => return Err(unknown(words)),
        }))
    }
}

fn unknown(words: &[&str]) -> String {
    let call = words.first().copied().unwrap_or_default();
    if CALLS.contains(&call) {
        return format!("{call} does not have {} arguments", words.len() - 1);
    }
    format!("no call has the name {call:?}{}", Suggestion::of(call, CALLS))
}

fn open_flags(text: &str) -> Result<OpenFlags, String> {
    text.parse().map_err(|_| format!("{text:?} is not made of flags of open"))
}

fn mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8).map_err(|_| format!("{text:?} is no octal number"))
}

fn allocation(text: &str) -> Result<Fallocate, String> {
    let mut flags: Vec<&str> = text.split('|').map(|flag| flag.trim_start_matches("FALLOC_FL_")).collect();
    flags.sort_unstable();
    Ok(match flags[..] {
        ["0"] => Fallocate::Allocate,
        ["KEEP_SIZE"] => Fallocate::KeepSize,
        ["KEEP_SIZE", "PUNCH_HOLE"] => Fallocate::PunchHole,
        ["ZERO_RANGE"] => Fallocate::ZeroRange,
        ["KEEP_SIZE", "ZERO_RANGE"] => Fallocate::ZeroRangeKeepSize,
        ["COLLAPSE_RANGE"] => Fallocate::CollapseRange,
        ["INSERT_RANGE"] => Fallocate::InsertRange,
        _ => return Err(format!("{text:?} is no mode of falloc")),
    })
}
