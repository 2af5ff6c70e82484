//! Random histories over a few names, and random trees near to what a crash after them may leave.

use std::{collections::BTreeMap, sync::Arc};

use fastrand::Rng;
use vfs::{
    Data, File, Node, NodeId, NodeKind, Op, Path, Reference, Rename, Tree, WriteAt, WriteVia,
    contract::{Event, History},
};

fn one_in(random: &mut Rng, bound: usize) -> bool {
    random.usize(..bound) == 0
}

fn pick<T: Copy>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())]
}

const PATHS: [&str; 5] = ["/a", "/b", "/d", "/d/a", "/"];

/// A file of every base that no op names.
pub const UNTOUCHED: &str = "/z";

pub fn op(random: &mut Rng) -> Op {
    let mut path = || Path::new(pick(random, &PATHS)).unwrap();
    let (path, to) = (path(), path());
    let file = File::Path(path.clone());
    let modes = [0o600, 0o644];
    match random.usize(..20) {
        0 | 1 => Op::Create { path, mode: 0o644 },
        2..=4 => {
            let (at, len) = (WriteAt::Offset(random.u64(..2)), random.u64(1..=2));
            Op::Write { file, at, data: Data { len, fill: random.u8(1..=3) }, via: WriteVia::Buffered }
        }
        5 => Op::Truncate { file, size: random.u64(..3) },
        6 => Op::Mkdir { path, mode: 0o755 },
        7 => Op::Rmdir { path },
        8 => Op::Unlink { path },
        9 | 10 => Op::Rename { from: path, to, how: Rename::Replace },
        11 => Op::Rename { from: path, to, how: Rename::Exchange },
        12 => Op::Link { from: path, to },
        13 => Op::Chmod { path, mode: pick(random, &modes) },
        14 => Op::Chown { path, uid: Some(1), gid: Some(1) },
        15 => [Op::Fsync { file: file.clone() }, Op::Fdatasync { file }][random.usize(..2)].clone(),
        16 | 17 => {
            let data = Data { len: 2, fill: random.u8(1..=3) };
            Op::Write { file, at: WriteAt::Offset(0), data, via: WriteVia::Buffered }
        }
        _ => [Op::Sync, Op::Fsync { file }][usize::from(!one_in(random, 4))].clone(),
    }
}

/// What happened before a crash, and what was under way.
pub struct Scene {
    pub base: Tree,
    pub returned: Vec<Event>,
    pub under_way: Vec<Event>,
}

impl Scene {
    pub fn new(random: &mut Rng, ops_max: usize) -> Self {
        let mut reference = Reference::new();
        let untouched = Op::Create { path: Path::new(UNTOUCHED).unwrap(), mode: 0o644 };
        assert!(reference.apply(&untouched).is_ok());
        let mut event = |random: &mut Rng| {
            let op = op(random);
            let outcome = reference.apply(&op);
            Event { op, outcome, after: reference.tree() }
        };
        let mut returned: Vec<Event> = Vec::new();
        let (before, after) = (4 + random.usize(..8), (2 + random.usize(..ops_max)).min(ops_max));
        let base = (0..before).map(|_| event(random)).last().map(|event| event.after).unwrap();
        while returned.len() < after {
            let event = event(random);
            // Some failed ops belong into a history, but most say nothing.
            if event.outcome.is_ok() || one_in(random, 20) {
                returned.push(event);
            }
        }
        let under_way = if one_in(random, 2) { returned.pop().into_iter().collect() } else { Vec::new() };
        Self { base, returned, under_way }
    }

    pub fn history(&self) -> History {
        let mut history = History::new(self.base.clone());
        for event in &self.returned {
            history.push(event.clone());
        }
        history
    }

    pub fn trees(&self) -> Vec<&Tree> {
        let events = self.returned.iter().chain(&self.under_way);
        std::iter::once(&self.base).chain(events.map(|event| &event.after)).collect()
    }
}

