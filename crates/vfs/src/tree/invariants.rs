//! What holds in every tree of a sound file system, whatever was done to it.

use std::collections::BTreeMap;

use super::{Aspect, Difference, NodeId, Tree};
use crate::Path;

impl Tree {
    /// Everything in this tree that no sequence of ops can bring about: a link count that is not the number of names
    /// (for a directory: 2 plus its subdirectories), a name that leads nowhere, a directory with two names, a node
    /// without a name. Empty for a sound tree.
    pub fn invariants(&self) -> Vec<Difference> {
        let paths = self.paths();
        let mut names: BTreeMap<NodeId, Vec<&Path>> = BTreeMap::new();
        for (path, id) in &paths {
            names.entry(*id).or_default().push(path);
        }
        let mut broken = Vec::new();
        for (id, names) in &names {
            self.check_node(*id, names, &mut broken);
        }
        for id in self.nodes.keys().filter(|id| !names.contains_key(id)) {
            let what = format!("holds node {}, which no name leads to", id.0);
            broken.push(Difference { path: Path::root(), aspect: Aspect::Existence, what });
        }
        broken
    }

    fn check_node(&self, id: NodeId, names: &[&Path], broken: &mut Vec<Difference>) {
        let first = names[0];
        let mut breaks = |path: &Path, aspect, what| broken.push(Difference { path: path.clone(), aspect, what });
        let Some(node) = self.node(id) else {
            for path in names {
                breaks(path, Aspect::Existence, "is a name without a node".to_owned());
            }
            return;
        };
        let expected = match node.entries() {
            None => names.len(),
            Some(entries) => {
                for path in &names[1..] {
                    breaks(path, Aspect::Identity, format!("is a second name of the directory {first}"));
                }
                let is_dir = |child: &&NodeId| self.node(**child).is_some_and(|child| child.is_dir());
                2 + entries.values().filter(is_dir).count()
            }
        };
        if usize::try_from(node.nlink) != Ok(expected) {
            breaks(first, Aspect::LinkCount, format!("has link count {}, expected {expected}", node.nlink));
        }
        if id == self.root && !node.is_dir() {
            breaks(first, Aspect::Kind, "is the root and not a directory".to_owned());
        }
    }
}
