//! One recovery, with what must be true right after it: recovering again changes nothing, a more thorough check agrees,
//! and the file system can be used.
//!
//! All of that is remembered together, so the reads of all of it are kept: a block that only a later step reads counts
//! as long as recovery had not written it before.

use disk::{Block, Disk, EVERYTHING, EntryKind, Image, Read, ReadSet};
use explore::Property;
use smallvec::{SmallVec, smallvec};
use vfs::{Errno, Tree};

use super::{
    RECOVERY_FAILS, Recovered, Scope,
    sequel::{Left, Sequel, Sequels, Step},
};
use crate::{
    compare::differences,
    probe::{self, Tried},
    target::{Finding, Target},
};

/// A second recovery, with nothing in between, finds something to do or shows another tree.
const RECOVERY_UNSTABLE: Property = Property::critical("recovery-unstable");
/// The thorough check leaves another tree than recovery.
const FSCK_DISAGREES: Property = Property::critical("fsck-disagrees");

/// What was read of the crash image.
struct Reads {
    set: ReadSet,
    /// A bit for each block that was read from the crash image, and one for each that recovery wrote.
    read: SmallVec<[u64; 4]>,
    written: SmallVec<[u64; 4]>,
    /// The hash of the crash image, until everything was read.
    unread: Option<u128>,
}

impl Reads {
    fn new(set: ReadSet, crashed: &Image, recovered: &Disk) -> Self {
        let words = recovered.geometry().blocks.div_ceil(64) as usize;
        let unread = Some(crashed.hash());
        let mut reads =
            Self { set: ReadSet::default(), read: smallvec![0; words], written: smallvec![0; words], unread };
        set.0.into_iter().for_each(|read| reads.push(read));
        for (_, entry) in recovered.log().entries().filter(|(_, entry)| entry.kind != EntryKind::Flush) {
            let (first, count) = entry.extent(recovered.geometry());
            (first.0..first.0 + count).for_each(|block| mark(&mut reads.written, Block(block)));
        }
        reads
    }

    /// Adds what was read from a disk that started as the crash image, or, if `after`, as recovery left it.
    fn add(&mut self, more: &ReadSet, after: bool) {
        for read in &more.0 {
            let overwritten = after && read.block != EVERYTHING && is_marked(&self.written, read.block);
            if !overwritten {
                self.push(*read);
            }
        }
    }

    /// Adds a read of something that was not read before. What recovery made of the crash image follows from that
    /// image, so to read everything of either is the same.
    fn push(&mut self, read: Read) {
        let Some(crashed) = self.unread else { return };
        if read.block == EVERYTHING {
            self.unread = None;
            self.set.0.push(Read { content: crashed, ..read });
        } else if !is_marked(&self.read, read.block) {
            mark(&mut self.read, read.block);
            self.set.0.push(read);
        }
    }
}

fn mark(bits: &mut [u64], block: Block) {
    bits[block.0 as usize / 64] |= 1 << (block.0 % 64);
}

fn is_marked(bits: &[u64], block: Block) -> bool {
    bits[block.0 as usize / 64] >> (block.0 % 64) & 1 == 1
}

fn recording(image: &Image) -> Disk {
    let mut disk = Disk::new(image.clone());
    disk.record_reads();
    disk
}

fn reads_of(disk: &mut Disk) -> ReadSet {
    disk.take_reads().expect("recording is on")
}

/// Recovers once; the result with everything that it depends on. Of what follows, what is known is not run again.
pub(super) fn recover<T: Target>(target: &T, image: &Image, scope: Scope, known: &Sequels) -> (Recovered<T>, ReadSet) {
    let mut disk = recording(image);
    let Up { repaired: mut findings, mounted, tree } = bring_up(target, &mut disk);
    let to_check = mounted.iter().filter(|_| scope >= Scope::Soundness);
    for finding in to_check.flat_map(|mounted| target.invariants(mounted, &disk)) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    let file_system = match (mounted, tree) {
        (Some(mounted), Ok(tree)) => Some((mounted, tree)),
        (_, Err(detail)) => {
            if !findings.iter().any(|finding| target.is_of_the_machine(finding)) {
                findings.push(Finding { property: RECOVERY_FAILS, detail });
            }
            None
        }
        (None, Ok(_)) => unreachable!("a tree is read from a mounted file system"),
    };
    let log = disk.log().entries().map(|(_, entry)| entry.clone()).collect();
    let blocks_written = disk.log().entries().map(|(_, entry)| entry.extent(disk.geometry()).1).sum();
    let mut reads = Reads::new(reads_of(&mut disk), image, &disk);
    let (mut afterwards, mut refused, mut compared) = (None, Vec::new(), false);
    let is_followed = scope >= Scope::Soundness && !findings.iter().any(Finding::is_critical);
    if let Some((mounted, tree)) = file_system.as_ref().filter(|_| is_followed) {
        // On the same disk it would do the same again: it is deterministic.
        let changed = disk.image().hash() != image.hash() || !findings.is_empty();
        let left = Left::new(target, mounted, disk.image());
        let note = |sequel: &Sequel, reads: &mut Reads| {
            sequel.reads.iter().for_each(|more| reads.add(more, true));
            sequel.wrong.clone()
        };
        let again = || known.of(Step::Again, left, || recover_again(target, disk.image(), tree));
        afterwards = changed
            .then(|| note(&again(), &mut reads))
            .flatten()
            .or_else(|| check_thoroughly(target, image, tree, &mut reads, &mut compared));
        if scope >= Scope::Use && afterwards.is_none() {
            let tried = known.of(Step::Probe, left, || try_out(target, mounted, disk.image(), tree));
            afterwards = note(&tried, &mut reads);
            refused.clone_from(&tried.refused);
        }
    }
    let recovered = Recovered::new(file_system, findings, (afterwards, compared), (log, blocks_written));
    (Recovered { refused, ..recovered }, reads.set)
}

