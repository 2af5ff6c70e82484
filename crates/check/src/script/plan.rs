//! What a script does, in whichever language: ops in the order in which they began, cut into parts by the power cuts.

use std::collections::BTreeSet;

use explore::Severity;
use vfs::Op;

use crate::{
    crash_point::{CrashPoint, TakenRequest},
    trace::{Move, Trace},
};

/// What a script prints where the power is cut.
pub(super) const CUT: &str = "cut the power here";

/// A script before it is written down.
pub(super) struct Plan<'a> {
    /// What the trace is about, line by line, for the comment at the head. Every character can be seen.
    pub about: Vec<String>,
    /// Part `n` runs after recovery `n`; the first one on a fresh file system. None if there is nothing to run.
    pub parts: Vec<Part<'a>>,
    /// The property that the trace violates.
    property: &'a str,
}

/// What is done without a power cut.
#[derive(Default)]
pub(super) struct Part<'a> {
    /// The ops, each with its number, counted from 1.
    pub ops: Vec<(usize, &'a Op)>,
    /// How the power is cut in the end, line by line, if it is.
    pub cut: Option<Vec<String>>,
}

impl<'a> Plan<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        let parts = parts(trace);
        Self { about: about(trace, &parts), parts, property: &trace.property }
    }

    /// What comes after the power cut before this part, for people.
    pub fn afterwards(&self, part: usize) -> String {
        match part {
            1 if self.parts.len() > 1 => "then recover, and run this again with --after-recovery".to_owned(),
            _ if part < self.parts.len() => format!("then recover, and run this again with --after-recovery={part}"),
            _ => format!("then recover, and look: {}", self.property),
        }
    }

    /// The ops of all parts.
    pub fn ops(&self) -> impl Iterator<Item = (usize, &'a Op)> {
        self.parts.iter().flat_map(|part| part.ops.iter().copied())
    }
}

fn parts(trace: &Trace) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut part = Part::default();
    let mut begun = BTreeSet::new();
    for a_move in &trace.schedule {
        let Some((made, op)) = a_move.op().and_then(|made| Some((made, trace.ops.get(made.op)?))) else { continue };
        let number = made.op + 1;
        if begun.insert(number) && *op != Op::Crash {
            part.ops.push((number, op));
        }
        if made.crash.is_some() || *op == Op::Crash {
            part.cut = Some(cut(a_move, number, op, made.crash.as_ref()));
            parts.push(std::mem::take(&mut part));
        }
    }
    if !part.ops.is_empty() {
        parts.push(part);
    }
    parts
}

/// How the power is cut during a move, for people.
fn cut(a_move: &Move, number: usize, op: &Op, crash: Option<&CrashPoint>) -> Vec<String> {
    let Some(crash) = crash else { return vec![format!("op {number} is a power cut, between two ops")] };
    let requests = match crash.entries {
        1 => "1 disk request".to_owned(),
        entries => format!("{entries} disk requests"),
    };
    let since = if matches!(a_move, Move::Run(_)) { "" } else { ", counted since it last went on" };
    vec![format!("in the trace: during op {number}, {op}, after {requests}{since}"), reached(&crash.taken)]
}

fn reached(taken: &[TakenRequest]) -> String {
    if taken.is_empty() {
        return "of what was not yet flushed, nothing reached the medium".to_owned();
    }
    let requests: Vec<_> = taken
        .iter()
        .map(|TakenRequest { op, back, blocks }| {
            let whose = op.map_or("no op".to_owned(), |op| format!("op {}", op + 1));
            let blocks = blocks.iter().flatten().map(|block| block.0.to_string()).collect::<Vec<_>>();
            let torn = if blocks.is_empty() { String::new() } else { format!(" (only block {})", blocks.join(", ")) };
            format!("{back} of {whose}{torn}")
        })
        .collect();
    format!(
        "of what was not yet flushed, these requests reached the medium (1 is the last of an op): {}",
        requests.join(", ")
    )
}

fn about(trace: &Trace, parts: &[Part]) -> Vec<String> {
    let severity = match trace.severity {
        Severity::Critical => "critical",
        Severity::NotCritical => "not critical",
    };
    let mut about = vec!["A violation that Shakedown found, as a program.".to_owned(), String::new()];
    labelled(&mut about, "target", &trace.target);
    labelled(&mut about, "property", &format!("{} ({severity})", trace.property));
    labelled(&mut about, "detail", &trace.detail);
    let cuts: Vec<_> = parts.iter().filter_map(|part| part.cut.as_ref()).collect();
    for cut in &cuts {
        labelled(&mut about, "power cut", &cut.join("\n"));
    }
    if cuts.is_empty() {
        labelled(&mut about, "power cut", "none");
    }
    if trace.schedule.iter().any(|a_move| matches!(a_move, Move::Begin(_) | Move::Go(_))) {
        about.push(String::new());
        about.push("The target interleaves these ops. Here each runs as a whole, in the order in which".to_owned());
        about.push("they began.".to_owned());
    }
    about
}

/// A text of any number of lines, with its label before the first.
fn labelled(about: &mut Vec<String>, label: &str, text: &str) {
    let mut label = format!("{label}:");
    for line in text.lines() {
        about.push(format!("{label:<11}{}", visible(line)).trim_end().to_owned());
        label.clear();
    }
}

/// The text with everything that an eye or a compiler could misread (control characters, changes of direction) spelt
/// out.
fn visible(text: &str) -> String {
    let mut visible = String::new();
    for c in text.chars() {
        match c {
            '\\' | '"' | '\'' => visible.push(c),
            _ => visible.extend(c.escape_debug()),
        }
    }
    visible
}
