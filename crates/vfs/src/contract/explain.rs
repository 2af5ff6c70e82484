//! The search for a reading of the found tree that breaks nothing.
//!
//! The identities of found nodes mean nothing, so names decide: the root is the root, and what stands under a name of a
//! directory may be any node that the name's history since its floor contains. A found node with two names must be one
//! node in both readings, and two found nodes are the same one only where that never had two names at once. Every
//! reading is tried until one breaks nothing; otherwise the one that breaks least is reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Contract,
    breach::{Breach, Clause},
    chain::Chain,
    content, moment,
    pins::{Floors, Name},
    report::Report,
    seen,
    things::{self, Thing, Value},
};
use crate::{NodeId, NodeKind, Path, Tree};

/// Which node of the reference each found node is, and where it was found.
pub(super) type Reading = BTreeMap<NodeId, (NodeId, Path)>;

#[derive(Clone)]
struct Attempt {
    reading: Reading,
    taken: BTreeMap<NodeId, NodeId>,
    /// Names still to be read, each in its found directory.
    agenda: Vec<(NodeId, Name, Path)>,
    breaches: Vec<Breach>,
}

/// What is wrong with how the values of a reading go together, none of which is wrong by itself.
type Together = fn(&Report, &Floors, &Tree, &Reading) -> Option<Breach>;

struct Search<'a> {
    chain: &'a Chain,
    floors: Floors,
    found: &'a Tree,
    report: Report<'a>,
    together: Option<Together>,
    best: Option<Vec<Breach>>,
}

/// Whether some reading breaks nothing of a contract from `synced` on.
pub(super) fn keeps(contract: Contract, chain: &Chain, found: &Tree) -> bool {
    let (floors, together) = demands(contract, chain);
    least(contract, floors, together, chain, found).is_some_and(|breaches| breaches.is_empty())
}

/// What the reading that breaks least breaks of a contract from `synced` on, without what weaker contracts say.
pub(super) fn breaches(contract: Contract, chain: &Chain, found: &Tree) -> Vec<Breach> {
    let (floors, together) = demands(contract, chain);
    search(contract, floors, together, chain, found)
}

fn demands(contract: Contract, chain: &Chain) -> (Floors, Option<Together>) {
    let floors = Floors::new(contract, chain.base(), chain.returned());
    let together: Option<Together> = match contract {
        Contract::Mountable | Contract::Synced | Contract::Fsynced => None,
        Contract::Atomic => Some(seen::breach),
        Contract::Ordered | Contract::Prefix => Some(moment::breach),
    };
    (floors, together)
}

/// The single values that break these floors, in the reading that breaks least.
pub(super) fn values(contract: Contract, floors: Floors, chain: &Chain, found: &Tree) -> Vec<Breach> {
    search(contract, floors, None, chain, found)
}

/// How values that hold by themselves break `ordered` or `prefix`.
pub(super) fn together(contract: Contract, floors: Floors, chain: &Chain, found: &Tree) -> Option<Breach> {
    search(contract, floors, Some(moment::breach), chain, found).into_iter().next()
}

/// A rename that values which hold by themselves show in part.
pub(super) fn renames(floors: Floors, chain: &Chain, found: &Tree) -> Option<Breach> {
    search(Contract::Atomic, floors, Some(seen::rename_breach), chain, found).into_iter().next()
}

fn search(contract: Contract, floors: Floors, together: Option<Together>, chain: &Chain, found: &Tree) -> Vec<Breach> {
    let best = least(contract, floors, together, chain, found);
    debug_assert!(best.is_some(), "{contract} was judged although a weaker contract is broken");
    best.unwrap_or_default()
}

/// What the reading that breaks least breaks; nothing if values go together badly only where one is wrong by itself.
fn least(
    contract: Contract,
    floors: Floors,
    together: Option<Together>,
    chain: &Chain,
    found: &Tree,
) -> Option<Vec<Breach>> {
    let mut search = Search { chain, floors, found, report: Report { contract, chain }, together, best: None };
    let mut attempt =
        Attempt { reading: Reading::new(), taken: BTreeMap::new(), agenda: Vec::new(), breaches: Vec::new() };
    search.read(&mut attempt, found.root, chain.base().root, &Path::root());
    search.run(attempt);
    search.best
}

