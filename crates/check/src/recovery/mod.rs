//! Recovery: fsck, mount, a first look and a first use, remembered by what they read.
//!
//! A recovery is known by its reads only if it is deterministic, so a sample of recoveries is run twice and compared.

mod interrupted;
mod once;
mod sequel;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use disk::{Asked, Disk, Entry, Image, Memo, in_order_of};
use explore::Property;
use foldhash::fast::FixedState;
use vfs::{Reference, Tree, contract::History};

use crate::{
    compare::differences,
    probe::Refused,
    target::{Finding, Repeats, Target},
};

use self::sequel::Sequels;

pub(crate) use self::interrupted::Interruptions;

/// A recovery ended with an error instead of a file system.
pub(crate) const RECOVERY_FAILS: Property = Property::critical("recovery-fails");
/// The same crash state recovered in two ways.
pub(crate) const RECOVERY_NONDETERMINISTIC: Property = Property::critical("recovery-nondeterministic");
/// A recovery panicked.
pub(crate) const RECOVERY_PANICS: Property = Property::critical("recovery-panics");

/// The memo gives up growing at this many nodes (a few hundred bytes each); recoveries beyond it are run each time.
const MEMO_NODES_MAX: usize = 4_000_000;
/// More than workers, so that two rarely meet.
const IMAGE_SHARDS: usize = 64;
/// Beyond so many images (a hundred bytes each), new ones are known by their reads only.
const IMAGES_MAX: usize = 8_000_000;
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

/// How far a recovery is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// To the tree that it shows.
    Tree,
    /// To whether it is sound: its metadata, a second recovery, a more thorough one.
    Soundness,
    /// To its first use.
    Use,
}

/// What recovery made of a crash state.
pub(crate) struct Recovered<T: Target> {
    /// The mounted file system and what a user sees; `None` if there is none.
    pub file_system: Option<(T::Mounted, Tree)>,
    /// What fsck found and repaired, what it could not, and what the metadata checks found afterwards.
    pub findings: Vec<Finding>,
    /// What went wrong when it was recovered again, recovered more thoroughly or tried out. None of that is done if a
    /// critical property is violated.
    pub afterwards: Option<Finding>,
    /// What there was no room for when it was tried out. Whether that is right depends on what it was like before.
    pub refused: Vec<Refused>,
    /// Whether it was compared with a more thorough check.
    pub compared: bool,
    /// What recovery asked of the disk, and how many blocks it wrote by that.
    pub log: Arc<[Entry]>,
    pub blocks_written: u32,
    /// The past of a state that starts here, and the shape of its tree, made when they are first asked for.
    pub past: OnceLock<(Reference, History)>,
    pub shape: OnceLock<u128>,
}

/// How much work recoveries were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Recoveries that were run.
    pub run: u64,
    /// Recoveries that were known from their reads.
    pub memoised: u64,
}

/// Recoveries by the hash of the image that was recovered.
type ByImage<T> = HashMap<u128, Arc<Recovered<T>>, FixedState>;

/// Runs and remembers the recoveries of one target.
pub(crate) struct Recoverer<T: Target> {
    memo: Memo<Arc<Recovered<T>>>,
    /// By the whole image: most crash images come again and again, and then not even their reads are compared.
    images: [Mutex<ByImage<T>>; IMAGE_SHARDS],
    images_known: AtomicU64,
    sequels: Sequels,
    remembers: bool,
    scope: Scope,
    again: Again,
}

impl<T: Target> Recoverer<T> {
    pub fn new(scope: Scope, again: Again) -> Self {
        let images = std::array::from_fn(|_| Mutex::default());
        let memo = Memo::new(MEMO_NODES_MAX);
        Self {
            memo,
            images,
            images_known: AtomicU64::new(0),
            sequels: Sequels::default(),
            remembers: true,
            scope,
            again,
        }
    }

