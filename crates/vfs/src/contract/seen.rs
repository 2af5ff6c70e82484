//! The contract `atomic`: a set of whole ops explains every name and attribute.
//!
//! Each op changes some things. The ops that change one thing are seen in their order, as far as some op and none
//! after it; an op is seen in all the things that it changes or in none. So what is sought is a set of ops that, with
//! each op, contains every earlier one that changes the same thing, and that leaves every thing as it was found.
//! Making or removing a node changes everything of the node: nothing is in a directory that was not made, and a
//! directory is not removed before what was in it has gone.
//!
//! What was made since everything was last durable, and is found nowhere, may be lost although later ops are seen:
//! nothing that was pinned is missing. The names that it would have are then empty, where they were empty before, and a
//! directory is lost only with what is lost itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    breach::{Breach, Clause, Verb},
    chain::Chain,
    explain::Reading,
    opset::OpSet,
    pins::Floors,
    report::Report,
    things::{self, Thing, Value},
};
use crate::{NodeId, Op, Path, Rename, Tree};

/// A thing, its found value, the ops that change it, and after how many of them it may be.
struct Line {
    thing: Thing,
    /// Nothing if the node that it belongs to was not found.
    found: Option<Value>,
    ops: Vec<usize>,
    places: Vec<usize>,
}

impl Line {
    fn in_words(&self) -> (Verb, String) {
        match &self.found {
            Some(Value::Child(Some(_))) => (Verb::Is, "there".to_owned()),
            Some(Value::Child(None)) | None => (Verb::Is, "absent".to_owned()),
            Some(value) => (Verb::Has, self.thing.describe(value)),
        }
    }
}

struct Ops {
    /// With each op, those that must be seen if it is.
    below: Vec<OpSet>,
    /// With each op, those that cannot be seen if it is not.
    above: Vec<OpSet>,
}

/// The op that is seen in part, unless whole ops explain the reading.
pub(super) fn breach(report: &Report, floors: &Floors, found: &Tree, reading: &Reading) -> Option<Breach> {
    let unsound = found.invariants().into_iter().find_map(|difference| unsound(report, &difference, found));
    if unsound.is_some() {
        return unsound;
    }
    let start = floors.everything();
    let (lines, ops) = lines(report.chain, start, found, reading);
    let mut order: Vec<&Line> = lines.iter().filter(|line| line.places.len() <= line.ops.len()).collect();
    order.sort_by_key(|line| line.places.len());
    let nothing = OpSet::new(ops.below.len());
    if ops.fits(&order, &nothing, &nothing) { None } else { Some(culprit(report, start, &order, &ops, reading)) }
}

/// A rename that is seen in part, if two things disagree about one.
pub(super) fn rename_breach(report: &Report, floors: &Floors, found: &Tree, reading: &Reading) -> Option<Breach> {
    let start = floors.everything();
    let (lines, ops) = lines(report.chain, start, found, reading);
    let is_rename = |moment: &usize| matches!(report.chain.op(*moment), Some(Op::Rename { .. }));
    let pairs = lines.iter().flat_map(|seen| lines.iter().map(move |unseen| [seen, unseen]));
    pairs.into_iter().find_map(|[seen, unseen]| {
        let moment = ops.disputed(seen, unseen).map(|op| start + 1 + op).find(is_rename)?;
        Some(partial(report, moment, [seen, unseen], reading))
    })
}

fn unsound(report: &Report, difference: &crate::tree::Difference, found: &Tree) -> Option<Breach> {
    use crate::tree::Aspect;
    let clause = match difference.aspect {
        Aspect::LinkCount => Clause::LinkCount,
        Aspect::Existence if difference.path == Path::root() && found.node(found.root).is_some() => return None,
        _ => Clause::SoundNames,
    };
    let words = difference.what.strip_prefix("has ").map(|words| (Verb::Has, words));
    let (verb, words) = words.unwrap_or((Verb::Is, difference.what.trim_start_matches("is ")));
    Some(report.together(clause, difference.path.clone(), verb, words.to_owned()))
}

