//! Mode and owner.

use super::{
    Reference,
    permission::{MODE_BITS, SETGID},
    resolve::Follow,
};
use crate::{Errno, Outcome, Path, Value};

impl Reference {
    pub(super) fn chmod(&mut self, path: &Path, mode: u32) -> Outcome {
        let id = self.resolve(path, Follow::Yes)?;
        let node = self.get(id);
        if !self.owns(node) {
            return Err(Errno::EPERM);
        }
        let dropped = if self.trusted_with_group(node.gid) { 0 } else { SETGID };
        self.get_mut(id).mode = mode & MODE_BITS & !dropped;
        Ok(Value::Done)
    }

    pub(super) fn chown(&mut self, path: &Path, uid: Option<u32>, gid: Option<u32>) -> Outcome {
        // The system call says "leave it" with all bits set.
        let (uid, gid) = (uid.filter(|uid| *uid != u32::MAX), gid.filter(|gid| *gid != u32::MAX));
        let id = self.resolve(path, Follow::Yes)?;
        let node = self.get(id);
        let dropped = if node.is_dir() { 0 } else { self.dropped_by_chown(node) };
        let caller = &self.config.caller;
        if !caller.is_root() {
            let owner = caller.uid == node.uid;
            let uid_allowed = uid.is_none_or(|uid| owner && uid == node.uid);
            let gid_allowed = gid.is_none_or(|gid| owner && (gid == node.gid || caller.in_group(gid)));
            let mode_allowed = dropped == 0 || owner;
            if !(uid_allowed && gid_allowed && mode_allowed) {
                return Err(Errno::EPERM);
            }
        }
        let node = self.get_mut(id);
        node.uid = uid.unwrap_or(node.uid);
        node.gid = gid.unwrap_or(node.gid);
        node.mode &= !dropped;
        Ok(Value::Done)
    }
}
