//! The contracts once more, by enumeration: every combination of values that the pins allow, every set of ops, every
//! moment. Slow, simple, and written from the definitions alone, so that it can disagree with the real judge.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use vfs::{
    File, Node, NodeId, NodeKind, Op, Path, Tree, Value,
    contract::{Contract, Event},
};

type Name = (NodeId, String);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Attribute {
    Mode,
    Owner,
    Group,
}

const ATTRIBUTES: [Attribute; 3] = [Attribute::Mode, Attribute::Owner, Attribute::Group];

fn attribute(node: &Node, attribute: Attribute) -> u32 {
    match attribute {
        Attribute::Mode => node.mode,
        Attribute::Owner => node.uid,
        Attribute::Group => node.gid,
    }
}

/// A crash after the first `returned` of these events; the rest was under way. `trees[m]` is the tree after `m` ops.
pub struct Brute {
    trees: Vec<Tree>,
    events: Vec<Event>,
    returned: usize,
    names: BTreeSet<Name>,
}

/// Where each thing was last pinned.
struct Floors {
    everything: usize,
    names: BTreeMap<Name, usize>,
    attributes: BTreeMap<NodeId, usize>,
    contents: BTreeMap<NodeId, usize>,
}

/// What a name leads to, for every name.
type Names = BTreeMap<Name, NodeId>;

impl Brute {
    pub fn new(base: Tree, events: Vec<Event>, returned: usize) -> Self {
        let trees: Vec<Tree> = std::iter::once(base).chain(events.iter().map(|event| event.after.clone())).collect();
        let names = trees.iter().flat_map(|tree| names_of(tree).into_keys()).collect();
        Self { trees, events, returned, names }
    }

    /// How many combinations of names there are at most.
    pub fn combinations(&self) -> usize {
        let values = |name: &Name| self.child_values(name, 0).len();
        self.names.iter().map(values).fold(1, usize::saturating_mul)
    }

    /// The strongest contract such that it and every weaker one allow the tree.
    pub fn strongest(&self, found: &Tree) -> Option<Contract> {
        let holds = |contract: &Contract| match contract {
            Contract::Mountable => self.mountable(found),
            Contract::Synced | Contract::Fsynced => self.combination_allows(*contract, found),
            Contract::Atomic => self.set_of_ops_allows(found),
            Contract::Ordered | Contract::Prefix => self.moment_allows(*contract, found),
        };
        Contract::ALL.into_iter().take_while(holds).last()
    }

    fn child_values(&self, name: &Name, floor: usize) -> BTreeSet<Option<NodeId>> {
        self.trees[floor..].iter().map(|tree| names_of(tree).get(name).copied()).collect()
    }

    fn states(&self, node: NodeId, from: usize, to: usize) -> Vec<&Node> {
        let states: Vec<&Node> = self.trees[from..=to].iter().filter_map(|tree| Some(&**tree.node(node)?)).collect();
        if states.is_empty() && from > 0 { self.states(node, from - 1, to) } else { states }
    }

    fn floors(&self, contract: Contract) -> Floors {
        let mut floors =
            Floors { everything: 0, names: BTreeMap::new(), attributes: BTreeMap::new(), contents: BTreeMap::new() };
        let mut named: BTreeSet<NodeId> = self.trees[0].nodes.keys().copied().collect();
        for (index, event) in self.events[..self.returned].iter().enumerate() {
            let (at, tree) = (index + 1, &event.after);
            let subject = match &event.op {
                Op::Fsync { file: File::Path(path) } | Op::Fdatasync { file: File::Path(path) } => tree.lookup(path),
                _ => None,
            };
            if event.outcome.is_err() {
                continue;
            }
            if matches!(event.op, Op::Sync) {
                floors = Floors {
                    everything: at,
                    names: BTreeMap::new(),
                    attributes: BTreeMap::new(),
                    contents: BTreeMap::new(),
                };
                named = tree.nodes.keys().copied().collect();
            }
            let Some(node) = subject.filter(|_| contract >= Contract::Fsynced) else { continue };
            let full = matches!(event.op, Op::Fsync { .. });
            if full {
                floors.attributes.insert(node, at);
            }
            if tree.node(node).unwrap().is_dir() {
                for name in self.names.iter().filter(|(dir, _)| *dir == node) {
                    floors.names.insert(name.clone(), at);
                }
                named.extend(names_of(tree).iter().filter(|((dir, _), _)| *dir == node).map(|(_, child)| child));
            } else {
                floors.contents.insert(node, at);
                if full || !named.contains(&node) {
                    // Every path to the file, and every name on it.
                    for (path, _) in tree.paths().into_iter().filter(|(_, id)| *id == node) {
                        let mut dir = tree.root;
                        for part in path.as_str().split('/').skip(1) {
                            floors.names.insert((dir, part.to_owned()), at);
                            dir = names_of(tree)[&(dir, part.to_owned())];
                            named.insert(dir);
                        }
                    }
                }
            }
        }
        floors
    }