    /// The same without a memory: an empty memo knows nothing, so every recovery is run.
    pub fn forgetful(self) -> Self {
        Self { memo: Memo::new(0), remembers: false, ..self }
    }

    /// Whether what was recovered once is not recovered again.
    pub fn remembers(&self) -> bool {
        self.remembers
    }

    pub fn counts(&self) -> RecoveryCounts {
        let counts = self.memo.counts();
        RecoveryCounts { run: counts.misses, memoised: counts.hits + self.images_known.load(Ordering::Relaxed) }
    }

    /// What recovery makes of an image. A panic is a result too: it says more with the power cut that led to it.
    pub fn recover(&self, target: &T, image: &Image) -> Arc<Recovered<T>> {
        if !self.remembers {
            return self.recover_unknown(target, image);
        }
        let shard = &self.images[(image.hash() % IMAGE_SHARDS as u128) as usize];
        let images = || shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = images().get(&image.hash()) {
            self.images_known.fetch_add(1, Ordering::Relaxed);
            return Arc::clone(known);
        }
        let recovered = self.recover_unknown(target, image);
        if target.repeats() == Repeats::InShape && recovered.is_wrong() {
            // It may not be so another time; what is counted is what was seen, not what is remembered.
            return recovered;
        }
        let mut images = images();
        if recovered.of_the_machine(target).is_none() && images.len() < IMAGES_MAX / IMAGE_SHARDS {
            images.insert(image.hash(), Arc::clone(&recovered));
        }
        recovered
    }

    fn recover_unknown(&self, target: &T, image: &Image) -> Arc<Recovered<T>> {
        if let Some(known) = self.memo.lookup(image) {
            return Arc::clone(&known);
        }
        catch_unwind(AssertUnwindSafe(|| self.run(target, image))).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let message = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            let detail = format!("recovery, or the first use after it, panicked: {message}");
            Arc::new(Recovered::nothing(Finding { property: RECOVERY_PANICS, detail }))
        })
    }

    fn run(&self, target: &T, image: &Image) -> Arc<Recovered<T>> {
        let remembers = self.remembers && target.repeats() == Repeats::Exactly;
        let known = if remembers { &self.sequels } else { &Sequels::default() };
        let (mut recovered, reads) = once::recover(target, image, self.scope, known);
        if self.is_run_again(image) && recovered.of_the_machine(target).is_none() {
            let (again, reads_again) = once::recover(target, image, self.scope, &Sequels::default());
            let same_reads = reads == reads_again || target.repeats() == Repeats::InShape;
            let difference = recovered.difference(target, &again);
            let difference = if same_reads { difference } else { Some("it read something else".to_owned()) };
            if let Some(finding) = again.of_the_machine(target) {
                // What could not be run a second time does not differ from the first.
                recovered = Recovered::nothing(finding.clone());
            } else if let Some(difference) = difference {
                recovered = Recovered::nondeterministic(format!("run again on the same disk, {difference}"));
            }
        }
        let recovered = Arc::new(recovered);
        // What the machine has kept from being done is not what comes of these reads.
        if target.repeats() == Repeats::InShape || recovered.of_the_machine(target).is_some() {
            return recovered;
        }
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
}

impl<T: Target> Recovered<T> {
    fn new(
        file_system: Option<(T::Mounted, Tree)>,
        findings: Vec<Finding>,
        (afterwards, compared): (Option<Finding>, bool),
        (log, blocks_written): (Arc<[Entry]>, u32),
    ) -> Self {
        let (past, shape) = (OnceLock::new(), OnceLock::new());
        Self { file_system, findings, afterwards, refused: Vec::new(), compared, log, blocks_written, past, shape }
    }

    /// The disk after recovery. What recovery did not flush is pending.
    pub fn disk(&self, target: &T, crashed: &Image) -> Disk {
        let mut disk = Disk::with_cache(crashed.clone(), target.cache());
        self.repeat_on(&mut disk);
        disk
    }

