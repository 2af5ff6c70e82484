//! The bug that was found in the study's model (MC3, section 5.3.2): silent without crashes, there with them, and gone
//! where it is mended.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

const RIGHT: &str = "model:f2fs";
const WRONG: &str = "model:f2fs?reuse=immediate";
const BUDGET: &str = "120s,8GiB";

/// One search, which both variants go through.
struct Search {
    crash: &'static str,
    /// How states are told apart: by everything, or by shape and so many last ops.
    suffix: Option<&'static str>,
    depth: &'static str,
}

const SEARCHES: [Search; 4] = [
    Search { crash: "off", suffix: Some("2"), depth: "10" },
    Search { crash: "off", suffix: Some("3"), depth: "10" },
    Search { crash: "prefix", suffix: None, depth: "5" },
    Search { crash: "prefix", suffix: Some("2"), depth: "10" },
];

const ABOUT: &str = "`reuse=immediate` against the right variant, in the study's geometry and with every op of the
model. The study found nothing without crashes up to 13 ops, and with them a loss of data in traces of 8 steps or more,
its last one the power cut (Figure 5.7). Ours are shorter, since every write here is longer than a segment, while the
study draws lengths by chance. The search is the same for both variants, on all cores.

";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let mut runs = Vec::new();
    for search in &SEARCHES {
        for target in [RIGHT, WRONG] {
            runs.push(Run::new(laboratory, target, search)?);
        }
    }
    let limits = cut_short::list(runs.iter().map(|run| (run.name(), &run.summary)));
    Ok([ABOUT, &runs_table(&runs), &limits].concat())
}

struct Run<'a> {
    target: &'static str,
    search: &'a Search,
    summary: Summary,
    /// Of the shortest trace, without the power cut.
    ops_in_trace: Option<usize>,
}

impl<'a> Run<'a> {
    fn new(laboratory: &Laboratory, target: &'static str, search: &'a Search) -> Result<Self> {
        let Search { crash, suffix, depth } = *search;
        let mut arguments = vec![target, "--crash", crash, "--depth", depth, "--budget", BUDGET];
        arguments.extend(suffix.into_iter().flat_map(|suffix| ["--equality", "shape", "--suffix", suffix]));
        let variant = if target == RIGHT { "right" } else { "wrong" };
        let name = format!("bug-{variant}-{crash}-{}", suffix.unwrap_or("full"));
        let summary = laboratory.check(&name, &arguments)?;
        let ops_in_trace = shortest(&summary, &laboratory.scratch.join(name))?;
        Ok(Self { target, search, summary, ops_in_trace })
    }

    fn equality(&self) -> String {
        self.search.suffix.map_or_else(|| "full".to_owned(), |suffix| format!("shape {suffix}"))
    }

    fn name(&self) -> String {
        format!("{}, {}, {}", self.target, self.search.crash, self.equality())
    }

    fn row(&self) -> [String; 10] {
        let summary = &self.summary;
        let properties: Vec<&str> = summary.violations.iter().map(|found| found.property.as_str()).collect();
        [
            format!("`{}`", self.target),
            self.search.crash.to_owned(),
            self.equality(),
            self.search.depth.to_owned(),
            cut_short::at_least(&count(summary.states), summary),
            count(summary.ops),
            count(summary.crash_states),
            if properties.is_empty() { "nothing".to_owned() } else { properties.join(", ") },
            self.ops_in_trace.map(|ops| ops.to_string()).unwrap_or_default(),
            format!("{:.1}", summary.seconds),
        ]
    }
}

/// The ops of the shortest trace that a run left in its folder.
fn shortest(summary: &Summary, out: &Path) -> Result<Option<usize>> {
    let traces = summary.violations.iter().filter_map(|found| found.trace.as_deref());
    let lengths = traces.map(|trace| {
        let path = out.join(trace);
        let text = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
        let trace: serde_json::Value = serde_json::from_slice(&text)?;
        trace["ops"].as_array().map(Vec::len).with_context(|| format!("could not find the ops of {}", path.display()))
    });
    Ok(lengths.collect::<Result<Vec<usize>>>()?.into_iter().min())
}

fn runs_table(runs: &[Run<'_>]) -> String {
    let heading = [
        "target",
        "crash",
        "states told apart by",
        "depth",
        "states",
        "ops",
        "crash states",
        "violated",
        "ops in the shortest trace",
        "seconds",
    ];
    table(heading, runs.iter().map(Run::row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_what_it_found() {
        let run = |target, violated: &[&str], ops_in_trace| Run {
            target,
            search: &SEARCHES[2],
            summary: Summary::example(violated),
            ops_in_trace,
        };
        let text = runs_table(&[run(RIGHT, &[], None), run(WRONG, &["contents"], Some(5))]);
        assert!(text.contains("| `model:f2fs` | prefix | full | 5 | 10 | 30 | 20 | nothing |  | 1.5 |"), "{text}");
        let found = "| `model:f2fs?reuse=immediate` | prefix | full | 5 | 10 | 30 | 20 | contents | 5 | 1.5 |";
        assert!(text.contains(found), "{text}");
    }
}
