//! The shape of a file system: a code that is equal for trees that differ only in names.
//!
//! Files and directories with other names behave the same, so a search need visit one tree of each shape. The code
//! is the one of Aho, Hopcroft and Ullman for rooted trees: a node's code is made of its children's codes, sorted. To
//! it come what else decides the future: sizes, attributes, open files, how often the file system as a whole
//! was synced, remounted or crashed, and the kinds of the last ops (what is pending on disk depends on them).
//!
//! ```text
//! [(0)(4096#2)[(0*2)@0(0*2)@0]]v1:eu     root{ empty file, open file, dir{ two names of one file } }
//! ```
//!
//! - Two names of one file are not two files: nodes with several names are numbered canonically (`links.rs`).
//! - A symlink says names. Names that some symlink says are kept in the code; only the others are interchangeable. A
//!   search that makes symlinks must keep all names ([`ShapeOptions::names_kept`]): in which directories a name occurs
//!   matters as soon as a symlink says it.
//! - Left out: contents (file systems treat all bytes alike), values of extended attributes but for their length,
//!   slot numbers, how full unlinked open files are, and the arguments of the last ops.
//!
//! The code is kept incrementally: a node's code is made anew only if the node or the code of a child has changed.

mod links;
mod plain;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    num::NonZeroU64,
    sync::Arc,
};

use xxhash_rust::xxh3::xxh3_128;

use crate::{Node, NodeId, NodeKind, Op, OpKind, OpenFlags, Tree, open::OpenFiles};

/// Flags that have done their work when `open` returns.
const SPENT_FLAGS: u32 =
    OpenFlags::CREAT.0 | OpenFlags::EXCL.0 | OpenFlags::TRUNC.0 | OpenFlags::DIRECTORY.0 | OpenFlags::NOFOLLOW.0;

/// How exactly sizes of files count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Files of different sizes are different.
    Bytes,
    /// Files that need the same number of blocks of so many bytes are the same.
    Blocks(NonZeroU64),
}

/// What a shape distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeOptions {
    /// How exactly sizes count.
    pub sizes: Sizes,
    /// Whether all names count, rather than those that a symlink says.
    pub names_kept: bool,
    /// Whether modes, owners and extended attributes count.
    pub attributes: bool,
    /// Ops on the file system as a whole are counted up to this number; beyond it their number makes no difference.
    pub version_max: u32,
    /// How many of the last ops count.
    pub ops_kept: usize,
}

impl Default for ShapeOptions {
    fn default() -> Self {
        Self { sizes: Sizes::Bytes, names_kept: false, attributes: true, version_max: 3, ops_kept: 2 }
    }
}

/// The shape of a file system that is being changed.
#[derive(Clone, Debug)]
pub struct Shape {
    options: ShapeOptions,
    /// The names that symlinks say.
    fixed_names: BTreeSet<Arc<str>>,
    cache: BTreeMap<NodeId, Cached>,
    tree_code: Arc<str>,
    version: u32,
    recent: VecDeque<OpKind>,
    encoded: usize,
}

/// The code of a node with everything but its children that it was made of.
#[derive(Clone, Debug)]
struct Cached {
    /// Held, so that no other node can come to have its address.
    node: Arc<Node>,
    traits: Traits,
    code: Arc<str>,
    /// Whether the last update changed the code.
    changed: bool,
}

/// What is to be known of a node that the node itself does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Traits {
    /// The flags of every slot that holds it, sorted.
    open: Vec<u32>,
    /// How many names it has.
    names: usize,
}

impl Shape {
    /// The shape of nothing; [`Shape::update`] gives it a tree.
    pub fn new(options: ShapeOptions) -> Self {
        Self {
            options,
            fixed_names: BTreeSet::new(),
            cache: BTreeMap::new(),
            tree_code: Arc::from(""),
            version: 0,
            recent: VecDeque::new(),
            encoded: 0,
        }
    }

