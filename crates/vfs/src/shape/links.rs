//! Files with several names: numbering them so that trees of one shape get one code.
//!
//! A tree in which files have several names is no tree but a graph (directories as points, files with two names as
//! edges between them), so numbering is as hard as graph isomorphism. The classical way is exact and fast on what
//! occurs: colour the files by what is around them until the colours no longer split (refinement); where files still
//! share a colour, single out each of them in turn, refine on, and keep the least of the codes that come out.
//! All steps look at codes alone and never at names or identities, so equal shapes give equal codes; and since the code
//! with all numbers in it describes the graph in full, different shapes never do.

use std::collections::{BTreeMap, BTreeSet};

use super::{Shape, Traits, directory_code};
use crate::{NodeId, Tree};

/// Bounds the work on very regular graphs. Beyond it the least code so far stands: trees of one shape may then
/// get different codes, which costs a search time but never hides a state.
const NUMBERINGS_MAX: u32 = 1000;

/// The code of the tree with files of several names numbered, or nothing if there are none.
pub(super) fn canonical_code(shape: &Shape, tree: &Tree, traits: &BTreeMap<NodeId, Traits>) -> Option<String> {
    let mut graph = Graph { dirs: Vec::new(), files: Vec::new() };
    let mut builder =
        Builder { shape, tree, traits, graph: &mut graph, indices: BTreeMap::new(), entered: BTreeSet::new() };
    builder.add_dir(tree.root)?;
    let colours = graph.initial_colours();
    let mut numberings_left = NUMBERINGS_MAX;
    Some(graph.least_code(colours, &mut numberings_left))
}

/// The directories that have a file with several names below them, each after those within it, and these files.
struct Graph {
    dirs: Vec<Dir>,
    files: Vec<File>,
}

struct Dir {
    body: String,
    /// Codes of the children that are not part of the graph.
    rest: Vec<String>,
    dirs: Vec<Child>,
    files: Vec<Child>,
    parent: Option<usize>,
}

/// A child with what stands before its code.
struct Child {
    prefix: String,
    index: usize,
}

struct File {
    code: String,
    /// The directories that have a name of it, each with what stands before its code there.
    places: Vec<(usize, String)>,
}

/// A number for each file; equal for files that nothing has told apart yet.
type Colours = Vec<usize>;

impl Graph {
    fn initial_colours(&self) -> Colours {
        ranks(&self.files.iter().map(|file| &file.code).collect::<Vec<_>>())
    }

    /// The least code over all numberings that agree with the colours.
    fn least_code(&self, colours: Colours, numberings_left: &mut u32) -> String {
        let colours = self.refined(colours);
        let Some(class) = first_shared_colour(&colours) else {
            *numberings_left = numberings_left.saturating_sub(1);
            return self.codes(&colours).pop().unwrap_or_default();
        };
        let mut tried: BTreeSet<&[(usize, String)]> = BTreeSet::new();
        let mut least: Option<String> = None;
        for (file, places) in self.files.iter().map(|file| &file.places[..]).enumerate() {
            // Files in the same places can be swapped: one of them stands for all.
            if colours[file] == class && tried.insert(places) && (least.is_none() || *numberings_left > 0) {
                let singled_out = |(index, colour): (usize, &usize)| 2 * colour + usize::from(index != file);
                let code = self.least_code(colours.iter().enumerate().map(singled_out).collect(), numberings_left);
                least = Some(least.map_or(code.clone(), |least| least.min(code)));
            }
        }
        least.unwrap_or_default()
    }

    /// Splits colours by what is around each file until nothing splits any more.
    fn refined(&self, mut colours: Colours) -> Colours {
        loop {
            colours = ranks(&colours);
            if first_shared_colour(&colours).is_none() {
                return colours;
            }
            let codes = self.codes(&colours);
            let seen: Vec<_> = colours.iter().zip(self.files.iter().map(|file| self.around(file, &codes))).collect();
            let finer = ranks(&seen);
            if finer == colours {
                return colours;
            }
            colours = finer;
        }
    }

