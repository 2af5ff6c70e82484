//! Extended attributes and the rules of their namespaces.

use std::sync::Arc;

use super::{
    Reference,
    data::range,
    permission::{Access, STICKY},
    resolve::Follow,
};
use crate::{Data, Errno, Node, NodeKind, Outcome, Path, Value};

/// Bytes of the longest attribute name.
const NAME_MAX: usize = 255;
/// Bytes of the longest attribute value.
const VALUE_MAX: u64 = 65_536;
/// File capabilities have a format of their own, which no run of equal bytes is.
const CAPABILITY: &str = "security.capability";

/// Who may use a namespace, and on what. `system.` is absent: the reference has no access control lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    /// On files and directories, by whoever may write to them.
    User,
    /// Root only.
    Trusted,
    /// Root only.
    Security,
    /// Not known to any file system.
    Unknown,
}

impl Namespace {
    fn of(name: &str) -> Self {
        match name.split_once('.') {
            Some(("user", _)) => Self::User,
            Some(("trusted", _)) => Self::Trusted,
            Some(("security", _)) => Self::Security,
            _ => Self::Unknown,
        }
    }
}

impl Reference {
    pub(super) fn setxattr(&mut self, path: &Path, name: &Arc<str>, value: Data) -> Outcome {
        check_name(name)?;
        if value.len > VALUE_MAX {
            return Err(Errno::E2BIG);
        }
        let id = self.resolve(path, Follow::Yes)?;
        if &**name == CAPABILITY && value.len > 0 {
            return Err(Errno::EINVAL);
        }
        self.may_change_xattr(self.get(id), name)?;
        let bytes = Arc::from(vec![value.fill; range(0, value.len).end]);
        self.get_mut(id).xattrs.insert(Arc::clone(name), bytes);
        Ok(Value::Done)
    }

    pub(super) fn removexattr(&mut self, path: &Path, name: &Arc<str>) -> Outcome {
        check_name(name)?;
        let id = self.resolve(path, Follow::Yes)?;
        let node = self.get(id);
        self.may_change_xattr(node, name)?;
        if !node.xattrs.contains_key(name) {
            return Err(Errno::ENODATA);
        }
        self.get_mut(id).xattrs.remove(name);
        Ok(Value::Done)
    }

    /// Permission comes before the question whether the name is one that the file system knows.
    fn may_change_xattr(&self, node: &Node, name: &str) -> Result<(), Errno> {
        let namespace = Namespace::of(name);
        match namespace {
            Namespace::Trusted | Namespace::Security if !self.config.caller.is_root() => return Err(Errno::EPERM),
            Namespace::Trusted | Namespace::Security => {}
            Namespace::User => {
                let sticky_dir = node.is_dir() && node.mode & STICKY != 0;
                if matches!(node.kind, NodeKind::Symlink(_)) || sticky_dir && !self.owns(node) {
                    return Err(Errno::EPERM);
                }
                self.may(node, Access::WRITE)?;
            }
            Namespace::Unknown if name.starts_with("system.") => {}
            Namespace::Unknown => self.may(node, Access::WRITE)?,
        }
        is_known(name, namespace)
    }
}

fn is_known(name: &str, namespace: Namespace) -> Result<(), Errno> {
    match name.split_once('.') {
        _ if namespace == Namespace::Unknown => Err(Errno::EOPNOTSUPP),
        Some((_, "")) => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}

/// Whether an attribute of this name can exist, whoever asks.
pub(super) fn name_fits(name: &str) -> Result<(), Errno> {
    check_name(name)?;
    is_known(name, Namespace::of(name))
}

/// Names are checked before the path is walked.
fn check_name(name: &str) -> Result<(), Errno> {
    match name.len() {
        0 => Err(Errno::ERANGE),
        len if len > NAME_MAX => Err(Errno::ERANGE),
        _ if name.contains('\0') => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}
