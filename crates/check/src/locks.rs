//! Which files and directories an op holds while it is under way.
//!
//! An op holds the paths that it names, where they lead if there are symlinks on the way, all other names of the same
//! files, and everything below. An op that would meet one of these waits: these are the file locks. And whatever
//! differs from the reference there is explained by the op under way.

use smallvec::SmallVec;
use vfs::{NodeId, NodeKind, Op, Path, Tree};

use crate::{state::State, target::Target};

/// As many symlinks as Linux follows in one path; a longer chain leads nowhere.
const SYMLINKS_MAX: usize = 40;

impl<T: Target> State<T> {
    /// Whether an op may begin: it must touch nothing that an op under way has locked, and a remount needs all of it.
    pub(crate) fn may_begin(&self, op: &Op) -> bool {
        if self.tasks.is_empty() {
            return true;
        }
        let locked = self.changing();
        let wanted = self.touched_by(op);
        let meet =
            |path: &Path| locked.iter().any(|locked| is_at_or_below(path, locked) || is_at_or_below(locked, path));
        *op != Op::Remount && !wanted.iter().any(meet)
    }

    /// The paths of what the ops under way are changing.
    pub(crate) fn changing(&self) -> Vec<Path> {
        self.tasks.iter().flat_map(|task| self.touched_by(&task.op)).collect()
    }

    /// The paths that an op names, where they lead, and all other names of the same files.
    fn touched_by(&self, op: &Op) -> Vec<Path> {
        let tree = self.reference.tree();
        let mut touched: Vec<Path> = op.paths().into_iter().flat_map(|path| followed(&tree, path)).collect();
        let slot = op.fd().and_then(|fd| self.reference.open_files().get(&fd)).map(|open| open.node);
        let nodes: SmallVec<[NodeId; 2]> = touched.iter().filter_map(|path| tree.lookup(path)).chain(slot).collect();
        let has_more_names = |id: &NodeId| tree.node(*id).is_some_and(|node| !node.is_dir() && node.nlink > 1);
        if slot.is_some() || nodes.iter().any(has_more_names) {
            touched.extend(tree.paths().into_iter().filter(|(_, id)| nodes.contains(id)).map(|(path, _)| path));
        }
        touched
    }
}

/// Whether a path is another one or lies below it.
pub(crate) fn is_at_or_below(path: &Path, other: &Path) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('/') || other.as_str() == "/";
    path.as_str().strip_prefix(other.as_str()).is_some_and(below)
}

/// A path, and what it becomes as its symlinks are followed one by one.
fn followed(tree: &Tree, path: &Path) -> Vec<Path> {
    let mut paths = vec![path.clone()];
    while paths.len() <= SYMLINKS_MAX
        && let Some(next) = paths.last().and_then(|path| follow_first(tree, path))
    {
        paths.push(next);
    }
    paths
}

/// The path with its first symlink replaced by what it says, if it has one. What does not exist is no symlink.
fn follow_first(tree: &Tree, path: &Path) -> Option<Path> {
    let names: Vec<&str> = names_in(path.as_str()).collect();
    let mut dir = tree.root;
    for (at, name) in names.iter().enumerate() {
        let child = *tree.node(dir)?.entries()?.get(name)?;
        if let NodeKind::Symlink(target) = &tree.node(child)?.kind {
            let above = if target.starts_with('/') { &[][..] } else { &names[..at] };
            let whole = above.iter().copied().chain(names_in(target)).chain(names[at + 1..].iter().copied());
            return Some(joined(whole));
        }
        dir = child;
    }
    None
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('/').filter(|name| !name.is_empty())
}

/// The names as a path. What stands before a `..` was followed already, so that it leads one up.
fn joined<'a>(names: impl Iterator<Item = &'a str>) -> Path {
    names.fold(Path::root(), |path, name| match name {
        "." => path,
        ".." => path.parent().unwrap_or(path),
        name => path.join(name),
    })
}

#[cfg(test)]
mod tests {
    use vfs::Reference;

    use super::*;

    fn path(text: &str) -> Path {
        Path::new(text).expect("it is absolute")
    }

    #[test]
    fn a_path_leads_through_its_symlinks_one_by_one() {
        let mut reference = Reference::new();
        for op in [
            r#"mkdir("/d", mode=0755)"#,
            r#"mkdir("/d/e", mode=0755)"#,
            r#"symlink("/d", "/s")"#,
            r#"symlink("s/./e", "/t")"#,
            r#"symlink("../t", "/d/up")"#,
            r#"symlink("/loop", "/loop")"#,
        ] {
            reference.apply(&op.parse().unwrap()).unwrap();
        }
        let tree = reference.tree();
        let cases: [(&str, &[&str]); 5] = [
            ("/d/e", &["/d/e"]),
            ("/s/f", &["/s/f", "/d/f"]),
            ("/t", &["/t", "/s/e", "/d/e"]),
            ("/d/up/f", &["/d/up/f", "/t/f", "/s/e/f", "/d/e/f"]),
            ("/nothing/s", &["/nothing/s"]),
        ];
        for (from, expected) in cases {
            let found = followed(&tree, &path(from));
            assert_eq!(found.iter().map(Path::as_str).collect::<Vec<_>>(), expected, "{from}");
        }
        assert_eq!(followed(&tree, &path("/loop")).len(), SYMLINKS_MAX + 1);
    }

    #[test]
    fn below_means_below_a_whole_name() {
        for (one, other, expected) in
            [("/a", "/a", true), ("/a/b", "/a", true), ("/ab", "/a", false), ("/a", "/", true), ("/", "/a", false)]
        {
            assert_eq!(is_at_or_below(&path(one), &path(other)), expected, "{one} {other}");
        }
    }
}
