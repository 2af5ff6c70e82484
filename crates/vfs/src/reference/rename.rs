//! `rename`, plain, without replacing, and exchanging. The checks stand in the order in which Linux makes them.

use super::{
    Reference,
    permission::{Access, Wanted},
    resolve::{Last, Place},
};
use crate::{Errno, Node, NodeId, Outcome, Path, Rename, Value};

impl Reference {
    pub(super) fn rename(&mut self, from: &Path, to: &Path, how: Rename) -> Outcome {
        let (from, to) = (self.place(from)?, self.place(to)?);
        let Last::Name(old) = from.last else { return Err(Errno::EBUSY) };
        let Last::Name(new) = to.last else {
            return Err(if how == Rename::NoReplace { Errno::EEXIST } else { Errno::EBUSY });
        };
        let source = self.find(from.dir(), old)?.ok_or(Errno::ENOENT)?;
        let target = self.find(to.dir(), new)?;
        self.check_names(&from, source, &to, target, how)?;
        if target == Some(source) {
            return Ok(Value::Done);
        }
        self.check_permissions(&from, source, &to, target, how)?;
        if let Some(target) = target
            && how == Rename::Replace
            && self.get(target).entries().is_some_and(|entries| !entries.is_empty())
        {
            return Err(Errno::ENOTEMPTY);
        }
        if let Some(replaced) = self.move_name((from.dir(), old), (to.dir(), new), how) {
            self.forget(replaced);
        }
        Ok(Value::Done)
    }

    /// Moves a name or exchanges two, nothing being in the way. What was replaced has lost its name.
    pub(super) fn move_name(&mut self, from: (NodeId, &str), to: (NodeId, &str), how: Rename) -> Option<NodeId> {
        let source = self.leave(from.0, from.1)?;
        let target = self.leave(to.0, to.1);
        self.enter(to.0, to.1, source);
        match target {
            Some(target) if how == Rename::Exchange => {
                self.enter(from.0, from.1, target);
                None
            }
            replaced => replaced,
        }
    }

    /// What can be said without looking at the caller: existence, trailing slashes, ancestry.
    fn check_names(
        &self,
        from: &Place,
        source: NodeId,
        to: &Place,
        target: Option<NodeId>,
        how: Rename,
    ) -> Result<(), Errno> {
        match (how, target) {
            (Rename::NoReplace, Some(_)) => return Err(Errno::EEXIST),
            (Rename::Exchange, None) => return Err(Errno::ENOENT),
            (Rename::Exchange, Some(target)) if to.slash && !self.get(target).is_dir() => return Err(Errno::ENOTDIR),
            _ => {}
        }
        let slash = from.slash || how != Rename::Exchange && to.slash;
        if slash && !self.get(source).is_dir() {
            return Err(Errno::ENOTDIR);
        }
        if to.dirs.contains(&source) {
            return Err(Errno::EINVAL);
        }
        if target.is_some_and(|target| from.dirs.contains(&target)) {
            return Err(if how == Rename::Exchange { Errno::EINVAL } else { Errno::ENOTEMPTY });
        }
        Ok(())
    }

    fn check_permissions(
        &self,
        from: &Place,
        source: NodeId,
        to: &Place,
        target: Option<NodeId>,
        how: Rename,
    ) -> Result<(), Errno> {
        let source = self.get(source);
        let target = target.map(|target| self.get(target));
        let same_type = |is_dir| if is_dir { Wanted::Dir } else { Wanted::NotDir };
        self.may_remove(from.dir(), source, same_type(source.is_dir()))?;
        match target {
            None => self.may_add(to.dir())?,
            Some(target) if how == Rename::Exchange => {
                self.may_remove(to.dir(), target, same_type(target.is_dir()))?;
            }
            Some(target) => self.may_remove(to.dir(), target, same_type(source.is_dir()))?,
        }
        if from.dir() == to.dir() {
            return Ok(());
        }
        // A directory that moves gets another "..", which is a write to it.
        let exchanged = target.filter(|_| how == Rename::Exchange);
        for moved in [Some(source), exchanged].into_iter().flatten().filter(|node| node.is_dir()) {
            self.may(moved, Access::WRITE)?;
        }
        let full = |dir| self.get(dir).nlink >= self.config.link_max;
        let target_is_dir = target.is_some_and(Node::is_dir);
        let gains = source.is_dir() && !target_is_dir;
        let loses = how == Rename::Exchange && !source.is_dir() && target_is_dir;
        if gains && full(to.dir()) || loses && full(from.dir()) {
            return Err(Errno::EMLINK);
        }
        Ok(())
    }
}
