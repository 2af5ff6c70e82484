//! Inputs by weight: how close to what was asked a run comes, beside the figures of Metis.

use anyhow::{Context as _, Result};

use super::Laboratory;
use super::markdown::{count, table};
use crate::shakedown::Summary;

const ABOUT: &str =
    "`guest:ext4` against `ref` in random walks of 200 ops, with each of the ready-made distributions over
the flags of `open` and the sizes of `write` (`--ops FILE.toml`). The coefficient of variation is that of what each
partition got over what was asked of it, as in the summary's `input_coverage`. Metis has 23 flags and a partition for
each power of two (section 5.6.1); here there are 9 flags, and sizes up to 65536 in 48 partitions: zero, each power of
two, and what lies below and above it. Metis draws at random; here what is behind is drawn more often.

";

/// Published figures: distribution, time, flags, sizes (section 5.6.1, figures 5.4 to 5.6).
const METIS: [(&str, &str, &str, &str); 4] = [
    ("uniform", "40 minutes", "1.2 %", ""),
    ("uniform, decay, inverse-decay", "40 minutes", "", "17.0 %"),
    ("uniform, decay, inverse-decay", "4 hours", "", "3.9 %"),
    ("uniform, decay, inverse-decay", "24 hours", "", "2.6 %"),
];
/// What is to be reached within ten minutes.
const FLAGS_AIM: f64 = 0.012;
const SIZES_AIM: f64 = 0.039;

const DISTRIBUTIONS: [&str; 5] = ["uniform", "rank", "inverse-rank", "decay", "inverse-decay"];

const OPS: &str = "[ops]
open = 3
close = 1
write = 4
truncate = 1
unlink = 1
mkdir = 1
rmdir = 1
rename = 1
remount = 0.3
";

/// How long each runs if nothing is said.
const TIME_DEFAULT: &str = "60s";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let time = laboratory.each.as_deref().unwrap_or(TIME_DEFAULT);
    let run = |distribution: &'static str| {
        let name = format!("inputs-{distribution}");
        let weights = laboratory.scratch.join(format!("{name}.toml"));
        std::fs::write(&weights, weights_with(distribution))
            .with_context(|| format!("could not write {}", weights.display()))?;
        let weights = weights.to_str().context("could not use a scratch folder whose name is no text")?;
        let search = ["--search", "random", "--depth", "200", "--budget", time];
        let arguments = [&["guest:ext4", "--against", "ref", "--ops", weights][..], &search].concat();
        Ok((distribution, laboratory.check(&name, &arguments)?))
    };
    let runs: Vec<(&str, Summary)> = DISTRIBUTIONS.into_iter().map(run).collect::<Result<_>>()?;
    Ok(format!("{ABOUT}{}\n{}\n\nThe other weights:\n\n```toml\n{OPS}```\n", rows(&runs), verdict(&runs)))
}

fn weights_with(distribution: &str) -> String {
    format!(
        "{OPS}\n[open.flags]\ndistribution = \"{distribution}\"\n\n[write.len]\ndistribution = \"{distribution}\"\n"
    )
}

fn rows(runs: &[(&str, Summary)]) -> String {
    let heading = ["distribution", "run", "time", "ops", "flags of open", "sizes of write"];
    let published = METIS.map(|(distribution, time, flags, sizes)| {
        [distribution, "published", time, "", flags, sizes].map(str::to_owned)
    });
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.2} %", share * 100.0));
    let ours = runs.iter().map(|(distribution, summary)| {
        [
            (*distribution).to_owned(),
            "Shakedown".to_owned(),
            format!("{:.0} s", summary.seconds),
            count(summary.ops),
            percent(flags(summary)),
            percent(sizes(summary)),
        ]
    });
    table(heading, published.into_iter().chain(ours))
}

fn flags(summary: &Summary) -> Option<f64> {
    summary.variation_of("open", "flags")
}

fn sizes(summary: &Summary) -> Option<f64> {
    summary.variation_of("write", "len")
}

fn verdict(runs: &[(&str, Summary)]) -> String {
    let within = |found: Option<f64>, aim: f64| found.is_some_and(|found| found <= aim);
    let reached =
        |(_, summary): &&(&str, Summary)| within(flags(summary), FLAGS_AIM) && within(sizes(summary), SIZES_AIM);
    let missed: Vec<&str> = runs.iter().filter(|run| !reached(run)).map(|(distribution, _)| *distribution).collect();
    let aim = "The aim is 1.2 % for flags and 3.9 % for sizes within ten minutes";
    match missed.as_slice() {
        [] => format!("{aim}: every run reached both."),
        missed => format!("{aim}: **missed** by {}.", missed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shakedown::Coverage;

    fn run(distribution: &'static str, flags: f64, sizes: f64) -> (&'static str, Summary) {
        let coverage = |op: &str, argument: &str, found: f64| Coverage {
            op: Some(op.to_owned()),
            argument: argument.to_owned(),
            coefficient_of_variation: Some(found),
        };
        let input_coverage = Some(vec![coverage("open", "flags", flags), coverage("write", "len", sizes)]);
        (distribution, Summary { input_coverage, ..Summary::example(&[]) })
    }

    #[test]
    fn what_was_reached_and_what_was_missed_is_said() {
        let (near, far) = (run("rank", 0.0041, 0.02), run("decay", 0.0041, 0.04));
        assert!(rows(std::slice::from_ref(&near)).contains("| rank | Shakedown | 2 s | 30 | 0.41 % | 2.00 % |"));
        assert!(verdict(std::slice::from_ref(&near)).ends_with("every run reached both."));
        assert!(verdict(&[near, far]).ends_with("**missed** by decay."));
    }
}
