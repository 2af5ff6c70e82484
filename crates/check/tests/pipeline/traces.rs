//! The trace as a file: what is written is read back, and what is no trace is refused with a reason.

use check::{CheckOptions, Move, Trace, TraceError, VERSION};
use disk::{CrashMode, Failing, Fault};
use vfs::contract::Contract;

use crate::{
    searching::{options, trace_of},
    store::{Flaw, Kind, Store},
};

fn a_trace() -> Trace {
    trace_of(
        &Store::new(Kind::TwoSlots, Flaw::GivesUp),
        options(CrashMode::Torn, Contract::Mountable),
        "recovery-fails",
    )
}

#[test]
fn traces_are_read_back_as_they_were_written() {
    let trace = a_trace();
    assert_eq!(trace.version, VERSION);
    let text = trace.to_json();
    assert!(text.ends_with("}\n"));
    assert_eq!(Trace::from_json(&text).expect("it was just written"), trace);
    let acts = Trace {
        ops: Vec::new(),
        schedule: vec![Move::Act { action: 3, says: "somebody \"moves\"\n".to_owned() }],
        ..trace
    };
    assert_eq!(Trace::from_json(&acts.to_json()).expect("it was just written"), acts);
}

#[test]
fn another_version_is_named_even_if_nothing_else_can_be_read() {
    for text in [a_trace().to_json().replace("\"version\": 1", "\"version\": 7"), "{\"version\": 7}".to_owned()] {
        let error = Trace::from_json(&text).expect_err("version 7");
        assert!(matches!(error, TraceError::Version { found: 7 }), "{error}");
        assert_eq!(error.to_string(), "read the trace: it has version 7, this program reads versions 1 to 3");
    }
}

#[test]
fn what_is_no_trace_is_malformed() {
    let whole = a_trace().to_json();
    let cut = (0..whole.trim_end().len()).filter(|at| whole.is_char_boundary(*at)).map(|at| whole[..at].to_owned());
    let others = [
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "\u{0}".to_owned(),
        whole.replace("\"detail\"", "\"details\""),
        whole.replace("\"detail\"", "\"surprise\": 1, \"detail\""),
        whole.replace("\"create\"", "\"crate\""),
        whole.replace("\"torn\"", "\"worn\""),
        whole.replace("\"critical\"", "5"),
        whole.replace("\"version\": 1", "\"version\": -1"),
        whole.replace("\"version\": 1", "\"version\": \"1\""),
        whole.clone() + "{}",
    ];
    for text in cut.chain(others) {
        let error = Trace::from_json(&text).expect_err(&text);
        assert!(matches!(error, TraceError::Malformed(_)), "{error}: {text}");
    }
}

#[test]
fn the_moves_of_a_trace_must_be_possible() {
    let trace = a_trace();
    let off = CheckOptions { crash: CrashMode::Off, ..trace.options };
    let off = Trace { options: off, ..trace.clone() };
    assert!(matches!(Trace::from_json(&off.to_json()), Err(TraceError::CutWhileOff { .. })));
    let mut faulty = trace.clone();
    let Some(Move::Run(last)) = faulty.schedule.last_mut() else { panic!("it ends with an op") };
    last.faults.push(Fault { what: Failing::Read, after: 0 });
    assert!(matches!(Trace::from_json(&faulty.to_json()), Err(TraceError::TooManyFaults { found: 1, allowed: 0 })));
    let ops = trace.ops.len() - 1;
    let lacking = Trace { ops: trace.ops[..ops].to_vec(), ..trace };
    let error = Trace::from_json(&lacking.to_json()).expect_err("the last move has no op");
    let TraceError::NoSuchOp { number, op, ops: found } = error else { panic!("{error}") };
    assert_eq!((number, op, found), (ops + 1, ops, ops));
}
