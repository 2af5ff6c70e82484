//! How fast crash states of littlefs are judged on one core, beside the runner that littlefs itself is tested with.

use anyhow::Result;

use super::markdown::{count, table};
use super::{Laboratory, cut_short};
use crate::shakedown::Summary;

/// Crash states a second of littlefs' own test runner, which cuts the power in a simulated block device. A figure from
/// outside: no run of this task measures it.
const RUNNER_A_SECOND: u64 = 3_400;

const ABOUT: &str = "`lib:littlefs` on one thread, with the power cut in every op. The runner of littlefs itself does
about 3 400 crash states a second (a figure from outside, not measured here). Recoveries that are known from what they
read are not run again.

";

/// The crash mode and the depth of each run.
const RUNS: [(&str, &str); 2] = [("prefix", "5"), ("subsets", "4")];
const BUDGET: &str = "30s,8GiB";

/// Runs all and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let mut runs = Vec::new();
    for (crash, depth) in RUNS {
        let arguments = ["lib:littlefs", "--crash", crash, "--depth", depth, "--budget", BUDGET];
        let summary = laboratory.check_on(1, &format!("littlefs-{crash}"), &arguments)?;
        runs.push((format!("{crash}, depth {depth}"), summary));
    }
    let limits = cut_short::list(runs.iter().map(|(name, summary)| (name.clone(), summary)));
    Ok([ABOUT, &speed_table(&runs), &limits].concat())
}

fn speed_table(runs: &[(String, Summary)]) -> String {
    let heading = ["run", "crash states", "recoveries run", "seconds", "crash states a second", "to the runner"];
    let row = |(name, summary): &(String, Summary)| {
        let rate = summary.crash_states as f64 / summary.seconds.max(f64::MIN_POSITIVE);
        [
            name.clone(),
            count(summary.crash_states),
            count(summary.recoveries),
            format!("{:.1}", summary.seconds),
            format!("{rate:.0}"),
            format!("{:.1}x", rate / RUNNER_A_SECOND as f64),
        ]
    };
    table(heading, runs.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_crash_states_by_seconds() {
        let summary = Summary { crash_states: 51_000, recoveries: 70, ..Summary::example(&[]) };
        let text = speed_table(&[("prefix, depth 5".to_owned(), summary)]);
        assert!(text.contains("| prefix, depth 5 | 51 000 | 70 | 1.5 | 34000 | 10.0x |"), "{text}");
    }
}
