//! The tree of an ext4 volume, read inode by inode with what the library reports of each.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use rsext4::{DirectoryCursor, DirectoryEntryType, InodeNumber};
use vfs::{Errno, Node, NodeId, NodeKind, Tree};

use super::{Mounted, errno};

/// Far more than any workload makes; a directory that has more is damaged, and so is a file that is larger.
const ENTRIES_MAX: usize = 1024;
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Permission, set-id and sticky bits.
const PERMISSIONS: u16 = 0o7777;

pub(super) fn tree(volume: &mut Mounted<'_>) -> Result<Tree, Errno> {
    let root = volume.root_inode();
    let mut found = BTreeMap::new();
    let mut waiting = vec![root];
    while let Some(inode) = waiting.pop() {
        if let Entry::Vacant(vacant) = found.entry(NodeId(inode.raw())) {
            vacant.insert(Arc::new(node(volume, inode, &mut waiting)?));
        }
    }
    Ok(Tree { root: NodeId(root.raw()), nodes: Arc::new(found) })
}

fn node(volume: &mut Mounted<'_>, number: InodeNumber, waiting: &mut Vec<InodeNumber>) -> Result<Node, Errno> {
    let inode = volume.inode(number).map_err(errno)?;
    let kind = match inode.file_type() {
        DirectoryEntryType::RegularFile => NodeKind::File(bytes(volume, number, 0, inode.size)?.into()),
        DirectoryEntryType::Directory => NodeKind::Dir(entries(volume, number, waiting)?.into()),
        DirectoryEntryType::Symlink => {
            let target = String::from_utf8(bytes(volume, number, 0, inode.size)?).map_err(|_| Errno::EUCLEAN)?;
            NodeKind::Symlink(target.into())
        }
        _ => return Err(Errno::EUCLEAN),
    };
    Ok(Node {
        kind,
        mode: (inode.mode & PERMISSIONS).into(),
        uid: inode.uid,
        gid: inode.gid,
        nlink: inode.links.into(),
        xattrs: BTreeMap::new(),
    })
}

fn entries(
    volume: &mut Mounted<'_>,
    directory: InodeNumber,
    waiting: &mut Vec<InodeNumber>,
) -> Result<BTreeMap<Arc<str>, NodeId>, Errno> {
    let listed = volume.read_directory(directory, DirectoryCursor::Start, ENTRIES_MAX).map_err(errno)?;
    let mut entries = BTreeMap::new();
    for entry in listed.into_iter().filter(|entry| !matches!(&*entry.name, b"." | b"..")) {
        let name = String::from_utf8(entry.name).map_err(|_| Errno::EUCLEAN)?;
        if entries.insert(Arc::from(name), NodeId(entry.inode.raw())).is_some() {
            // One name twice: no tree can show it.
            return Err(Errno::EUCLEAN);
        }
        waiting.push(entry.inode);
    }
    Ok(entries)
}

/// The bytes of a file from an offset on.
pub(super) fn bytes(volume: &mut Mounted<'_>, number: InodeNumber, offset: u64, len: u64) -> Result<Vec<u8>, Errno> {
    if len > FILE_BYTES_MAX {
        return Err(Errno::EUCLEAN);
    }
    let mut bytes = vec![0; usize::try_from(len).map_err(|_| Errno::EUCLEAN)?];
    let read = volume.read_inode(number, offset, &mut bytes).map_err(errno)?;
    // A file whose size says more than can be read is seen as long as it reads.
    bytes.truncate(read);
    Ok(bytes)
}
