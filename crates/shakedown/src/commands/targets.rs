//! `shakedown targets`: what can be checked on this machine.

use anyhow::Result;
use host::left_over::{self, LeftOver};
use serde_json::{Value, json};

use super::Verdict;
use crate::{
    arguments::Targets,
    registry::{Entry, Fallback, TARGETS, TargetOption, remark},
    screen::{self, Paint},
};

/// Lists all targets.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(arguments: &Targets) -> Result<Verdict> {
    if arguments.clean {
        screen::print(&cleaned(&left_over::clear()))?;
    } else if arguments.json {
        let targets: Vec<Value> = TARGETS.iter().map(|entry| as_json(entry)).collect();
        screen::print(&format!("{:#}\n", json!({ "targets": targets, "kernels": guest::Kernel::names() })))?;
    } else {
        let paint = Paint::for_stdout();
        let texts: Vec<String> = TARGETS.iter().map(|entry| as_text(entry, paint)).collect();
        let example = "Options follow a question mark: shakedown check 'model:link?writes=naive,threads=2'\n";
        screen::print(&format!("{}\n{example}{}", texts.join("\n"), kernels(&guest::Kernel::names())))?;
    }
    Ok(Verdict::NothingFound)
}

/// Which kernels were built, by the names for `kernel=`.
fn kernels(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("Kernels that were built for guests: {}\n", names.join(", ")) }
}

/// What was cleared away, and what was not.
fn cleaned(left_over: &[LeftOver]) -> String {
    let line = |one: &LeftOver| match &one.stays {
        None => format!("cleared away: {}\n", one.what),
        Some(reason) => format!("stays: {}: {reason}\n", one.what),
    };
    if left_over.is_empty() { "Nothing was left behind.\n".to_owned() } else { left_over.iter().map(line).collect() }
}

/// The contract that a target promises, if it has a disk.
fn contract(entry: &Entry) -> Option<&'static str> {
    entry.kind.has_disk().then(|| entry.with_defaults().promise().contract.name())
}

/// Why it cannot be checked on this machine, if it cannot.
fn missing(entry: &Entry) -> Option<String> {
    entry.with_defaults().ready().err()
}

fn as_json(entry: &Entry) -> Value {
    let option = |option: &TargetOption| {
        let Fallback::Value(default) = option.fallback else {
            return json!({
                "name": option.name, "values": option.values.to_string(), "default": null,
                "default_depends": option.fallback.says(), "description": option.about,
            });
        };
        json!({
            "name": option.name, "values": option.values.to_string(), "default": default, "description": option.about,
        })
    };
    let options: Vec<Value> = entry.options.iter().map(option).collect();
    let target = entry.with_defaults();
    json!({
        "name": entry.name,
        "description": entry.about,
        "contract": contract(entry),
        "missing": target.ready().err(),
        "kernel": target.kernel(),
        "remark": remark(entry),
        "options": options,
    })
}

fn as_text(entry: &Entry, paint: Paint) -> String {
    let mut lines = vec![format!("{}  {}", paint.strong(entry.name), entry.about)];
    lines.extend(
        missing(entry).map(|missing| format!("  {}", paint.notable(&format!("not here: could not {missing}")))),
    );
    lines.extend(remark(entry).map(|remark| format!("  {}", paint.notable(remark))));
    lines.extend(contract(entry).map(|contract| format!("  promises the contract {contract}")));
    for option in entry.options {
        let fallback = paint.faint(&format!("[default: {}]", option.fallback.says()));
        lines.push(format!("  {}={}  {fallback}", option.name, option.values));
        lines.push(format!("      {}", option.about));
    }
    lines.join("\n") + "\n"
}
