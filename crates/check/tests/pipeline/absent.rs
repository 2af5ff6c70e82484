//! A target that cannot be had for a moment: nobody is accused of what could not be done then.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use check::{
    CheckOptions, CheckReport, Checkable, Comparison, Finding, InProcess, Promise, RunOptions, Target, Task, View,
};
use disk::{Block, BlockSize, CrashMode, Disk, Geometry, Image};
use explore::{Budget, Limit, Property, Stop};
use vfs::{Errno, Op, Outcome, Reference, Tree};

const ABSENT: Property = Property::critical("absent");

/// A reference that counts its mounts on its disk, and whose mount of this number finds nobody there.
struct Absent {
    mounts: AtomicU32,
    at: u32,
}

impl Target for Absent {
    type Mounted = Option<Reference>;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 })
    }

    fn mount(&self, disk: &mut Disk) -> Result<Option<Reference>, Errno> {
        let mut count = [0; 4];
        disk.read(Block(0), &mut count).map_err(|_| Errno::EIO)?;
        count[0] += 1;
        disk.write(Block(0), &count).map_err(|_| Errno::EIO)?;
        let is_there = self.mounts.fetch_add(1, Ordering::Relaxed) != self.at;
        Ok(is_there.then(Reference::new))
    }

    fn step(&self, mounted: &mut Option<Reference>, _: &mut Disk, task: &mut Task) -> Option<Outcome> {
        Some(mounted.as_mut().ok_or(Errno::EIO).and_then(|reference| reference.apply(&task.op)))
    }

    fn observe(&self, mounted: &Option<Reference>, _: &Disk) -> Result<Tree, Errno> {
        mounted.as_ref().map(Reference::tree).ok_or(Errno::EIO)
    }

    fn complaint(&self, mounted: &Option<Reference>) -> Option<Finding> {
        mounted.is_none().then(|| Finding { property: ABSENT, detail: "nobody is there".to_owned() })
    }

    fn invariants(&self, mounted: &Option<Reference>, _: &Disk) -> Vec<Finding> {
        self.complaint(mounted).into_iter().collect()
    }

    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        finding.property == ABSENT
    }

    fn encode(&self, mounted: &Option<Reference>, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(mounted.is_some()));
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, _: &mut Vec<Op>) {}
}

fn violated(report: &CheckReport) -> BTreeSet<&str> {
    report.violations.iter().map(|found| found.property.as_str()).collect()
}

/// The first mount is that of the fresh file system, the next ones are those of a power cut before the first op: the
/// recovery, what follows it, and all of that once more, to compare; or the recovery of an interrupted one.
#[test]
fn who_could_not_be_had_is_all_that_is_told() {
    for (recovery_crashes, mounts) in [(false, 5), (true, 7)] {
        let mut met = 0;
        for at in 0..mounts {
            let target = Absent { mounts: AtomicU32::new(0), at };
            // One that is used is asked for more than it can do.
            let options = CheckOptions { recovery_crashes, probe: !recovery_crashes, ..CheckOptions::default() };
            let report = target.check(options, &RunOptions::exhaustive("absent"), &mut |_, _| {}).unwrap();
            let violated = violated(&report);
            assert!(violated.iter().all(|property| *property == ABSENT.name), "{at}: {:?}", report.violations);
            met += violated.len();
        }
        assert_eq!(met, mounts as usize, "it was missed each time");
    }
}

/// The second mount is that of the first remount. One that is there forgets everything, which would be found next.
#[test]
fn a_comparison_ends_with_who_could_not_be_had() {
    for (at, expected, cannot_go_on) in [(1, ABSENT.name, true), (u32::MAX, "tree", false)] {
        let absent = Absent { mounts: AtomicU32::new(0), at };
        let sides: Vec<(String, Box<dyn Checkable>)> =
            vec![("absent".to_owned(), Box::new(absent)), ("ref".to_owned(), Box::new(InProcess))];
        let comparison = Comparison::new(sides).expect("both are file systems");
        let budget = Budget { depth: Some(2), ..Budget::default() };
        let run = RunOptions { budget, ..RunOptions::exhaustive("absent") };
        let report = comparison.check(CheckOptions::default(), &run, &mut |_, _| {}).unwrap();
        assert_eq!(violated(&report), BTreeSet::from([expected]), "{:?}", report.violations);
        assert_eq!(report.limits.contains(&Limit::CannotGoOn), cannot_go_on, "{:?}", report.limits);
        assert_eq!(report.depth, if cannot_go_on { 1 } else { 2 });
    }
}

/// A reference whose first op does not end before somebody asks to stop, which it does itself.
struct Waiting {
    asked: Stop,
    heeded: Mutex<Stop>,
}

const GIVEN_UP: Property = Property::critical("given-up");
/// Far more than a search needs to pass on that it is to end.
const PATIENCE: Duration = Duration::from_secs(20);

impl Target for Waiting {
    type Mounted = Option<Reference>;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 })
    }

    fn mount(&self, _: &mut Disk) -> Result<Option<Reference>, Errno> {
        Ok(Some(Reference::new()))
    }

    fn step(&self, mounted: &mut Option<Reference>, _: &mut Disk, _: &mut Task) -> Option<Outcome> {
        self.asked.stop();
        let start = Instant::now();
        while !self.heeded.lock().unwrap().is_stopped() {
            assert!(start.elapsed() < PATIENCE, "nobody says that somebody asked");
            std::thread::sleep(Duration::from_millis(1));
        }
        *mounted = None;
        Some(Err(Errno::EIO))
    }

    fn observe(&self, mounted: &Option<Reference>, _: &Disk) -> Result<Tree, Errno> {
        mounted.as_ref().map(Reference::tree).ok_or(Errno::EIO)
    }

    fn complaint(&self, mounted: &Option<Reference>) -> Option<Finding> {
        mounted.is_none().then(|| Finding { property: GIVEN_UP, detail: "nobody waited".to_owned() })
    }

    fn invariants(&self, mounted: &Option<Reference>, _: &Disk) -> Vec<Finding> {
        self.complaint(mounted).into_iter().collect()
    }

    fn is_of_the_machine(&self, finding: &Finding) -> bool {
        finding.property == GIVEN_UP
    }

    fn heed(&self, stop: &Stop) {
        *self.heeded.lock().unwrap() = stop.clone();
    }

    fn gave_up(&self, property: &str) -> bool {
        property == GIVEN_UP.name
    }

    fn encode(&self, mounted: &Option<Reference>, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(mounted.is_some()));
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, ops: &mut Vec<Op>) {
        ops.push(Op::Sync);
    }
}

#[test]
fn a_wait_that_was_given_up_accuses_nobody_and_is_left_for_later() {
    for crash in [CrashMode::Off, CrashMode::Prefix] {
        let target = Waiting { asked: Stop::default(), heeded: Mutex::default() };
        let run = RunOptions { stop: target.asked.clone(), ..RunOptions::exhaustive("waiting") };
        let report = target.check(CheckOptions { crash, ..CheckOptions::default() }, &run, &mut |_, _| {}).unwrap();
        assert!(report.violations.is_empty() && report.states == 1, "{:?}", report.violations);
        assert!(!report.complete && report.limits.contains(&Limit::Interrupted), "{:?}", report.limits);
        assert!(!target.heeded.lock().unwrap().is_stopped(), "what comes after the search is done in full");
    }
}
