//! The difference of two trees, said as a person would say it.
//!
//! Both trees are listed in walking order and the two lists are merged, so each name is compared once and the result
//! is in the order in which a reader looks for it. The list is empty exactly if the trees are the same for a user.

use std::{cmp::Ordering, collections::BTreeMap, fmt, sync::Arc};

use super::{Node, NodeId, NodeKind, Tree, contents::Sentence};
use crate::Path;

/// How many differences are printed before the rest is only counted. The list itself is always complete.
const DIFFERENCES_SHOWN: usize = 40;

/// What it is that differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aspect {
    /// The name is there in one tree only, or leads nowhere.
    Existence,
    /// File, directory or symlink.
    Kind,
    /// Which other names are the same node.
    Identity,
    /// Size or bytes of a file.
    Contents,
    /// What a symlink says.
    Target,
    /// Permission, set-id and sticky bits.
    Mode,
    /// The owner.
    Owner,
    /// The group.
    Group,
    /// The link count.
    LinkCount,
    /// This extended attribute.
    Xattr(Arc<str>),
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// In what.
    pub aspect: Aspect,
    /// How, as a phrase that follows the path: `has 0 bytes, expected 4096 bytes of fill 2`.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// Everything that differs, in walking order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeDiff(pub Vec<Difference>);

impl TreeDiff {
    /// Whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for TreeDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.0.iter().take(DIFFERENCES_SHOWN) {
            writeln!(f, "{difference}")?;
        }
        match self.0.len().saturating_sub(DIFFERENCES_SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "and {more} more differences"),
        }
    }
}

/// How `found` differs from `expected`.
pub fn diff(found: &Tree, expected: &Tree) -> TreeDiff {
    let (found, expected) = (Listing::new(found), Listing::new(expected));
    let mut differences = Vec::new();
    let (mut left, mut right) = (found.paths.iter().peekable(), expected.paths.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => left.as_str().split('/').cmp(right.as_str().split('/')),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return TreeDiff(differences),
        };
        let found_name = left.next_if(|_| order.is_le());
        let expected_name = right.next_if(|_| order.is_ge());
        let Some((path, _)) = found_name.or(expected_name) else { return TreeDiff(differences) };
        let mut name = Name { path, differences: &mut differences };
        match (found_name, expected_name) {
            (Some((_, id)), None) => {
                name.differs(Aspect::Existence, format!("is {}, expected nothing", found.describe(*id)));
            }
            (None, Some((_, id))) => {
                name.differs(Aspect::Existence, format!("is missing, expected {}", expected.describe(*id)));
            }
            (Some((_, found_id)), Some((_, expected_id))) => {
                name.compare_identity(&found, *found_id, &expected, *expected_id);
                name.compare(&found, *found_id, &expected, *expected_id);
            }
            (None, None) => {}
        }
    }
}

/// A tree with its names listed, and the first name of each node.
struct Listing<'a> {
    tree: &'a Tree,
    paths: Vec<(Path, NodeId)>,
    first: BTreeMap<NodeId, Path>,
}

impl<'a> Listing<'a> {
    fn new(tree: &'a Tree) -> Self {
        let paths = tree.paths();
        let mut first = BTreeMap::new();
        for (path, id) in &paths {
            first.entry(*id).or_insert_with(|| path.clone());
        }
        Self { tree, paths, first }
    }

    fn describe(&self, id: NodeId) -> String {
        match self.tree.node(id).map(|node| &node.kind) {
            None => "a name without a node".to_owned(),
            Some(NodeKind::File(bytes)) => format!("a file with {}", Sentence(bytes)),
            Some(NodeKind::Dir(_)) => "a directory".to_owned(),
            Some(NodeKind::Symlink(target)) => format!("a symlink to {target:?}"),
            Some(NodeKind::Special(special)) => format!("a {special}"),
        }
    }
}

/// A name that is being compared.
struct Name<'a> {
    path: &'a Path,
    differences: &'a mut Vec<Difference>,
}

