//! Replays a trace and tells what happened, also when the target does not survive it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use check::{Checkable, Move, ReplayError, Sighting, Story, TRIES, Trace};

/// A trace, told.
pub struct Told {
    /// For people.
    pub text: String,
    /// Whether the violation showed again.
    pub shows_violation: bool,
}

/// Replays a trace and tells it. One that is known to show its violation now and then is replayed until it does, and
/// one that is not known to is told by what was seen of it if it never does.
///
/// # Errors
/// The trace does not fit the target.
pub fn tell(target: &dyn Checkable, trace: &Trace, every_step: bool) -> Result<Told, ReplayError> {
    let Some(sighting) = &trace.sighting else { return tell_once(target, trace, every_step) };
    let shows = |told: &Told| told.shows_violation;
    let mut tries = (0..TRIES).map(|_| tell_once(target, trace, every_step));
    match tries.find_map(|told| told.ok().filter(shows)) {
        Some(told) => Ok(told),
        None => Ok(tell_as_seen(trace, sighting)),
    }
}

/// Tells a violation by what was seen of it, without a replay.
pub fn tell_as_seen(trace: &Trace, sighting: &Sighting) -> Told {
    let text = Story { trace, replayed: &trace.as_seen(sighting), every_step: false }.to_string();
    Told { text, shows_violation: false }
}

fn tell_once(target: &dyn Checkable, trace: &Trace, every_step: bool) -> Result<Told, ReplayError> {
    match catch_unwind(AssertUnwindSafe(|| target.replay(trace))) {
        Ok(replayed) => {
            let replayed = replayed?;
            let text = Story { trace, replayed: &replayed, every_step }.to_string();
            Ok(Told { text, shows_violation: replayed.violation.is_some() })
        }
        Err(_) => Ok(Told { text: tell_panic(trace), shows_violation: true }),
    }
}

/// There is nothing to see of a target that panicked but what it was asked.
fn tell_panic(trace: &Trace) -> String {
    let says = |a_move: &Move| match (a_move, a_move.op().and_then(|op| trace.ops.get(op.op))) {
        (Move::Act { says, .. }, _) => says.clone(),
        (_, Some(op)) => op.to_string(),
        (_, None) => String::new(),
    };
    let moves = (1..).zip(&trace.schedule).map(|(number, a_move)| format!("{number:>4}. {}\n", says(a_move)));
    format!("{}\nBroken: the target panicked\n  {}\n", moves.collect::<String>(), trace.detail)
}

#[cfg(test)]
mod tests {
    use check::{CheckOptions, CheckReport, Lack, Lacking, Promise, Replayed, RunOptions, Work};
    use explore::{Progress, SearchError, Stop};
    use vfs::{Op, generate::OpSet};

    use super::*;

    /// A target that survives nothing.
    struct Fragile;

    impl Checkable for Fragile {
        fn promise(&self) -> Promise {
            Promise::default()
        }

        fn ops(&self) -> OpSet {
            OpSet::EMPTY
        }

        fn lacks(&self, script: &[Op]) -> Option<Lacking> {
            script.first().map(|op| Lacking { op: op.clone(), what: Lack::Kind })
        }

        fn check(
            &self,
            _: CheckOptions,
            _: &RunOptions,
            _: &mut (dyn FnMut(&Progress, &Work) + Send),
        ) -> Result<CheckReport, SearchError> {
            Err(SearchError::WalkResumed)
        }

        fn replay(&self, _: &Trace) -> Result<Replayed, ReplayError> {
            panic!("as the trace says")
        }

        fn minimise(&self, trace: &Trace, _: &Stop) -> Result<Trace, ReplayError> {
            Ok(trace.clone())
        }
    }

    #[test]
    fn a_panic_is_told_and_does_not_spread() {
        let trace = r#"{"version": 1, "target": "t", "property": "panic", "severity": "critical", "detail": "boom",
            "options": {"crash": "off", "contract": "mountable", "continue_after_crash": true, "probe": true,
                        "crash_states_max": 1, "seed": 0},
            "ops": [], "schedule": [{"act": {"action": 0, "says": "it is touched"}}]}"#;
        let told = tell(&Fragile, &Trace::from_json(trace).unwrap(), true).unwrap();
        assert!(told.shows_violation);
        assert_eq!(told.text, "   1. it is touched\n\nBroken: the target panicked\n  boom\n");
    }
}
