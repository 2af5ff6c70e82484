//! What the tests of every model do: take an op to its outcome, take a search to its end, and name what it found.

use check::{CheckOptions, CheckReport, Checkable, RunOptions, Target, Task};
use disk::{Disk, OpIndex};
use vfs::{Op, Outcome};

/// Far more than any op takes: one that never ends fails its test.
const STEPS_MAX: usize = 100;

/// Does an op, without a search.
pub fn run<T: Target>(target: &T, mounted: &mut T::Mounted, disk: &mut Disk, op: Op) -> Outcome {
    let mut task = Task { op, index: OpIndex(0), choice: 0, pc: 0, registers: [0; 12] };
    let outcome = (0..STEPS_MAX).find_map(|_| target.step(mounted, disk, &mut task));
    outcome.unwrap_or_else(|| panic!("{} does not end", task.op))
}

/// Searches until nothing is left within the bounds.
pub fn search(target: &dyn Checkable, options: CheckOptions, run: &RunOptions) -> CheckReport {
    let report = target.check(options, run, &mut |_, _| {});
    let report = report.expect("a search without a checkpoint has nothing that could fail");
    assert!(report.complete, "{options:?} {run:?}: {:?}", report.limits);
    report
}

/// The names of the violated properties, in alphabetical order.
pub fn violated(report: &CheckReport) -> Vec<String> {
    let mut names: Vec<String> = report.violations.iter().map(|violated| violated.property.clone()).collect();
    names.sort_unstable();
    names
}
