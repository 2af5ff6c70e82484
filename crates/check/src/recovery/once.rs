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
    sequel::{Left, Origin, Risen, Sequels, Used},
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

/// A bit for each block of a disk.
struct Blocks(SmallVec<[u64; 4]>);

impl Blocks {
    fn none(of: &Disk) -> Self {
        Self(smallvec![0; of.geometry().blocks.div_ceil(64) as usize])
    }

    /// Those that were written to, as far as the disk's log goes back.
    fn written(disk: &Disk) -> Self {
        let mut written = Self::none(disk);
        for (_, entry) in disk.log().entries().filter(|(_, entry)| entry.kind != EntryKind::Flush) {
            let (first, count) = entry.extent(disk.geometry());
            (first.0..first.0 + count).for_each(|block| written.mark(Block(block)));
        }
        written
    }

    fn mark(&mut self, block: Block) {
        self.0[block.0 as usize / 64] |= 1 << (block.0 % 64);
    }

    fn has(&self, block: Block) -> bool {
        self.0[block.0 as usize / 64] >> (block.0 % 64) & 1 == 1
    }
}

/// What was read of the crash image.
struct Reads {
    set: ReadSet,
    read: Blocks,
    /// The hash of the crash image, until everything was read.
    unread: Option<u128>,
}

impl Reads {
    fn new(first: &ReadSet, crashed: &Image, disk: &Disk) -> Self {
        let mut reads = Self { set: ReadSet::default(), read: Blocks::none(disk), unread: Some(crashed.hash()) };
        reads.add(first);
        reads
    }

    /// Adds what was read from a disk that started as the crash image.
    fn add(&mut self, more: &ReadSet) {
        more.0.iter().for_each(|read| self.push(*read));
    }

    /// Adds what was read from a disk that started as the crash image and on which these blocks were written then.
    fn add_after(&mut self, written: &Blocks, more: &ReadSet) {
        let is_overwritten = |read: &Read| read.block != EVERYTHING && written.has(read.block);
        more.0.iter().filter(|read| !is_overwritten(read)).for_each(|read| self.push(*read));
    }

    /// Adds a read of something that was not read before. What recovery made of the crash image follows from that
    /// image, so to read everything of either is the same.
    fn push(&mut self, read: Read) {
        let Some(crashed) = self.unread else { return };
        if read.block == EVERYTHING {
            self.unread = None;
            self.set.0.push(Read { content: crashed, ..read });
        } else if !self.read.has(read.block) {
            self.read.mark(read.block);
            self.set.0.push(read);
        }
    }
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
    let Up { mut findings, mounted, tree } = bring_up(target, &mut disk);
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
    let mut reads = Reads::new(&reads_of(&mut disk), image, &disk);
    let (mut afterwards, mut refused, mut compared) = (None, Vec::new(), false);
    let is_followed = scope >= Scope::Soundness && !findings.iter().any(Finding::is_critical);
    if let Some((mounted, tree)) = file_system.as_ref().filter(|_| is_followed) {
        let written = Blocks::written(&disk);
        // First, though it counts last: whoever has to mount something else for what follows has this mounted now.
        let used = (scope >= Scope::Use).then(|| {
            let left = Left::new(target, mounted, disk.image());
            known.using(left, || use_for_the_first_time(target, mounted, disk.image(), tree))
        });
        // On the same disk it would do the same again: it is deterministic.
        let changed = disk.image().hash() != image.hash() || !findings.is_empty();
        if changed {
            let again = known.rising(Origin::Recovery, disk.image(), || recover_again(target, disk.image()));
            reads.add_after(&written, &again.reads);
            afterwards = unstable(target, &again, tree);
        }
        if afterwards.is_none() {
            afterwards = check_thoroughly(target, image, tree, (&mut reads, known), &mut compared);
        }
        if let Some(used) = used.filter(|_| afterwards.is_none()) {
            used.reads.iter().for_each(|more| reads.add_after(&written, more));
            afterwards.clone_from(&used.wrong);
            refused.clone_from(&used.refused);
        }
    }
    let recovered = Recovered::new(file_system, findings, (afterwards, compared), (log, blocks_written));
    (Recovered { refused, ..recovered }, reads.set)
}