/// A file system that was brought up, as far as it could be.
struct Up<T: Target> {
    /// What fsck found.
    repaired: Vec<Finding>,
    mounted: Option<T::Mounted>,
    /// What a user sees, or why there is nothing to see.
    tree: Result<Tree, String>,
}

fn bring_up<T: Target>(target: &T, disk: &mut Disk) -> Up<T> {
    let says = |what: &str, errno: Errno| format!("{what} failed with {errno} ({})", errno.meaning());
    let repaired = match target.fsck(disk) {
        Ok(repaired) => repaired,
        Err(errno) => return Up { repaired: Vec::new(), mounted: None, tree: Err(says("fsck", errno)) },
    };
    match target.mount(disk) {
        Ok(mounted) => {
            let of_the_machine = target.complaint(&mounted).filter(|finding| target.is_of_the_machine(finding));
            let repaired = repaired.into_iter().chain(of_the_machine).collect();
            let tree = target.observe(&mounted, disk).map_err(|errno| says("reading the tree", errno));
            Up { repaired, mounted: Some(mounted), tree }
        }
        Err(errno) => Up { repaired, mounted: None, tree: Err(says("mount", errno)) },
    }
}

/// The power may be cut right after recovery, before anything else happens.
fn recover_again<T: Target>(target: &T, image: &Image, tree: &Tree) -> Sequel {
    let mut disk = recording(image);
    let Up { repaired, tree: again, .. } = bring_up(target, &mut disk);
    let wrong = match again {
        Err(what) => Some(what),
        Ok(again) if !again.same_as(tree) => Some(differences(&again, tree)),
        Ok(_) => repaired.first().map(|left| format!("{}: {}", left.property.name, left.detail)),
    };
    let unstable = |what| Finding { property: RECOVERY_UNSTABLE, detail: format!("recovered once more: {what}") };
    let of_the_machine = repaired.into_iter().find(|finding| target.is_of_the_machine(finding));
    let wrong = of_the_machine.or_else(|| wrong.map(unstable));
    Sequel { wrong, refused: Vec::new(), reads: vec![reads_of(&mut disk)] }
}

/// What the thorough check makes of the same crash state. `compared` says whether there is such a check.
fn check_thoroughly<T: Target>(
    target: &T,
    image: &Image,
    tree: &Tree,
    reads: &mut Reads,
    compared: &mut bool,
) -> Option<Finding> {
    let mut disk = recording(image);
    let checked = target.full_fsck(&mut disk)?;
    *compared = true;
    let first = checked.as_ref().ok().and_then(|found| found.first());
    if let Some(of_the_machine) = first.filter(|finding| target.is_of_the_machine(finding)) {
        return Some(of_the_machine.clone());
    }
    let says = |finding: &Finding| format!("{}: {}", finding.property.name, finding.detail);
    let found = checked.as_ref().ok().and_then(|found| found.iter().find(|finding| finding.is_critical())).map(says);
    let mounted = checked.and_then(|_| target.mount(&mut disk));
    let complaint = mounted.as_ref().ok().and_then(|mounted| target.complaint(mounted));
    if let Some(of_the_machine) = complaint.filter(|finding| target.is_of_the_machine(finding)) {
        return Some(of_the_machine);
    }
    let wrong = found.or_else(|| match mounted.and_then(|mounted| target.observe(&mounted, &disk)) {
        Err(errno) => Some(format!("failed with {errno} ({})", errno.meaning())),
        Ok(thorough) if !thorough.same_as(tree) => Some(differences(&thorough, tree)),
        Ok(_) => None,
    });
    reads.add(&reads_of(&mut disk), false);
    wrong.map(|what| Finding { property: FSCK_DISAGREES, detail: format!("checked thoroughly instead: {what}") })
}

fn try_out<T: Target>(target: &T, mounted: &T::Mounted, image: &Image, tree: &Tree) -> Sequel {
    let mut reads = Vec::new();
    let Tried { wrong, refused } =
        probe::try_all(target, mounted, &recording(image), tree, |disk| reads.push(reads_of(disk)));
    Sequel { wrong, refused, reads }
}
