//! `shakedown characterise`: which promises hold, measured.

use std::{fs, thread::available_parallelism};

use anyhow::{Context as _, Result, bail};
use disk::CrashMode;
use indicatif::{ProgressBar, ProgressStyle};
use vfs::nearest::Suggestion;

use super::{Verdict, Watch};
use crate::{
    arguments::Characterise,
    characterise::{self, Column, Folder, Knobs, Row},
    registry::Named,
    screen::{self, Paint},
};

/// Enough to find out of which writes a promise is made; more are sampled. A disk that never flushes has millions.
const CRASH_STATES_MAX: u32 = 64;
const DEPTH: u32 = 2;
/// Instead of a column, all of them.
const ALL: &str = "all";

/// Measures every target, one after the other, and tells of each when it is done.
///
/// # Errors
/// A target cannot be measured, or what was found cannot be written.
pub fn run(arguments: &Characterise) -> Result<Verdict> {
    let watch = Watch::begin()?;
    known_columns(&arguments.explain)?;
    let knobs = Knobs {
        crash: arguments.crash.unwrap_or(CrashMode::Subsets),
        crash_states_max: arguments.crash_states.unwrap_or(CRASH_STATES_MAX) as usize,
        depth: arguments.depth.unwrap_or(DEPTH),
        threads: arguments.threads.map_or_else(|| available_parallelism().map_or(1, Into::into), usize::from),
        seed: arguments.seed.unwrap_or(0),
        stop: watch.stop.clone(),
    };
    let targets = arguments.targets.iter().map(|name| ready(name)).collect::<Result<Vec<_>>>()?;
    let folder = arguments.out.as_deref().map(Folder::create).transpose()?;
    let paint = Paint::for_stdout();
    let mut rows: Vec<Row> = Vec::new();
    for named in &targets {
        let mut row = measure(named, &knobs)?;
        if let Some(folder) = &folder {
            folder.keep(&mut row)?;
        }
        if !arguments.json && arguments.explain.is_empty() {
            screen::print(&characterise::row(&row, paint))?;
        }
        rows.push(row);
    }
    let json = characterise::json(&rows, &knobs);
    if let Some(folder) = &folder {
        folder.finish(&json)?;
    }
    if let Some(file) = &arguments.html {
        let page = characterise::page(&rows, &knobs);
        fs::write(file, page).with_context(|| format!("write {}", file.display()))?;
    }
    screen::print(&if arguments.json {
        json
    } else if arguments.explain.is_empty() {
        characterise::table(&rows, paint)
    } else {
        characterise::explain(&rows, &arguments.explain, paint)
    })?;
    Ok(Verdict::of(rows.iter().any(Row::breaks_a_promise)))
}

fn ready(name: &str) -> Result<Named> {
    let named = Named::parse(name)?;
    named.ready()?;
    Ok(named)
}

fn known_columns(asked: &[String]) -> Result<()> {
    let names = || Column::ALL.into_iter().map(Column::name).chain([ALL]);
    match asked.iter().find(|asked| names().all(|name| name != *asked)) {
        Some(unknown) => bail!("explain {unknown:?}: there is no such column{}", Suggestion::of(unknown, names())),
        None => Ok(()),
    }
}

fn measure(named: &Named, knobs: &Knobs) -> Result<Row> {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {msg}: {pos} crash states, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(named.name.clone());
    let row = characterise::measure(named, knobs, &mut |crash_states| bar.set_position(crash_states));
    bar.finish_and_clear();
    row
}
