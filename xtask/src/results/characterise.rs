//! Which promises the file systems of Linux keep, beside the table of EXPLODE (2006).

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::Laboratory;
use super::markdown::{count, table};
use crate::process;

/// The file systems of EXPLODE's table 1 ("Sync checking results") in its order, with its marks for a synchronous
/// mount, sync, fsync and `O_SYNC`; then the others.
const FILE_SYSTEMS: [(&str, Option<[&str; 4]>); 14] = [
    ("ext2", Some(["✗", "✓", "✗", "✗"])),
    ("ext3", Some(["✓", "✓", "✓", "✓"])),
    ("reiserfs", Some(["✗", "✓", "✗", "✗"])),
    ("jfs", Some(["✗", "✓", "✗", "✗"])),
    ("msdos", Some(["✗", "✗", "n/a", "n/a"])),
    ("vfat", Some(["✗", "✗", "n/a", "n/a"])),
    ("hfsplus", Some(["✗", "✗", "✗", "?"])),
    ("xfs", Some(["✗", "✓", "✓", "?"])),
    ("ext4", None),
    ("btrfs", None),
    ("f2fs", None),
    ("nilfs2", None),
    ("exfat", None),
    ("minix", None),
];

/// Our columns, as the program names them, and as the page does.
const COLUMNS: [(&str, &str); 12] = [
    ("recovers", "recovers"),
    ("sync-mount", "mount -o sync"),
    ("sync", "sync"),
    ("fsync", "fsync"),
    ("fsync-name", "its name"),
    ("fsync-directory", "fsync of a directory"),
    ("fdatasync", "fdatasync"),
    ("o-sync", "O_SYNC"),
    ("rename", "rename"),
    ("ordered", "ordered"),
    ("prefix", "prefix"),
    ("fast-is-full", "fast = full"),
];

const ABOUT: &str =
    "`shakedown characterise` on the file systems of the guest kernel, each on a disk as small as it can
be. A cell is ✓ with the number of crash states in which the promise was put to the test and held, or ✗ with the number
of ops of the shortest counterexample that was found; a ✗ in bold is one that the file system promises (see
`contract/promises.rs`). A cross is a proof, a check mark is none. The disk may keep any subset of the writes that were
not flushed, so a file system that sends no flush loses everything that it does not send.

";

const PUBLISHED: &str = "

### Beside the table of EXPLODE

Published: table 1 of *EXPLODE* (Linux of 2005; ✓ no errors found, ✗ one or more, n/a the test could not be completed,
? not run). Each cell: published / ours.

";

#[derive(Deserialize)]
struct Listed {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    missing: Option<String>,
}

#[derive(Deserialize)]
struct Measured {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    cells: BTreeMap<String, Cell>,
    aside: Vec<Aside>,
    crash_states: u64,
    limits_hit: Vec<String>,
    seconds: f64,
}

#[derive(Deserialize)]
struct Aside {
    property: String,
    detail: String,
}

#[derive(Deserialize)]
struct Cell {
    held: Option<bool>,
    crash_states: Option<u64>,
    promised: Option<bool>,
    ops: Option<Vec<String>>,
    detail: Option<String>,
    why: Option<String>,
}

/// A file system with its row, or with why it has none.
type Line = (&'static str, Result<Row, String>);

/// Measures every file system that can be had, and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let listed: Listed = run(laboratory, &["targets", "--json"])?;
    let mut lines: Vec<Line> = Vec::new();
    for (name, _) in FILE_SYSTEMS {
        let target = format!("guest:{name}");
        let row = match listed.targets.iter().find(|listed| listed.name == target) {
            None => Err("it is no target yet".to_owned()),
            Some(Target { missing: Some(missing), .. }) => Err(format!("could not {missing}")),
            Some(_) => {
                let out = laboratory.scratch.join(format!("characterise-{name}"));
                let out = out.to_str().context("could not use a folder whose name is no text")?;
                let measured: Measured = run(laboratory, &["characterise", &target, "--json", "--out", out])?;
                let row = measured.rows.into_iter().next().context("could not read a table without rows")?;
                println!("characterise {target}: {} crash states in {:.1} s", row.crash_states, row.seconds);
                Ok(row)
            }
        };
        lines.push((name, row));
    }
    Ok([ABOUT, &ours(&lines), PUBLISHED, &beside(&lines), &broken(&lines), &notes(&lines)].concat())
}

fn run<T: for<'a> Deserialize<'a>>(laboratory: &Laboratory, arguments: &[&str]) -> Result<T> {
    let mut command = laboratory.shakedown.command();
    command.args(arguments);
    let output = process::output(&mut command)?;
    let line = process::command_line(&command);
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("could not complete {line} ({})\n{}", output.status, process::complaint(&output));
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("could not read the output of {line}"))
}

fn ours(lines: &[Line]) -> String {
    let heading: [&str; 13] = std::array::from_fn(|column| column.checked_sub(1).map_or("", |at| COLUMNS[at].1));
    table(
        heading,
        lines.iter().map(|(name, row)| {
            std::array::from_fn(|column| match (column.checked_sub(1), row) {
                (None, _) => (*name).to_owned(),
                (Some(at), Ok(row)) => row.cells.get(COLUMNS[at].0).map_or_else(String::new, Cell::in_full),
                (Some(_), Err(_)) => String::new(),
            })
        }),
    )
}