    /// A hash of the shape of a tree with these open files, for a caller that keeps nothing from one tree to the next.
    pub fn fingerprint_of(tree: &Tree, open: &OpenFiles, options: ShapeOptions) -> u128 {
        let plain = if open.is_empty() { plain::fingerprint(tree, options) } else { None };
        plain.unwrap_or_else(|| {
            let mut shape = Self::new(options);
            shape.update(tree, open);
            shape.fingerprint()
        })
    }

    /// Takes note of an op that was done.
    pub fn record(&mut self, op: &Op) {
        if op.kind().is_whole() {
            self.version = (self.version + 1).min(self.options.version_max);
        }
        self.recent.push_back(op.kind());
        while self.recent.len() > self.options.ops_kept {
            self.recent.pop_front();
        }
    }

    /// Takes note of the tree and the open files as they are now. Costs a walk over the tree; what is encoded anew is
    /// what has changed and the directories above it, and, if files have several names, the directories above those.
    pub fn update(&mut self, tree: &Tree, open: &OpenFiles) {
        let fixed_names = names_said(tree);
        let mut old = std::mem::take(&mut self.cache);
        if self.fixed_names != fixed_names {
            self.fixed_names = fixed_names;
            old.clear();
        }
        let traits = traits(tree, open);
        self.encoded = 0;
        let mut update = Update { shape: self, tree, traits: &traits, old, entered: BTreeSet::new() };
        let (code, _) = update.encode(tree.root);
        let linked = links::canonical_code(self, tree, &traits);
        let unlinked_files = unlinked_files(tree, &traits);
        self.tree_code = format!("{}{unlinked_files}", linked.as_deref().unwrap_or(&code)).into();
    }

    /// The code, in full: equal for equal shapes and for no others.
    pub fn code(&self) -> String {
        let recent: String = self.recent.iter().map(|kind| letter(*kind)).collect();
        format!("{}v{}:{recent}", self.tree_code, self.version)
    }

    /// A hash of the code, the same in every run.
    pub fn fingerprint(&self) -> u128 {
        xxh3_128(self.code().as_bytes())
    }

    /// How many nodes the last update encoded anew.
    pub fn encoded(&self) -> usize {
        self.encoded
    }

    /// What the code of a node holds besides its children.
    fn body(&self, node: &Node, traits: &Traits) -> String {
        let (own, usual_mode) = match &node.kind {
            NodeKind::File(bytes) => (self.size(bytes.len()), 0o644),
            NodeKind::Dir(_) => (String::new(), 0o755),
            NodeKind::Symlink(target) => (format!("{target:?}"), 0o777),
            NodeKind::Special(special) => (special.to_string(), 0o644),
        };
        let attributes = if self.options.attributes { attributes(node, usual_mode) } else { String::new() };
        let names = if traits.names > 1 { format!("*{}", traits.names) } else { String::new() };
        format!("{own}{}{attributes}{names}", slots(&traits.open))
    }

    fn size(&self, bytes: usize) -> String {
        match self.options.sizes {
            Sizes::Bytes => bytes.to_string(),
            Sizes::Blocks(size) => (bytes as u64).div_ceil(size.get()).to_string(),
        }
    }

    /// What stands before the code of a child: its name, if it counts.
    fn prefix(&self, name: &str) -> String {
        if self.options.names_kept || self.fixed_names.contains(name) { format!("{name:?}=") } else { String::new() }
    }

    fn code_of(&self, id: NodeId) -> &str {
        self.cache.get(&id).map_or("?", |cached| &cached.code)
    }
}

/// One pass over a tree that moves what is still right from the old cache to the new one.
struct Update<'a> {
    shape: &'a mut Shape,
    tree: &'a Tree,
    traits: &'a BTreeMap<NodeId, Traits>,
    old: BTreeMap<NodeId, Cached>,
    entered: BTreeSet<NodeId>,
}

