//! A swarm: how much of what its tasks see is seen by more than one of them, beside the figure of Metis.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::Laboratory;
use super::markdown::{count, table};
use crate::process;

const ABOUT: &str = "`shakedown swarm guest:ext4 --against ref`: tasks in processes of their own with different seeds,
orders, hash functions and weights. A state is a tree with what is open. Published for Metis: about 1 % of all states
were met by more than one of 18 tasks, ext4 against ext2 for 13 hours (section 5.6.2; the same section has 2.7 million
states a task and 30 million different ones, which is more than that). All tasks begin with the same empty file system.

";

/// As many as Metis has on one machine.
const TASKS: &str = "6";
/// How long each of two swarms runs if nothing is said.
const TIMES_DEFAULT: [&str; 2] = ["30s", "90s"];

const WEIGHTS: &str = "[ops]
open = 2
close = 1
create = 1
write = 3
truncate = 1
unlink = 1
mkdir = 1
rmdir = 1
rename = 1
link = 1
symlink = 1
chmod = 1
setxattr = 1
remount = 0.3
";

/// What `shakedown swarm --json` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Swarm {
    seconds: f64,
    dead: u64,
    states: u64,
    ops: u64,
    states_distinct: u64,
    states_shared: u64,
    overlap: f64,
    tasks: Vec<Task>,
}

#[derive(Debug, Deserialize)]
struct Task {
    search: String,
    states: u64,
}

/// Runs the swarms and renders the section.
pub fn section(laboratory: &Laboratory) -> Result<String> {
    let weights = laboratory.scratch.join("swarm.toml");
    std::fs::write(&weights, WEIGHTS).with_context(|| format!("could not write {}", weights.display()))?;
    let times: Vec<&str> = laboratory.each.as_deref().map_or(TIMES_DEFAULT.to_vec(), |time| vec![time]);
    let mut swarms = Vec::new();
    for time in times {
        let mut command = laboratory.shakedown.command();
        command.args(["swarm", "guest:ext4", "--against", "ref", "--tasks", TASKS, "--depth", "200"]);
        command.args(["--budget", time, "--json", "--ops"]).arg(&weights);
        let output = process::output(&mut command)?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("could not complete {}\n{}", process::command_line(&command), process::complaint(&output));
        }
        let swarm: Swarm = serde_json::from_slice(&output.stdout).context("could not read what the swarm found")?;
        println!("swarm for {time}: {} states, {:.1} % of them shared", swarm.states_distinct, swarm.overlap * 100.0);
        swarms.push(swarm);
    }
    Ok(format!("{ABOUT}{}\n{}\nThe weights:\n\n```toml\n{WEIGHTS}```\n", rows(&swarms), orders(&swarms)))
}

fn rows(swarms: &[Swarm]) -> String {
    let heading = ["run", "tasks", "died", "seconds", "ops", "states of all tasks", "different", "shared", "overlap"];
    let published = ["Metis", "18", "", "46800", "164 million", "", "30 million", "", "about 1 %"].map(str::to_owned);
    let ours = swarms.iter().map(|swarm| {
        [
            "Shakedown".to_owned(),
            swarm.tasks.len().to_string(),
            swarm.dead.to_string(),
            format!("{:.0}", swarm.seconds),
            count(swarm.ops),
            count(swarm.states),
            count(swarm.states_distinct),
            count(swarm.states_shared),
            format!("{:.2} %", swarm.overlap * 100.0),
        ]
    });
    table(heading, std::iter::once(published).chain(ours))
}

/// How many states each task of the longest swarm saw, by its order.
fn orders(swarms: &[Swarm]) -> String {
    let Some(longest) = swarms.last() else { return String::new() };
    let task = |task: &Task| format!("{} {}", task.search, count(task.states));
    let tasks: Vec<String> = longest.tasks.iter().map(task).collect();
    format!("States of each task of the last one, by its order: {}.\n", tasks.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_stands_beside_the_published_one() {
        let text = r#"{"seconds": 30.2, "dead": 0, "states": 1000, "ops": 5000, "states_distinct": 990,
            "states_shared": 10, "overlap": 0.0101, "tasks": [{"search": "dfs", "states": 1000}]}"#;
        let swarms = [serde_json::from_str(text).expect("what a swarm prints")];
        assert!(rows(&swarms).contains("| Shakedown | 1 | 0 | 30 | 5 000 | 1 000 | 990 | 10 | 1.01 % |"));
        assert!(orders(&swarms).contains("dfs 1 000"));
    }
}
