//! What a file system shows in its own way, by design and documented: declared by a target, and honoured here alone.
//!
//! The reference follows the traditions of Unix. Some file systems of Linux do not, and never will: their format has no
//! room for it, or they find a count not worth its price. A convention says so. It is exact, so that it hides nothing
//! else: where a directory always has one link, two links are as wrong as three are elsewhere.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use crate::{Node, NodeId, Tree};

/// The conventions of a file system; by default those of the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conventions {
    /// How links of directories are counted.
    pub dir_links: DirLinks,
    /// Which permission bits there are.
    pub modes: Modes,
    /// Which names are the same.
    pub names: Names,
    /// Extended attributes that the file system makes up by itself and lists with the user's, which no op makes and
    /// which are left out: what a Macintosh knows about an icon (hfsplus), or where owner and mode are kept (ntfs3).
    pub own_attributes: OwnAttributes,
}

/// Which extended attributes are the file system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnAttributes {
    /// These.
    Named(&'static [&'static str]),
    /// All: there is no op by which a user could make one.
    All,
}

impl Default for OwnAttributes {
    fn default() -> Self {
        Self::Named(&[])
    }
}

impl OwnAttributes {
    fn contain(self, name: &str) -> bool {
        match self {
            Self::Named(names) => names.contains(&name),
            Self::All => true,
        }
    }
}

/// How a file system counts the links of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DirLinks {
    /// Two, and one for each directory in it.
    #[default]
    WithSubdirectories,
    /// Always one, which programs such as `find` take for "not counted": btrfs, hfsplus, ntfs3.
    AlwaysOne,
}

/// Where permission bits come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Modes {
    /// From whoever makes the file, and from `chmod`.
    #[default]
    Kept,
    /// From the mount: the format has no place for them (vfat, msdos, exfat).
    Fixed {
        /// Of files.
        file: u32,
        /// Of directories.
        dir: u32,
    },
}

/// Which names are the same, and how they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Names {
    /// Names are bytes.
    #[default]
    AsGiven,
    /// Letters are shown as they were given, and found in capitals or not: vfat, exfat.
    IgnoringCase,
    /// Letters are kept in capitals and shown as small ones: msdos.
    Small,
}

impl Names {
    /// A new name as it is shown.
    pub(crate) fn shown(self, name: &str) -> Cow<'_, str> {
        if self == Self::Small { name.to_ascii_lowercase().into() } else { name.into() }
    }

    /// Whether a name in a directory is meant by another.
    pub(crate) fn are_same(self, name: &str, other: &str) -> bool {
        if self == Self::AsGiven { name == other } else { name.eq_ignore_ascii_case(other) }
    }
}

impl Modes {
    /// The bits of something that is made with these.
    pub(crate) fn of_new(self, mode: u32, is_dir: bool) -> u32 {
        match self {
            Self::Kept => mode,
            Self::Fixed { file, dir } => {
                if is_dir {
                    dir
                } else {
                    file
                }
            }
        }
    }
}

impl Conventions {
    /// Those of the reference.
    pub const POSIX: Self = Self {
        dir_links: DirLinks::WithSubdirectories,
        modes: Modes::Kept,
        names: Names::AsGiven,
        own_attributes: OwnAttributes::Named(&[]),
    };

    /// A tree of such a file system in the terms of the reference. What does not keep to the conventions is left as it
    /// is, so that it shows.
    #[must_use]
    pub fn in_terms_of_the_reference(self, tree: Tree) -> Tree {
        if self.dir_links == DirLinks::WithSubdirectories && self.own_attributes == OwnAttributes::Named(&[]) {
            return tree;
        }
        let translate = |node: &Arc<Node>| {
            let mut node = Node::clone(node);
            node.xattrs.retain(|name, _| !self.own_attributes.contain(name));
            if self.dir_links == DirLinks::AlwaysOne {
                node.nlink = links(&tree, &node);
            }
            Arc::new(node)
        };
        let nodes: BTreeMap<_, _> = tree.nodes.iter().map(|(id, node)| (*id, translate(node))).collect();
        Tree { nodes: Arc::new(nodes), ..tree }
    }
}

