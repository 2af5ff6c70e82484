//! How fast a file system of a guest is explored beside the reference, with ops drawn by weights: in each order.
//!
//! Arguments: a file of weights, how many seconds each search has, how many threads, and the file systems.

use std::{error::Error, time::Duration};

use check::{CheckOptions, Checkable, Comparison, Equality, InProcess, RunOptions, Weighted, Workload};
use disk::CrashMode;
use explore::{Budget, Order};
use guest::{FileSystemKind, GuestTarget};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let weights = std::fs::read_to_string(arguments.next().ok_or("which weights?")?)?;
    let seconds: u64 = arguments.next().ok_or("how many seconds?")?.parse()?;
    let threads: usize = arguments.next().ok_or("how many threads?")?.parse()?;
    let names: Vec<String> = arguments.collect();
    let is_wanted = |kind: &FileSystemKind| names.iter().any(|name| name == kind.name());
    for kind in FileSystemKind::ALL.into_iter().filter(is_wanted) {
        for (order, name, depth) in
            [(Order::DepthFirst, "dfs", 60), (Order::BreadthFirst, "bfs", 60), (Order::RandomWalk, "random", 200)]
        {
            let target: Box<dyn Checkable> = Box::new(GuestTarget::new(kind.usual(), false));
            let sides = vec![(kind.name().to_owned(), target), ("ref".to_owned(), Box::new(InProcess) as _)];
            let both = Comparison::new(sides)?;
            both.ready()?;
            let weighted = Weighted { weights: weights.parse()?, seed: 0, by_step: order == Order::RandomWalk };
            let time = Some(Duration::from_secs(seconds));
            let run = RunOptions {
                workload: Workload { weighted: Some(weighted), ..Workload::default() },
                order,
                threads,
                budget: Budget { depth: Some(depth), time, ..Budget::default() },
                ..RunOptions::exhaustive(kind.name())
            };
            let options = CheckOptions { crash: CrashMode::Off, equality: Equality::Tree, ..CheckOptions::default() };
            let report = both.check(options, &run, &mut |_, _| {})?;
            let each = |count: u64| count as f64 / report.elapsed.as_secs_f64();
            let found: Vec<&str> = report.violations.iter().map(|violated| violated.trace.detail.as_str()).collect();
            println!(
                "{:<9} {name:<7} {:>6} ops {:>6} states, depth {:>3}: {:>5.0} ops, {:>5.1} states a second {found:?}",
                kind.name(),
                report.work.ops,
                report.states,
                report.depth,
                each(report.work.ops),
                each(report.states)
            );
        }
    }
    Ok(())
}
