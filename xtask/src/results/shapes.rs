//! States by shape (MC3, section 5.3.4): how many fewer there are, and what is still found among them.

use anyhow::Result;

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

/// Figure 5.11 is a plot without a table. The text beside it gives this one figure, for all depths, and says that
/// crashes were disabled; without isomorphism there were about as many ops as states.
const PUBLISHED_REDUCTION: &str = "about 99.97 %";
const DEPTHS: [u32; 5] = [2, 3, 4, 5, 6];
const DEPTH_BUDGET: &str = "20s,8GiB";

/// The bug of the study, on a disk so small that four blocks fill a segment: there are many ways to it.
const BUG: &str = "model:f2fs?segments=14,blocks=4,heads=4,journal=2,write=4,reuse=immediate";
/// Two workloads: the fewest ops that show the bug, and all that the model has.
const WORKLOADS: [(&str, &[&str]); 2] =
    [("create, write, sync; one file", &["--ops", "create,write,sync", "--files", "1"]), ("all ops", &[])];
const SUFFIXES: [&str; 5] = ["0", "1", "2", "3", "4"];
const SUFFIX_BUDGET: &str = "8s,8GiB";

const REDUCTION: &str = "### Fewer states

`model:f2fs` in the study's geometry, without crashes, as in the study. `full` tells all states apart; `shape 0` takes
those for one whose trees have the same shape, `shape 2` only if their last two ops were of the same kinds. One thread.
The study prints no table of this (its Figure 5.11 is a plot).

";

const FOUND: &str = "
### What is still found

`reuse=immediate`, the study's bug, on a small disk (14 segments of 4 blocks) to depth 6, by the number of last ops that
tell states of one shape apart. The study, at its depth 8, found two errors when it told all states apart, none of them
without the last ops, and both with the last two or more (Figure 5.13 and the text beside it). One thread; each run ends
after 8 s.

";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let depths = DEPTHS.map(|depth| Searches::run(laboratory, depth));
    let depths: Vec<Searches> = depths.into_iter().collect::<Result<_>>()?;
    let mut runs = Vec::new();
    for (workload, arguments) in WORKLOADS {
        for suffix in SUFFIXES.map(Some).into_iter().chain([None]) {
            runs.push(Suffixed::run(laboratory, workload, arguments, suffix)?);
        }
    }
    let limits = cut_short::list(depths.iter().flat_map(Searches::named));
    let suffix_limits = cut_short::list(runs.iter().map(|run| (run.name(), &run.summary)));
    Ok([REDUCTION, &reduction_table(&depths), &limits, FOUND, &found_table(&runs), &suffix_limits].concat())
}

/// The searches of one depth.
struct Searches {
    depth: u32,
    full: Summary,
    shape_0: Summary,
    shape_2: Summary,
}

impl Searches {
    fn run(laboratory: &Laboratory, depth: u32) -> Result<Self> {
        let check = |name: &str, equality: &[&str]| {
            let depth = depth.to_string();
            let bounds = ["model:f2fs", "--crash", "off", "--depth", &depth, "--budget", DEPTH_BUDGET];
            laboratory.check_on(1, &format!("shapes-{name}-{depth}"), &[&bounds, equality].concat())
        };
        Ok(Self {
            depth,
            full: check("full", &[])?,
            shape_0: check("0", &["--equality", "shape", "--suffix", "0"])?,
            shape_2: check("2", &["--equality", "shape", "--suffix", "2"])?,
        })
    }

    fn named(&self) -> [(String, &Summary); 3] {
        let named = |name, summary| (format!("depth {}, {name}", self.depth), summary);
        [named("full", &self.full), named("shape 0", &self.shape_0), named("shape 2", &self.shape_2)]
    }

    fn row(&self) -> [String; 8] {
        let states = |summary: &Summary| cut_short::at_least(&count(summary.states), summary);
        let reduction = |by_shape: &Summary| {
            let left = by_shape.states as f64 / self.full.states as f64;
            cut_short::at_least(&format!("{:.2} %", 100.0 * (1.0 - left)), &self.full)
        };
        [
            self.depth.to_string(),
            states(&self.full),
            cut_short::at_least(&count(self.full.ops), &self.full),
            states(&self.shape_0),
            reduction(&self.shape_0),
            states(&self.shape_2),
            reduction(&self.shape_2),
            PUBLISHED_REDUCTION.to_owned(),
        ]
    }
}

fn reduction_table(depths: &[Searches]) -> String {
    let heading =
        ["depth", "full", "ops, full", "shape 0", "reduction", "shape 2", "reduction", "reduction, published"];
    table(heading, depths.iter().map(Searches::row))
}

/// A search for the bug by this many last ops; without, all states are told apart.
struct Suffixed {
    workload: &'static str,
    suffix: Option<&'static str>,
    summary: Summary,
}

impl Suffixed {
    fn run(
        laboratory: &Laboratory,
        workload: &'static str,
        arguments: &[&str],
        suffix: Option<&'static str>,
    ) -> Result<Self> {
        let mut all = [&[BUG, "--depth", "6", "--budget", SUFFIX_BUDGET], arguments].concat();
        all.extend(suffix.into_iter().flat_map(|suffix| ["--equality", "shape", "--suffix", suffix]));
        let name = format!("suffix-{}-{}", suffix.unwrap_or("full"), arguments.len());
        Ok(Self { workload, suffix, summary: laboratory.check_on(1, &name, &all)? })
    }

    fn equality(&self) -> String {
        self.suffix.map_or_else(|| "full".to_owned(), |suffix| format!("shape {suffix}"))
    }

    fn name(&self) -> String {
        format!("{}, {}", self.workload, self.equality())
    }

    fn row(&self) -> [String; 7] {
        let summary = &self.summary;
        let properties: Vec<&str> = summary.violations.iter().map(|found| found.property.as_str()).collect();
        [
            self.workload.to_owned(),
            self.equality(),
            cut_short::at_least(&count(summary.states), summary),
            count(summary.ops),
            cut_short::at_least(&properties.len().to_string(), summary),
            properties.join(", "),
            format!("{:.1}", summary.seconds),
        ]
    }
}

fn found_table(runs: &[Suffixed]) -> String {
    let heading = ["ops", "states told apart by", "states", "ops run", "properties violated", "which", "seconds"];
    table(heading, runs.iter().map(Suffixed::row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_of_a_search_that_was_cut_short_is_a_lower_bound() {
        let example = Summary::example(&[]);
        let (full, shape) = (Summary { states: 10_000, ..example.clone() }, Summary { states: 3, ..example });
        let depth = Searches { depth: 4, full, shape_0: shape.clone(), shape_2: shape };
        assert_eq!(depth.row()[1..5], ["10 000", "30", "3", "99.97 %"].map(str::to_owned));
        let cut = Searches { full: Summary { resumable: true, ..depth.full.clone() }, ..depth };
        assert_eq!(cut.row()[4], "**at least** 99.97 %");
    }

    #[test]
    fn what_was_found_is_named() {
        let run =
            Suffixed { workload: "all ops", suffix: Some("2"), summary: Summary::example(&["contents", "usable"]) };
        assert_eq!(run.row()[1..6], ["shape 2", "10", "30", "2", "contents, usable"].map(str::to_owned));
    }
}