/// Every thing that some op after `start` changed, and how the ops depend on each other. Ops are counted from `start`.
fn lines(chain: &Chain, start: usize, found: &Tree, reading: &Reading) -> (Vec<Line>, Ops) {
    let mut changed: BTreeMap<Thing, BTreeSet<usize>> = BTreeMap::new();
    let mut made_or_removed: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
    for moment in start + 1..=chain.end() {
        for change in changes(chain.tree(moment - 1), chain.tree(moment)) {
            let ops = match change {
                Change::Thing(thing) => changed.entry(thing).or_default(),
                Change::Existence(node, things) => {
                    for thing in things {
                        changed.entry(thing).or_default();
                    }
                    made_or_removed.entry(node).or_default()
                }
            };
            ops.insert(moment - start - 1);
        }
    }
    let found_as: BTreeMap<NodeId, NodeId> = reading.iter().map(|(found, (node, _))| (*node, *found)).collect();
    let mut lines = Vec::new();
    for (thing, mut ops) in changed {
        ops.extend(made_or_removed.get(&thing.node()).into_iter().flatten());
        let ops: Vec<usize> = ops.into_iter().collect();
        let value = found_as.get(&thing.node()).map(|id| found_value(&thing, *id, found, reading));
        let value_at = |place: usize| {
            let moment = place.checked_sub(1).map_or(start, |last| start + 1 + ops[last]);
            thing.value_in(chain.tree(moment))
        };
        let is_lost = |value: &Option<Value>| match value {
            Some(Value::Child(Some(node))) => !found_as.contains_key(node) && chain.tree(start).node(*node).is_none(),
            _ => false,
        };
        let nothing = Some(Value::Child(None));
        let place_fits = |place: &usize| {
            let then = value_at(*place);
            value.is_none() && (!matches!(thing, Thing::Name(..)) || then == nothing || is_lost(&then))
                || then == value
                || value == nothing
                    && is_lost(&then)
                    && (0..*place).rev().map(value_at).find(|before| !is_lost(before)) == Some(nothing.clone())
        };
        let places = (0..=ops.len()).filter(place_fits).collect();
        lines.push(Line { thing, found: value, ops, places });
    }
    let ops = Ops::new(chain.end() - start, &lines);
    (lines, ops)
}

fn found_value(thing: &Thing, id: NodeId, found: &Tree, reading: &Reading) -> Value {
    let Some(node) = found.node(id) else { return Value::Child(None) };
    match thing.value(node) {
        Value::Child(child) => Value::Child(child.and_then(|child| reading.get(&child)).map(|(node, _)| *node)),
        value => value,
    }
}

enum Change {
    Thing(Thing),
    /// A node was made or removed, with everything of it.
    Existence(NodeId, Vec<Thing>),
}

fn changes(before: &Tree, after: &Tree) -> Vec<Change> {
    let ids: BTreeSet<NodeId> = before.nodes.keys().chain(after.nodes.keys()).copied().collect();
    let mut changes = Vec::new();
    for id in ids {
        let states = [before.node(id), after.node(id)];
        let present = || states.into_iter().flatten().map(|state| &**state);
        let names =
            present().filter_map(|state| state.entries()).flat_map(|entries| entries.keys()).collect::<BTreeSet<_>>();
        let names = names.into_iter().map(|name| Thing::Name(id, name.clone()));
        let things = names.chain(things::attributes(id, present()));
        if let [Some(before), Some(after)] = states {
            if !Arc::ptr_eq(before, after) {
                let differing = things.filter(|thing| thing.value(before) != thing.value(after));
                changes.extend(differing.map(Change::Thing));
            }
        } else {
            changes.push(Change::Existence(id, things.collect()));
        }
    }
    changes
}

impl Ops {
    fn new(count: usize, lines: &[Line]) -> Self {
        let mut below: Vec<OpSet> = Vec::new();
        for op in 0..count {
            let mut set = OpSet::new(count);
            set.insert(op);
            for line in lines {
                if let Ok(place) = line.ops.binary_search(&op)
                    && let Some(earlier) = place.checked_sub(1)
                {
                    set.extend(&below[line.ops[earlier]]);
                }
            }
            below.push(set);
        }
        let mut above = vec![OpSet::new(count); count];
        for (op, set) in below.iter().enumerate() {
            for earlier in (0..=op).filter(|earlier| set.contains(*earlier)) {
                above[earlier].insert(op);
            }
        }
        Self { below, above }
    }