impl Cell {
    fn mark(&self) -> &'static str {
        match self.held {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "–",
        }
    }

    fn in_full(&self) -> String {
        let ops = self.ops.as_ref().map_or(0, Vec::len);
        match (self.held, self.promised) {
            (Some(true), _) => format!("✓ {}", count(self.crash_states.unwrap_or(0))),
            (Some(false), Some(true)) => format!("**✗** {ops} ops"),
            (Some(false), _) => format!("✗ {ops} ops"),
            (None, _) => "–".to_owned(),
        }
    }
}

fn beside(lines: &[Line]) -> String {
    let heading = ["", "mount -o sync", "sync", "fsync", "O_SYNC"];
    let rows = FILE_SYSTEMS.iter().zip(lines).filter_map(|((name, published), (_, row))| {
        let published = (*published)?;
        // EXPLODE fsynced a file and the directories above it, so its fsync is three of our columns.
        let ours: [&[&str]; 4] = [&["sync-mount"], &["sync"], &["fsync", "fsync-name", "fsync-directory"], &["o-sync"]];
        Some(std::array::from_fn(|column| match column.checked_sub(1) {
            None => (*name).to_owned(),
            Some(at) => format!("{} / {}", published[at], all_of(row.as_ref().ok(), ours[at])),
        }))
    });
    table(heading, rows)
}

/// The worst of some columns.
fn all_of(row: Option<&Row>, columns: &[&str]) -> &'static str {
    let Some(row) = row else { return "–" };
    let marks: Vec<&str> = columns.iter().filter_map(|column| row.cells.get(*column)).map(Cell::mark).collect();
    ["✗", "–", "✓"].into_iter().find(|mark| marks.contains(mark)).unwrap_or("–")
}

/// Every counterexample in a line.
fn broken(lines: &[Line]) -> String {
    let mut list = vec!["\n### How they were broken\n\n".to_owned()];
    for (name, row) in lines.iter().filter_map(|(name, row)| Some((name, row.as_ref().ok()?))) {
        for (column, title) in COLUMNS {
            let Some(cell) = row.cells.get(column).filter(|cell| cell.held == Some(false)) else { continue };
            let ops = cell.ops.as_deref().unwrap_or_default().join("`, `");
            let detail = cell.detail.as_deref().unwrap_or_default().replace('|', "\\|").replace('\n', "; ");
            list.push(format!("- {name}, {title}: `{ops}`: {detail}\n"));
        }
    }
    list.concat()
}

/// What has no row, what was not measured, what was wrong besides, and what was cut off.
fn notes(lines: &[Line]) -> String {
    let mut list = vec!["\n### What is not in the table, and why\n\n".to_owned()];
    for (name, row) in lines {
        match row {
            Err(why) => list.push(format!("- {name}: {why}\n")),
            Ok(row) => {
                for (column, title) in COLUMNS {
                    let why = row.cells.get(column).and_then(|cell| cell.why.as_ref());
                    list.extend(why.map(|why| format!("- {name}, {title}: {why}\n")));
                }
                let aside =
                    |aside: &Aside| format!("- {name}, while the power was on: {}: {}\n", aside.property, aside.detail);
                list.extend(row.aside.iter().map(aside));
                list.extend(row.limits_hit.iter().map(|limit| format!("- {name}: {limit}\n")));
            }
        }
    }
    list.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"cells": {"sync": {"held": true, "crash_states": 1200},
        "fsync": {"held": true, "crash_states": 3}, "fsync-name": {"held": false, "promised": true, "ops": ["sync()"],
        "detail": "lost"}, "o-sync": {"held": null, "why": "it has no op open"}},
        "aside": [], "crash_states": 7, "limits_hit": ["a sample was judged"], "seconds": 1.0}"#;

    #[test]
    fn a_row_is_rendered_beside_the_published_one_and_nothing_is_left_out() {
        let row = || serde_json::from_str::<Row>(ROW).unwrap();
        let lines: Vec<Line> = vec![("ext2", Ok(row())), ("ext3", Err("it is no target yet".to_owned()))];
        let text = ours(&lines);
        assert!(text.contains("| ext2 |  |  | ✓ 1 200 | ✓ 3 | **✗** 1 ops |"), "{text}");
        let text = beside(&lines);
        assert!(text.contains("| ext2 | ✗ / – | ✓ / ✓ | ✗ / ✗ | ✗ / – |"), "{text}");
        assert!(text.contains("| ext3 | ✓ / – |"), "{text}");
        assert!(broken(&lines).contains("- ext2, its name: `sync()`: lost\n"));
        let text = notes(&lines);
        assert!(text.contains("- ext3: it is no target yet\n") && text.contains("- ext2: a sample was judged\n"));
        assert!(text.contains("- ext2, O_SYNC: it has no op open\n"), "{text}");
    }
}