    fn name_floor(floors: &Floors, name: &Name) -> usize {
        floors.names.get(name).copied().unwrap_or(0).max(floors.everything)
    }

    fn combination_allows(&self, contract: Contract, found: &Tree) -> bool {
        let floors = self.floors(contract);
        let names: Vec<&Name> = self.names.iter().collect();
        let values: Vec<Vec<Option<NodeId>>> = names
            .iter()
            .map(|name| self.child_values(name, Self::name_floor(&floors, name)).into_iter().collect())
            .collect();
        let mut choice = vec![0; names.len()];
        loop {
            let chosen: Names = (0..names.len())
                .filter_map(|index| Some((names[index].clone(), values[index][choice[index]]?)))
                .collect();
            let may_be_two = |node| self.never_had_two_names(floors.everything, node);
            if let Some(reading) = self.read(found, &chosen, &may_be_two)
                && reading.iter().all(|(node, state)| {
                    self.attributes_allowed(&floors, *node, state) && self.content_allowed(&floors, *node, state)
                })
            {
                return true;
            }
            let Some(next) = (0..names.len()).find(|index| choice[*index] + 1 < values[*index].len()) else {
                return false;
            };
            choice[next] += 1;
            choice[..next].fill(0);
        }
    }

    fn attributes_allowed(&self, floors: &Floors, node: NodeId, found: &Node) -> bool {
        let floor = floors.attributes.get(&node).copied().unwrap_or(0).max(floors.everything);
        let states = self.states(node, floor, self.trees.len() - 1);
        let target = |node: &Node| if let NodeKind::Symlink(target) = &node.kind { Some(target.clone()) } else { None };
        ATTRIBUTES.iter().all(|which| states.iter().any(|state| attribute(state, *which) == attribute(found, *which)))
            && states.iter().any(|state| target(state) == target(found))
    }

    fn content_allowed(&self, floors: &Floors, node: NodeId, found: &Node) -> bool {
        let NodeKind::File(found) = &found.kind else { return true };
        let floor = floors.contents.get(&node).copied().unwrap_or(0).max(floors.everything);
        let contents: Vec<Vec<u8>> =
            self.states(node, floor, self.trees.len() - 1).into_iter().filter_map(content).collect();
        let mut sizes: BTreeSet<usize> = contents.iter().map(Vec::len).collect();
        for moment in floor + 1..self.trees.len() {
            sizes.extend(self.sizes_on_the_way(node, moment));
        }
        all_contents(&sizes, &contents).contains(&**found)
    }

    /// The sizes between those before and after the op that made a moment, if it was a write to this file.
    fn sizes_on_the_way(&self, node: NodeId, moment: usize) -> Vec<usize> {
        let written = match &self.events[moment - 1] {
            Event { op: Op::Write { file: File::Path(path), .. }, outcome: Ok(Value::Count(_)), after } => {
                after.lookup(path)
            }
            _ => None,
        };
        let size = |moment: usize| self.trees[moment].node(node).and_then(|node| content(node)).map_or(0, |c| c.len());
        if written == Some(node) { (size(moment - 1)..size(moment)).collect() } else { Vec::new() }
    }

