//! From a wrong value to the breach that tells of it: which pin, what was allowed, what was found.

use super::{
    Contract,
    breach::{Allowed, Breach, Clause, Pinned, Verb},
    chain::Chain,
    things::{self, Content, Thing, Value},
};
use crate::{NodeId, Op, Path};

/// How many allowed values are told. More would bury the first, which is the one that was pinned.
const ALLOWED_MAX: usize = 6;

pub(super) struct Report<'a> {
    pub contract: Contract,
    pub chain: &'a Chain,
}

impl Report<'_> {
    pub fn name(&self, thing: &Thing, floor: usize, found: String, ever: bool, path: Path) -> Breach {
        let words = |(value, since): (Value, usize)| {
            let Value::Child(Some(node)) = value else { return ("absent".to_owned(), since) };
            let state = self.chain.tree(since).node(node);
            (state.map_or_else(|| "a file".to_owned(), |state| things::describe(state)), since)
        };
        let allowed = self.chain.values(thing, floor).into_iter().map(words);
        Breach {
            contract: self.contract,
            clause: if ever { Clause::PinnedName } else { Clause::NeverHeld },
            path,
            node: None,
            pin: Some(self.pin(floor)),
            allowed: self.allowed(allowed),
            verb: Verb::Is,
            found,
        }
    }

    pub fn attribute(
        &self,
        thing: &Thing,
        floor: usize,
        allowed: &[(Value, usize)],
        found: &Value,
        path: &Path,
    ) -> Breach {
        let ever = self.chain.values(thing, 0).iter().any(|(value, _)| value == found);
        Breach {
            contract: self.contract,
            clause: if ever { Clause::PinnedAttributes } else { Clause::NeverHeld },
            path: path.clone(),
            node: Some(thing.node()),
            pin: self.pin_of(thing.node(), floor),
            allowed: self.allowed(allowed.iter().map(|(value, since)| (thing.describe(value), *since))),
            verb: Verb::Has,
            found: thing.describe(found),
        }
    }

    pub fn content(
        &self,
        node: NodeId,
        (clause, offset): (Clause, usize),
        floor: usize,
        found: &[u8],
        path: &Path,
    ) -> Breach {
        let mut allowed: Vec<(String, usize)> = Vec::new();
        for (since, bytes) in self.chain.contents(node, floor) {
            let words = Content(bytes).to_string();
            if allowed.iter().all(|(known, _)| *known != words) {
                allowed.push((words, since));
            }
        }
        let at = if clause == Clause::PinnedSize { String::new() } else { format!(", wrong at byte {offset}") };
        Breach {
            contract: self.contract,
            clause,
            path: path.clone(),
            node: Some(node),
            pin: self.pin_of(node, floor),
            allowed: self.allowed(allowed),
            verb: Verb::Has,
            found: format!("{}{at}", Content(found)),
        }
    }

    /// A breach about how values go together, in words that fit after "is" or "has".
    pub fn together(&self, clause: Clause, path: Path, verb: Verb, found: String) -> Breach {
        Breach { contract: self.contract, clause, path, node: None, pin: None, allowed: Vec::new(), verb, found }
    }

    fn allowed(&self, values: impl IntoIterator<Item = (String, usize)>) -> Vec<Allowed> {
        let told = values.into_iter().take(ALLOWED_MAX);
        told.map(|(value, since)| Allowed { value, since: self.chain.moment(since) }).collect()
    }

    /// A node that was made after the floor is not pinned by it.
    fn pin_of(&self, node: NodeId, floor: usize) -> Option<Pinned> {
        self.chain.tree(floor).node(node).map(|_| self.pin(floor))
    }

    fn pin(&self, floor: usize) -> Pinned {
        let how = match self.chain.op(floor) {
            Some(Op::Fsync { .. }) => "fsynced",
            Some(Op::Fdatasync { .. }) => "fdatasynced",
            Some(Op::Msync { .. }) => "msynced",
            Some(Op::Sync | Op::Syncfs) => "synced",
            Some(Op::Remount) => "unmounted",
            Some(Op::Crash) => "recovered",
            Some(Op::Write { .. }) => "synchronously written",
            Some(_) => "made durable",
            None => "durable",
        };
        Pinned { at: self.chain.moment(floor), how }
    }
}
