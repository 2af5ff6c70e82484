//! Recovery under fire: the power is cut again while recovery writes, and whatever that leaves must recover to the tree
//! that the uninterrupted recovery gave.
//!
//! Recovery's requests are a disk log like any other. Most second recoveries are free: a recovery is known by what it
//! reads, so a write that recovery does not read, that changes nothing, or that a later one covers makes it run no
//! more.
//!
//! An error is easiest to understand on the kindest disk that shows it, so disks are tried from kind to harsh, as far
//! as the crash mode allows.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use disk::{CrashMode, CrashState, Disk, DiskLog, Image, Interrupted, Limits, Position, crash_states, interrupted};
use explore::Property;
use vfs::Tree;

use super::{Recovered, Recoverer};
use crate::{
    checker::Checker,
    compare::differences,
    haste::Haste,
    options::CheckOptions,
    requests::{self, Teller},
    target::{Finding, Target},
};

/// A recovery that was interrupted ends in another tree.
const RECOVERY_INTERRUPTED: Property = Property::critical("recovery-interrupted");

/// What a disk may do to the writes of a recovery, from kind to harsh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// What was not flushed is lost.
    Flushed,
    /// Whole writes, in order.
    InOrder,
    /// In order, the last one only up to some block.
    LeftToRight,
    /// Whole writes between two flushes in any order.
    WritesReordered,
    /// In order, of the last one any blocks.
    BlocksReordered,
    /// All blocks between two flushes in any order.
    EverythingReordered,
}

impl View {
    /// The views that a crash mode allows.
    fn all(mode: CrashMode) -> &'static [Self] {
        match mode {
            CrashMode::Off => &[],
            CrashMode::Flushed => &[Self::Flushed],
            CrashMode::Prefix => &[Self::InOrder],
            CrashMode::Subsets => &[Self::InOrder, Self::WritesReordered],
            CrashMode::Torn => &[
                Self::InOrder,
                Self::LeftToRight,
                Self::WritesReordered,
                Self::BlocksReordered,
                Self::EverythingReordered,
            ],
        }
    }

    /// The states that a cut at this position of recovery's log may leave; and whether they are a sample.
    fn states(self, log: &DiskLog, position: Position, limits: Limits) -> (Vec<CrashState>, bool) {
        let all = |mode| {
            let states = crash_states(log, position, mode, limits);
            let sampled = states.sampled();
            (states.collect(), sampled)
        };
        match self {
            Self::Flushed => all(CrashMode::Flushed),
            Self::InOrder => all(CrashMode::Prefix),
            Self::LeftToRight => interrupted(log, position, Interrupted::LeftToRight, limits),
            Self::WritesReordered => all(CrashMode::Subsets),
            Self::BlocksReordered => interrupted(log, position, Interrupted::AnyBlocks, limits),
            Self::EverythingReordered => all(CrashMode::Torn),
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::Flushed => "a disk that loses what was not flushed",
            Self::InOrder => "a disk that keeps the order of writes",
            Self::LeftToRight => "a disk that keeps the order and tears a write from the left",
            Self::WritesReordered => "a disk that reorders writes",
            Self::BlocksReordered => "a disk that keeps the order and tears a write anywhere",
            Self::EverythingReordered => "a disk that reorders and tears",
        }
    }
}

/// What is known of interrupted recoveries, by the image that the first power cut left.
#[derive(Default)]
pub(crate) struct Interruptions {
    known: Mutex<HashMap<u128, Option<Finding>>>,
    states: AtomicU64,
    sampled: AtomicU64,
}

impl Interruptions {
    /// Crash states of recoveries that were recovered and compared.
    pub fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    /// How often there were so many that only a part was tried.
    pub fn sampled(&self) -> u64 {
        self.sampled.load(Ordering::Relaxed)
    }

    /// What goes wrong if the recovery of this image, which gives this tree, is interrupted.
    pub fn check<T: Target>(&self, checker: &Checker<'_, T>, image: &Image, tree: &Tree) -> Option<Finding> {
        let Checker { recoverer, target, options, haste, .. } = checker;
        let search = Search { interruptions: self, recoverer, target: *target, tree, options, haste };
        let try_all = || View::all(options.crash).iter().find_map(|view| search.try_view(image, *view));
        if !recoverer.remembers() {
            return try_all();
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&image.hash()) {
            return known.clone();
        }
        let finding = try_all();
        if finding.is_some() || !haste.leave() {
            known().insert(image.hash(), finding.clone());
        }
        finding
    }
}

/// One look for a way to interrupt a recovery that does harm.
struct Search<'a, T: Target> {
    interruptions: &'a Interruptions,
    recoverer: &'a Recoverer<T>,
    target: &'a T,
    tree: &'a Tree,
    options: &'a CheckOptions,
    haste: &'a Haste,
}

impl<T: Target> Search<'_, T> {
    fn try_view(&self, image: &Image, view: View) -> Option<Finding> {
        let limits = self.options.limits(true);
        let recovered = self.recoverer.recover(self.target, image);
        let disk = recovered.disk(self.target, image);
        for position in (1..=recovered.log.len()).map(Position) {
            let (states, sampled) = view.states(disk.log(), position, limits);
            self.interruptions.sampled.fetch_add(u64::from(sampled), Ordering::Relaxed);
            self.interruptions.states.fetch_add(states.len() as u64, Ordering::Relaxed);
            for crashed in states {
                if self.haste.leave() {
                    return None;
                }
                let again = self.recoverer.recover(self.target, &crashed.image);
                if let Some(of_the_machine) = again.of_the_machine(self.target) {
                    return Some(of_the_machine.clone());
                }
                if let Some(wrong) = self.wrong(&again) {
                    return Some(self.finding(view, &disk, &crashed, &wrong));
                }
            }
        }
        None
    }

    /// What is wrong with a second recovery.
    fn wrong(&self, again: &Recovered<T>) -> Option<String> {
        match &again.file_system {
            Some((_, tree)) if tree.same_as(self.tree) => {
                let critical = again.findings.iter().find(|finding| finding.is_critical());
                let critical = critical.or(again.afterwards.as_ref());
                critical.map(|finding| format!("{}: {}", finding.property.name, finding.detail))
            }
            Some((_, tree)) => Some(differences(tree, self.tree)),
            None => Some(again.findings.last().map_or_else(String::new, |finding| finding.detail.clone())),
        }
    }

    fn finding(&self, view: View, disk: &Disk, crashed: &CrashState, wrong: &str) -> Finding {
        let log = disk.log();
        let cut = log.cut(crashed.position);
        let mut teller = Teller::new(self.target, log.base().clone());
        let mut lines = vec![format!("the power was cut again during recovery, on {}, after:", view.says())];
        for (index, entry) in log.entries().filter(|(index, _)| index.0 < crashed.position.0) {
            let taken = crashed.taken.0.iter().find(|taken| taken.entry == index);
            let torn = taken.and_then(|taken| taken.blocks.as_deref());
            let request = teller.tell(entry, requests::fate(&cut, &crashed.taken.0, index), torn);
            lines.extend(request.lines().into_iter().map(|line| format!("  {line}")));
        }
        lines.push(format!("recovered again: {wrong}"));
        let detail = lines.join("\n");
        Finding { property: RECOVERY_INTERRUPTED, detail }
    }
}
