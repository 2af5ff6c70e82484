//! One way to search a library, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Score, Workload};
use disk::CrashMode;
use explore::{Budget, Order, Stop, VisitedKind};

/// Searches to a depth, demanding what the library promises.
pub fn search(target: &impl Checkable, crash: CrashMode, depth: u32) -> CheckReport {
    let contract = target.promise().contract;
    let options = CheckOptions { crash, contract, ..CheckOptions::default() };
    let run = RunOptions {
        workload: Workload::default(),
        target: "lib:test".to_owned(),
        order: Order::BreadthFirst,
        score: Score::None,
        visited: VisitedKind::Exact,
        symmetry: true,
        memoise: true,
        threads: 1,
        budget: Budget { depth: Some(depth), ..Budget::default() },
        seed: 0,
        until_violation: false,
        stop: Stop::default(),
        checkpoint: None,
        resume: false,
    };
    let report = target.check(options, &run, &mut |_, _| {});
    let report = report.expect("a search without a checkpoint has nothing that could fail");
    assert!(report.complete, "{:?}", report.limits);
    report
}

/// The names of the violated properties, in alphabetical order.
pub fn violated(report: &CheckReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.violations.iter().map(|violated| violated.property.as_str()).collect();
    names.sort_unstable();
    names
}

/// The ops of the shallowest trace of a property.
pub fn ops_to(report: &CheckReport, property: &str) -> Vec<String> {
    let found = report.violations.iter().find(|violated| violated.property == property);
    let found = found.unwrap_or_else(|| panic!("{property} is not among {:?}", violated(report)));
    found.trace.ops.iter().map(ToString::to_string).collect()
}
