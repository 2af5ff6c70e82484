//! One way to search a variant, for every test of this folder.

use std::sync::Arc;

use check::{CheckOptions, CheckReport, RunOptions, Target, Workload};
use disk::{CrashMode, Disk};
use explore::{Budget, Severity};
use models::{
    journal::{Journal, Memory, Variant},
    nodes::NodeTarget,
};
use vfs::{contract::Contract, generate::OpSet, text::parse_workload};

use crate::driver;

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
    search_target(target(variant), options, bounds)
}

/// As [`search_with`], for a target whose workload is another one besides its ops.
pub fn search_target(mut target: NodeTarget<Journal>, options: CheckOptions, bounds: Bounds) -> CheckReport {
    target.bounds_mut().ops = bounds.ops.parse::<OpSet>().expect("a set of ops");
    let contract = Target::promise(&target).contract;
    let run = RunOptions {
        threads: bounds.workers,
        budget: Budget { depth: Some(bounds.depth), ..Budget::default() },
        ..RunOptions::exhaustive("model:journal")
    };
    driver::search(&target, CheckOptions { crash: bounds.crash, contract, ..options }, &run)
}

/// Does the ops of a script one after the other, with a power cut everywhere.
pub fn play(variant: Variant, script: &str, crash: CrashMode, contract: Contract) -> CheckReport {
    let ops = parse_workload(script).expect("every line is an op");
    let workload = Workload::scripted(&ops);
    let options = CheckOptions { crash, contract, ..CheckOptions::default() };
    driver::search(&target(variant), options, &RunOptions { workload, ..RunOptions::exhaustive("model:journal") })
}

/// Does the ops of a script on a disk, without a search; all of them must succeed.
pub fn run(target: &NodeTarget<Journal>, memory: &mut Arc<Memory>, disk: &mut Disk, script: &str) {
    let ops = parse_workload(script).expect("every line is an op");
    for op in ops {
        let outcome = driver::run(target, memory, disk, op.clone());
        assert!(outcome.is_ok(), "{op}: {outcome:?}");
    }
}

/// The violated properties that are critical.
pub fn critical(report: &CheckReport) -> Vec<&str> {
    let critical = report.violations.iter().filter(|violated| violated.severity == Severity::Critical);
    critical.map(|violated| violated.property.as_str()).collect()
}
