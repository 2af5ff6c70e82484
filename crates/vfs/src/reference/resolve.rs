//! From a path to a node, as the kernel walks it.
//!
//! A walk keeps the stack of directories from the root to where it stands. The stack answers `..`, and it lets
//! `rename` see whether one node is above another, without a parent pointer in any node. Each directory is checked
//! for search permission before a component is looked up in it, and a name is checked for its length when it is
//! looked up, which decides the errno when a path is wrong in several ways.

use super::{ROOT, Reference, permission::Access};
use crate::{Errno, NodeId, NodeKind, Path};

/// How many symlinks one walk follows; one more is `ELOOP`.
const SYMLINKS_MAX: u32 = 40;

/// The last component of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last<'a> {
    /// There is none: the path is `/`.
    Root,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// A name.
    Name(&'a str),
}

/// Where a path leads, up to and without its last component.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// The directories from the root to the one that holds the last component.
    pub dirs: Vec<NodeId>,
    /// The last component.
    pub last: Last<'a>,
    /// Whether slashes follow it, which ask for a directory.
    pub slash: bool,
}

impl Place<'_> {
    /// The directory that holds the last component.
    pub(super) fn dir(&self) -> NodeId {
        top(&self.dirs)
    }
}

/// How many symlinks may still be followed.
pub(super) struct Links(u32);

impl Links {
    pub(super) fn new() -> Self {
        Self(SYMLINKS_MAX)
    }

    pub(super) fn follow(&mut self) -> Result<(), Errno> {
        self.0 = self.0.checked_sub(1).ok_or(Errno::ELOOP)?;
        Ok(())
    }
}

/// Whether a symlink at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    No,
}

fn top(dirs: &[NodeId]) -> NodeId {
    *dirs.last().unwrap_or(&ROOT)
}

impl Reference {
    /// The text of a path, if the kernel takes it in at all.
    pub(super) fn import<'a>(&self, text: &'a str) -> Result<&'a str, Errno> {
        match text {
            "" => Err(Errno::ENOENT),
            _ if text.len() >= self.config.path_max => Err(Errno::ENAMETOOLONG),
            // No system call can pass a zero byte; what would call it refuses.
            _ if text.contains('\0') => Err(Errno::EINVAL),
            _ => Ok(text),
        }
    }

    /// The node that a path leads to.
    pub(super) fn resolve(&self, path: &Path, follow: Follow) -> Result<NodeId, Errno> {
        let text = self.import(path.as_str())?;
        let (_, id) = self.walk(vec![ROOT], text, follow, &mut Links::new())?;
        Ok(id)
    }

    /// Where the last component of a path stands. It need not exist.
    pub(super) fn place<'a>(&self, path: &'a Path) -> Result<Place<'a>, Errno> {
        self.walk_to_last(vec![ROOT], self.import(path.as_str())?, &mut Links::new())
    }

    /// What a name leads to, if anything. The caller of a walk has been checked for search permission already.
    pub(super) fn find(&self, dir: NodeId, name: &str) -> Result<Option<NodeId>, Errno> {
        if name.len() > self.config.name_max {
            return Err(Errno::ENAMETOOLONG);
        }
        Ok(self.entry(dir, name).map(|(_, id)| id))
    }

    /// Walks all components but the last.
    pub(super) fn walk_to_last<'a>(
        &self,
        mut dirs: Vec<NodeId>,
        text: &'a str,
        links: &mut Links,
    ) -> Result<Place<'a>, Errno> {
        if text.starts_with('/') {
            dirs.truncate(1);
        }
        let mut rest = text.trim_start_matches('/');
        if rest.is_empty() {
            return Ok(Place { dirs, last: Last::Root, slash: false });
        }
        loop {
            self.may(self.get(top(&dirs)), Access::EXECUTE)?;
            let (component, slash, after) = match rest.split_once('/') {
                Some((component, after)) => (component, true, after.trim_start_matches('/')),
                None => (rest, false, ""),
            };
            let last = match component {
                "." => Last::Dot,
                ".." => Last::DotDot,
                name => Last::Name(name),
            };
            if after.is_empty() {
                return Ok(Place { dirs, last, slash });
            }
            dirs = self.descend(dirs, last, links)?;
            rest = after;
        }
    }

    /// Goes one component down (or up), which must lead to a directory.
    fn descend(&self, mut dirs: Vec<NodeId>, component: Last, links: &mut Links) -> Result<Vec<NodeId>, Errno> {
        let name = match component {
            Last::Name(name) => name,
            Last::Root | Last::Dot | Last::DotDot => return Ok(dots(dirs, component)),
        };
        let id = self.find(top(&dirs), name)?.ok_or(Errno::ENOENT)?;
        match &self.get(id).kind {
            NodeKind::Dir(_) => dirs.push(id),
            NodeKind::File(_) | NodeKind::Special(_) => return Err(Errno::ENOTDIR),
            NodeKind::Symlink(target) => {
                links.follow()?;
                let (behind, id) = self.walk(dirs, target, Follow::Yes, links)?;
                if !self.get(id).is_dir() {
                    return Err(Errno::ENOTDIR);
                }
                dirs = behind;
            }
        }
        Ok(dirs)
    }

    /// Walks a whole path. The stack ends with the node itself if that is a directory, else with its directory.
    fn walk<'a>(
        &'a self,
        mut dirs: Vec<NodeId>,
        mut text: &'a str,
        mut follow: Follow,
        links: &mut Links,
    ) -> Result<(Vec<NodeId>, NodeId), Errno> {
        let mut dir_wanted = false;
        loop {
            let place = self.walk_to_last(dirs, text, links)?;
            let Last::Name(name) = place.last else {
                let dirs = dots(place.dirs, place.last);
                let id = top(&dirs);
                return Ok((dirs, id));
            };
            if place.slash {
                dir_wanted = true;
                follow = Follow::Yes;
            }
            let id = self.find(place.dir(), name)?.ok_or(Errno::ENOENT)?;
            dirs = place.dirs;
            match &self.get(id).kind {
                NodeKind::Symlink(target) if follow == Follow::Yes => {
                    links.follow()?;
                    text = target;
                }
                NodeKind::Dir(_) => {
                    dirs.push(id);
                    return Ok((dirs, id));
                }
                _ if dir_wanted => return Err(Errno::ENOTDIR),
                _ => return Ok((dirs, id)),
            }
        }
    }
}

/// The stack after a component that is not a name. Above the root is the root.
pub(super) fn dots(mut dirs: Vec<NodeId>, component: Last) -> Vec<NodeId> {
    if component == Last::DotDot && dirs.len() > 1 {
        dirs.pop();
    }
    dirs
}
