//! Violations that do not come again when the same is done again: tried from what was saved, then from the start, and
//! told by what was seen if that is all there is.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use check::{
    CheckOptions, CheckReport, Checkable, Comparison, Equality, InProcess, Promise, RunOptions, Sighting, Story, TRIES,
    Tail, Target, Task, Trace, View, Workload, settled,
};
use disk::{BlockSize, CrashMode, Disk, Geometry, Image};
use vfs::{Errno, Op, Outcome, Reference, Tree};

/// A reference that sometimes refuses to unlink.
struct Moody {
    when: When,
    /// How often it was asked to.
    unlinks: AtomicU32,
    /// How often it was mounted. The mount after the last one that can be counted fails.
    mounts: AtomicU32,
    /// Which mount was asked to first.
    first: OnceLock<u32>,
}

/// When it refuses.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// One time in five, in no order.
    OneInFive,
    /// The first time and never again.
    Once,
    /// As long as it is mounted as it was when it was first asked to.
    UntilMountedAgain,
}

/// The file system, and which mount it comes from.
type Mounted = (Reference, u32);

impl Target for Moody {
    type Mounted = Mounted;

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 1 })
    }

    fn mount(&self, _: &mut Disk) -> Result<Mounted, Errno> {
        match self.mounts.fetch_add(1, Ordering::Relaxed) {
            u32::MAX => Err(Errno::EIO),
            mount => Ok((Reference::new(), mount)),
        }
    }

    fn step(&self, (reference, mount): &mut Mounted, _: &mut Disk, task: &mut Task) -> Option<Outcome> {
        if matches!(task.op, Op::Unlink { .. }) {
            let before = self.unlinks.fetch_add(1, Ordering::Relaxed);
            let refuses = match self.when {
                When::Always => true,
                When::OneInFive => ((before + 1).wrapping_mul(0x9e37_79b9) >> 16).is_multiple_of(5),
                When::Once => before == 0,
                When::UntilMountedAgain => mount == self.first.get_or_init(|| *mount),
            };
            if refuses {
                return Some(Err(Errno::EIO));
            }
        }
        Some(reference.apply(&task.op))
    }

    fn observe(&self, (reference, _): &Mounted, _: &Disk) -> Result<Tree, Errno> {
        Ok(reference.tree())
    }

    fn encode(&self, (reference, _): &Mounted, bytes: &mut Vec<u8>) {
        bytes.extend(reference.tree().fingerprint().to_le_bytes());
    }

    fn promise(&self) -> Promise {
        Promise::default()
    }

    fn workload(&self, _: &View<'_, Self>, ops: &mut Vec<Op>) {
        ops.extend([r#"create("/a", mode=0644)"#, r#"unlink("/a")"#].map(|op| op.parse::<Op>().expect("as it prints")));
    }
}

fn moody(when: When) -> Moody {
    Moody { when, unlinks: AtomicU32::new(0), mounts: AtomicU32::new(0), first: OnceLock::new() }
}

fn beside_the_reference(when: When) -> Comparison {
    let sides: Vec<(String, Box<dyn Checkable>)> =
        vec![("moody".to_owned(), Box::new(moody(when))), ("ref".to_owned(), Box::new(InProcess))];
    Comparison::new(sides).expect("both are file systems")
}

fn options() -> CheckOptions {
    CheckOptions { crash: CrashMode::Off, equality: Equality::Tree, ..CheckOptions::default() }
}

/// What is found when a file is made and removed so many times.
fn check(target: &dyn Checkable, times: usize) -> CheckReport {
    let pair = [r#"create("/a", mode=0644)"#, r#"unlink("/a")"#];
    let script: Vec<Op> = pair.iter().cycle().take(2 * times).map(|op| op.parse().expect("as it prints")).collect();
    let run = RunOptions { workload: Workload::scripted(&script), ..RunOptions::exhaustive("moody") };
    target.check(options(), &run, &mut |_, _| {}).expect("a search without a checkpoint cannot fail")
}

fn kept(comparison: &Comparison, times: usize) -> (Trace, Trace) {
    let report = check(comparison, times);
    assert_eq!(report.violations.len(), 1, "{:?}", report.violations);
    let met = report.violations[0].trace.clone();
    let kept = settled(comparison, &met, &explore::Stop::default());
    assert_eq!(Trace::from_json(&kept.to_json()).expect("it was just written"), kept);
    (met, kept)
}

#[test]
fn what_shows_each_time_is_found_from_the_last_op_and_made_short() {
    let (met, kept) = kept(&beside_the_reference(When::Always), 1);
    let seen = met.sighting.expect("all that was seen is kept until it shows again");
    assert_eq!(seen.tail, Some(Tail { ops: 1, tries: 1 }));
    assert_eq!((kept.version, kept.ops.len(), kept.sighting), (2, 1, None), "to remove what is not there is enough");
}

#[test]
fn what_shows_now_and_then_says_how_often() {
    let comparison = beside_the_reference(When::OneInFive);
    let (met, kept) = kept(&comparison, 20);
    let refused = met.ops.iter().filter(|op| matches!(op, Op::Unlink { .. })).count();
    assert!(refused > 1, "the first was not refused");
    assert_eq!(met.ops.len(), 2 * refused, "every op is logged, though the same ops went another way since");
    let Sighting { tries, shown, .. } = kept.sighting.clone().expect("it does not show each time");
    assert!(0 < shown && shown < tries, "{shown} of {tries}");
    let mut replays = (0..TRIES).filter_map(|_| comparison.replay(&kept).ok());
    let replayed = replays.find(|replayed| replayed.violation.is_some()).expect("it comes within as many tries");
    let story = Story { trace: &kept, replayed: &replayed, every_step: false }.to_string();
    assert!(story.contains("Broken: outcome (critical)"), "{story}");
    assert!(story.ends_with(&format!("  Nondeterministic: it shows in {shown} of {tries} tries.\n")), "{story}");
}

#[test]
fn what_never_shows_again_is_told_with_all_that_was_seen() {
    let (_, kept) = kept(&beside_the_reference(When::Once), 1);
    let seen = kept.sighting.as_ref().expect("it does not show again");
    assert_eq!((kept.version, kept.ops.len()), (3, 2));
    assert_eq!((seen.tries, seen.shown, seen.tail), (TRIES, 0, None));
    assert_eq!(seen.outcomes[1][0], Err(Errno::EIO));
    assert!(seen.outcomes[1][1].is_ok());
    let told = Story { trace: &kept, replayed: &kept.as_seen(seen), every_step: false }.to_string();
    let expected = r#"   1. create("/a", mode=0644)
   2. unlink("/a")
        moody: EIO (input/output error)
        ref: it succeeded

Seen, and in no try again: outcome
  unlink("/a") failed with EIO on moody, and succeeded on ref
  Nondeterministic: not in one of 20 tries from the start did it show again.
  What moody showed then:
    /
      a  0 bytes  mode 0644 nlink 1
  What ref showed then:
    /
"#;
    assert_eq!(told, expected);
}

/// Whoever is not asked does not say no.
#[test]
fn what_is_not_tried_again_is_not_said_to_have_been() {
    let stop = explore::Stop::default();
    stop.stop();
    let comparison = beside_the_reference(When::Once);
    let met = check(&comparison, 1).violations[0].trace.clone();
    let kept = settled(&comparison, &met, &stop);
    let seen = kept.sighting.as_ref().expect("it is not known to show each time");
    assert!(!seen.is_once());
    let told = Story { trace: &kept, replayed: &kept.as_seen(seen), every_step: false }.to_string();
    assert!(told.contains("Seen, and not tried again: outcome"), "{told}");
    assert!(told.contains("\n  It was not tried again from the start.\n"), "{told}");
}

/// Sides that differ before the first op are tried again as well.
#[test]
fn sides_that_start_alike_when_tried_again_were_seen_once() {
    let unmountable = Moody { mounts: AtomicU32::new(u32::MAX), ..moody(When::Once) };
    let sides: Vec<(String, Box<dyn Checkable>)> =
        vec![("moody".to_owned(), Box::new(unmountable)), ("ref".to_owned(), Box::new(InProcess))];
    let comparison = Comparison::new(sides).expect("both are file systems");
    let report = check(&comparison, 1);
    let kept = settled(&comparison, &report.violations[0].trace, &explore::Stop::default());
    assert!(kept.schedule.is_empty() && kept.sighting.expect("it mounts the next time").is_once());
}

#[test]
fn what_only_a_saved_state_shows_is_said_to() {
    let (_, kept) = kept(&beside_the_reference(When::UntilMountedAgain), 1);
    let seen = kept.sighting.as_ref().expect("it does not show from the start");
    assert!(!seen.is_once() && seen.heading() == "Seen, and again from a saved state");
    assert_eq!((seen.tries, seen.shown, seen.tail), (TRIES, 0, Some(Tail { ops: 1, tries: 1 })));
    assert_eq!(
        seen.how_often(),
        "Nondeterministic: not in one of 20 tries from the start did it show again; the last op alone showed it, at \
         once, from the state before it."
    );
}

#[test]
fn a_target_by_itself_is_told_in_the_same_way() {
    let alone = moody(When::Once);
    let report = check(&alone, 1);
    let trace = settled(&alone, &report.violations[0].trace, &explore::Stop::default());
    let seen = trace.sighting.as_ref().expect("it does not show again");
    assert_eq!((seen.tries, seen.shown), (TRIES, 0));
    let told = Story { trace: &trace, replayed: &trace.as_seen(seen), every_step: false }.to_string();
    assert!(told.contains("Seen, and in no try again: outcome"), "{told}");
}
