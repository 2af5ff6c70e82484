//! Following paths. There are no symlinks and no permissions here, so what can go wrong is short.

use disk::Disk;
use smallvec::SmallVec;
use vfs::{Errno, Path};

use super::{Ino, Kind, Name, Nodes};

/// Where a path leads: its last name, and what has that name.
pub(super) struct Place<'a> {
    pub at: Name<'a>,
    pub found: Option<Ino>,
    /// The directories on the way, from the root to the one that holds the name.
    pub dirs: SmallVec<[Ino; 4]>,
}

/// The components of a path. Dots and slashes at the end would need rules that no model has.
fn components(path: &Path, longest: usize) -> Result<SmallVec<[&str; 4]>, Errno> {
    let text = path.as_str();
    if text.len() > 1 && text.ends_with('/') {
        return Err(Errno::EOPNOTSUPP);
    }
    let names: SmallVec<[&str; 4]> = text.split('/').filter(|name| !name.is_empty()).collect();
    if names.iter().any(|name| matches!(*name, "." | "..")) {
        return Err(Errno::EOPNOTSUPP);
    }
    if names.iter().any(|name| name.len() > longest) {
        return Err(Errno::ENAMETOOLONG);
    }
    Ok(names)
}

pub(super) fn lookup<N: Nodes>(
    nodes: &N,
    memory: &N::Memory,
    disk: &Disk,
    dir: Ino,
    name: &str,
) -> Result<Option<Ino>, Errno> {
    if nodes.stat(memory, disk, dir)?.kind != Kind::Dir {
        return Err(Errno::ENOTDIR);
    }
    let mut found = None;
    nodes.entries(memory, disk, dir, &mut |entry, ino| {
        if entry == name {
            found = Some(ino);
        }
    })?;
    Ok(found)
}

/// Follows a path to its last name; `None` is the root, which has none.
pub(super) fn place<'a, N: Nodes>(
    nodes: &N,
    memory: &N::Memory,
    disk: &Disk,
    path: &'a Path,
) -> Result<Option<Place<'a>>, Errno> {
    let names = components(path, nodes.name_bytes_max())?;
    let Some((name, above)) = names.split_last() else { return Ok(None) };
    let mut dirs = SmallVec::from_slice(&[nodes.root()]);
    let mut dir = nodes.root();
    for component in above {
        dir = lookup(nodes, memory, disk, dir, component)?.ok_or(Errno::ENOENT)?;
        dirs.push(dir);
    }
    let found = lookup(nodes, memory, disk, dir, name)?;
    Ok(Some(Place { at: Name { dir, name }, found, dirs }))
}

/// The node that a path names.
pub(super) fn node<N: Nodes>(nodes: &N, memory: &N::Memory, disk: &Disk, path: &Path) -> Result<Ino, Errno> {
    match place(nodes, memory, disk, path)? {
        None => Ok(nodes.root()),
        Some(place) => place.found.ok_or(Errno::ENOENT),
    }
}