/// A tree that takes each name, attribute and byte from some moment, most of them late ones, and perhaps one thing
/// more that is from no moment.
pub fn found(random: &mut Rng, trees: &[&Tree]) -> Tree {
    let late = 1 + random.usize(..trees.len());
    let mut nodes: BTreeMap<NodeId, Node> = BTreeMap::new();
    let any = |random: &mut Rng| trees.len() - 1 - random.usize(..late);
    let whole = one_in(random, 2).then(|| any(random));
    let moment = |random: &mut Rng| whole.unwrap_or_else(|| any(random));
    let mut next = vec![trees[0].root];
    while let Some(id) = next.pop() {
        let states: Vec<&Arc<Node>> = trees.iter().filter_map(|tree| tree.node(id)).collect();
        let state = |random: &mut Rng| match trees[moment(random)].node(id) {
            Some(state) => state.clone(),
            None => (*states.last().unwrap()).clone(),
        };
        let mut node = (*state(random)).clone();
        if one_in(random, 3) {
            (node.mode, node.uid, node.gid) = (state(random).mode, state(random).uid, state(random).gid);
        }
        let other = trees[any(random)].node(id).unwrap_or(states.last().unwrap());
        node.kind = match (node.kind, &other.kind) {
            (NodeKind::Dir(_), _) => {
                let names = states.iter().flat_map(|state| state.entries().unwrap().keys()).cloned();
                let names: std::collections::BTreeSet<Arc<str>> = names.collect();
                let mixed = one_in(random, 2);
                let whole = state(random);
                let chosen = names.into_iter().filter_map(|name| {
                    let from = if mixed { state(random) } else { whole.clone() };
                    Some((name.clone(), *from.entries()?.get(&name)?))
                });
                let entries: BTreeMap<Arc<str>, NodeId> = chosen.collect();
                next.extend(entries.values().filter(|child| !nodes.contains_key(child)));
                NodeKind::Dir(entries.into())
            }
            (NodeKind::File(bytes), NodeKind::File(other)) => {
                let other_size = if whole.is_some() { bytes.len() } else { other.len() };
                let size =
                    if one_in(random, 20) { random.usize(..4) } else { pick(random, &[bytes.len(), other_size]) };
                let byte = |offset| [&bytes, other][random.usize(..2)].get(offset).copied().unwrap_or(0);
                NodeKind::File((0..size).map(byte).collect())
            }
            (kind, _) => kind,
        };
        nodes.insert(id, node);
    }
    if one_in(random, 6) {
        disturb(random, &mut nodes, trees[0].root);
    }
    sound(trees[0].root, nodes, random)
}

fn disturb(random: &mut Rng, nodes: &mut BTreeMap<NodeId, Node>, root: NodeId) {
    let ids: Vec<NodeId> = nodes.keys().copied().collect();
    let (victim, copy) = (pick(random, &ids), NodeId(1000));
    let name: Arc<str> = Arc::from(pick(random, &["a", "b", "z"]));
    let duplicate = nodes[&victim].clone();
    match (random.usize(..7), &mut nodes.get_mut(&victim).unwrap().kind) {
        (0 | 1, NodeKind::File(bytes)) => *bytes = bytes.iter().map(|_| pick(random, &[0, 1, 3, 9])).collect(),
        (2, NodeKind::Dir(entries)) => drop(entries.remove(&name)),
        (3, NodeKind::File(_)) => {
            let NodeKind::Dir(entries) = &mut nodes.get_mut(&root).unwrap().kind else { unreachable!() };
            entries.insert(name, victim);
        }
        (4, NodeKind::File(_)) => {
            let NodeKind::Dir(entries) = &mut nodes.get_mut(&root).unwrap().kind else { unreachable!() };
            entries.insert(name, copy);
            nodes.insert(copy, duplicate);
        }
        (5, _) => part(nodes, victim),
        _ => nodes.get_mut(&victim).unwrap().mode = pick(random, &[0o600, 0o777]),
    }
}

/// Makes a node of its own of each name of a node.
fn part(nodes: &mut BTreeMap<NodeId, Node>, victim: NodeId) {
    let (duplicate, mut copies, mut numbers) = (nodes[&victim].clone(), BTreeMap::new(), 2000..);
    for node in nodes.values_mut() {
        let NodeKind::Dir(entries) = &mut node.kind else { continue };
        let mut names = BTreeMap::clone(entries);
        for child in names.values_mut().filter(|child| **child == victim) {
            *child = NodeId(numbers.next().unwrap());
            copies.insert(*child, duplicate.clone());
        }
        *entries = names.into();
    }
    nodes.extend(copies);
}

/// Drops what cannot be reached, gives every node another identity and counts links, once in a while wrongly. A
/// directory keeps one name, as an observer would see it.
fn sound(root: NodeId, mut nodes: BTreeMap<NodeId, Node>, random: &mut Rng) -> Tree {
    let (mut links, mut kept) = (BTreeMap::from([(root, 2u32)]), BTreeMap::new());
    let mut next = vec![root];
    while let Some(id) = next.pop() {
        let Some(mut node) = nodes.remove(&id) else { continue };
        if let NodeKind::Dir(entries) = &mut node.kind {
            let mut names = BTreeMap::clone(entries);
            names.retain(|_, child| {
                let known = links.contains_key(child);
                let dir = nodes.get(child).or_else(|| kept.get(child)).is_none_or(Node::is_dir);
                if dir && known {
                    return false;
                }
                *links.entry(*child).or_insert(u32::from(dir)) += 1;
                *links.get_mut(&id).unwrap() += u32::from(dir);
                true
            });
            next.extend(names.values());
            *entries = names.into();
        }
        kept.insert(id, node);
    }
    let renamed = |id: NodeId| NodeId(5000 - id.0);
    let mut tree = BTreeMap::new();
    for (id, mut node) in kept {
        node.nlink = links[&id] + u32::from(one_in(random, 200));
        if let NodeKind::Dir(entries) = &mut node.kind {
            *entries = entries.iter().map(|(name, child)| (Arc::clone(name), renamed(*child))).collect();
        }
        tree.insert(renamed(id), Arc::new(node));
    }
    Tree { root: renamed(root), nodes: Arc::new(tree) }
}