impl Name<'_> {
    fn differs(&mut self, aspect: Aspect, what: String) {
        self.differences.push(Difference { path: self.path.clone(), aspect, what });
    }

    fn compare_identity(&mut self, found: &Listing, found_id: NodeId, expected: &Listing, expected_id: NodeId) {
        // A name without a node is the same as nothing but itself, whatever number it carries.
        let first = |listing: &Listing, id| match listing.tree.node(id) {
            Some(_) => listing.first[&id].clone(),
            None => self.path.clone(),
        };
        let (found_first, expected_first) = (first(found, found_id), first(expected, expected_id));
        if found_first != expected_first {
            let say = |first: &Path| match first {
                own if own == self.path => "a node of its own".to_owned(),
                other => format!("the same node as {other}"),
            };
            let what = format!("is {}, expected {}", say(&found_first), say(&expected_first));
            self.differs(Aspect::Identity, what);
        }
    }

    fn compare(&mut self, found: &Listing, found_id: NodeId, expected: &Listing, expected_id: NodeId) {
        let (found_node, expected_node) = match (found.tree.node(found_id), expected.tree.node(expected_id)) {
            (Some(found_node), Some(expected_node)) => (found_node, expected_node),
            (None, None) => return,
            _ => {
                let what = format!("is {}, expected {}", found.describe(found_id), expected.describe(expected_id));
                return self.differs(Aspect::Existence, what);
            }
        };
        match (&found_node.kind, &expected_node.kind) {
            (NodeKind::File(found), NodeKind::File(expected)) => self.compare_contents(found, expected),
            (NodeKind::Symlink(found), NodeKind::Symlink(expected)) if found != expected => {
                self.differs(Aspect::Target, format!("is a symlink to {found:?}, expected one to {expected:?}"));
            }
            (NodeKind::Dir(_), NodeKind::Dir(_)) | (NodeKind::Symlink(_), NodeKind::Symlink(_)) => {}
            (NodeKind::Special(found), NodeKind::Special(expected)) if found == expected => {}
            _ => {
                let what = format!("is {}, expected {}", found.describe(found_id), expected.describe(expected_id));
                self.differs(Aspect::Kind, what);
            }
        }
        self.compare_attributes(found_node, expected_node);
    }

    fn compare_contents(&mut self, found: &[u8], expected: &[u8]) {
        if found == expected {
            return;
        }
        let place = match found.iter().zip(expected).position(|(found, expected)| found != expected) {
            Some(first @ 1..) => format!("; the first difference is at byte {first}"),
            Some(0) | None => String::new(),
        };
        let what = format!("has {}, expected {}{place}", Sentence(found), Sentence(expected));
        self.differs(Aspect::Contents, what);
    }

    fn compare_attributes(&mut self, found: &Node, expected: &Node) {
        let mode = |mode| format!("mode {mode:04o}");
        let owner = |uid| format!("owner {uid}");
        let group = |gid| format!("group {gid}");
        let links = |nlink| format!("link count {nlink}");
        self.compare_number(Aspect::Mode, found.mode, expected.mode, mode);
        self.compare_number(Aspect::Owner, found.uid, expected.uid, owner);
        self.compare_number(Aspect::Group, found.gid, expected.gid, group);
        self.compare_number(Aspect::LinkCount, found.nlink, expected.nlink, links);
        let mut names: Vec<_> = found.xattrs.keys().chain(expected.xattrs.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (found, expected) = (found.xattrs.get(name), expected.xattrs.get(name));
            if found != expected {
                let say = |value: Option<&Arc<[u8]>>| value.map_or("none".to_owned(), |v| Sentence(v).to_string());
                let what = format!("has attribute {name} with {}, expected {}", say(found), say(expected));
                self.differs(Aspect::Xattr(name.clone()), what);
            }
        }
    }

    fn compare_number(&mut self, aspect: Aspect, found: u32, expected: u32, say: fn(u32) -> String) {
        if found != expected {
            self.differs(aspect, format!("has {}, expected {}", say(found), say(expected)));
        }
    }
}
