//! A minimised trace is a trace of the same violation, and nothing in it can be spared.

use check::{CheckOptions, Move, OpMove, Trace, minimise, replay};
use disk::CrashMode;
use vfs::{Op, contract::Contract};

use crate::{
    replaying::found_traces,
    searching::{options, trace_of},
    store::{Flaw, Kind, Store},
};

/// Puts whole ops before a trace.
fn with_ops_before(trace: &Trace, ops: &[&str]) -> Trace {
    let ops: Vec<Op> = ops.iter().map(|op| op.parse().expect("the test writes ops as they print")).collect();
    let mut longer = trace.clone();
    for a_move in &mut longer.schedule {
        if let Move::Run(op) | Move::Begin(op) | Move::Go(op) = a_move {
            op.op += ops.len();
            let taken = op.crash.iter_mut().flat_map(|crash| &mut crash.taken);
            taken.filter_map(|request| request.op.as_mut()).for_each(|op| *op += ops.len());
        }
    }
    let runs = (0..ops.len()).map(|op| Move::Run(OpMove::undisturbed(op)));
    longer.schedule = runs.chain(longer.schedule).collect();
    longer.ops = [ops, longer.ops].concat();
    longer
}

fn texts(trace: &Trace) -> Vec<String> {
    trace.ops.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_minimised_still_violates_and_never_grows() {
    // What goes by its mood need not do the same once more.
    let repeating = found_traces().into_iter().filter(|(store, _)| !matches!(store.flaw, Flaw::Moody));
    for (store, trace) in repeating {
        let smaller = minimise(&store, &trace, &explore::Stop::default()).expect("it violates its property");
        assert!(smaller.ops.len() <= trace.ops.len() && smaller.schedule.len() <= trace.schedule.len());
        assert_eq!((&smaller.property, smaller.options), (&trace.property, trace.options));
        let replayed = replay(&store, &smaller).expect("it is a trace");
        let (property, detail) = replayed.violation.expect("it still violates");
        assert_eq!((property.name, &detail), (smaller.property.as_str(), &smaller.detail));
        assert_eq!(
            minimise(&store, &smaller, &explore::Stop::default()).expect("it violates"),
            smaller,
            "twice is no smaller than once"
        );
    }
}

#[test]
fn ops_that_do_not_matter_are_removed() {
    let store = Store::new(Kind::TwoSlots, Flaw::Unchecked);
    let trace = trace_of(&store, options(CrashMode::Prefix, Contract::Mountable), "no-foreign-data");
    let needed = texts(&minimise(&store, &trace, &explore::Stop::default()).unwrap());
    let others =
        ["create(\"/b\", mode=0644)", "write(\"/b\", at=end, len=1, fill=20)", "sync()", "unlink(\"/b\")", "sync()"];
    let longer = with_ops_before(&trace, &others);
    assert_eq!(longer.ops.len(), trace.ops.len() + others.len());
    assert_eq!(texts(&minimise(&store, &longer, &explore::Stop::default()).unwrap()), needed);
}

#[test]
fn pins_keep_what_they_need() {
    let store = Store::new(Kind::OneBlock, Flaw::FsyncDoesNothing);
    let trace = trace_of(&store, options(CrashMode::Flushed, Contract::Fsynced), "pinned-size");
    let longer = with_ops_before(&trace, &["create(\"/b\", mode=0644)", "fsync(\"/b\")", "unlink(\"/b\")"]);
    let smaller = minimise(&store, &longer, &explore::Stop::default()).unwrap();
    let ops = texts(&smaller);
    assert_eq!(ops[0], "create(\"/a\", mode=0644)");
    assert!(ops.iter().any(|op| op.starts_with("write(\"/a\"")), "{ops:?}");
    assert!(ops.iter().any(|op| op == "fsync(\"/a\")"), "{ops:?}");
    assert!(!ops.iter().any(|op| op.contains("/b")), "{ops:?}");
}

#[test]
fn a_crash_on_the_way_stays_if_it_matters() {
    let store = Store::new(Kind::OneBlock, Flaw::Tired);
    let options = CheckOptions { probe: false, ..options(CrashMode::Prefix, Contract::Mountable) };
    let trace = trace_of(&store, options, "outcome");
    let others = ["create(\"/b\", mode=0644)", "unlink(\"/b\")"];
    let smaller = minimise(&store, &with_ops_before(&trace, &others), &explore::Stop::default()).unwrap();
    assert_eq!(smaller.ops.len(), 2, "{:?}", texts(&smaller));
    let crashes: Vec<bool> =
        smaller.schedule.iter().map(|a_move| a_move.op().is_some_and(|op| op.crash.is_some())).collect();
    assert_eq!(crashes, [true, false]);
}

/// On a disk that reorders, what earlier ops wrote is pending still when the power is cut, and was overwritten since.
/// An op between two that matter goes as well as one before them.
#[test]
fn ops_before_a_crash_on_the_way_are_removed() {
    let store = Store::new(Kind::OneBlock, Flaw::Tired);
    let options = CheckOptions { probe: false, ..options(CrashMode::Subsets, Contract::Mountable) };
    let trace = minimise(&store, &trace_of(&store, options, "outcome"), &explore::Stop::default()).unwrap();
    assert_eq!(trace.ops.len(), 2, "{:?}", texts(&trace));
    let crash = trace.schedule[0].op().and_then(|op| op.crash.as_ref()).expect("recovery is what makes it tired");
    assert!(!crash.taken.is_empty(), "a trace that takes nothing would be no test");
    let useless =
        ["create(\"/b\", mode=0644)", "unlink(\"/b\")", "sync()", "create(\"/b\", mode=0644)", "unlink(\"/b\")"];
    for useless in [&useless[..], &useless[..3], &useless[..2], &useless[2..3]] {
        let longer = with_ops_before(&trace, useless);
        assert!(replay(&store, &longer).expect("it is a trace").violation.is_some(), "{useless:?}");
        assert_eq!(minimise(&store, &longer, &explore::Stop::default()).unwrap(), trace, "{useless:?}");
    }
}

#[test]
fn what_violates_nothing_cannot_be_minimised() {
    let trace = trace_of(
        &Store::new(Kind::OneBlock, Flaw::ShortCount),
        options(CrashMode::Off, Contract::Mountable),
        "outcome",
    );
    let error = minimise(&Store::new(Kind::OneBlock, Flaw::None), &trace, &explore::Stop::default())
        .expect_err("a right store");
    assert_eq!(error.to_string(), "see the violation again: the trace does not show it in 20 tries");
}