    fn set_of_ops_allows(&self, found: &Tree) -> bool {
        let floors = self.floors(Contract::Fsynced);
        let ops = self.trees.len() - 1 - floors.everything;
        found.invariants().is_empty()
            && (0..1usize << ops).any(|set| {
                let seen = |moment: usize| set >> (moment - floors.everything - 1) & 1 == 1;
                self.forgettable(floors.everything)
                    .into_iter()
                    .any(|lost| self.set_allows(&floors, &seen, &lost, found))
            })
    }

    /// Every set of nodes that were made since everything was last pinned: each may be lost, whatever else is seen.
    fn forgettable(&self, start: usize) -> Vec<BTreeSet<NodeId>> {
        let nodes = self.trees.iter().flat_map(|tree| tree.nodes.keys().copied());
        let new: BTreeSet<NodeId> = nodes.filter(|node| self.trees[start].node(*node).is_none()).collect();
        let new: Vec<NodeId> = new.into_iter().collect();
        let set = |bits: usize| (0..new.len()).filter(|at| bits >> at & 1 == 1).map(|at| new[at]).collect();
        (0..1usize << new.len()).map(set).collect()
    }

    /// The moments whose values something has had if these ops are seen, the last one last; none if a later change of
    /// it is seen without an earlier one.
    fn seen_at(
        &self,
        start: usize,
        seen: &dyn Fn(usize) -> bool,
        changed: &dyn Fn(&Tree, &Tree) -> bool,
    ) -> Option<Vec<usize>> {
        let moments: Vec<usize> =
            (start + 1..self.trees.len()).filter(|at| changed(&self.trees[at - 1], &self.trees[*at])).collect();
        let count = moments.iter().take_while(|at| seen(**at)).count();
        if moments[count..].iter().any(|at| seen(*at)) {
            return None;
        }
        Some([&[start], &moments[..count]].concat())
    }

    fn set_allows(&self, floors: &Floors, seen: &dyn Fn(usize) -> bool, lost: &BTreeSet<NodeId>, found: &Tree) -> bool {
        let exists = |tree: &Tree, node: NodeId| tree.node(node).is_some();
        let mut chosen = Names::new();
        for name in &self.names {
            let changed = |before: &Tree, after: &Tree| {
                names_of(before).get(name) != names_of(after).get(name)
                    || exists(before, name.0) != exists(after, name.0)
            };
            let Some(moments) = self.seen_at(floors.everything, seen, &changed) else { return false };
            let mut values: Vec<_> = moments.iter().map(|at| names_of(&self.trees[*at]).get(name).copied()).collect();
            let now = values.pop().flatten();
            if lost.contains(&name.0) && now.is_some_and(|node| !lost.contains(&node)) {
                return false;
            }
            if !now.is_some_and(|node| lost.contains(&node)) {
                chosen.extend(now.map(|node| (name.clone(), node)));
            } else if values.into_iter().rfind(|value| !value.is_some_and(|node| lost.contains(&node))) != Some(None) {
                return false;
            }
        }
        // Every attribute of every node, found or not, is seen in the order of its changes.
        let nodes: BTreeSet<NodeId> = self.trees.iter().flat_map(|tree| tree.nodes.keys().copied()).collect();
        let mut attributes = BTreeMap::new();
        for (node, which) in nodes.iter().flat_map(|node| ATTRIBUTES.map(|which| (*node, which))) {
            let value = |tree: &Tree| tree.node(node).map(|node| attribute(node, which));
            let differs = |before: &Tree, after: &Tree| value(before) != value(after);
            let Some(moments) = self.seen_at(floors.everything, seen, &differs) else { return false };
            let at = *moments.last().unwrap();
            attributes.insert((node, which), value(&self.trees[at]));
        }
        let Some(reading) = self.read(found, &chosen, &|_| false) else { return false };
        let in_found = |name: &&Name| reading.iter().any(|(node, _)| *node == name.0);
        self.names
            .iter()
            .filter(in_found)
            .all(|name| self.child_values(name, Self::name_floor(floors, name)).contains(&chosen.get(name).copied()))
            && reading.iter().all(|(node, state)| {
                ATTRIBUTES.iter().all(|which| attributes[&(*node, *which)] == Some(attribute(state, *which)))
                    && self.attributes_allowed(floors, *node, state)
                    && self.content_allowed(floors, *node, state)
            })
    }

