//! Replays a trace and tells what happened, also when the target does not survive it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use check::{Checkable, Move, ReplayError, Story, Trace};

/// A trace, told.
pub struct Told {
    /// For people.
    pub text: String,
    /// Whether the violation showed again.
    pub shows_violation: bool,
}

/// Replays a trace and tells it.
///
/// # Errors
/// The trace does not fit the target.
pub fn tell(target: &dyn Checkable, trace: &Trace, every_step: bool) -> Result<Told, ReplayError> {
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
