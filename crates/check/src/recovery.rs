//! Recovery: fsck, mount, a first look and a first use, remembered by what they read.
//!
//! A recovery is known by its reads only if it is deterministic, so a sample of recoveries is run twice and compared.

use std::sync::Arc;

use disk::{Block, Disk, EntryKind, Image, Memo, ReadSet};
use explore::Property;
use vfs::{Errno, Tree};

use crate::{
    probe,
    target::{Finding, Target},
};

/// A recovery ended with an error instead of a file system.
pub(crate) const RECOVERY_FAILS: Property = Property::critical("recovery-fails");
/// The same crash state recovered in two ways.
pub(crate) const RECOVERY_NONDETERMINISTIC: Property = Property::critical("recovery-nondeterministic");

/// The memo gives up growing at this many nodes (a few hundred bytes each); recoveries beyond it are run each time.
const MEMO_NODES_MAX: usize = 4_000_000;
/// In the long run, one of so many recoveries is run twice: what that costs is hardly to be measured.
const AGAIN_ONE_IN: u128 = 64;

/// Which recoveries are run a second time and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Often at first (each time that the number of recoveries has doubled), so that a short search has some too; then
    /// a fixed share, chosen by the image.
    Sampled,
    /// Each.
    Each,
}

/// What recovery made of a crash state.
pub(crate) struct Recovered<T: Target> {
    /// The mounted file system and what a user sees; `None` if there is none.
    pub file_system: Option<(T::Mounted, Tree)>,
    /// What fsck found and repaired, what it could not, and what the metadata checks found afterwards.
    pub findings: Vec<Finding>,
    /// What went wrong when it was tried out, see [`probe`]. It is not tried if a critical property is violated.
    pub unusable: Option<Finding>,
    /// The blocks that recovery changed.
    writes: Vec<(Block, Vec<u8>)>,
}

/// How much work recoveries were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Recoveries that were run.
    pub run: u64,
    /// Recoveries that were known from their reads.
    pub memoised: u64,
}

/// Runs and remembers the recoveries of one target.
pub(crate) struct Recoverer<T: Target> {
    memo: Memo<Arc<Recovered<T>>>,
    probe: bool,
    again: Again,
}

impl<T: Target> Recoverer<T> {
    pub fn new(probe: bool, again: Again) -> Self {
        Self { memo: Memo::new(MEMO_NODES_MAX), probe, again }
    }

    pub fn counts(&self) -> RecoveryCounts {
        let counts = self.memo.counts();
        RecoveryCounts { run: counts.misses, memoised: counts.hits }
    }

    /// What recovery makes of an image.
    pub fn recover(&self, target: &T, image: &Image) -> Arc<Recovered<T>> {
        if let Some(known) = self.memo.lookup(image) {
            return Arc::clone(&known);
        }
        let (mut recovered, reads) = self.run(target, image);
        if self.is_run_again(image) {
            let (again, reads_again) = self.run(target, image);
            let difference = if reads == reads_again { recovered.difference(target, &again) } else { Some("read") };
            if let Some(what) = difference {
                let detail = format!("run again on the same disk, it {what} something else");
                recovered = Recovered::nondeterministic(detail);
            }
        }
        let recovered = Arc::new(recovered);
        match self.memo.insert(&reads, Arc::clone(&recovered)) {
            Ok(()) => recovered,
            Err(error) => Arc::new(Recovered::nondeterministic(error.to_string())),
        }
    }

    fn is_run_again(&self, image: &Image) -> bool {
        match self.again {
            Again::Sampled => self.memo.counts().misses.is_power_of_two() || image.hash().is_multiple_of(AGAIN_ONE_IN),
            Again::Each => true,
        }
    }

    /// Recovers once. What the probe reads is part of what is read: its result is remembered too.
    fn run(&self, target: &T, image: &Image) -> (Recovered<T>, ReadSet) {
        let mut disk = Disk::new(image.clone());
        disk.record_reads();
        let mut findings = Vec::new();
        let file_system = match bring_up(target, &mut disk, &mut findings) {
            Ok(file_system) => Some(file_system),
            Err((what, errno)) => {
                let detail = format!("{what} failed with {errno} ({})", errno.meaning());
                findings.push(Finding { property: RECOVERY_FAILS, detail });
                None
            }
        };
        let writes = changed_blocks(&disk);
        let sound = self.probe && !findings.iter().any(Finding::is_critical);
        let to_try = file_system.as_ref().filter(|_| sound);
        let unusable = to_try.and_then(|(mounted, tree)| probe::try_out(target, mounted, &mut disk, tree));
        let reads = disk.take_reads().expect("recording is on");
        (Recovered { file_system, findings, unusable, writes }, reads)
    }
}

impl<T: Target> Recovered<T> {
    /// The disk after recovery, all of it durable.
    pub fn disk(&self, target: &T, crashed: &Image) -> Disk {
        let mut image = crashed.clone();
        for (block, data) in &self.writes {
            image.write(*block, data).expect("recovery wrote it to a disk of this size");
        }
        Disk::with_cache(image, target.cache())
    }

    /// In what a second recovery of the same image differs.
    fn difference(&self, target: &T, again: &Self) -> Option<&'static str> {
        let memory = |mounted: &T::Mounted| {
            let mut bytes = Vec::new();
            target.encode(mounted, &mut bytes);
            bytes
        };
        let (same_tree, same_memory) = match (&self.file_system, &again.file_system) {
            (Some((mounted, tree)), Some((mounted_again, tree_again))) => {
                (tree.same_as(tree_again), memory(mounted) == memory(mounted_again))
            }
            (first, second) => (first.is_none() == second.is_none(), true),
        };
        let same = [
            (self.writes == again.writes, "wrote"),
            (self.findings == again.findings, "found"),
            (same_tree, "showed"),
            (same_memory, "kept in memory"),
            (self.unusable == again.unusable, "did when it was used"),
        ];
        same.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }

    fn nondeterministic(detail: String) -> Self {
        let findings = vec![Finding { property: RECOVERY_NONDETERMINISTIC, detail }];
        Self { file_system: None, findings, unusable: None, writes: Vec::new() }
    }
}

fn bring_up<T: Target>(
    target: &T,
    disk: &mut Disk,
    findings: &mut Vec<Finding>,
) -> Result<(T::Mounted, Tree), (&'static str, Errno)> {
    findings.extend(target.fsck(disk).map_err(|errno| ("fsck", errno))?);
    let mounted = target.mount(disk).map_err(|errno| ("mount", errno))?;
    for finding in target.invariants(&mounted, disk) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let tree = target.observe(&mounted, disk).map_err(|errno| ("reading the tree", errno))?;
    Ok((mounted, tree))
}

/// The blocks that were written, with their last content.
fn changed_blocks(disk: &Disk) -> Vec<(Block, Vec<u8>)> {
    let mut blocks = std::collections::BTreeSet::new();
    for (_, entry) in disk.log().entries().filter(|(_, entry)| entry.kind != EntryKind::Flush) {
        let (first, count) = entry.extent(disk.geometry());
        blocks.extend(first.0..first.0 + count);
    }
    blocks.into_iter().map(|block| (Block(block), disk.image().block(Block(block)).to_vec())).collect()
}