    fn moment_allows(&self, contract: Contract, found: &Tree) -> bool {
        let floors = self.floors(Contract::Fsynced);
        // The moment, and the write under way before or after it that may be present in part.
        let moments = (floors.everything..self.trees.len()).flat_map(|moment| {
            let before = (moment > self.returned).then_some(moment);
            let after = (moment >= self.returned && moment + 1 < self.trees.len()).then_some(moment + 1);
            [(moment, None), (moment, before), (moment, after)]
        });
        moments.into_iter().any(|(moment, in_part)| {
            let tree = &self.trees[moment];
            let Some(reading) = self.read(found, &names_of(tree), &|_| false) else { return false };
            let pinned = |name: &Name| {
                self.child_values(name, Self::name_floor(&floors, name)).contains(&names_of(tree).get(name).copied())
            };
            let exists = |at: usize, node: &NodeId| self.trees[at].node(*node).is_some();
            let there = |(node, floor): (&NodeId, &usize)| {
                exists(moment, node) || moment >= *floor || (*floor..self.trees.len()).any(|late| !exists(late, node))
            };
            self.names.iter().all(pinned)
                && floors.attributes.iter().chain(&floors.contents).all(there)
                && reading.iter().all(|(node, state)| {
                    let then = tree.node(*node).unwrap();
                    ATTRIBUTES.iter().all(|which| attribute(then, *which) == attribute(state, *which))
                        && self.attributes_allowed(&floors, *node, state)
                        && self.content_allowed(&floors, *node, state)
                        && self.content_at(contract, *node, moment, in_part, state)
                })
        })
    }

    /// Whether a content is that of a moment, or that of the write that may be present in part.
    fn content_at(&self, contract: Contract, node: NodeId, moment: usize, write: Option<usize>, found: &Node) -> bool {
        let Some(found) = content(found) else { return true };
        let at = |moment: usize| self.trees[moment].node(node).and_then(|node| content(node));
        let exact =
            |then: Vec<u8>| if contract == Contract::Prefix { found == then } else { found.len() == then.len() };
        let in_part = |to: usize| {
            let mut sizes: BTreeSet<usize> = self.sizes_on_the_way(node, to).into_iter().collect();
            let written = matches!(&self.events[to - 1].op, Op::Write { file: File::Path(path), .. }
                if self.trees[to].lookup(path) == Some(node) && self.events[to - 1].outcome.is_ok());
            let contents: Vec<Vec<u8>> = [at(to - 1), at(to)].into_iter().flatten().collect();
            sizes.extend(contents.iter().map(Vec::len));
            let fits = if contract == Contract::Prefix {
                all_contents(&sizes, &contents).contains(&found)
            } else {
                sizes.contains(&found.len())
            };
            written && fits
        };
        at(moment).is_some_and(exact) || write.is_some_and(in_part)
    }

    fn never_had_two_names(&self, start: usize, node: NodeId) -> bool {
        self.trees[start..].iter().all(|tree| names_of(tree).values().filter(|child| **child == node).count() < 2)
    }

