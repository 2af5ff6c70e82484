//! Opening and closing: what `O_CREAT`, `O_EXCL`, `O_TRUNC`, `O_DIRECTORY` and `O_NOFOLLOW` make of each other.

use std::sync::Arc;

use super::{
    ROOT, Reference,
    permission::{Access, GROUP_EXECUTE, SETGID},
    resolve::{Follow, Last, Links, dots},
};
use crate::{Contents, Errno, Fd, File, NodeId, NodeKind, OpenFile, OpenFlags, Outcome, Path, Value};

/// The bits that the reference knows. Others would ask the kernel for something that is not in the vocabulary.
const KNOWN: u32 = 0o3
    | OpenFlags::CREAT.0
    | OpenFlags::EXCL.0
    | OpenFlags::TRUNC.0
    | OpenFlags::APPEND.0
    | OpenFlags::DIRECT.0
    | OpenFlags::DIRECTORY.0
    | OpenFlags::NOFOLLOW.0
    | OpenFlags::SYNC.0;

/// Whether a file was opened for reading.
pub(super) fn readable(file: OpenFile) -> bool {
    matches!(file.flags.0 & 0o3, 0 | 2)
}

/// Whether a file was opened for writing.
pub(super) fn writable(file: OpenFile) -> bool {
    matches!(file.flags.0 & 0o3, 1 | 2)
}

/// What the flags of an open ask of permissions. The access mode 3 asks for both and gives neither.
fn access(flags: OpenFlags) -> Access {
    let by_mode = [Access::READ, Access::WRITE, Access::READ.and(Access::WRITE), Access::READ.and(Access::WRITE)];
    let truncates = if flags.contains(OpenFlags::TRUNC) { Access::WRITE } else { Access::NONE };
    by_mode[(flags.0 & 0o3) as usize].and(truncates)
}

/// Where an open ended up.
enum Opened {
    Existing(NodeId),
    Missing { dir: NodeId, name: Arc<str> },
}

impl Reference {
    /// Opens a file, creating and truncating it as the flags say.
    pub(super) fn open(&mut self, path: &Path, flags: OpenFlags, mode: u32) -> Result<OpenFile, Errno> {
        let creates = flags.contains(OpenFlags::CREAT);
        if flags.0 & !KNOWN != 0 || creates && flags.contains(OpenFlags::DIRECTORY) {
            return Err(Errno::EINVAL);
        }
        let node = match self.find_to_open(path, flags)? {
            Opened::Missing { .. } if !creates => return Err(Errno::ENOENT),
            Opened::Missing { dir, name } => {
                self.may_add(dir)?;
                let mode = self.mode_of_new_file(dir, mode);
                self.add(dir, &name, NodeKind::File(Contents::from([])), mode)
            }
            Opened::Existing(id) => {
                self.may_open(id, flags)?;
                if flags.contains(OpenFlags::TRUNC) {
                    self.resize(id, 0);
                    self.drop_set_id(id);
                }
                id
            }
        };
        Ok(OpenFile { node, flags })
    }

    /// The walk of `open`, which unlike others may end at a missing name.
    fn find_to_open(&self, path: &Path, flags: OpenFlags) -> Result<Opened, Errno> {
        let creates = flags.contains(OpenFlags::CREAT);
        let exclusive = creates && flags.contains(OpenFlags::EXCL);
        let mut follow = if exclusive || flags.contains(OpenFlags::NOFOLLOW) { Follow::No } else { Follow::Yes };
        let mut dir_wanted = flags.contains(OpenFlags::DIRECTORY);
        let mut links = Links::new();
        let mut text = self.import(path.as_str())?;
        let mut dirs = vec![ROOT];
        let id = loop {
            let place = self.walk_to_last(dirs, text, &mut links)?;
            let Last::Name(name) = place.last else {
                break *dots(place.dirs, place.last).last().unwrap_or(&ROOT);
            };
            if place.slash {
                if creates {
                    return Err(Errno::EISDIR);
                }
                dir_wanted = true;
                follow = Follow::Yes;
            }
            let dir = place.dir();
            let Some(id) = self.find(dir, name)? else {
                return Ok(Opened::Missing { dir, name: Arc::from(name) });
            };
            match &self.get(id).kind {
                NodeKind::Symlink(target) if follow == Follow::Yes => {
                    links.follow()?;
                    (dirs, text) = (place.dirs, target);
                }
                _ => break id,
            }
        };
        let is_dir = self.get(id).is_dir();
        match () {
            () if exclusive => Err(Errno::EEXIST),
            () if creates && is_dir => Err(Errno::EISDIR),
            () if dir_wanted && !is_dir => Err(Errno::ENOTDIR),
            () => Ok(Opened::Existing(id)),
        }
    }

    fn may_open(&self, id: NodeId, flags: OpenFlags) -> Result<(), Errno> {
        let (node, access) = (self.get(id), access(flags));
        match node.kind {
            NodeKind::Symlink(_) => return Err(Errno::ELOOP),
            NodeKind::Dir(_) if access.includes(Access::WRITE) => return Err(Errno::EISDIR),
            // What stands behind it is not there without a kernel, as if nothing served the device.
            NodeKind::Special(_) => return Err(Errno::ENXIO),
            NodeKind::Dir(_) | NodeKind::File(_) => self.may(node, access)?,
        }
        if node.is_dir() && flags.contains(OpenFlags::DIRECT) { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// A set-group-id program is not created in a directory that would give it a group the caller is not in.
    fn mode_of_new_file(&self, dir: NodeId, mode: u32) -> u32 {
        let program = SETGID | GROUP_EXECUTE;
        let dir = self.get(dir);
        let foreign = dir.mode & SETGID != 0 && !self.trusted_with_group(dir.gid);
        let mode = if mode & program == program && foreign { mode & !SETGID } else { mode };
        mode & !self.config.umask
    }

    /// The file that an op works on: the one in the slot, or the one that an open with these flags would give.
    pub(super) fn file(&mut self, file: &File, flags: OpenFlags) -> Result<OpenFile, Errno> {
        match file {
            File::Fd(fd) => self.open.get(fd).copied().ok_or(Errno::EBADF),
            File::Path(path) => self.open(path, flags, 0),
        }
    }

    /// Puts an open file into a slot, in place of what was there.
    pub(super) fn fill(&mut self, fd: Fd, file: OpenFile) {
        if let Some(old) = self.open.insert(fd, file) {
            self.release(old.node);
        }
    }

    pub(super) fn close(&mut self, fd: Fd) -> Outcome {
        let file = self.open.remove(&fd).ok_or(Errno::EBADF)?;
        self.release(file.node);
        Ok(Value::Done)
    }

    /// An orphan that no slot holds any more is gone.
    fn release(&mut self, node: NodeId) {
        if !self.open.values().any(|file| file.node == node) {
            self.orphans.remove(&node);
        }
    }
}
