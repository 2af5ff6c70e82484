//! One way to search a variant, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Target};
use disk::CrashMode;
use explore::{Budget, Severity};
use models::{
    journal::{Journal, Variant},
    nodes::NodeTarget,
};
use vfs::{contract::Contract, generate::OpSet};

/// A search of a variant within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub ops: &'static str,
    pub depth: u32,
    pub crash: CrashMode,
    pub workers: usize,
}

/// The variant as a target.
pub fn target(variant: Variant) -> NodeTarget<Journal> {
    NodeTarget::new(Journal::new(variant).expect("its sizes are in range"))
}

/// Searches a variant within bounds, for what it promises and with its metadata checked.
pub fn search(variant: Variant, bounds: Bounds) -> CheckReport {
    search_with(variant, CheckOptions::default(), bounds)
}

/// As [`search`], with more that may go wrong.
pub fn search_with(variant: Variant, options: CheckOptions, bounds: Bounds) -> CheckReport {
    let mut target = target(variant);
    target.bounds_mut().ops = bounds.ops.parse::<OpSet>().expect("a set of ops");
    let contract = Target::promise(&target).contract;
    check_with(&target, CheckOptions { crash: bounds.crash, contract, ..options }, bounds)
}

/// Searches a target; the search must be complete within its bounds.
pub fn check(target: &dyn Checkable, contract: Contract, bounds: Bounds) -> CheckReport {
    check_with(target, CheckOptions { crash: bounds.crash, contract, ..CheckOptions::default() }, bounds)
}

/// As [`check`], with more that may go wrong.
pub fn check_with(target: &dyn Checkable, options: CheckOptions, bounds: Bounds) -> CheckReport {
    let run = RunOptions {
        threads: bounds.workers,
        budget: Budget { depth: Some(bounds.depth), ..Budget::default() },
        ..RunOptions::exhaustive("model:journal")
    };
    let report = target.check(options, &run, &mut |_, _| {}).expect("a search without a checkpoint cannot fail");
    assert!(report.complete, "{bounds:?}: {:?}", report.limits);
    report
}

/// The names of the violated properties, in alphabetical order.
pub fn violated(report: &CheckReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.violations.iter().map(|violated| violated.property.as_str()).collect();
    names.sort_unstable();
    names
}

/// The violated properties that are critical.
pub fn critical(report: &CheckReport) -> Vec<&str> {
    let critical = report.violations.iter().filter(|violated| violated.severity == Severity::Critical);
    critical.map(|violated| violated.property.as_str()).collect()
}
