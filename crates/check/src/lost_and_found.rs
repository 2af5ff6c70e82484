//! `lost+found` as a file system was made with it: a directory of the root that belongs to fsck. Why it is left out,
//! and where, stands with the other legal differences (`legal.rs`).

use std::sync::Arc;

use vfs::{Entries, Node, NodeId, NodeKind, Op, Path, Tree};

const NAME: &str = "lost+found";

/// Whether an op names what is left out of the tree of who was made with one, or something in it.
pub(crate) fn is_about(op: &Op) -> bool {
    let in_root = |path: &&Path| path.as_str().split('/').find(|name| !name.is_empty()) == Some(NAME);
    op.paths().iter().any(in_root)
}

/// The `lost+found` in the root of a tree, if it is as mkfs makes it.
pub(crate) fn in_root_of(tree: &Tree) -> Option<NodeId> {
    let id = *tree.node(tree.root)?.entries()?.get(NAME)?;
    let node = tree.node(id)?;
    let is_plain = (node.uid, node.gid, node.nlink) == (0, 0, 2) && node.xattrs.is_empty();
    (is_plain && node.entries().is_some_and(Entries::is_empty)).then_some(id)
}

/// A tree without what belongs to the file system rather than to its user, for one that was made with a `lost+found`.
pub(crate) fn without(tree: Tree) -> Tree {
    let Some(id) = in_root_of(&tree) else { return tree };
    let Some(root) = tree.node(tree.root) else { return tree };
    let NodeKind::Dir(entries) = &root.kind else { return tree };
    let mut entries = entries.clone();
    entries.remove(NAME);
    let root = Node { kind: NodeKind::Dir(entries), nlink: root.nlink.saturating_sub(1), ..Node::clone(root) };
    let mut nodes = tree.nodes.as_ref().clone();
    nodes.remove(&id);
    nodes.insert(tree.root, Arc::new(root));
    Tree { nodes: Arc::new(nodes), ..tree }
}

#[cfg(test)]
mod tests {
    use vfs::Reference;

    use super::*;

    #[test]
    fn only_an_empty_lost_and_found_is_left_out() {
        let tree_of = |ops: &[&str]| {
            let mut reference = Reference::new();
            ops.iter().for_each(|op| drop(reference.apply(&op.parse().unwrap()).unwrap()));
            without(reference.tree())
        };
        let nothing = tree_of(&[]);
        assert!(tree_of(&["mkdir(\"/lost+found\", mode=0700)"]).same_as(&nothing));
        assert!(!tree_of(&["mkdir(\"/lost+found\", mode=0700)", "create(\"/lost+found/f\")"]).same_as(&nothing));
        assert!(!tree_of(&["create(\"/lost+found\")"]).same_as(&nothing));
        assert!(!tree_of(&["mkdir(\"/found\", mode=0700)"]).same_as(&nothing));
        let anothers = ["mkdir(\"/lost+found\", mode=0700)", "chown(\"/lost+found\", uid=1000)"];
        assert!(!tree_of(&anothers).same_as(&nothing));
    }

    #[test]
    fn ops_on_lost_and_found_are_told_by_where_it_is() {
        let names_it = |op: &str| is_about(&op.parse().unwrap());
        assert!(names_it("mkdir(\"/lost+found\")") && names_it("rename(\"/f\", \"/lost+found/f\")"));
        assert!(!names_it("mkdir(\"/d/lost+found\")") && !names_it("sync()"));
    }
}
