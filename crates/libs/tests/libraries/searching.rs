//! One way to search a library, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions};
use disk::CrashMode;
use explore::Budget;

/// Searches to a depth, demanding what the library promises.
pub fn search(target: &impl Checkable, crash: CrashMode, depth: u32) -> CheckReport {
    let contract = target.promise().contract;
    let options = CheckOptions { crash, contract, ..CheckOptions::default() };
    let run =
        RunOptions { budget: Budget { depth: Some(depth), ..Budget::default() }, ..RunOptions::exhaustive("lib:test") };
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
