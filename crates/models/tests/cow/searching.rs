//! One way to search a target, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Workload};
use disk::CrashMode;
use explore::Budget;
use models::{
    cow::{Cow, Variant},
    nodes::NodeTarget,
};
use vfs::{Op, contract::Contract, generate::OpSet};

use crate::driver;

/// Searches completely to a depth, under the contract that the target promises.
pub fn search(target: &dyn Checkable, crash: CrashMode, depth: u32, go_on: bool, threads: usize) -> CheckReport {
    search_under(target.promise().contract, target, crash, depth, go_on, threads)
}

/// Searches completely to a depth; `go_on` is whether the search goes on after crashes.
pub fn search_under(
    contract: Contract,
    target: &dyn Checkable,
    crash: CrashMode,
    depth: u32,
    go_on: bool,
    threads: usize,
) -> CheckReport {
    let options = CheckOptions { crash, contract, continue_after_crash: go_on, ..CheckOptions::default() };
    search_with(options, target, depth, threads)
}

/// Searches completely to a depth.
pub fn search_with(options: CheckOptions, target: &dyn Checkable, depth: u32, threads: usize) -> CheckReport {
    let run = RunOptions {
        threads,
        budget: Budget { depth: Some(depth), ..Budget::default() },
        ..RunOptions::exhaustive("model:cow")
    };
    driver::search(target, options, &run)
}

/// Does these ops one after the other, with the power cut everywhere. Nothing follows a power cut.
pub fn play(variant: Variant, script: &[Op]) -> CheckReport {
    let target = NodeTarget::new(Cow::new(variant));
    let contract = Checkable::promise(&target).contract;
    let crash = CrashMode::Subsets;
    let options = CheckOptions { crash, contract, continue_after_crash: false, ..CheckOptions::default() };
    let workload = Workload::scripted(script);
    driver::search(&target, options, &RunOptions { workload, ..RunOptions::exhaustive("model:cow") })
}

/// A variant with these ops in its workload.
pub fn target(variant: Variant, ops: &str) -> NodeTarget<Cow> {
    let mut target = NodeTarget::new(Cow::new(variant));
    target.bounds_mut().ops = ops.parse::<OpSet>().expect("these are ops");
    target
}
