//! Every trace that a search finds shows its violation again, and a trace of something else does no harm.

use check::{Checkable, CrashPoint, Fate, Move, OpMove, ReplayError, Story, TakenRequest, Trace, replay};
use disk::CrashMode;
use vfs::{Op, Value, contract::Contract};

use crate::{
    searching::{options, search, trace_of},
    store::{Flaw, Kind, Store},
    toy::{A, B, BAD, Toy, found_if, get},
};

const FLAWS: [(Kind, Flaw); 16] = [
    (Kind::OneBlock, Flaw::ShortCount),
    (Kind::OneBlock, Flaw::UnlinkDoesNothing),
    (Kind::OneBlock, Flaw::WrongByte),
    (Kind::OneBlock, Flaw::Miscounts),
    (Kind::OneBlock, Flaw::SyncDoesNothing),
    (Kind::OneBlock, Flaw::FsyncDoesNothing),
    (Kind::OneBlock, Flaw::Tired),
    (Kind::TwoSlots, Flaw::Unchecked),
    (Kind::TwoSlots, Flaw::GivesUp),
    (Kind::TwoSlots, Flaw::NoFlush),
    (Kind::TwoSlots, Flaw::LeavesHalves),
    (Kind::TwoSlots, Flaw::Tired),
    (Kind::OneBlock, Flaw::Forgetful),
    (Kind::TwoSlots, Flaw::Forgetful),
    (Kind::OneBlock, Flaw::Moody),
    (Kind::TwoSlots, Flaw::Fickle),
];

/// Every trace that the harshest search of every flaw finds, with its store.
pub fn found_traces() -> Vec<(Store, Trace)> {
    let mut traces = Vec::new();
    for (kind, flaw) in FLAWS {
        let report = search(&Store::new(kind, flaw), options(CrashMode::Torn, Contract::Prefix));
        assert!(!report.violations.is_empty(), "{kind:?} {flaw:?}");
        traces.extend(report.violations.into_iter().map(|violated| (Store::new(kind, flaw), violated.trace)));
    }
    traces
}

#[test]
fn every_found_trace_shows_its_violation_again() {
    for (store, trace) in found_traces() {
        let trace = Trace::from_json(&trace.to_json()).expect("it was just written");
        let replayed = replay(&store, &trace).expect("it belongs to this store");
        assert_eq!(replayed.moves.len(), trace.schedule.len());
        let (property, detail) = replayed.violation.expect("it shows again");
        assert_eq!((property.name, &detail), (trace.property.as_str(), &trace.detail), "{:?}", store.flaw);
    }
}

#[test]
fn a_trace_does_not_show_on_a_store_that_is_right() {
    for (store, trace) in found_traces() {
        let right = Store::new(store.kind, Flaw::None);
        // The right store may be unable to make a move of the other; then that is what is said.
        match replay(&right, &trace) {
            Ok(replayed) => assert_eq!(replayed.violation, None, "{:?} {}", store.flaw, trace.property),
            Err(error) => assert!(matches!(error, ReplayError::NoSuchMove { .. }), "{error}"),
        }
    }
}

/// A cut that took one request of the first op.
fn cut(entries: usize, back: usize) -> CrashPoint {
    CrashPoint { entries, taken: vec![TakenRequest { op: Some(0), back, blocks: None }] }
}

/// One `create`, with this crash.
fn create_and(crash: Option<CrashPoint>, more: Vec<Move>) -> Trace {
    let trace = trace_of(
        &Store::new(Kind::OneBlock, Flaw::UnlinkDoesNothing),
        options(CrashMode::Prefix, Contract::Mountable),
        "tree",
    );
    let first = Move::Run(OpMove { crash, ..OpMove::undisturbed(0) });
    Trace { schedule: [vec![first], more].concat(), ..trace }
}

#[test]
fn a_trace_of_something_else_is_refused() {
    let store = Store::new(Kind::OneBlock, Flaw::UnlinkDoesNothing);
    let unlink = Move::Run(OpMove::undisturbed(1));
    let cases = [
        ("cut after more requests than there are", create_and(Some(cut(9, 1)), vec![])),
        ("the same, in an earlier move", create_and(Some(cut(9, 1)), vec![unlink.clone()])),
        ("cut after more than can be counted", create_and(Some(cut(usize::MAX, 1)), vec![])),
        ("an entry that does not exist, in an earlier move", create_and(Some(cut(1, 7)), vec![unlink])),
        ("an entry that does not exist, in the last move", create_and(Some(cut(1, 7)), vec![])),
        ("goes on with what did not begin", create_and(None, vec![Move::Go(OpMove::undisturbed(1))])),
        ("an action", create_and(None, vec![Move::Act { action: 0, says: String::new() }])),
    ];
    for (name, trace) in cases {
        let error = replay(&store, &trace).expect_err(name);
        assert!(matches!(error, ReplayError::NoSuchMove { .. }), "{name}: {error}");
        let error = store.minimise(&trace, &explore::Stop::default()).expect_err(name);
        assert!(matches!(error, ReplayError::NotAgain { .. }), "{name}: {error}");
    }
}

