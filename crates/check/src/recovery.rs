//! Recovery: fsck, mount and a first look, remembered by what they read.

use std::sync::Arc;

use disk::{Block, Disk, EntryKind, Image, Memo};
use explore::Property;
use vfs::{Errno, Tree};

use crate::target::{Finding, Target};

/// A recovery ended with an error instead of a file system.
pub(crate) const RECOVERY_FAILS: Property = Property::critical("recovery-fails");
/// The same crash state recovered in two ways.
pub(crate) const RECOVERY_NONDETERMINISTIC: Property = Property::critical("recovery-nondeterministic");

/// The memo gives up growing at this many nodes (a few hundred bytes each); recoveries beyond it are run each time.
const MEMO_NODES_MAX: usize = 4_000_000;

/// What recovery made of a crash state.
pub(crate) struct Recovered<T: Target> {
    /// The mounted file system and what a user sees; `None` if there is none.
    pub file_system: Option<(T::Mounted, Tree)>,
    /// What fsck found and repaired, what it could not, and what the metadata checks found afterwards.
    pub findings: Vec<Finding>,
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
}

impl<T: Target> Recoverer<T> {
    pub fn new() -> Self {
        Self { memo: Memo::new(MEMO_NODES_MAX) }
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
        let (recovered, reads) = run(target, image);
        let recovered = Arc::new(recovered);
        let Err(error) = self.memo.insert(&reads, Arc::clone(&recovered)) else { return recovered };
        let findings = vec![Finding { property: RECOVERY_NONDETERMINISTIC, detail: error.to_string() }];
        Arc::new(Recovered { file_system: None, findings, writes: Vec::new() })
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
}

/// Recovers once.
fn run<T: Target>(target: &T, image: &Image) -> (Recovered<T>, disk::ReadSet) {
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
    let reads = disk.take_reads().expect("recording is on");
    (Recovered { file_system, findings, writes: changed_blocks(&disk) }, reads)
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
