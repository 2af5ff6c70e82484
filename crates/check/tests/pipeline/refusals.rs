//! Ops that are refused are done in a row: what can only go back by starting over goes back for few of them, and what a
//! refusal leaves behind shows in the next.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use check::{
    CheckOptions, CheckReport, Checkable, Comparison, Equality, InProcess, Promise, RunOptions, Target, Task, View,
    Weighted, Workload,
};
use disk::{BlockSize, CrashMode, Disk, Geometry, Image};
use explore::{Budget, Order};
use vfs::{Errno, Op, Outcome, Reference, Tree};

use crate::searching::{minimised, violated};

/// A reference that stands where it was led last, as a guest does: to do an op elsewhere it has to be brought there.
#[derive(Default)]
struct Standing {
    /// Whether two refusals in a row make it take anything.
    tires: bool,
    stands_at: Mutex<u64>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    brought: AtomicU64,
    refused: AtomicU64,
}

#[derive(Clone)]
struct Place {
    number: u64,
    reference: Reference,
    refusals: u32,
}

impl Target for Standing {
    type Mounted = Place;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 8 })
    }

    fn mount(&self, _: &mut Disk) -> Result<Place, Errno> {
        Ok(Place { number: 0, reference: Reference::new(), refusals: 0 })
    }

    fn step(&self, mounted: &mut Place, _: &mut Disk, task: &mut Task) -> Option<Outcome> {
        let mut stands_at = self.stands_at.lock().unwrap();
        self.counts.brought.fetch_add(u64::from(*stands_at != mounted.number), Ordering::Relaxed);
        // No two places have the same number, whoever comes there and from where.
        *stands_at = mounted.number.max(*stands_at) + 1;
        mounted.number = *stands_at;
        let outcome = mounted.reference.apply(&task.op);
        self.counts.refused.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
        mounted.refusals = if outcome.is_err() { mounted.refusals + 1 } else { 0 };
        Some(if self.tires && mounted.refusals > 2 { Ok(vfs::Value::Done) } else { outcome })
    }

    fn observe(&self, mounted: &Place, _: &Disk) -> Result<Tree, Errno> {
        Ok(mounted.reference.tree())
    }

    fn encode(&self, mounted: &Place, bytes: &mut Vec<u8>) {
        bytes.extend(mounted.number.to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, _: &mut Vec<Op>) {}
}

const WEIGHTS: &str =
    "[ops]\ncreate = 1\nwrite = 3\nunlink = 1\nmkdir = 1\nrmdir = 1\nrename = 1\nopen = 1\nclose = 1\n";

fn search(target: Standing, (order, threads, depth): (Order, usize, u32)) -> (Comparison, CheckReport) {
    let sides: Vec<(String, Box<dyn Checkable>)> =
        vec![("standing".to_owned(), Box::new(target)), ("ref".to_owned(), Box::new(InProcess))];
    let both = Comparison::new(sides).unwrap();
    let weighted = Weighted { weights: WEIGHTS.parse().unwrap(), seed: 5, by_step: false };
    let run = RunOptions {
        workload: Workload { weighted: Some(weighted), ..Workload::default() },
        order,
        threads,
        budget: Budget { depth: Some(depth), states: Some(2000), ..Budget::default() },
        ..RunOptions::exhaustive("standing")
    };
    let options = CheckOptions { crash: CrashMode::Off, equality: Equality::Tree, ..CheckOptions::default() };
    let report = both.check(options, &run, &mut |_, _| {}).unwrap();
    (both, report)
}

#[test]
fn what_is_refused_needs_no_way_back() {
    for order in [Order::DepthFirst, Order::BreadthFirst] {
        let target = Standing::default();
        let counts = Arc::clone(&target.counts);
        let (_, report) = search(target, (order, 1, 30));
        assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
        let [brought, refused] = [&counts.brought, &counts.refused].map(|count| count.load(Ordering::Relaxed));
        assert!(refused > report.work.ops / 2, "{refused} of {} were refused", report.work.ops);
        // Once for each op that leads on, and once for all that are refused in one state.
        let most = report.work.ops - refused + report.states;
        assert!(brought <= most, "{order:?}: {brought} times, of {} ops with {refused} refused", report.work.ops);
    }
}

#[test]
fn what_refusals_leave_behind_is_found_and_told() {
    let (both, report) = search(Standing { tires: true, ..Standing::default() }, (Order::BreadthFirst, 1, 3));
    assert_eq!(violated(&report), ["outcome"]);
    let trace = minimised(&both, &report.violations[0].trace);
    assert_eq!(trace.ops.len(), 3, "{:?}", trace.ops);
}

#[test]
fn the_same_states_are_met_on_any_number_of_threads() {
    let met = |threads| {
        let (_, report) = search(Standing::default(), (Order::BreadthFirst, threads, 8));
        assert_eq!(violated(&report), [""; 0], "{:?}", report.violations);
        report.states
    };
    assert!((11..2000).contains(&met(1)), "{} states", met(1));
    assert_eq!(met(1), met(2));
}