    /// Adds what it means that a thing is at a place of its line; whether that can be.
    fn settle(&self, line: &Line, place: usize, seen: &mut OpSet, unseen: &mut OpSet) -> bool {
        if let Some(last) = place.checked_sub(1) {
            seen.extend(&self.below[line.ops[last]]);
        }
        if let Some(next) = line.ops.get(place) {
            unseen.extend(&self.above[*next]);
        }
        !seen.meets(unseen)
    }

    /// The ops that one thing shows as seen wherever it is placed, and another as unseen.
    fn disputed(&self, seen: &Line, unseen: &Line) -> impl Iterator<Item = usize> {
        let last_seen = seen.places.first().and_then(|place| seen.ops.get(place.checked_sub(1)?));
        let first_unseen = unseen.places.last().and_then(|place| unseen.ops.get(*place));
        let sets = last_seen.zip(first_unseen).map(|(last, first)| (&self.below[*last], &self.above[*first]));
        (0..self.below.len())
            .filter(move |op| sets.is_some_and(|(below, above)| below.contains(*op) && above.contains(*op)))
    }

    fn fits(&self, lines: &[&Line], seen: &OpSet, unseen: &OpSet) -> bool {
        let Some((line, rest)) = lines.split_first() else { return true };
        line.places.iter().any(|place| {
            let (mut seen, mut unseen) = (seen.clone(), unseen.clone());
            self.settle(line, *place, &mut seen, &mut unseen) && self.fits(rest, &seen, &unseen)
        })
    }
}

/// An op that two things disagree about: one shows that it was seen, the other that it was not.
fn culprit(report: &Report, start: usize, lines: &[&Line], ops: &Ops, reading: &Reading) -> Breach {
    for seen in lines {
        for unseen in lines {
            // Where one op needs another, a rename tells most about what was lost.
            let moments: Vec<usize> = ops.disputed(seen, unseen).map(|op| start + 1 + op).collect();
            let rename = |moment: &&usize| matches!(report.chain.op(**moment), Some(Op::Rename { .. }));
            if let Some(moment) = moments.iter().find(rename).or(moments.first()) {
                return partial(report, *moment, [seen, unseen], reading);
            }
        }
    }
    // No two things contradict each other, only all of them together: the last op that was to explain is named.
    let (one, two) = (lines[0], lines[lines.len() - 1]);
    let op = lines.iter().filter_map(|line| line.ops.last()).max().copied().unwrap_or(0);
    partial(report, start + 1 + op, [one, two], reading)
}

fn partial(report: &Report, moment: usize, [one, two]: [&Line; 2], reading: &Reading) -> Breach {
    let op = report.chain.op(moment);
    let clause = match op {
        Some(Op::Rename { how: Rename::Exchange, .. }) => Clause::ExchangeAtomic,
        Some(Op::Rename { .. }) => Clause::RenameAtomic,
        _ => Clause::OpAtomic,
    };
    let place = |thing: &Thing| {
        let found = reading.values().find(|(node, _)| *node == thing.node()).map(|(_, path)| path.clone());
        let path = found.or_else(|| report.chain.path(thing.node())).unwrap_or_else(Path::root);
        if let Thing::Name(_, name) = thing { path.join(name) } else { path }
    };
    let told = op.map_or_else(String::new, |op| format!(", `{op}`,"));
    let number = report.chain.moment(moment);
    let ((verb, is), (other_verb, other_is)) = (one.in_words(), two.in_words());
    let other_verb = if other_verb == Verb::Is { "is" } else { "has" };
    let found = format!(
        "{is} and `{}` {other_verb} {other_is}: {number}{told} is seen in one and not in the other",
        place(&two.thing)
    );
    report.together(clause, place(&one.thing), verb, found)
}
