//! Making and removing names: `mkdir`, `rmdir`, `unlink`, `link`, `symlink`.

use std::sync::Arc;

use super::{
    Reference,
    permission::{Access, GROUP_EXECUTE, SETGID, SETUID, STICKY, Wanted},
    resolve::{Follow, Last},
};
use crate::{Entries, Errno, Node, NodeId, NodeKind, Outcome, Path, Value};

/// The permission bits of every symlink, which nothing looks at.
const SYMLINK_MODE: u32 = 0o777;

/// What a new name is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameFor {
    /// A directory, whose name may end in slashes.
    Dir,
    /// Anything else.
    Other,
}

impl Reference {
    /// A place where nothing stands yet.
    fn vacant<'a>(&self, path: &'a Path, name_for: NameFor) -> Result<(NodeId, &'a str), Errno> {
        let place = self.place(path)?;
        let Last::Name(name) = place.last else { return Err(Errno::EEXIST) };
        match self.find(place.dir(), name)? {
            Some(_) => Err(Errno::EEXIST),
            None if place.slash && name_for == NameFor::Other => Err(Errno::ENOENT),
            None => Ok((place.dir(), name)),
        }
    }

    pub(super) fn mkdir(&mut self, path: &Path, mode: u32) -> Outcome {
        let (dir, name) = self.vacant(path, NameFor::Dir)?;
        self.may_add(dir)?;
        if self.get(dir).nlink >= self.config.link_max {
            return Err(Errno::EMLINK);
        }
        // Set-id bits of a directory come from its parent or from chmod.
        let mode = mode & (0o777 | STICKY) & !self.config.umask;
        self.add(dir, name, NodeKind::Dir(Entries::new()), mode);
        Ok(Value::Done)
    }

    pub(super) fn symlink(&mut self, target: &Arc<str>, path: &Path) -> Outcome {
        self.import(target)?;
        let (dir, name) = self.vacant(path, NameFor::Other)?;
        self.may_add(dir)?;
        self.add(dir, name, NodeKind::Symlink(Arc::clone(target)), SYMLINK_MODE);
        Ok(Value::Done)
    }

    pub(super) fn link(&mut self, from: &Path, to: &Path) -> Outcome {
        let id = self.resolve(from, Follow::No)?;
        let (dir, name) = self.vacant(to, NameFor::Other)?;
        let node = self.get(id);
        self.may_link(node)?;
        self.may_add(dir)?;
        if node.is_dir() {
            return Err(Errno::EPERM);
        }
        if node.nlink >= self.config.link_max {
            return Err(Errno::EMLINK);
        }
        self.enter(dir, name, id);
        Ok(Value::Done)
    }

    /// The rule of `fs.protected_hardlinks`: nobody pins somebody else's program or unreadable file.
    fn may_link(&self, node: &Node) -> Result<(), Errno> {
        if !self.config.protected_hardlinks || self.owns(node) {
            return Ok(());
        }
        let program = node.mode & SETUID != 0 || node.mode & (SETGID | GROUP_EXECUTE) == SETGID | GROUP_EXECUTE;
        let usable = self.may(node, Access::READ.and(Access::WRITE)).is_ok();
        if matches!(node.kind, NodeKind::File(_)) && !program && usable { Ok(()) } else { Err(Errno::EPERM) }
    }

    pub(super) fn unlink(&mut self, path: &Path) -> Outcome {
        let place = self.place(path)?;
        let Last::Name(name) = place.last else { return Err(Errno::EISDIR) };
        let dir = place.dir();
        let id = self.find(dir, name)?.ok_or(Errno::ENOENT)?;
        let node = self.get(id);
        if place.slash {
            return Err(if node.is_dir() { Errno::EISDIR } else { Errno::ENOTDIR });
        }
        self.may_remove(dir, node, Wanted::NotDir)?;
        self.leave(dir, name);
        self.forget(id);
        Ok(Value::Done)
    }

    pub(super) fn rmdir(&mut self, path: &Path) -> Outcome {
        let place = self.place(path)?;
        let name = match place.last {
            Last::Name(name) => name,
            Last::Root => return Err(Errno::EBUSY),
            Last::Dot => return Err(Errno::EINVAL),
            Last::DotDot => return Err(Errno::ENOTEMPTY),
        };
        let dir = place.dir();
        let id = self.find(dir, name)?.ok_or(Errno::ENOENT)?;
        let node = self.get(id);
        self.may_remove(dir, node, Wanted::Dir)?;
        if node.entries().is_some_and(|entries| !entries.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.leave(dir, name);
        self.forget(id);
        Ok(Value::Done)
    }
}