    /// Which node each found node is if these are the names, provided that the found names are the same, and that no
    /// two found nodes are one that may not be two.
    fn read<'a>(
        &self,
        found: &'a Tree,
        names: &Names,
        may_be_two: &dyn Fn(NodeId) -> bool,
    ) -> Option<Vec<(NodeId, &'a Node)>> {
        let mut read: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        let mut next = vec![(found.root, self.trees[0].root)];
        while let Some((id, node)) = next.pop() {
            match read.insert(id, node) {
                Some(known) if known == node => continue,
                Some(_) => return None,
                None => {}
            }
            let kind = |node: &Node| std::mem::discriminant(&node.kind);
            let state = self.trees.iter().find_map(|tree| tree.node(node))?;
            if kind(found.node(id)?) != kind(state) {
                return None;
            }
            let here: BTreeMap<&str, NodeId> = names
                .iter()
                .filter(|((dir, _), _)| *dir == node)
                .map(|((_, name), child)| (name.as_str(), *child))
                .collect();
            let entries = found.node(id)?.entries();
            if entries.is_some_and(|entries| !entries.keys().map(|name| &**name).eq(here.keys().copied())) {
                return None;
            }
            next.extend(entries.into_iter().flatten().map(|(name, child)| (*child, here[&**name])));
        }
        let found_as = |node: &NodeId| read.values().filter(|other| *other == node).count();
        let sound = read.values().all(|node| found_as(node) == 1 || may_be_two(*node));
        sound.then(|| read.iter().map(|(id, node)| (*node, &**found.node(*id).unwrap())).collect())
    }

    fn mountable(&self, found: &Tree) -> bool {
        found.paths().iter().all(|(_, id)| {
            let Some(bytes) = found.node(*id).and_then(|node| content(node)) else { return true };
            let paths: Vec<Path> =
                found.paths().into_iter().filter(|(_, other)| other == id).map(|(path, _)| path).collect();
            let alike = |like: &Node| -> BTreeSet<NodeId> {
                let kind = |node: &Node| std::mem::discriminant(&node.kind);
                let nodes = self.trees.iter().flat_map(|tree| tree.nodes.iter());
                nodes.filter(|(_, node)| kind(node) == kind(like)).map(|(id, _)| *id).collect()
            };
            let meant = |path: &Path| {
                let (mut nodes, mut here) = (BTreeSet::from([self.trees[0].root]), found.root);
                for part in path.as_str().split('/').skip(1) {
                    here = found.node(here).unwrap().entries().unwrap()[part];
                    let alike = alike(found.node(here).unwrap());
                    let lead = |dir: &NodeId| self.child_values(&(*dir, part.to_owned()), 0);
                    let named: BTreeSet<NodeId> = nodes.iter().flat_map(lead).flatten().collect();
                    let named: BTreeSet<NodeId> = named.intersection(&alike).copied().collect();
                    nodes = if named.is_empty() { alike } else { named };
                }
                nodes
            };
            let meant = paths.iter().map(meant).reduce(|one, two| {
                let both: BTreeSet<NodeId> = one.intersection(&two).copied().collect();
                if both.is_empty() { one.union(&two).copied().collect() } else { both }
            });
            let written = |node: &NodeId, offset: usize| {
                let states = self.states(*node, 0, self.trees.len() - 1);
                states.into_iter().filter_map(content).any(|known| known.get(offset) == Some(&bytes[offset]))
            };
            let own = |node: &NodeId| (0..bytes.len()).all(|offset| bytes[offset] == 0 || written(node, offset));
            bytes.iter().all(|byte| *byte == 0) || meant.unwrap_or_default().iter().any(own)
        })
    }
}

/// Every content of one of these sizes whose bytes are those of one of these contents, or zero beyond one's end.
fn all_contents(sizes: &BTreeSet<usize>, contents: &[Vec<u8>]) -> HashSet<Vec<u8>> {
    let mut all = HashSet::new();
    for size in sizes {
        let mut partial = vec![Vec::new()];
        for offset in 0..*size {
            let bytes: BTreeSet<u8> = contents.iter().map(|known| known.get(offset).copied().unwrap_or(0)).collect();
            partial = partial
                .iter()
                .flat_map(|known| bytes.iter().map(move |byte| [known.as_slice(), &[*byte]].concat()))
                .collect();
        }
        all.extend(partial);
    }
    all
}

fn content(node: &Node) -> Option<Vec<u8>> {
    if let NodeKind::File(bytes) = &node.kind { Some(bytes.to_vec()) } else { None }
}

fn names_of(tree: &Tree) -> Names {
    let entries = tree.nodes.iter().filter_map(|(id, node)| Some((id, node.entries()?)));
    entries.flat_map(|(id, names)| names.iter().map(|(name, child)| ((*id, name.to_string()), *child))).collect()
}