/// The store knows nothing of remounts: the pipeline does them.
#[test]
fn a_remount_must_show_the_same_tree() {
    let remount = Move::Run(OpMove::undisturbed(1));
    let cases = [(Flaw::None, true, false), (Flaw::Forgetful, false, false), (Flaw::Forgetful, true, true)];
    for (flaw, recovered, violates) in cases {
        let mut trace = create_and(recovered.then(|| cut(1, 1)), vec![remount.clone()]);
        trace.ops = vec![trace.ops[0].clone(), Op::Remount];
        trace.options.probe = false;
        let replayed = replay(&Store::new(Kind::OneBlock, flaw), &trace).expect("the moves exist");
        let said = replayed.violation.map(|(property, detail)| (property.name, detail));
        let lost = ("tree", "/a: is missing, expected a file with 0 bytes".to_owned());
        assert_eq!(said, violates.then_some(lost), "{flaw:?} {recovered}");
        assert_eq!(replayed.moves[1].outcome, Some(Ok(Value::Done)));
    }
}

/// A store that shows data that nobody wrote, and the shortest way to see it.
fn foreign_data() -> (Store, Trace) {
    let store = Store::new(Kind::TwoSlots, Flaw::Unchecked);
    let trace = trace_of(&store, options(CrashMode::Prefix, Contract::Mountable), "no-foreign-data");
    let trace = store.minimise(&trace, &explore::Stop::default()).expect("it violates its property");
    (store, trace)
}

#[test]
fn a_replay_shows_requests_and_their_fate() {
    let (store, trace) = foreign_data();
    let replayed = replay(&store, &trace).expect("it belongs to this store");
    let [create, append] = &replayed.moves[..] else { panic!("{replayed:?}") };
    assert_eq!(create.says, r#"create("/a", mode=0644)"#);
    assert!(create.outcome.as_ref().is_some_and(Result::is_ok));
    assert_eq!(create.cut_after, None);
    assert!(create.requests.iter().all(|request| request.fate == Fate::Done));
    assert_eq!(create.tree.as_ref().expect("it goes on").to_string(), "/\n  a  0 bytes  mode 0644 nlink 1\n");

    assert_eq!((append.op, append.cut_after, &append.outcome), (Some(1), Some(1), &None));
    let requests: Vec<_> = append.requests.iter().map(|request| (request.says.as_str(), request.fate)).collect();
    assert_eq!(
        requests,
        [
            ("write block 0", Fate::Reached),
            ("write block 1: 1 x 0a, 7 x ee", Fate::NeverIssued),
            ("flush", Fate::NeverIssued),
        ]
    );
}

#[test]
fn a_story_has_the_ops_the_power_cut_and_the_broken_promise() {
    let (store, trace) = foreign_data();
    let replayed = replay(&store, &trace).expect("it belongs to this store");
    let told = Story { trace: &trace, replayed: &replayed, every_step: false }.to_string();
    assert_eq!(
        told,
        r#"   1. create("/a", mode=0644)
   2. write("/a", at=end, len=1, fill=10)
        write block 0  [on disk]
        ~~~~ power cut ~~~~
        write block 1: 1 x 0a, 7 x ee  [never issued]
        flush  [never issued]
      Recovery:
        /
          a  1 bytes: 1 x ee  mode 0644 nlink 1

Broken: no-foreign-data (critical)
  after the crash `/a` has 1 byte of fill 238; what byte 0 shows was never written there
"#
    );
    let long = Story { trace: &trace, replayed: &replayed, every_step: true }.to_string();
    assert!(long.contains("   1. create(\"/a\", mode=0644)\n        write block 2"), "{long}");

    let right = Store::new(Kind::OneBlock, Flaw::None);
    let live = trace_of(
        &Store::new(Kind::OneBlock, Flaw::WrongByte),
        options(CrashMode::Off, Contract::Mountable),
        "contents",
    );
    let replayed = replay(&right, &live).expect("the moves are the same");
    let told = Story { trace: &live, replayed: &replayed, every_step: false }.to_string();
    assert!(told.contains("The trace no longer violates contents. When it was recorded:\n  "), "{told}");
    assert!(!told.contains("power cut"), "{told}");
}

/// What a power cut made of the writes of an earlier op is said at that op.
#[test]
fn a_story_says_what_became_of_earlier_writes() {
    let loses_a =
        Toy { fsck: |disk| Ok(found_if(get(disk, B) != 0 && get(disk, A) == 0, BAD, "b without a")), ..Toy::RIGHT };
    let trace = trace_of(&loses_a, options(CrashMode::Subsets, Contract::Mountable), "bad");
    let replayed = replay(&loses_a, &trace).expect("it belongs to this toy");
    let told = Story { trace: &trace, replayed: &replayed, every_step: false }.to_string();
    let expected = r#"   1. create("/a", mode=0644)
        write file a: 4 x 01  [in the cache until the power cut in 2: lost with the cache]
   2. create("/b", mode=0644)
        write file b: 4 x 01  [on disk]
        ~~~~ power cut ~~~~
"#;
    assert!(told.starts_with(expected), "{told}");
}

/// A write of several blocks says what each holds, and which of them a torn one left.
#[test]
fn a_story_tells_a_torn_write_block_by_block() {
    let torn = Toy {
        create: |disk, file| disk.write(file, &[1, 1, 1, 1, 2, 2, 2, 2]),
        fsck: |disk| Ok(found_if(get(disk, A) == 0 && get(disk, B) == 2, BAD, "the second half only")),
        ..Toy::RIGHT
    };
    let trace = trace_of(&torn, options(CrashMode::Torn, Contract::Mountable), "bad");
    let replayed = replay(&torn, &trace).expect("it belongs to this toy");
    let told = Story { trace: &trace, replayed: &replayed, every_step: false }.to_string();
    let expected = r#"   1. create("/a", mode=0644)
        write file a (2 blocks)  [torn: partly on disk]
          file a: 4 x 01  [lost with the cache]
          file b: 4 x 02  [on disk]
        ~~~~ power cut ~~~~
"#;
    assert!(told.starts_with(expected), "{told}");
}