    /// Asks of a disk that holds the crash image what recovery asked.
    pub fn repeat_on(&self, disk: &mut Disk) {
        for entry in &*self.log {
            disk.repeat(entry).expect("recovery asked it of a disk of this size");
        }
    }

    /// In what a second recovery of the same image differs: words that follow others.
    fn difference(&self, target: &T, again: &Self) -> Option<String> {
        if self.findings != again.findings {
            return Some(format!("it found {}, and not {}", listed(&again.findings), listed(&self.findings)));
        }
        if let Err(how) = same_log(target, &self.log, &again.log) {
            return Some(format!("it wrote something else: {how}"));
        }
        let memory = |mounted: &T::Mounted| {
            let mut bytes = Vec::new();
            target.encode(mounted, &mut bytes);
            bytes
        };
        match (&self.file_system, &again.file_system) {
            (Some((_, tree)), Some((_, tree_again))) if !tree.same_as(tree_again) => {
                return Some(format!("it showed something else: {}", differences(tree_again, tree)));
            }
            // What a repair has written differs in its bytes, and memory that goes by them does too.
            (Some((mounted, _)), Some((mounted_again, _)))
                if target.repeats() == Repeats::Exactly && memory(mounted) != memory(mounted_again) =>
            {
                return Some("it kept something else in memory".to_owned());
            }
            (Some(_), None) | (None, Some(_)) => return Some("it left a file system once and once none".to_owned()),
            _ => {}
        }
        if self.afterwards != again.afterwards {
            let (first, second) = (listed(self.afterwards.as_slice()), listed(again.afterwards.as_slice()));
            return Some(format!("when it was used there was {second}, and not {first}"));
        }
        (self.refused != again.refused).then(|| "it had room for something else when it was used".to_owned())
    }

    /// Whether it violated a critical property.
    fn is_wrong(&self) -> bool {
        self.findings.iter().chain(&self.afterwards).any(Finding::is_critical)
    }

    /// What kept it from being run to its end, if that is no fault of the target.
    fn of_the_machine(&self, target: &T) -> Option<&Finding> {
        self.findings.iter().chain(&self.afterwards).find(|finding| target.is_of_the_machine(finding))
    }

    fn nondeterministic(detail: String) -> Self {
        Self::nothing(Finding { property: RECOVERY_NONDETERMINISTIC, detail })
    }

    fn nothing(finding: Finding) -> Self {
        Self::new(None, vec![finding], (None, false), (Arc::new([]), 0))
    }
}

/// Findings in words.
fn listed(findings: &[Finding]) -> String {
    let words = findings.iter().map(|finding| format!("{} ({})", finding.property.name, finding.detail));
    let words = words.collect::<Vec<_>>().join(", ");
    if words.is_empty() { "nothing".to_owned() } else { words }
}

/// Whether two recoveries of the same image asked the same of the disk; if not, how they differ.
fn same_log<T: Target>(target: &T, log: &[Entry], again: &[Entry]) -> Result<(), String> {
    let asked: Vec<Asked> = log.iter().map(|entry| Asked::of(&entry.kind)).collect();
    if target.repeats() == Repeats::InShape {
        return in_order_of(&asked, again.iter().map(|entry| entry.kind.clone()).collect()).map(drop);
    }
    let place = log.iter().zip(again).position(|(first, second)| first != second);
    let number = place.unwrap_or(log.len().min(again.len()));
    match (asked.get(number), again.get(number).map(|entry| Asked::of(&entry.kind))) {
        (None, None) => Ok(()),
        (None, Some(more)) => Err(format!("after {number} requests there was an end, and then a {more}")),
        (Some(first), None) => Err(format!("request {} was a {first}, and then nothing", number + 1)),
        (Some(first), Some(second)) if *first == second => {
            Err(format!("request {} was a {first}, and then the same with other bytes", number + 1))
        }
        (Some(first), Some(second)) => Err(format!("request {} was a {first}, and then a {second}", number + 1)),
    }
}
