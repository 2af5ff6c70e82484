//! Libraries that name files by path: ops and observation in terms of a few calls.
//!
//! A library has one `remove` where POSIX has `unlink` and `rmdir`; which of them may remove what is checked here, as
//! the kernel does before it asks a file system. Everything else, with its errors, is the library's.

use std::{collections::BTreeMap, sync::Arc};

use vfs::{Errno, File, Node, NodeId, NodeKind, Op, Outcome, Rename, Tree, Value, WriteAt, WriteVia};

/// The permission bits of every file: these libraries store none.
const FILE_MODE: u32 = 0o644;
/// The permission bits of every directory.
const DIR_MODE: u32 = 0o755;
/// A directory that is deeper than any workload makes it contains itself.
const DEPTH_MAX: usize = 16;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Dir,
}

/// The calls of a library. Paths are absolute, and `/` is the root.
pub(crate) trait ByPath {
    /// What a path leads to.
    fn kind(&mut self, path: &str) -> Result<Kind, Errno>;
    /// Makes an empty file; fails if the name is taken.
    fn create(&mut self, path: &str) -> Result<(), Errno>;
    /// Makes a directory; fails if the name is taken.
    fn mkdir(&mut self, path: &str) -> Result<(), Errno>;
    /// Removes a file or an empty directory.
    fn remove(&mut self, path: &str) -> Result<(), Errno>;
    /// Gives something another name.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno>;
    /// Opens, writes at an offset or at the end, closes.
    fn write(&mut self, path: &str, at: WriteAt, data: &[u8]) -> Result<(), Errno>;
    /// Sets the size.
    fn truncate(&mut self, path: &str, size: u64) -> Result<(), Errno>;
    /// Makes a file durable.
    fn fsync(&mut self, path: &str) -> Result<(), Errno>;
    /// All bytes of a file.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, Errno>;
    /// The names in a directory, without `.` and `..`.
    fn list(&mut self, path: &str) -> Result<Vec<(String, Kind)>, Errno>;
}

/// Does an op.
pub(crate) fn run(volume: &mut impl ByPath, op: &Op) -> Outcome {
    match op {
        Op::Create { path, mode: FILE_MODE } => volume.create(path.as_str())?,
        Op::Mkdir { path, mode: DIR_MODE } => volume.mkdir(path.as_str())?,
        Op::Unlink { path } => match volume.kind(path.as_str())? {
            Kind::File => volume.remove(path.as_str())?,
            Kind::Dir => return Err(Errno::EISDIR),
        },
        Op::Rmdir { path } => match volume.kind(path.as_str())? {
            Kind::File => return Err(Errno::ENOTDIR),
            Kind::Dir => volume.remove(path.as_str())?,
        },
        Op::Rename { from, to, how: Rename::Replace } => volume.rename(from.as_str(), to.as_str())?,
        Op::Write { file: File::Path(path), at, data, via: WriteVia::Buffered } => {
            let len = usize::try_from(data.len).map_err(|_| Errno::EFBIG)?;
            volume.write(path.as_str(), *at, &vec![data.fill; len])?;
            return Ok(Value::Count(data.len));
        }
        Op::Truncate { file: File::Path(path), size } => volume.truncate(path.as_str(), *size)?,
        Op::Fsync { file: File::Path(path) } | Op::Fdatasync { file: File::Path(path) } => {
            volume.fsync(path.as_str())?;
        }
        Op::Read { file: File::Path(path), offset, len } => {
            let bytes = volume.read(path.as_str())?;
            let start = usize::try_from(*offset).unwrap_or(usize::MAX).min(bytes.len());
            let end = start.saturating_add(usize::try_from(*len).unwrap_or(usize::MAX)).min(bytes.len());
            return Ok(Value::Bytes(bytes[start..end].to_vec()));
        }
        _ => return Err(Errno::EOPNOTSUPP),
    }
    Ok(Value::Done)
}

/// Walks the tree.
pub(crate) fn observe(volume: &mut impl ByPath) -> Result<Tree, Errno> {
    let mut nodes = BTreeMap::new();
    let root = directory(volume, &mut String::new(), 0, &mut nodes)?;
    Ok(Tree { root, nodes: Arc::new(nodes) })
}

type Nodes = BTreeMap<NodeId, Arc<Node>>;

/// Adds a directory and all below it; `path` is without the slash at its end.
fn directory(volume: &mut impl ByPath, path: &mut String, depth: usize, nodes: &mut Nodes) -> Result<NodeId, Errno> {
    if depth > DEPTH_MAX {
        return Err(Errno::ELOOP);
    }
    let mut entries = BTreeMap::new();
    let mut subdirectories = 0;
    for (name, kind) in volume.list(if path.is_empty() { "/" } else { path })? {
        let above = path.len();
        path.push('/');
        path.push_str(&name);
        let child = match kind {
            Kind::File => add(nodes, NodeKind::File(volume.read(path)?.into()), FILE_MODE, 1),
            Kind::Dir => {
                subdirectories += 1;
                directory(volume, path, depth + 1, nodes)?
            }
        };
        path.truncate(above);
        if entries.insert(Arc::from(name), child).is_some() {
            // One name twice: no tree can show it.
            return Err(Errno::EUCLEAN);
        }
    }
    Ok(add(nodes, NodeKind::Dir(entries.into()), DIR_MODE, 2 + subdirectories))
}

fn add(nodes: &mut Nodes, kind: NodeKind, mode: u32, nlink: u32) -> NodeId {
    let id = NodeId(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    nodes.insert(id, Arc::new(Node { kind, mode, uid: 0, gid: 0, nlink, xattrs: BTreeMap::new() }));
    id
}
