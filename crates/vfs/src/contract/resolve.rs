//! From a path to the node it means in a tree of the reference, with symlinks followed as `open` does.

use std::{collections::VecDeque, sync::Arc};

use crate::{NodeId, NodeKind, Path, Tree};

/// As many symlinks as Linux follows in one path; a longer chain means nothing.
const SYMLINKS_MAX: usize = 40;

pub(super) fn resolve(tree: &Tree, path: &Path) -> Option<NodeId> {
    let mut rest: VecDeque<Arc<str>> = components(path.as_str()).collect();
    // The directories from the root down to here: `..` goes back along them.
    let mut here = vec![tree.root];
    let mut symlinks = 0;
    while let Some(name) = rest.pop_front() {
        let dir = *here.last()?;
        let entries = tree.node(dir)?.entries()?;
        match &*name {
            "." => continue,
            ".." => {
                here.truncate((here.len() - 1).max(1));
                continue;
            }
            _ => {}
        }
        let child = *entries.get(&name)?;
        let NodeKind::Symlink(target) = &tree.node(child)?.kind else {
            here.push(child);
            continue;
        };
        symlinks += 1;
        if symlinks > SYMLINKS_MAX {
            return None;
        }
        if target.starts_with('/') {
            here.truncate(1);
        }
        for name in components(target).rev().collect::<Vec<_>>() {
            rest.push_front(name);
        }
    }
    here.pop()
}

fn components(text: &str) -> impl DoubleEndedIterator<Item = Arc<str>> {
    text.split('/').filter(|name| !name.is_empty()).map(Arc::from)
}
