//! Names and attributes as things with values, so that one piece of code can ask for the history of any of them.
//!
//! Content and size are not among them: a byte or a size may come from parts of ops, and has rules of its own.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::{Node, NodeId, NodeKind, Tree};

/// Something of a node of the reference that changes one op at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Name(NodeId, Arc<str>),
    Mode(NodeId),
    Owner(NodeId),
    Group(NodeId),
    Xattr(NodeId, Arc<str>),
    Target(NodeId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Child(Option<NodeId>),
    Number(u32),
    Bytes(Option<Arc<[u8]>>),
    Text(Option<Arc<str>>),
}

impl Thing {
    /// The node that it belongs to: for a name the directory.
    pub fn node(&self) -> NodeId {
        match self {
            Self::Name(node, _)
            | Self::Mode(node)
            | Self::Owner(node)
            | Self::Group(node)
            | Self::Xattr(node, _)
            | Self::Target(node) => *node,
        }
    }

    /// Its value in a node.
    pub fn value(&self, node: &Node) -> Value {
        match self {
            Self::Name(_, name) => Value::Child(node.entries().and_then(|entries| entries.get(name)).copied()),
            Self::Mode(_) => Value::Number(node.mode),
            Self::Owner(_) => Value::Number(node.uid),
            Self::Group(_) => Value::Number(node.gid),
            Self::Xattr(_, name) => Value::Bytes(node.xattrs.get(name).cloned()),
            Self::Target(_) => Value::Text(match &node.kind {
                NodeKind::Symlink(target) => Some(target.clone()),
                NodeKind::File(_) | NodeKind::Dir(_) | NodeKind::Special(_) => None,
            }),
        }
    }

    /// Its value in a tree; a name in a directory that does not exist is absent, an attribute has no value there.
    pub fn value_in(&self, tree: &Tree) -> Option<Value> {
        match (tree.node(self.node()), self) {
            (Some(node), _) => Some(self.value(node)),
            (None, Self::Name(..)) => Some(Value::Child(None)),
            (None, _) => None,
        }
    }

    /// The value in words that fit after "has".
    pub fn describe(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Mode(_), Value::Number(mode)) => format!("mode {mode:04o}"),
            (Self::Owner(_), Value::Number(uid)) => format!("owner {uid}"),
            (Self::Group(_), Value::Number(gid)) => format!("group {gid}"),
            (Self::Xattr(_, name), Value::Bytes(None)) => format!("no attribute {name}"),
            (Self::Xattr(_, name), Value::Bytes(Some(bytes))) => format!("attribute {name} of {}", Content(bytes)),
            (Self::Target(_), Value::Text(Some(target))) => format!("target {target:?}"),
            _ => "nothing".to_owned(),
        }
    }
}

/// The attributes that a node has in any of these states.
pub(super) fn attributes<'a>(id: NodeId, states: impl Iterator<Item = &'a Node>) -> Vec<Thing> {
    let mut things = vec![Thing::Mode(id), Thing::Owner(id), Thing::Group(id), Thing::Target(id)];
    let names: BTreeSet<_> = states.flat_map(|state| state.xattrs.keys()).collect();
    things.extend(names.into_iter().map(|name| Thing::Xattr(id, name.clone())));
    things
}

/// Whether the two are a file, a directory or a symlink alike.
pub(super) fn same_kind(a: &Node, b: &Node) -> bool {
    std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
}

/// A node in words that fit after "is".
pub(super) fn describe(node: &Node) -> String {
    match &node.kind {
        NodeKind::File(bytes) => format!("a file of {}", Content(bytes)),
        NodeKind::Dir(_) => "a directory".to_owned(),
        NodeKind::Symlink(target) => format!("a symlink to {target:?}"),
        NodeKind::Special(special) => format!("a {special}"),
    }
}

/// Contents in a sentence: `4096 bytes of fill 2`.
pub(super) struct Content<'a>(pub &'a [u8]);

impl fmt::Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        write!(f, "{} byte{}", bytes.len(), if bytes.len() == 1 { "" } else { "s" })?;
        match bytes.first() {
            None => Ok(()),
            Some(fill) if bytes.iter().all(|byte| byte == fill) => write!(f, " of fill {fill}"),
            Some(_) => write!(f, " ({})", crate::tree::Runs(bytes)),
        }
    }
}