/// A file system that was brought up, as far as it could be.
struct Up<T: Target> {
    /// What fsck found, and what kept it from being found out.
    findings: Vec<Finding>,
    mounted: Option<T::Mounted>,
    /// What a user sees, or why there is nothing to see.
    tree: Result<Tree, String>,
}

fn failed(what: &str, errno: Errno) -> String {
    format!("{what} failed with {errno} ({})", errno.meaning())
}

fn bring_up<T: Target>(target: &T, disk: &mut Disk) -> Up<T> {
    match target.fsck(disk) {
        Ok(repaired) => mount(target, disk, repaired),
        Err(errno) => Up { findings: Vec::new(), mounted: None, tree: Err(failed("fsck", errno)) },
    }
}

fn mount<T: Target>(target: &T, disk: &mut Disk, mut findings: Vec<Finding>) -> Up<T> {
    match target.mount(disk) {
        Ok(mounted) => {
            findings.extend(target.complaint(&mounted).filter(|finding| target.is_of_the_machine(finding)));
            let tree = target.observe(&mounted, disk).map_err(|errno| failed("reading the tree", errno));
            Up { findings, mounted: Some(mounted), tree }
        }
        Err(errno) => Up { findings, mounted: None, tree: Err(failed("mount", errno)) },
    }
}

/// What comes up from a disk when it is brought up like this.
fn risen<T: Target>(image: &Image, bring_up: impl FnOnce(&mut Disk) -> Up<T>) -> Risen {
    let mut disk = recording(image);
    let Up { findings, tree, .. } = bring_up(&mut disk);
    Risen { findings, tree, reads: reads_of(&mut disk) }
}

/// The power may be cut right after recovery, before anything else happens.
fn recover_again<T: Target>(target: &T, image: &Image) -> Risen {
    risen(image, |disk| bring_up(target, disk))
}

/// What is wrong if a recovered disk does not come up as it was.
fn unstable<T: Target>(target: &T, again: &Risen, tree: &Tree) -> Option<Finding> {
    if let Some(of_the_machine) = again.findings.iter().find(|finding| target.is_of_the_machine(finding)) {
        return Some(of_the_machine.clone());
    }
    let wrong = not_the_same(&again.tree, tree).or_else(|| again.findings.first().map(says));
    wrong.map(|what| Finding { property: RECOVERY_UNSTABLE, detail: format!("recovered once more: {what}") })
}

fn says(finding: &Finding) -> String {
    format!("{}: {}", finding.property.name, finding.detail)
}

fn not_the_same(found: &Result<Tree, String>, tree: &Tree) -> Option<String> {
    match found {
        Err(what) => Some(what.clone()),
        Ok(found) => (!found.same_as(tree)).then(|| differences(found, tree)),
    }
}

/// What the thorough check makes of the same crash state. `compared` says whether there is such a check.
fn check_thoroughly<T: Target>(
    target: &T,
    image: &Image,
    tree: &Tree,
    (reads, known): (&mut Reads, &Sequels),
    compared: &mut bool,
) -> Option<Finding> {
    let mut disk = recording(image);
    let checked = target.full_fsck(&mut disk)?;
    *compared = true;
    reads.add(&reads_of(&mut disk));
    let found = match checked {
        Ok(found) => found,
        Err(errno) => return Some(disagrees(&failed("it", errno))),
    };
    if let Some(of_the_machine) = found.first().filter(|finding| target.is_of_the_machine(finding)) {
        return Some(of_the_machine.clone());
    }
    let left =
        known.rising(Origin::Check, disk.image(), || risen(disk.image(), |disk| mount(target, disk, Vec::new())));
    reads.add_after(&Blocks::written(&disk), &left.reads);
    if let Some(of_the_machine) = left.findings.first() {
        return Some(of_the_machine.clone());
    }
    let wrong = found.iter().find(|finding| finding.is_critical()).map(says);
    wrong.or_else(|| not_the_same(&left.tree, tree)).map(|what| disagrees(&what))
}

fn disagrees(what: &str) -> Finding {
    Finding { property: FSCK_DISAGREES, detail: format!("checked thoroughly instead: {what}") }
}

fn use_for_the_first_time<T: Target>(target: &T, mounted: &T::Mounted, image: &Image, tree: &Tree) -> Used {
    let mut reads = Vec::new();
    let Tried { wrong, refused } =
        probe::try_all(target, mounted, &recording(image), tree, |disk| reads.push(reads_of(disk)));
    Used { wrong, refused, reads }
}
