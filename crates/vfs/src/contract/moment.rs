//! The contracts `ordered` and `prefix`: one moment explains everything.
//!
//! A window is that moment with what may be present of the writes that the crash interrupted. Ops under way on several
//! threads form one window.

use std::collections::BTreeSet;

use super::{
    Contract,
    breach::{Breach, Clause, Verb},
    chain::Chain,
    content::partly_extended,
    explain::Reading,
    history::Zeros,
    pins::Floors,
    report::Report,
    things::{self, Content, Thing, Value},
};
use crate::{Node, NodeId, NodeKind, Path, Tree};

/// Names and attributes are those of `at`; a file that a write changed after `from` may be anything up to `to`.
#[derive(Clone, Copy)]
struct Window {
    from: usize,
    at: usize,
    to: usize,
}

/// The difference from the nearest window, if there is one from every window.
pub(super) fn breach(report: &Report, floors: &Floors, found: &Tree, reading: &Reading) -> Option<Breach> {
    let compare = |window| Comparison { report, found, reading, window }.differences();
    let mut nearest: Option<Vec<Breach>> = None;
    for window in windows(report.chain, floors) {
        let differences = compare(window);
        if differences.is_empty() {
            return None;
        }
        if nearest.as_ref().is_none_or(|known| differences.len() <= known.len()) {
            nearest = Some(differences);
        }
    }
    nearest.and_then(|differences| differences.into_iter().next())
}

/// The moments at which every pin holds, from the last at which everything was pinned.
fn windows(chain: &Chain, floors: &Floors) -> Vec<Window> {
    let moments = (floors.everything()..=chain.end()).filter(|at| floors.hold_at(chain, *at));
    let exact = moments.map(|at| Window { from: at, at, to: at });
    let (from, to) = (chain.returned, chain.end());
    let under_way = (from..=to).map(|at| Window { from, at, to });
    exact.chain(under_way.filter(|window| window.from < window.to)).collect()
}

struct Comparison<'a> {
    report: &'a Report<'a>,
    found: &'a Tree,
    reading: &'a Reading,
    window: Window,
}

impl Comparison<'_> {
    fn differences(&self) -> Vec<Breach> {
        let mut differences = Vec::new();
        for (found_id, (node, path)) in self.reading {
            let Some(found) = self.found.node(*found_id) else { continue };
            match self.report.chain.tree(self.window.at).node(*node) {
                None => differences.push(self.differs(path.clone(), Verb::Is, "there", "absent")),
                Some(state) => self.node(*node, found, state, path, &mut differences),
            }
        }
        differences
    }

    fn node(&self, node: NodeId, found: &Node, state: &Node, path: &Path, differences: &mut Vec<Breach>) {
        for thing in things::attributes(node, [found, state].into_iter()) {
            let (value, expected) = (thing.value(found), thing.value(state));
            if value != expected && !self.changed_by_write(&thing, &value) {
                let (value, expected) = (thing.describe(&value), thing.describe(&expected));
                differences.push(self.differs(path.clone(), Verb::Has, &value, &expected));
            }
        }
        match (&found.kind, &state.kind) {
            (NodeKind::Dir(found), NodeKind::Dir(state)) => {
                let names: BTreeSet<_> = found.keys().chain(state.keys()).collect();
                for name in names {
                    let child = found.get(name).and_then(|child| self.reading.get(child)).map(|(node, _)| *node);
                    let expected = state.get(name).copied();
                    // A node that is found but did not exist then is told of once, where it is read.
                    let told = child.is_some_and(|child| self.report.chain.tree(self.window.at).node(child).is_none());
                    if child != expected && !told {
                        let word = |node: Option<NodeId>| node.map_or("absent", |_| "there");
                        let (is, was) = (word(child), word(expected));
                        let was = if is == was { "something else" } else { was };
                        differences.push(self.differs(path.join(name), Verb::Is, is, was));
                    }
                }
            }
            (NodeKind::File(found), NodeKind::File(state)) if !self.content_fits(node, found, state) => {
                let (value, expected) = (Content(found).to_string(), Content(state).to_string());
                differences.push(self.differs(path.clone(), Verb::Has, &value, &expected));
            }
            _ => {}
        }
    }

    /// A write takes the set-id bits away, and does so before or after it stores its bytes.
    fn changed_by_write(&self, thing: &Thing, value: &Value) -> bool {
        self.writes_to(thing.node()).next().is_some()
            && (self.window.from..=self.window.to)
                .any(|moment| thing.value_in(self.report.chain.tree(moment)).as_ref() == Some(value))
    }

    /// The moments of the window that a write to this file made.
    fn writes_to(&self, node: NodeId) -> impl Iterator<Item = usize> {
        (self.window.from + 1..=self.window.to).filter(move |moment| self.report.chain.written(*moment) == Some(node))
    }

    fn content_fits(&self, node: NodeId, found: &[u8], state: &[u8]) -> bool {
        let chain = self.report.chain;
        let contents = || (self.window.from..=self.window.to).filter_map(|moment| chain.content(node, moment));
        let written = self.writes_to(node).next().is_some();
        let size_fits = found.len() == state.len()
            || written
                && (contents().any(|bytes| bytes.len() == found.len())
                    || self.writes_to(node).any(|moment| partly_extended(chain, node, moment, found.len())));
        if self.report.contract < Contract::Prefix || !size_fits || chain.changed_unseen(node) {
            return size_fits || chain.changed_unseen(node);
        }
        let beyond_end = (chain.zeros == Zeros::Allowed).then_some(0);
        let held =
            |offset: usize, byte: u8| contents().any(|bytes| bytes.get(offset).copied().or(beyond_end) == Some(byte));
        found == state || written && found.iter().enumerate().all(|(offset, byte)| held(offset, *byte))
    }

    fn differs(&self, path: Path, verb: Verb, found: &str, expected: &str) -> Breach {
        let clause =
            if self.report.contract == Contract::Prefix { Clause::OneMomentContents } else { Clause::OneMoment };
        let moment = self.report.chain.moment(self.window.at);
        let was = if verb == Verb::Is { "was" } else { "had" };
        let found =
            format!("{found}, but at the moment nearest to what was found, after {moment}, it {was} {expected}");
        self.report.together(clause, path, verb, found)
    }
}
