//! The table for people: each row in full when it is done, then all of them side by side.

use vfs::contract::Guarantee;

use super::{Cell, Column, Counterexample, Row};
use crate::{
    quantity::{count, plural, seconds},
    screen::Paint,
};

/// One row in full.
pub fn row(row: &Row, paint: Paint) -> String {
    let promise = format!("promises {}", row.contract);
    let mut lines = vec![format!("{}  {}", paint.strong(&row.target), paint.faint(&promise))];
    let width = Column::ALL.map(|column| column.name().len()).into_iter().max().unwrap_or(0);
    for (column, cell) in row.columns() {
        let name = column.name();
        lines.push(format!("  {} {name:width$}  {}", mark(cell, paint), says(cell, column, paint)));
    }
    for (property, detail) in &row.aside {
        lines.push(format!("  {} {detail}", paint.bad(&format!("with the power on, {property}:"))));
    }
    let states = plural(row.crash_states, "crash state");
    let figures = format!("{} workloads, {states}, {}", row.workloads, seconds(row.seconds));
    lines.push(format!("  {}", paint.faint(&figures)));
    lines.extend(row.limits.iter().map(|limit| format!("  - {limit}")));
    lines.join("\n") + "\n\n"
}

fn mark(cell: &Cell, paint: Paint) -> String {
    match cell {
        Cell::Held { .. } => paint.good("✓"),
        Cell::Broken(found) if found.promised => paint.bad("✗"),
        Cell::Broken(_) => paint.notable("✗"),
        Cell::NotMeasured { .. } => paint.faint("-"),
    }
}

fn says(cell: &Cell, column: Column, paint: Paint) -> String {
    match cell {
        Cell::Held { crash_states } => format!("held in {}", plural(*crash_states, "crash state")),
        Cell::NotMeasured { why } => paint.faint(&format!("not measured: {why}")),
        Cell::Broken(found) => {
            let Counterexample { crash_states, broken, promised, trace, .. } = &**found;
            let promised = if *promised { ", though promised" } else { "" };
            let ops = plural(trace.ops.len() as u64, "op");
            // Recovery may go wrong in more than one way in one crash state.
            let times = match column {
                Column::Recovers => plural(*broken, "time"),
                _ => format!("in {} of {}", count(*broken), plural(*crash_states, "crash state")),
            };
            format!("broken {times}{promised}, with {ops}: {}", trace.detail)
        }
    }
}

/// All rows side by side, if there are several.
pub fn table(rows: &[Row], paint: Paint) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let width = rows.iter().map(|row| row.target.chars().count()).max().unwrap_or(0);
    let heading: Vec<&str> = Column::ALL.into_iter().map(heading).collect();
    let mut lines = vec![paint.faint(&format!("{:width$}  {}", "", heading.join("  ")))];
    for row in rows {
        let cells = row.columns().map(|(column, cell)| {
            let pad = heading_width(column) - 1;
            format!("{}{:pad$}", mark(cell, paint), "")
        });
        let cells: Vec<String> = cells.collect();
        lines.push(format!("{:width$}  {}", row.target, cells.join("  ").trim_end()));
    }
    lines.push("✓ held, ✗ broken, - not measured".to_owned());
    lines.join("\n") + "\n"
}

/// A column in a word or two, so that all of them fit side by side.
pub(super) fn heading(column: Column) -> &'static str {
    match column {
        Column::Recovers => "recovers",
        Column::Keeps(Guarantee::SynchronousMount) => "mount",
        Column::Keeps(Guarantee::Sync) => "sync",
        Column::Keeps(Guarantee::Fsync) => "fsync",
        Column::Keeps(Guarantee::FsyncName) => "name",
        Column::Keeps(Guarantee::FsyncDirectory) => "dir",
        Column::Keeps(Guarantee::Fdatasync) => "fdatasync",
        Column::Keeps(Guarantee::SynchronousWrite) => "O_SYNC",
        Column::Keeps(Guarantee::RenameAtomic) => "rename",
        Column::Keeps(Guarantee::Ordered) => "ordered",
        Column::Keeps(Guarantee::Prefix) => "prefix",
        Column::FastIsFull => "fast=full",
    }
}

fn heading_width(column: Column) -> usize {
    heading(column).chars().count()
}

/// How the promise of a column was broken, for every row in which it was.
pub fn explain(rows: &[Row], asked: &[String], paint: Paint) -> String {
    let is_asked = |column: Column| asked.iter().any(|name| name == column.name() || name == "all");
    let mut stories = Vec::new();
    for row in rows {
        for (column, cell) in row.columns().filter(|(column, _)| is_asked(*column)) {
            let heading = paint.strong(&format!("{} of {}", column.name(), row.target));
            let story = match cell {
                Cell::Broken(found) => format!("\n{}", found.told.trim_end()),
                cell => format!("  {}", says(cell, column, paint)),
            };
            let file = if let Cell::Broken(found) = cell { found.file.as_ref() } else { None };
            let again = file.map_or_else(String::new, |file| format!("\n  See it again: shakedown replay {file}\n"));
            stories.push(format!("{heading}\n{story}\n{again}\n"));
        }
    }
    stories.concat()
}