impl Update<'_> {
    /// The code of a node and whether it is another one than before.
    fn encode(&mut self, id: NodeId) -> (Arc<str>, bool) {
        if let Some(cached) = self.shape.cache.get(&id) {
            return (Arc::clone(&cached.code), cached.changed);
        }
        // A name that leads nowhere, or a directory within itself: only a broken file system has one, and it need not
        // be told from other broken ones.
        let Some(node) = self.tree.node(id).filter(|_| self.entered.insert(id)) else {
            return (Arc::from("?"), true);
        };
        let entries = node.entries().into_iter().flatten();
        let children: Vec<_> = entries.map(|(name, child)| (name, self.encode(*child))).collect();
        let traits = self.traits.get(&id).cloned().unwrap_or_default();
        let old = self.old.remove(&id);
        let same = |old: &Cached| {
            Arc::ptr_eq(&old.node, node) && old.traits == traits && children.iter().all(|(_, (_, changed))| !changed)
        };
        let (code, changed) = match old {
            Some(old) if same(&old) => (old.code, false),
            old => {
                self.shape.encoded += 1;
                let body = self.shape.body(node, &traits);
                let children = children.iter().map(|(name, (code, _))| self.shape.prefix(name) + code);
                let code: Arc<str> = Arc::from(match node.kind {
                    NodeKind::File(_) => format!("({body})"),
                    NodeKind::Dir(_) => directory_code(&body, children.collect()),
                    NodeKind::Symlink(_) => format!("<{body}>"),
                    NodeKind::Special(_) => format!("{{{body}}}"),
                });
                let changed = old.is_none_or(|old| old.code != code);
                (code, changed)
            }
        };
        let cached = Cached { node: Arc::clone(node), traits, code: Arc::clone(&code), changed };
        self.shape.cache.insert(id, cached);
        (code, changed)
    }
}

/// A directory's code from its parts. Every code ends where its bracket closes, so parts cannot run into each other.
fn directory_code(body: &str, mut children: Vec<String>) -> String {
    children.sort_unstable();
    format!("[{body}{}]", children.concat())
}

/// Every component of what any symlink says.
pub(crate) fn names_said(tree: &Tree) -> BTreeSet<Arc<str>> {
    let targets = tree.nodes.values().filter_map(|node| match &node.kind {
        NodeKind::Symlink(target) => Some(target),
        NodeKind::File(_) | NodeKind::Dir(_) | NodeKind::Special(_) => None,
    });
    targets.flat_map(|target| target.split('/')).map(Arc::from).collect()
}

/// Names and slots of every node that has any.
fn traits(tree: &Tree, open: &OpenFiles) -> BTreeMap<NodeId, Traits> {
    let mut traits: BTreeMap<NodeId, Traits> = BTreeMap::new();
    for child in tree.nodes.values().filter_map(|node| node.entries()).flat_map(|entries| entries.values()) {
        traits.entry(*child).or_default().names += 1;
    }
    for file in open.values() {
        traits.entry(file.node).or_default().open.push(file.flags.0 & !SPENT_FLAGS);
    }
    for traits in traits.values_mut() {
        traits.open.sort_unstable();
    }
    traits
}

/// The open files that have no name any more.
fn unlinked_files(tree: &Tree, traits: &BTreeMap<NodeId, Traits>) -> String {
    let gone = traits.iter().filter(|(id, traits)| !traits.open.is_empty() && tree.node(**id).is_none());
    let mut codes: Vec<String> = gone.map(|(_, traits)| format!("(?{})", slots(&traits.open))).collect();
    codes.sort_unstable();
    codes.concat()
}

/// Mode and owners, unless they are the usual ones, and extended attributes.
fn attributes(node: &Node, usual_mode: u32) -> String {
    let usual = (node.mode, node.uid, node.gid) == (usual_mode, 0, 0);
    let owned = if usual { String::new() } else { format!("m{:o}u{}g{}", node.mode, node.uid, node.gid) };
    node.xattrs.iter().fold(owned, |code, (name, value)| format!("{code}x{name:?}{}", value.len()))
}

/// The slots that hold a file, by their flags.
fn slots(open: &[u32]) -> String {
    open.iter().fold(String::new(), |code, flags| format!("{code}#{flags:x}"))
}

/// One letter a kind; there are fewer kinds than letters.
fn letter(kind: OpKind) -> char {
    char::from(b'a' + kind as u8)
}
