//! A violation of a comparison as it was met, and whether it shows again.
//!
//! It is tried from the state before the last op with that op, then from the states that were saved further back, with
//! all ops since: what needs the least to be done again is the likeliest to come to the same.

use std::sync::Arc;

use explore::{Property, Stop};
use vfs::{Errno, Op, Outcome, Place, Tree};

use super::{
    Comparison,
    judge::Judged,
    past::Past,
    state::{Compared, Moment},
};
use crate::sighting::{Sighting, TRIES, Tail};

/// What was seen when a property was violated.
#[derive(Clone)]
pub(super) struct Met {
    pub detail: String,
    past: Past,
    trees: Vec<Result<Tree, Errno>>,
}

impl Met {
    /// What an op came to.
    pub fn new(before: &Compared, op: &Op, judged: &Judged, detail: String) -> Self {
        Self { detail, past: before.past.and(&before.now, op, &judged.outcomes), trees: judged.trees.clone() }
    }

    /// All ops up to the one that violated the property, and what each side said to each.
    pub fn ops(&self) -> (Vec<Op>, Vec<Vec<Outcome>>) {
        self.past.ops()
    }

    /// What was seen, and the fewest of the last ops that show it again.
    pub fn sighting(&self, comparison: &Comparison, property: Property, stop: &Stop) -> Sighting {
        let (ops, outcomes) = self.ops();
        let told = |tree: &Result<Tree, Errno>| match tree {
            Ok(tree) => tree.to_string(),
            Err(errno) => format!("cannot be read: {errno}"),
        };
        Sighting {
            // Who is missing is not to be had by doing the same ops again.
            tail: if comparison.is_of_the_machine(property) {
                None
            } else {
                self.tail(comparison, &ops, property.name, stop)
            },
            outcomes,
            trees: self.trees.iter().map(told).collect(),
            ..Sighting::default()
        }
    }

    fn tail(&self, comparison: &Comparison, ops: &[Op], property: &str, stop: &Stop) -> Option<Tail> {
        let rounds = (1..=TRIES).take_while(|_| !stop.is_stopped());
        let all = rounds.flat_map(|tries| self.past.saved().iter().map(move |moment| (tries, moment)));
        let tail = |(tries, moment): (u32, &Arc<Moment>)| {
            let since = ops.get(usize::try_from(moment.ops).ok()?..)?;
            comparison.shows(moment, since, property).then_some(Tail { ops: since.len(), tries })
        };
        all.into_iter().find_map(tail)
    }
}

impl Comparison {
    /// Whether the last of these ops violates the property, and none before it anything.
    fn shows(&self, from: &Arc<Moment>, ops: &[Op], property: &str) -> bool {
        let Some((last, earlier)) = ops.split_last() else { return false };
        let start = Compared { now: Arc::clone(from), place: Place::default(), past: Past::default() };
        let before = earlier.iter().try_fold(start, |state, op| self.judge(&state, op).next);
        before.is_some_and(|before| {
            self.judge(&before, last).wrong.iter().any(|finding| finding.property.name == property)
        })
    }
}
