//! One way to search a file system, for every test of this folder.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Trace};
use disk::CrashMode;
use explore::{Budget, Order, Stop};
use vfs::contract::Contract;

/// How many ops a search looks ahead: enough for every flaw, with a few to spare.
pub const DEPTH: u32 = 5;

pub fn options(crash: CrashMode, contract: Contract) -> CheckOptions {
    CheckOptions { crash, contract, ..CheckOptions::default() }
}

/// A search to the usual depth in this order; a random walk, which has no end of its own, is short.
pub fn run_options(order: Order) -> RunOptions {
    let states = (order == Order::RandomWalk).then_some(100);
    RunOptions {
        order,
        budget: Budget { depth: Some(DEPTH), states, ..Budget::default() },
        ..RunOptions::exhaustive("test:store")
    }
}

/// Searches every state within the depth, unless the target panics.
pub fn search(target: &impl Checkable, options: CheckOptions) -> CheckReport {
    search_in(target, options, Order::BreadthFirst)
}

/// Searches in another order.
pub fn search_in(target: &impl Checkable, options: CheckOptions, order: Order) -> CheckReport {
    target.check(options, &run_options(order), &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

/// The names of the violated properties, in alphabetical order.
pub fn violated(report: &CheckReport) -> Vec<&str> {
    let mut names: Vec<&str> = report.violations.iter().map(|violated| violated.property.as_str()).collect();
    names.sort_unstable();
    names
}

/// The trace of a violation that the search must find.
pub fn trace_of(target: &impl Checkable, options: CheckOptions, property: &str) -> Trace {
    let report = search(target, options);
    let found = report.violations.iter().find(|violated| violated.property == property);
    found.unwrap_or_else(|| panic!("{property} is not among {:?}", violated(&report))).trace.clone()
}

/// A trace that a search found: it survives being written and read, shows its violation when it is replayed, and when
/// it is minimised, which it returns.
pub fn minimised(target: &impl Checkable, trace: &Trace) -> Trace {
    let trace = Trace::from_json(&trace.to_json()).expect("it was just written");
    let smaller = target.minimise(&trace, &Stop::default()).expect("it violates its property");
    for trace in [&trace, &smaller] {
        let violation = target.replay(trace).expect("it belongs to this target").violation;
        let said = violation.as_ref().map(|(property, detail)| (property.name, detail.as_str()));
        assert_eq!(said, Some((trace.property.as_str(), trace.detail.as_str())));
    }
    smaller
}
