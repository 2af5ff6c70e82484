//! The contract `mountable`, as far as a tree can show it: the root is there, and no file shows foreign data.
//!
//! Nothing is promised about names here, but they still say which file is meant: a file found under a name is one that
//! the name led to at some time. Under a name that no op ever made it may be any file, since recovery may have put it
//! there. Each file is judged for itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Contract,
    breach::{Breach, Clause, Verb},
    chain::Chain,
    content,
    report::Report,
    things::Content,
};
use crate::{Node, NodeId, NodeKind, Path, Tree};

pub(super) fn breaches(chain: &Chain, found: &Tree) -> Vec<Breach> {
    let report = Report { contract: Contract::Mountable, chain };
    if !found.node(found.root).is_some_and(|root| root.is_dir()) {
        return vec![report.together(Clause::RootLost, Path::root(), Verb::Is, "not a directory".to_owned())];
    }
    let meant = meant(chain, found);
    let mut judged = BTreeSet::new();
    let mut breaches = Vec::new();
    for (path, id) in found.paths() {
        if let (Some(NodeKind::File(bytes)), Some(nodes)) = (found.node(id).map(|node| &node.kind), meant.get(&id))
            && judged.insert(id)
        {
            breaches.extend(judge_file(&report, nodes, bytes, &path));
        }
    }
    breaches
}

/// The nodes of the reference that each found node may be.
fn meant(chain: &Chain, found: &Tree) -> BTreeMap<NodeId, BTreeSet<NodeId>> {
    let mut meant = BTreeMap::from([(found.root, BTreeSet::from([chain.base().root]))]);
    for (_, id) in found.paths() {
        let entries = found.node(id).and_then(|node| node.entries()).into_iter().flatten();
        let dirs = meant.get(&id).cloned().unwrap_or_default();
        for (name, child) in entries {
            let Some(state) = found.node(*child) else { continue };
            let of_kind = all_of_kind(chain, state);
            let led_to = dirs.iter().flat_map(|dir| chain.children(&(*dir, name.clone()), 0)).flatten();
            let mut here: BTreeSet<NodeId> = led_to.filter(|node| of_kind.contains(node)).collect();
            if here.is_empty() {
                here = of_kind;
            }
            let known = meant.entry(*child).or_insert_with(|| here.clone());
            let both: BTreeSet<NodeId> = known.intersection(&here).copied().collect();
            *known = if both.is_empty() { known.union(&here).copied().collect() } else { both };
        }
    }
    meant
}

fn judge_file(report: &Report, nodes: &BTreeSet<NodeId>, bytes: &[u8], path: &Path) -> Option<Breach> {
    let foreign: Vec<usize> =
        nodes.iter().map(|node| content::foreign(report.chain, *node, bytes)).collect::<Option<_>>()?;
    let unwritten = foreign.iter().copied().max().or_else(|| bytes.iter().position(|byte| *byte != 0))?;
    let what = format!("{}; what byte {unwritten} shows was never written there", Content(bytes));
    Some(report.together(Clause::NoForeignData, path.clone(), Verb::Has, what))
}

fn all_of_kind(chain: &Chain, like: &Node) -> BTreeSet<NodeId> {
    let states = (0..=chain.end()).flat_map(|moment| chain.tree(moment).nodes.iter());
    states.filter(|(_, state)| super::things::same_kind(state, like)).map(|(id, _)| *id).collect()
}
