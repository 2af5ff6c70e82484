//! Every `cargo xtask NAME` that a page tells people to type exists.

use clap::Subcommand as _;

use super::Source;
use crate::task::Task;

/// Looks for the command in prose and code alike.
pub fn exist(source: &Source) -> Vec<(usize, String)> {
    let list = Task::augment_subcommands(clap::Command::new("xtask"));
    let is_task = |name: &str| list.get_subcommands().any(|task| task.get_name() == name);
    let unknown = |line: &str| named_tasks(line).find(|name| !is_task(name)).map(str::to_owned);
    let lines = source.lines().iter().enumerate();
    lines.filter_map(|(index, line)| Some((index, format!("there is no task {}", unknown(line)?)))).collect()
}

fn named_tasks(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("cargo xtask ").skip(1);
    let words = after.filter_map(|text| text.split(|character: char| !character.is_ascii_alphabetic()).next());
    words.filter(|word| !word.is_empty())
}
