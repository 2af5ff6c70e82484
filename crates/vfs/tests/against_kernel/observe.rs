//! The tree below the root directory of the calling thread.

#![expect(unsafe_code, reason = "the standard library does not list extended attributes")]

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
    sync::Arc,
};

use vfs::{Node, NodeId, NodeKind, Tree};

/// What a user sees from here. Identities are given in the order of the walk.
pub fn observe() -> io::Result<Tree> {
    let mut seen = BTreeMap::new();
    let mut nodes = BTreeMap::new();
    let root = visit(Path::new("/"), &mut seen, &mut nodes)?;
    Ok(Tree { root, nodes: Arc::new(nodes) })
}

fn visit(path: &Path, seen: &mut BTreeMap<u64, NodeId>, nodes: &mut BTreeMap<NodeId, Arc<Node>>) -> io::Result<NodeId> {
    let metadata = fs::symlink_metadata(path)?;
    if let Some(id) = seen.get(&metadata.ino()) {
        return Ok(*id);
    }
    let id = NodeId(seen.len().try_into().expect("test trees are small"));
    seen.insert(metadata.ino(), id);
    let kind = if metadata.is_dir() {
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name().into_string().expect("test names are text");
            let child = visit(&path.join(&name), seen, nodes)?;
            entries.insert(Arc::from(name), child);
        }
        NodeKind::Dir(entries)
    } else if metadata.is_symlink() {
        NodeKind::Symlink(fs::read_link(path)?.to_str().expect("test targets are text").into())
    } else {
        NodeKind::File(fs::read(path)?.into())
    };
    let node = Node {
        kind,
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
        nlink: metadata.nlink().try_into().expect("test link counts are small"),
        xattrs: xattrs(path)?,
    };
    nodes.insert(id, Arc::new(node));
    Ok(id)
}

fn xattrs(path: &Path) -> io::Result<BTreeMap<Arc<str>, Arc<[u8]>>> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the string outlives the call and the buffer has that length.
    let names = filled(|buffer| unsafe { libc::llistxattr(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) })?;
    let mut xattrs = BTreeMap::new();
    for name in names.split_inclusive(|byte| *byte == 0) {
        // SAFETY: the name ends with its zero byte, the string outlives the call, and the buffer has that length.
        let value = filled(|buffer| unsafe {
            libc::lgetxattr(path.as_ptr(), name.as_ptr().cast(), buffer.as_mut_ptr().cast(), buffer.len())
        })?;
        let name = std::str::from_utf8(&name[..name.len() - 1]).expect("test attributes are text");
        xattrs.insert(Arc::from(name), Arc::from(value));
    }
    Ok(xattrs)
}

/// What a call stores into a buffer that is large enough for every test.
fn filled(call: impl FnOnce(&mut [u8]) -> isize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    let len = usize::try_from(call(&mut buffer)).map_err(|_| io::Error::last_os_error())?;
    buffer.truncate(len);
    Ok(buffer)
}
