//! `shakedown replay`: see a violation again.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use check::Trace;

use super::{Verdict, Watch};
use crate::{
    arguments::Replay,
    registry::Named,
    screen::{self, Paint},
    story, text_file,
};

/// Tells a trace with every step.
///
/// # Errors
/// The trace cannot be read, or it does not fit its target.
pub fn run(arguments: &Replay) -> Result<Verdict> {
    let file = arguments.trace.display();
    let text = text_file::read(&arguments.trace).with_context(|| format!("read {file}"))?;
    let in_file = || format!("use {file}");
    let mut trace = Trace::from_json(&text).with_context(in_file)?;
    let named = Named::parse(&trace.target).with_context(in_file)?.against(&trace.against).with_context(in_file)?;
    // A program stands alone: who only wants that needs nobody who executes the trace.
    let is_executed = arguments.minimise || arguments.script.is_none();
    if is_executed {
        named.ready()?;
    }
    // The first signal ends the making shorter, the second one all: whoever stops watching lets signals be ignored.
    let watch = arguments.minimise.then(Watch::begin).transpose()?;
    if let Some(Watch { stop, .. }) = &watch {
        trace = named.target.minimise(&trace, stop).with_context(in_file)?;
    }
    let tell = || story::tell(&*named.target, &trace, true).with_context(in_file);
    let told = is_executed.then(tell).transpose()?;
    if let Some(out) = &arguments.out {
        fs::write(out, trace.to_json()).with_context(|| format!("write {}", out.display()))?;
    }
    if let Some(kind) = arguments.script {
        ensure!(!trace.ops.is_empty(), "write a script: {} has no ops", named.entry.name);
        screen::print(&check::script(&trace, kind))?;
        // The script was asked for and is there: what comes after it on a command line may go on.
        return Ok(Verdict::NothingFound);
    }
    let Some(told) = told else { return Ok(Verdict::NothingFound) };
    let paint = Paint::for_stdout();
    let sides = [&[named.full_name()], &trace.against[..]].concat().join(" against ");
    let heading = format!("{} of {sides}", trace.property);
    screen::print(&format!("{}\n\n{}", paint.strong(&heading), told.text))?;
    Ok(Verdict::of(told.shows_violation))
}