/// The link count of a node with subdirectories counted, if it is a directory that says that it does not count them.
fn links(tree: &Tree, node: &Node) -> u32 {
    let Some(entries) = node.entries().filter(|_| node.nlink == 1) else { return node.nlink };
    let is_dir = |child: &&NodeId| tree.node(**child).is_some_and(|child| child.is_dir());
    let subdirectories = entries.values().filter(is_dir).count();
    u32::try_from(subdirectories).unwrap_or(u32::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Op, Path, Reference};

    fn made(config: Config) -> Reference {
        let mut reference = Reference::with(config);
        for op in ["mkdir(\"/d\", mode=0700)", "mkdir(\"/d/e\", mode=0755)", "create(\"/d/f\", mode=0600)"] {
            reference.apply(&op.parse::<Op>().unwrap()).unwrap();
        }
        reference
    }

    fn with_dir_links(tree: &Tree, nlink: u32) -> Tree {
        let relinked = |(id, node): (&NodeId, &Arc<Node>)| {
            let nlink = if node.is_dir() { nlink } else { node.nlink };
            (*id, Arc::new(Node { nlink, ..Node::clone(node) }))
        };
        Tree { nodes: Arc::new(tree.nodes.iter().map(relinked).collect()), ..*tree }
    }

    #[test]
    fn only_the_count_that_is_declared_is_translated() {
        let tree = made(Config::default()).tree();
        let always_one = Conventions { dir_links: DirLinks::AlwaysOne, ..Conventions::default() };
        assert!(always_one.in_terms_of_the_reference(with_dir_links(&tree, 1)).same_as(&tree));
        assert!(!always_one.in_terms_of_the_reference(with_dir_links(&tree, 2)).same_as(&tree), "2 is no such count");
        assert!(!Conventions::default().in_terms_of_the_reference(with_dir_links(&tree, 1)).same_as(&tree));
    }

    #[test]
    fn attributes_of_the_file_system_are_left_out_and_no_others() {
        let mut reference = made(Config::default());
        let expected = reference.tree();
        reference.apply(&"setxattr(\"/d\", \"user.a\", len=3, fill=1)".parse().unwrap()).unwrap();
        let shows = |own_attributes| {
            let conventions = Conventions { own_attributes, ..Conventions::POSIX };
            conventions.in_terms_of_the_reference(reference.tree()).same_as(&expected)
        };
        let named = OwnAttributes::Named;
        assert!(shows(named(&["user.a"])) && !shows(named(&["user.b"])) && !shows(named(&[])));
        assert!(shows(OwnAttributes::All));
    }

    #[test]
    fn names_are_the_same_where_the_file_system_says_so() {
        let outcome = |names: Names, op: &str| {
            let mut reference = made(Config { names, ..Config::default() });
            let outcome = reference.apply(&op.parse::<Op>().unwrap());
            (outcome.is_ok(), reference.tree().to_string())
        };
        let before = |names| outcome(names, "sync()").1;
        assert!(!outcome(Names::AsGiven, "unlink(\"/D/F\")").0);
        for names in [Names::IgnoringCase, Names::Small] {
            assert!(outcome(names, "unlink(\"/D/F\")").0);
            assert!(!outcome(names, "mkdir(\"/D/E\")").0);
            let (renamed, tree) = outcome(names, "rename(\"/D/F\", \"/d/E\")");
            assert!(!renamed && tree == before(names), "{tree}");
            let (made, tree) = outcome(names, "create(\"/D/New\")");
            assert!(made && tree.contains(if names == Names::Small { "new" } else { "New" }), "{tree}");
        }
    }

    #[test]
    fn modes_of_the_mount_are_those_of_everything_new() {
        let modes = Modes::Fixed { file: 0o644, dir: 0o755 };
        let reference = made(Config { modes, ..Config::default() });
        let mode = |path: &str| {
            let tree = reference.tree();
            tree.node(tree.lookup(&Path::new(path).unwrap()).unwrap()).unwrap().mode
        };
        assert_eq!((mode("/d"), mode("/d/e"), mode("/d/f")), (0o755, 0o755, 0o644));
    }
}
