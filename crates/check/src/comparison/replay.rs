//! A trace of a comparison, executed again on all sides.

use vfs::{Op, Outcome};

use super::{Comparison, judge::Judged, state::Compared};
use crate::{
    replay::{ReplayError, Replayed, Shown},
    sighting::says,
    target::Finding,
    trace::{Move, Trace},
};

pub(super) fn replay(comparison: &Comparison, trace: &Trace) -> Result<Replayed, ReplayError> {
    let mut state = match comparison.start() {
        Ok(state) => state,
        Err(Finding { property, .. }) if property.name != trace.property || !trace.schedule.is_empty() => {
            return Err(ReplayError::Start("the sides differ from the start".to_owned()));
        }
        Err(Finding { property, detail }) => {
            return Ok(Replayed { moves: Vec::new(), violation: Some((property, detail)) });
        }
    };
    let mut moves = Vec::new();
    let mut violation = None;
    for (number, a_move) in (1..).zip(&trace.schedule) {
        let (place, op) = op_of(trace, a_move).ok_or(ReplayError::OtherKind)?;
        let judged = comparison.judge(&state, op);
        moves.push(show(comparison, place, op, &judged));
        if number == trace.schedule.len() {
            violation = judged.wrong.into_iter().find(|finding| finding.property.name == trace.property);
        } else {
            let what = "the sides no longer agree after it";
            state = judged.next.ok_or(ReplayError::NoSuchMove { number, what })?;
        }
    }
    Ok(Replayed { moves, violation: violation.map(|Finding { property, detail }| (property, detail)) })
}

/// The trace with what its last op is found to violate now; `None` if it does not lead there.
pub(super) fn execute(comparison: &Comparison, candidate: &Trace) -> Option<Trace> {
    let started = comparison.start();
    let Some((last, earlier)) = candidate.schedule.split_last() else {
        return again(candidate, started.err().as_slice());
    };
    let mut state: Compared = started.ok()?;
    for a_move in earlier {
        state = comparison.judge(&state, op_of(candidate, a_move)?.1).next?;
    }
    let judged = comparison.judge(&state, op_of(candidate, last)?.1);
    again(candidate, &judged.wrong)
}

/// The trace with how its property is violated now, if that is among what is wrong.
fn again(candidate: &Trace, wrong: &[Finding]) -> Option<Trace> {
    let found = wrong.iter().find(|finding| finding.property.name == candidate.property)?;
    Some(Trace { detail: found.detail.clone(), ..candidate.clone() })
}

fn op_of<'t>(trace: &'t Trace, a_move: &Move) -> Option<(usize, &'t Op)> {
    let Move::Run(op_move) = a_move else { return None };
    Some((op_move.op, trace.ops.get(op_move.op)?))
}

/// Where all sides say the same, it is said once.
fn show(comparison: &Comparison, place: usize, op: &Op, judged: &Judged) -> Shown {
    let agreed = judged.outcomes.iter().all(|outcome| outcome == &judged.outcomes[0]);
    let says = |(number, outcome): (usize, &Outcome)| says(&comparison.names(&[number]), outcome);
    Shown {
        op: Some(place),
        outcome: judged.outcomes.first().filter(|_| agreed).cloned(),
        differs: if agreed { Vec::new() } else { judged.outcomes.iter().enumerate().map(says).collect() },
        tree: judged.next.as_ref().map(|next| next.now.tree.clone()),
        ..Shown::says(op.to_string())
    }
}
