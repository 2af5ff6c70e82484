//! One way to search a store, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Trace};
use disk::CrashMode;
use explore::{Budget, Order, Stop, VisitedKind};
use vfs::contract::Contract;

use crate::store::Store;

/// How many ops a search looks ahead: enough for every flaw, with a few to spare.
pub const DEPTH: u32 = 5;

pub fn options(crash: CrashMode, contract: Contract) -> CheckOptions {
    CheckOptions { crash, contract, ..CheckOptions::default() }
}

fn run_options() -> RunOptions {
    RunOptions {
        target: "test:store".to_owned(),
        order: Order::BreadthFirst,
        visited: VisitedKind::Exact,
        symmetry: true,
        threads: 1,
        budget: Budget { depth: Some(DEPTH), ..Budget::default() },
        seed: 0,
        until_violation: false,
        stop: Stop::default(),
        checkpoint: None,
        resume: false,
    }
}

/// Searches every state within the depth, unless the store panics.
pub fn search(store: &Store, options: CheckOptions) -> CheckReport {
    store.check(options, &run_options(), &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

/// The names of the violated properties, in alphabetical order.
pub fn violated(report: &CheckReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.violations.iter().map(|violated| violated.property.as_str()).collect();
    names.sort_unstable();
    names
}

/// The trace of a violation that the search must find.
pub fn trace_of(store: &Store, options: CheckOptions, property: &str) -> Trace {
    let report = search(store, options);
    let found = report.violations.iter().find(|violated| violated.property == property);
    found.unwrap_or_else(|| panic!("{property} is not among {:?}", violated(&report))).trace.clone()
}
