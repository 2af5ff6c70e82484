//! The reference: a POSIX file system in memory whose outcomes and trees are right by definition.
//!
//! It answers as Linux does on a local disk file system (ext4 was the judge), including which errno comes first when
//! several would fit. It has no disk: persistence calls check their arguments and do nothing more, and a crash is a
//! remount that loses nothing.
//!
//! Where an op is more than one system call, this is the sequence that it means:
//!
//! - An op on a `File::Path` opens the file, works and closes it: `Read`, `Fsync` and `Fdatasync` with `O_RDONLY`;
//!   `Write` and `Fallocate` with `O_WRONLY`; a write by mapping and `Msync` with `O_RDWR` (Linux syncs nothing through
//!   a mapping of a file that was opened for reading); `Truncate` is `truncate(2)`.
//! - `WriteAt::End` is a `pwrite` with `O_APPEND`, `WriteVia::Direct` one with `O_DIRECT`, whether the slot was opened
//!   so or not.
//! - A write by mapping maps the range, extends the file with `ftruncate` where the range reaches past its end, and
//!   stores. Mapping comes first, so an op that cannot map changes nothing. `Msync` maps the range for reading and
//!   syncs it.
//! - `Open` into a slot in use replaces what the slot held, as `dup2` does: if the open fails, the slot keeps it.
//!
//! A failed op changes nothing. Nodes are shared by `Arc` with every clone and every [`Tree`] handed out, so a clone
//! costs a few counters and an op copies only the map of nodes and the nodes that it changes.

mod adopt;
mod allocate;
mod attributes;
mod config;
mod data;
mod inodes;
mod names;
mod nodes;
mod open;
mod permission;
mod rename;
mod resolve;
mod table;
mod xattr;

use std::{collections::BTreeMap, sync::Arc};

pub use config::{Config, Credentials};
pub use inodes::{Owner, Removal};
use table::Table;

use crate::{Conventions, Entries, Errno, Node, NodeId, NodeKind, Op, OpenFiles, OpenFlags, Outcome, Tree, Value};

/// The root directory is the first node.
const ROOT: NodeId = NodeId(0);

/// A file system in memory with its open files. Cheap to clone; see the [module](self) for what it promises.
///
/// ```
/// # use vfs::{Errno, Op, Path, Reference};
/// let mut fs = Reference::new();
/// let mkdir = Op::Mkdir { path: Path::new("/a").unwrap(), mode: 0o755 };
/// assert!(fs.apply(&mkdir).is_ok());
/// assert_eq!(fs.apply(&mkdir), Err(Errno::EEXIST));
/// assert_eq!(fs.tree().to_string(), "/\n  a/\n");
/// ```
#[derive(Clone, Debug)]
pub struct Reference {
    config: Arc<Config>,
    /// What can be reached from the root; exactly the nodes of the tree.
    nodes: Table,
    /// What has no name any more but is open.
    orphans: BTreeMap<NodeId, Arc<Node>>,
    open: OpenFiles,
    /// Identities are given out once.
    next: u32,
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Reference {
    /// An empty file system used by root: a root directory with mode 0755, nothing open.
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    /// An empty file system with these limits and this caller.
    pub fn with(config: Config) -> Self {
        let root = Node {
            kind: NodeKind::Dir(Entries::new()),
            mode: 0o755,
            uid: 0,
            gid: 0,
            nlink: 2,
            xattrs: BTreeMap::new(),
        };
        Self {
            config: Arc::new(config),
            nodes: Table::Whole(Arc::new(BTreeMap::from([(ROOT, Arc::new(root))]))),
            orphans: BTreeMap::new(),
            open: OpenFiles::new(),
            next: ROOT.0 + 1,
        }
    }

    /// The limits and the caller.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes limits or caller for the ops to come, as when another process goes on.
    pub fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        change(Arc::make_mut(&mut self.config));
    }

    /// Keeps to the conventions of a file system from now on.
    pub fn keep_to(&mut self, conventions: Conventions) {
        if conventions != Conventions::POSIX {
            self.configure(|config| (config.modes, config.names) = (conventions.modes, conventions.names));
        }
    }

    /// What a user can see. Costs one reference count, or what it shows if the nodes are kept [in
    /// parts](Reference::in_parts).
    pub fn tree(&self) -> Tree {
        Tree { root: ROOT, nodes: self.nodes.whole() }
    }

    /// The slots in use.
    pub fn open_files(&self) -> &OpenFiles {
        &self.open
    }

    /// The node of an open file, which may have no name any more (its link count is then 0), or any node of the tree.
    pub fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.nodes.get(id).or_else(|| self.orphans.get(&id))
    }

    /// Does an op.
    ///
    /// # Errors
    /// The errno that Linux would give; then nothing has changed.
    pub fn apply(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Open { path, flags, mode, fd } => {
                let file = self.open(path, *flags, *mode)?;
                self.fill(*fd, file);
                Ok(Value::Done)
            }
            Op::Close { fd } => self.close(*fd),
            Op::Create { path, mode } => {
                self.open(path, OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::WRONLY, *mode)?;
                Ok(Value::Done)
            }
            Op::Read { file, offset, len } => self.read(file, *offset, *len),
            Op::Write { file, at, data, via } => self.write(file, *at, *data, *via),
            Op::Truncate { file, size } => self.truncate(file, *size),
            Op::Fallocate { file, how, offset, len } => self.fallocate(file, *how, *offset, *len),
            Op::Mkdir { path, mode } => self.mkdir(path, *mode),
            Op::Rmdir { path } => self.rmdir(path),
            Op::Unlink { path } => self.unlink(path),
            Op::Rename { from, to, how } => self.rename(from, to, *how),
            Op::Link { from, to } => self.link(from, to),
            Op::Symlink { target, path } => self.symlink(target, path),
            Op::Chmod { path, mode } => self.chmod(path, *mode),
            Op::Chown { path, uid, gid } => self.chown(path, *uid, *gid),
            Op::Setxattr { path, name, value } => self.setxattr(path, name, *value),
            Op::Removexattr { path, name } => self.removexattr(path, name),
            Op::Fsync { file } | Op::Fdatasync { file } => {
                self.file(file, OpenFlags::RDONLY)?;
                Ok(Value::Done)
            }
            Op::Msync { file, offset, len } => self.msync(file, *offset, *len),
            Op::Sync | Op::Syncfs => Ok(Value::Done),
            Op::Remount | Op::Crash => {
                self.open.clear();
                self.orphans.clear();
                Ok(Value::Done)
            }
        }
    }
}

/// Linux takes offsets and lengths as signed numbers.
fn signed(number: u64) -> Result<u64, Errno> {
    i64::try_from(number).map_or(Err(Errno::EINVAL), |_| Ok(number))
}