    /// What is to be seen from each place of a file on the way up to the root.
    fn around<'a>(&'a self, file: &'a File, codes: &'a [String]) -> Vec<Vec<&'a str>> {
        let seen_from = |(dir, prefix): &'a (usize, String)| {
            let way_up = std::iter::successors(Some(*dir), |dir| self.dirs[*dir].parent);
            std::iter::once(&prefix[..]).chain(way_up.map(|dir| &codes[dir][..])).collect::<Vec<_>>()
        };
        let mut around: Vec<_> = file.places.iter().map(seen_from).collect();
        around.sort_unstable();
        around
    }

    /// The codes of all directories, the root's last, with the colours of files in them.
    fn codes(&self, colours: &Colours) -> Vec<String> {
        let mut codes: Vec<String> = Vec::with_capacity(self.dirs.len());
        for dir in &self.dirs {
            let within = dir.dirs.iter().map(|child| format!("{}{}", child.prefix, codes[child.index]));
            let files = dir
                .files
                .iter()
                .map(|Child { prefix, index }| format!("{prefix}{}@{}", self.files[*index].code, colours[*index]));
            let children = dir.rest.iter().cloned().chain(within).chain(files).collect();
            let code = directory_code(&dir.body, children);
            codes.push(code);
        }
        codes
    }
}

/// The least colour that several files have.
fn first_shared_colour(colours: &Colours) -> Option<usize> {
    let mut sorted = colours.clone();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Each item's place among the different items in order.
fn ranks<T: Ord>(items: &[T]) -> Vec<usize> {
    let mut sorted: Vec<&T> = items.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    items.iter().map(|item| sorted.partition_point(|other| *other < item)).collect()
}

struct Builder<'a> {
    shape: &'a Shape,
    tree: &'a Tree,
    traits: &'a BTreeMap<NodeId, Traits>,
    graph: &'a mut Graph,
    indices: BTreeMap<NodeId, usize>,
    entered: BTreeSet<NodeId>,
}

impl Builder<'_> {
    /// Adds a directory and what is below it if there is a file with several names.
    fn add_dir(&mut self, id: NodeId) -> Option<usize> {
        let node = self.tree.node(id).filter(|_| self.entered.insert(id))?;
        let traits = self.traits.get(&id).cloned().unwrap_or_default();
        let body = self.shape.body(node, &traits);
        let mut dir = Dir { body, rest: Vec::new(), dirs: Vec::new(), files: Vec::new(), parent: None };
        for (name, child) in node.entries()? {
            let prefix = self.shape.prefix(name);
            let is_dir = self.tree.node(*child).is_some_and(|node| node.is_dir());
            let many_names = self.traits.get(child).is_some_and(|traits| traits.names > 1);
            if is_dir && let Some(index) = self.add_dir(*child) {
                dir.dirs.push(Child { prefix, index });
            } else if !is_dir && many_names {
                dir.files.push(Child { prefix, index: self.file_index(*child) });
            } else {
                dir.rest.push(prefix + self.shape.code_of(*child));
            }
        }
        if dir.dirs.is_empty() && dir.files.is_empty() {
            return None;
        }
        let index = self.graph.dirs.len();
        for child in &dir.dirs {
            self.graph.dirs[child.index].parent = Some(index);
        }
        for file in &dir.files {
            self.graph.files[file.index].places.push((index, file.prefix.clone()));
        }
        self.graph.dirs.push(dir);
        Some(index)
    }

    fn file_index(&mut self, id: NodeId) -> usize {
        *self.indices.entry(id).or_insert_with(|| {
            self.graph.files.push(File { code: self.shape.code_of(id).to_owned(), places: Vec::new() });
            self.graph.files.len() - 1
        })
    }
}
