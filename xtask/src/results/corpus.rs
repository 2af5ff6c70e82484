//! Published bugs, each as the ops that showed it: what this kernel does on them.

use anyhow::Result;

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::shakedown::{Summary, Violation};

const ABOUT: &str = "`shakedown check guest:FS --ops corpus --crash subsets` does the ops of each bug of
[the corpus](../crates/vfs/src/corpus/entries.rs), with every power cut on the way. An entry that is not named under
«found» showed nothing; one that is named was done up to there. Where several entries begin with the same ops, what
shows in those is found in each of them. What was found is told in [findings.md](findings.md).

";

/// Those that the bugs were published of, and one without a journal beside them.
const TARGETS: [&str; 5] = ["guest:ext4", "guest:xfs", "guest:btrfs", "guest:f2fs", "guest:ext2"];

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let run = |target: &'static str| {
        let name = format!("corpus-{}", target.replace(':', "-"));
        Ok((target, laboratory.check(&name, &[target, "--ops", "corpus", "--crash", "subsets"])?))
    };
    let runs: Vec<(&str, Summary)> = TARGETS.into_iter().map(run).collect::<Result<_>>()?;
    let limits = cut_short::list(runs.iter().map(|(name, summary)| ((*name).to_owned(), summary)));
    Ok(format!("{ABOUT}{}{limits}", rows(&runs)))
}

fn rows(runs: &[(&str, Summary)]) -> String {
    let heading = ["target", "entries", "to their end", "without an op that it needs", "crash images", "found"];
    let row = |(target, summary): &(&str, Summary)| {
        let of_workloads = |number: fn(crate::shakedown::Workloads) -> u64| {
            summary.workloads.map_or_else(String::new, |workloads| count(number(workloads)))
        };
        let found: Vec<String> = summary.violations.iter().map(tell).collect();
        [
            (*target).to_owned(),
            of_workloads(|workloads| workloads.generated),
            of_workloads(|workloads| workloads.finished),
            of_workloads(|workloads| workloads.left_out),
            count(summary.crash_states_distinct),
            if found.is_empty() { "nothing".to_owned() } else { found.join("; ") },
        ]
    };
    table(heading, runs.iter().map(row))
}

fn tell(violation: &Violation) -> String {
    let Some(affected) = &violation.workloads else { return format!("`{}`", violation.property) };
    let more = affected.count.saturating_sub(affected.names.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("`{}` in {}{more}", violation.property, affected.names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shakedown::{Affected, Workloads};

    #[test]
    fn entries_are_named_where_something_was_found() {
        let mut summary = Summary::example(&["outcome"]);
        summary.workloads = Some(Workloads { generated: 38, finished: 36, left_out: 2 });
        summary.violations[0].workloads = Some(Affected { count: 3, names: vec!["one".to_owned(), "two".to_owned()] });
        let text = rows(&[("guest:ext2", summary), ("guest:ext4", Summary::example(&[]))]);
        assert!(text.contains("| guest:ext2 | 38 | 36 | 2 | 10 | `outcome` in one, two and 1 more |"), "{text}");
        assert!(text.contains("| guest:ext4 |  |  |  | 10 | nothing |"), "{text}");
    }
}
