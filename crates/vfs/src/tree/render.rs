//! A tree as text, for traces: a line a name, indented by depth, what is usual left out.
//!
//! ```text
//! /
//!   a/
//!     f  4096 bytes: 4096 x 02  mode 0644 nlink 2
//!     g  same node as /a/f
//!   l -> a/f
//! ```

use std::{collections::BTreeMap, fmt};

use super::{Node, NodeId, NodeKind, Runs, Tree};
use crate::Path;

/// The permission bits of a directory that go without saying.
const DIR_MODE: u32 = 0o755;
/// The permission bits that Linux gives every symlink.
const SYMLINK_MODE: u32 = 0o777;

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first: BTreeMap<NodeId, Path> = BTreeMap::new();
        for (path, id) in self.paths() {
            let depth = path.as_str().split('/').filter(|name| !name.is_empty()).count();
            let name = path.as_str().rsplit('/').next().unwrap_or_default();
            write!(f, "{:indent$}{}", "", name.escape_debug(), indent = 2 * depth)?;
            match (self.node(id), first.get(&id)) {
                (None, _) => f.write_str("  leads nowhere")?,
                (Some(_), Some(first)) => write!(f, "  same node as {first}")?,
                (Some(node), None) => line(node, f)?,
            }
            f.write_str("\n")?;
            first.entry(id).or_insert(path);
        }
        Ok(())
    }
}

/// What follows the name of a node.
fn line(node: &Node, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut notes = Vec::new();
    match &node.kind {
        NodeKind::File(bytes) => {
            let colon = if bytes.is_empty() { "" } else { ": " };
            write!(f, "  {} bytes{colon}{}", bytes.len(), Runs(bytes))?;
            notes.push(format!("mode {:04o}", node.mode));
            notes.push(format!("nlink {}", node.nlink));
        }
        NodeKind::Dir(_) => {
            f.write_str("/")?;
            notes.extend((node.mode != DIR_MODE).then(|| format!("mode {:04o}", node.mode)));
        }
        NodeKind::Special(special) => {
            write!(f, "  {special}")?;
            notes.push(format!("mode {:04o}", node.mode));
            notes.push(format!("nlink {}", node.nlink));
        }
        NodeKind::Symlink(target) => {
            write!(f, " -> {}", target.escape_debug())?;
            notes.extend((node.mode != SYMLINK_MODE).then(|| format!("mode {:04o}", node.mode)));
            notes.extend((node.nlink != 1).then(|| format!("nlink {}", node.nlink)));
        }
    }
    notes.extend((node.uid != 0).then(|| format!("uid {}", node.uid)));
    notes.extend((node.gid != 0).then(|| format!("gid {}", node.gid)));
    for (name, value) in &node.xattrs {
        notes.push(format!("{name}=[{}]", Runs(value)));
    }
    if notes.is_empty() { Ok(()) } else { write!(f, "  {}", notes.join(" ")) }
}
