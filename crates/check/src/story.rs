//! A counterexample as a person would tell it.

use std::fmt;

use crate::{
    replay::{Replayed, Shown},
    requests::Request,
    sighting::Sighting,
    trace::Trace,
};

/// Prints a replayed trace: the ops, the disk requests with the power cut among them, what recovery made of it, and
/// which promise broke.
pub struct Story<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// What happened when it was replayed.
    pub replayed: &'a Replayed,
    /// Whether to show requests and tree after every move, or only where the power was cut.
    pub every_step: bool,
}

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.replayed.moves.len();
        for (number, shown) in (1..).zip(&self.replayed.moves) {
            let detailed = self.every_step || number == count || shown.cut_after.is_some();
            tell_move(f, number, shown, detailed, self.every_step)?;
        }
        writeln!(f)?;
        match (&self.replayed.violation, &self.trace.sighting) {
            (Some((property, detail)), sighting) => {
                let how_bad = match property.severity {
                    explore::Severity::Critical => "critical",
                    explore::Severity::NotCritical => "not critical",
                };
                writeln!(f, "Broken: {} ({how_bad})", property.name)?;
                indent(f, &printable_lines(detail), "  ")?;
                sighting.iter().try_for_each(|sighting| writeln!(f, "  {}", sighting.how_often()))
            }
            (None, Some(sighting)) => self.tell_sighting(f, sighting),
            (None, None) => {
                writeln!(f, "The trace no longer violates {}. When it was recorded:", self.trace.property)?;
                indent(f, &printable_lines(&self.trace.detail), "  ")
            }
        }
    }
}

impl Story<'_> {
    /// There is nothing to show of a violation that does not come again but what was written down.
    fn tell_sighting(&self, f: &mut fmt::Formatter<'_>, sighting: &Sighting) -> fmt::Result {
        writeln!(f, "{}: {}", sighting.heading(), self.trace.property)?;
        indent(f, &printable_lines(&self.trace.detail), "  ")?;
        writeln!(f, "  {}", sighting.how_often())?;
        let sides = std::iter::once(&self.trace.target).chain(&self.trace.against);
        for (side, tree) in sides.zip(&sighting.trees) {
            writeln!(f, "  What {side} showed then:")?;
            indent(f, tree, "    ")?;
        }
        Ok(())
    }
}

/// So many discards in a row are worth a line each.
const DISCARDS_TOLD: usize = 2;

fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// A damaged file system has names with any bytes in them; a terminal is not to obey them.
fn printable(text: &str) -> String {
    let one = |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() };
    text.chars().map(one).collect()
}

fn tell_move(f: &mut fmt::Formatter<'_>, number: usize, shown: &Shown, detailed: bool, trees: bool) -> fmt::Result {
    write!(f, "{number:>4}. {}", shown.says)?;
    match &shown.outcome {
        Some(Err(errno)) => writeln!(f, " = {errno} ({})", errno.meaning())?,
        Some(Ok(_)) | None => writeln!(f)?,
    }
    for line in &shown.differs {
        writeln!(f, "        {}", printable(line))?;
    }
    if !detailed {
        // What a later power cut decided about is part of that story too.
        let mut decided = shown.requests.iter().filter(|request| request.decided_in.is_some());
        return decided.try_for_each(|request| tell_request(f, request));
    }
    for (at, request) in shown.requests.iter().enumerate() {
        if shown.cut_after == Some(at) {
            writeln!(f, "        ~~~~ power cut ~~~~")?;
        }
        tell_request(f, request)?;
    }
    if shown.cut_after == Some(shown.requests.len()) {
        writeln!(f, "        ~~~~ power cut ~~~~")?;
    }
    if shown.cut_after.is_some() {
        tell_recovery(f, shown, trees)
    } else if trees && let Some(tree) = &shown.tree {
        indent(f, &tree.to_string(), "        ")
    } else {
        Ok(())
    }
}

fn tell_request(f: &mut fmt::Formatter<'_>, request: &Request) -> fmt::Result {
    request.lines().iter().try_for_each(|line| writeln!(f, "        {}", printable(line)))
}

/// Of many discards one after the other, which a recovery may end with, the first is told if not every one is wanted.
fn tell_recovery(f: &mut fmt::Formatter<'_>, shown: &Shown, every_one: bool) -> fmt::Result {
    writeln!(f, "      Recovery:")?;
    for requests in shown.recovery_requests.chunk_by(|one, next| one.is_discard() && next.is_discard()) {
        let told = if every_one || requests.len() <= DISCARDS_TOLD { requests.len() } else { 1 };
        requests[..told].iter().try_for_each(|request| tell_request(f, request))?;
        match requests.len() - told {
            0 => {}
            more => writeln!(f, "        ... and {more} more discards")?,
        }
    }
    for line in shown.recovery.iter().flat_map(|finding| finding.lines()) {
        writeln!(f, "        {}", printable(line))?;
    }
    match &shown.tree {
        Some(tree) => indent(f, &tree.to_string(), "        "),
        None => writeln!(f, "        no file system"),
    }
}

fn indent(f: &mut fmt::Formatter<'_>, text: &str, by: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "{by}{line}"))
}