impl Search<'_> {
    fn run(&mut self, mut attempt: Attempt) {
        while let Some((dir, name, path)) = attempt.agenda.pop() {
            if self.is_hopeless(&attempt) {
                return;
            }
            let child = self.found.node(dir).and_then(|dir| dir.entries()?.get(&name.1)).copied();
            let child = child.filter(|child| self.found.node(*child).is_some());
            let options = self.options(&attempt, child, &name);
            match (child, options.as_slice()) {
                (_, []) => attempt.breaches.push(self.name_breach(&attempt, child, &name, path)),
                (Some(child), [Some(node)]) => self.read(&mut attempt, child, *node, &path),
                (Some(child), several) => {
                    for node in several.iter().flatten() {
                        let mut attempt = attempt.clone();
                        self.read(&mut attempt, child, *node, &path);
                        self.run(attempt);
                    }
                    return;
                }
                (None, _) => {}
            }
        }
        self.finish(attempt);
    }

    /// From `atomic` on some reading breaks no value, since `fsynced` was judged before; only such readings count.
    fn is_hopeless(&self, attempt: &Attempt) -> bool {
        let broken = attempt.breaches.len();
        self.best.as_ref().is_some_and(|best| best.len() <= broken) || broken > 0 && self.together.is_some()
    }

    /// What a name with this found child may be read as.
    fn options(&self, attempt: &Attempt, child: Option<NodeId>, name: &Name) -> Vec<Option<NodeId>> {
        let mut allowed = self.chain.children(name, self.floors.name(name));
        let Some(child) = child else {
            allowed.retain(Option::is_none);
            return allowed;
        };
        allowed.retain(|node| {
            node.is_some_and(|node| match (attempt.reading.get(&child), attempt.taken.get(&node)) {
                (Some((known, _)), _) => *known == node,
                (None, Some(_)) if self.had_two_names(node) => false,
                (None, _) => self.same_kind(child, node),
            })
        });
        allowed
    }

    /// Whether a node had two names at one moment since everything was pinned. One that never did may be found under
    /// each name as a node by itself: so does a file system without link counts show half a rename. That breaks
    /// `atomic`, where names are judged together.
    fn had_two_names(&self, node: NodeId) -> bool {
        let states = self.chain.states(node, self.floors.everything());
        states.iter().any(|(_, state)| !state.is_dir() && state.nlink > 1)
    }

    fn same_kind(&self, found: NodeId, node: NodeId) -> bool {
        let state = self.chain.states(node, 0).first().map(|(_, state)| *state);
        self.found.node(found).zip(state).is_some_and(|(found, state)| things::same_kind(found, state))
    }

    /// Reads a found node as a node of the reference: its attributes and content are judged, its names put down.
    fn read(&self, attempt: &mut Attempt, found_id: NodeId, node: NodeId, path: &Path) {
        if attempt.reading.contains_key(&found_id) {
            return;
        }
        attempt.reading.insert(found_id, (node, path.clone()));
        attempt.taken.insert(node, found_id);
        let Some(found) = self.found.node(found_id) else { return };
        let floor = self.floors.attributes(node);
        let states = self.chain.states(node, floor);
        let attributes = things::attributes(node, states.iter().map(|(_, state)| &***state).chain([&**found]));
        for thing in attributes {
            let value = thing.value(found);
            let allowed = self.chain.values(&thing, floor);
            if allowed.iter().all(|(known, _)| *known != value) {
                attempt.breaches.push(self.report.attribute(&thing, floor, &allowed, &value, path));
            }
        }
        match &found.kind {
            NodeKind::File(bytes) => {
                if let Some(broken) = content::broken(self.chain, &self.floors, node, bytes) {
                    let floor = match broken {
                        (Clause::PinnedSize, _) => content::floor_of_size(self.chain, &self.floors, node, bytes.len()),
                        (_, offset) => self.floors.byte(node, offset as u64),
                    };
                    attempt.breaches.push(self.report.content(node, broken, floor, bytes, path));
                }
            }
            NodeKind::Dir(entries) => {
                let states = self.chain.states(node, self.floors.everything());
                let known = states.iter().filter_map(|(_, state)| state.entries()).flat_map(|entries| entries.keys());
                let names: BTreeSet<&Arc<str>> = known.chain(entries.keys()).collect();
                let all = names.into_iter().rev();
                attempt.agenda.extend(all.map(|name| (found_id, (node, name.clone()), path.join(name))));
            }
            NodeKind::Symlink(_) | NodeKind::Special(_) => {}
        }
    }

    fn name_breach(&self, attempt: &Attempt, child: Option<NodeId>, name: &Name, path: Path) -> Breach {
        let floor = self.floors.name(name);
        let found = match child.and_then(|child| Some((child, self.found.node(child)?))) {
            None => "absent".to_owned(),
            Some((child, node)) => match attempt.reading.get(&child) {
                Some((_, elsewhere)) => format!("another name of `{elsewhere}`"),
                None => match self.taken(attempt, child, name) {
                    Some(elsewhere) => format!("{}, but not the one that is `{elsewhere}`", things::describe(node)),
                    None => things::describe(node),
                },
            },
        };
        let thing = Thing::Name(name.0, name.1.clone());
        let held = |child, value: &Value| matches!(value, Value::Child(Some(node)) if self.same_kind(child, *node));
        let ever = child.is_none_or(|child| self.chain.values(&thing, 0).iter().any(|(value, _)| held(child, value)));
        self.report.name(&thing, floor, found, ever, path)
    }

    /// Where the node was found that this name should lead to.
    fn taken<'b>(&self, attempt: &'b Attempt, child: NodeId, name: &Name) -> Option<&'b Path> {
        let allowed = self.chain.children(name, self.floors.name(name)).into_iter().flatten();
        let taken = allowed.filter(|node| self.same_kind(child, *node)).find_map(|node| attempt.taken.get(&node))?;
        attempt.reading.get(taken).map(|(_, path)| path)
    }

    /// Every name was read: what remains is how the values go together.
    fn finish(&mut self, mut attempt: Attempt) {
        if self.is_hopeless(&attempt) {
            return;
        }
        if attempt.breaches.is_empty() {
            let together =
                self.together.and_then(|wrong| wrong(&self.report, &self.floors, self.found, &attempt.reading));
            attempt.breaches.extend(together);
        }
        if self.best.as_ref().is_none_or(|best| attempt.breaches.len() < best.len()) {
            self.best = Some(attempt.breaches);
        }
    }
}
