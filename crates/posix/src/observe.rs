//! The tree below the root directory of the calling thread, in as few system calls as it takes: in a guest each costs
//! as much as copying a page a hundred times.
//!
//! What is observed may be broken: a directory that contains itself is entered once, a name that is not text is
//! spelled out, and what no op can have made is an error.

use std::{
    collections::BTreeMap,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fgetxattr, flistxattr, fstat, lgetxattr, llistxattr,
        openat, readlinkat, statat,
    },
    io,
};
use vfs::{Node, NodeId, NodeKind, Op, Tree};

use crate::errno;

/// A name in the root that is no part of what a user sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The name; one that ends with `*` stands for all that begin so, however their letters are written.
    pub name: &'static str,
    /// Why it does not count.
    pub reason: &'static str,
}

/// What mkfs of the ext family leaves in the root, with its link.
pub const LOST_AND_FOUND: Hidden = Hidden {
    name: "lost+found",
    reason: "made by mkfs and filled by fsck, whose property it is; a file that was moved there is lost to its user",
};

/// What mkfs of nilfs2 leaves in the root.
pub const NILFS: Hidden = Hidden { name: ".nilfs", reason: "made by mkfs, for the tools of nilfs2 to lock" };

/// What fsck of FAT makes in the root of clusters that no file has.
pub const FSCK_REC: Hidden = Hidden {
    name: "FSCK0*",
    reason: "files that fsck.fat makes of lost clusters and names by number, as others put them into lost+found",
};

/// Whether a name in the root is meant by one that is hidden, see [`Hidden::name`].
pub fn is_hidden(hidden: &str, entry: &[u8]) -> bool {
    match hidden.strip_suffix('*') {
        Some(beginning) => {
            entry.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning.as_bytes()))
        }
        None => entry == hidden.as_bytes(),
    }
}

/// The bytes that all files may have together, and the most that one op transfers: a guest of 64 MiB holds them twice
/// when it shows them. A file that claims more is damaged and not read.
pub const FILE_BYTES_MAX: u64 = 1 << 24;
/// The most that Linux allows for a list of names of extended attributes, and for a value.
const XATTR_BYTES_MAX: usize = 1 << 16;
/// Directory entries are fetched by so many bytes.
const ENTRIES_BYTES: usize = 1 << 13;

/// Why there is no tree to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It cannot be read.
    Failed(vfs::Errno),
    /// Two calls contradict each other: in words, how.
    Contradicts(String),
}

impl From<io::Errno> for Unseen {
    fn from(error: io::Errno) -> Self {
        Self::Failed(errno(error))
    }
}

/// What a user sees, without what is hidden in the root ([`is_hidden`]). Identities are given in the order of the walk.
///
/// # Errors
/// The file system cannot be read, contradicts itself, or shows what no op can have made: a device, a pipe, a file of
/// absurd size.
pub fn observe(hidden: &[String]) -> Result<Tree, Unseen> {
    let mut walk = Walk { seen: BTreeMap::new(), nodes: BTreeMap::new(), buffer: vec![0; XATTR_BYTES_MAX] };
    let root = walk.visit_root(hidden)?;
    Ok(Tree { root, nodes: Arc::new(walk.nodes) })
}

/// Opens what an op may have changed and closes it again, as [`observe`] would with all else: at a close, file systems
/// give back what they have reserved, or write what replaces something. They do so for a file that was changed since.
pub(crate) fn open_and_close(op: &Op, hidden: &[String]) {
    let paths = op.paths();
    if paths.is_empty() || op.fd().is_some() {
        // Which file that is, nobody knows by name.
        drop(observe(hidden));
        return;
    }
    for path in paths {
        if let Ok(file) = openat(CWD, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            && let Ok(stat) = fstat(&file)
            && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        {
            drop(contents(&file, &stat));
        }
    }
}

struct Walk {
    seen: BTreeMap<u64, NodeId>,
    nodes: BTreeMap<NodeId, Arc<Node>>,
    buffer: Vec<u8>,
}

impl Walk {
    fn visit_root(&mut self, hidden: &[String]) -> Result<NodeId, Unseen> {
        let root = open(CWD, "/", OFlags::DIRECTORY)?;
        let stat = fstat(&root)?;
        let (id, _) = self.identify(&stat)?;
        let is_hidden = |(entry, _): &(Vec<u8>, FileType)| hidden.iter().any(|hidden| is_hidden(hidden, entry));
        let (left_out, entries): (Vec<_>, Vec<_>) = entries(&root)?.into_iter().partition(is_hidden);
        let mut nlink = link_count(&stat);
        for (entry, listed) in left_out {
            let is_dir = type_of(&root, &entry, listed)? == FileType::Directory;
            nlink = nlink.saturating_sub(u32::from(is_dir));
        }
        let children = self.visit_all(&root, "", entries)?;
        let xattrs = self.xattrs_of_open(&root)?;
        self.add(id, &stat, nlink, NodeKind::Dir(children.into()), xattrs);
        Ok(id)
    }

    fn visit_all(
        &mut self,
        dir: &OwnedFd,
        path: &str,
        entries: Vec<(Vec<u8>, FileType)>,
    ) -> Result<BTreeMap<Arc<str>, NodeId>, Unseen> {
        let mut children = BTreeMap::new();
        for (name, file_type) in entries {
            let child = self.visit(dir, path, &name, file_type)?;
            children.insert(Arc::from(spelled(&name)), child);
        }
        Ok(children)
    }

    fn visit(&mut self, dir: &OwnedFd, parent: &str, name: &[u8], listed: FileType) -> Result<NodeId, Unseen> {
        let looked_up = || statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        let file_type = type_of(dir, name, listed)?;
        let path = || format!("{parent}/{}", String::from_utf8_lossy(name));
        match file_type {
            FileType::Symlink => {
                let stat = looked_up()?;
                agree(file_type, &stat, path)?;
                let (id, known) = self.identify(&stat)?;
                if !known {
                    let target = readlinkat(dir, name, Vec::new())?;
                    let xattrs = self.xattrs_by_path(&path())?;
                    self.add(
                        id,
                        &stat,
                        link_count(&stat),
                        NodeKind::Symlink(spelled(target.as_bytes()).into()),
                        xattrs,
                    );
                }
                Ok(id)
            }
            FileType::RegularFile | FileType::Directory => {
                let opened = open(dir, name, OFlags::empty());
                if opened.is_err() {
                    // What it is may say why.
                    agree(file_type, &looked_up()?, path)?;
                }
                let file = opened?;
                let stat = fstat(&file)?;
                agree(file_type, &stat, path)?;
                let (id, known) = self.identify(&stat)?;
                if !known {
                    let kind = if file_type == FileType::Directory {
                        NodeKind::Dir(self.visit_all(&file, &path(), entries(&file)?)?.into())
                    } else {
                        NodeKind::File(contents(&file, &stat)?.into())
                    };
                    let xattrs = self.xattrs_of_open(&file)?;
                    self.add(id, &stat, link_count(&stat), kind, xattrs);
                }
                Ok(id)
            }
            _ => Err(NOT_MADE_BY_AN_OP.into()),
        }
    }

    /// The identity of an inode, and whether it was visited before.
    fn identify(&mut self, stat: &Stat) -> io::Result<(NodeId, bool)> {
        let next = NodeId(u32::try_from(self.seen.len()).map_err(|_| NOT_MADE_BY_AN_OP)?);
        let id = *self.seen.entry(stat.st_ino).or_insert(next);
        Ok((id, id != next))
    }

    fn add(&mut self, id: NodeId, stat: &Stat, nlink: u32, kind: NodeKind, xattrs: BTreeMap<Arc<str>, Arc<[u8]>>) {
        let node = Node { kind, mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid, nlink, xattrs };
        self.nodes.insert(id, Arc::new(node));
    }

    fn xattrs_of_open(&mut self, file: &OwnedFd) -> io::Result<BTreeMap<Arc<str>, Arc<[u8]>>> {
        self.xattrs(|buffer| flistxattr(file, buffer), |name, buffer| fgetxattr(file, name, buffer))
    }

    fn xattrs_by_path(&mut self, path: &str) -> io::Result<BTreeMap<Arc<str>, Arc<[u8]>>> {
        self.xattrs(|buffer| llistxattr(path, buffer), |name, buffer| lgetxattr(path, name, buffer))
    }

    fn xattrs(
        &mut self,
        list: impl FnOnce(&mut [u8]) -> io::Result<usize>,
        get: impl Fn(&[u8], &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<BTreeMap<Arc<str>, Arc<[u8]>>> {
        let len = match list(&mut self.buffer) {
            Err(io::Errno::OPNOTSUPP) => 0,
            listed => listed?,
        };
        let names = self.buffer[..len].to_vec();
        let mut xattrs = BTreeMap::new();
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let len = get(name, &mut self.buffer)?;
            xattrs.insert(Arc::from(spelled(name)), Arc::from(&self.buffer[..len]));
        }
        Ok(xattrs)
    }
}

/// What an entry is, be it that only the entry itself says so: readdir need not (`DT_UNKNOWN`), and fuse2fs does not.
fn type_of(dir: &OwnedFd, name: &[u8], listed: FileType) -> io::Result<FileType> {
    match listed {
        FileType::Unknown => {
            let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(stat.st_mode))
        }
        known => Ok(known),
    }
}

/// What a directory says that an entry is must be what the entry says of itself.
fn agree(listed: FileType, stat: &Stat, path: impl Fn() -> String) -> Result<(), Unseen> {
    let found = FileType::from_raw_mode(stat.st_mode);
    if found == listed {
        return Ok(());
    }
    let (path, listed, found) = (path(), in_words(listed), in_words(found));
    Err(Unseen::Contradicts(format!("readdir says that {path} is {listed}, stat says that it is {found}")))
}

fn in_words(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symlink",
        _ => "neither file, directory nor symlink",
    }
}

/// "Structure needs cleaning": what file systems say of themselves when they find such a thing.
const NOT_MADE_BY_AN_OP: io::Errno = io::Errno::UCLEAN;

fn open(dir: impl AsFd, name: impl rustix::path::Arg, more: OFlags) -> io::Result<OwnedFd> {
    openat(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | more, Mode::empty())
}

/// The names in a directory, in whatever order it has them.
fn entries(dir: &OwnedFd) -> io::Result<Vec<(Vec<u8>, FileType)>> {
    let mut buffer = [MaybeUninit::uninit(); ENTRIES_BYTES];
    let mut raw = RawDir::new(dir, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            entries.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(entries)
}

fn contents(file: &OwnedFd, stat: &Stat) -> io::Result<Vec<u8>> {
    let size = stat.st_size.cast_unsigned();
    if size > FILE_BYTES_MAX {
        return Err(NOT_MADE_BY_AN_OP);
    }
    // One byte more than the file has: a read that does not fill the buffer has met the end.
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| NOT_MADE_BY_AN_OP)? + 1];
    let mut filled = 0;
    while filled < bytes.len() {
        match io::read(file, &mut bytes[filled..])? {
            0 => break,
            count => filled += count,
        }
        if filled + 1 == bytes.len() {
            break;
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn link_count(stat: &Stat) -> u32 {
    u32::try_from(stat.st_nlink).unwrap_or(u32::MAX)
}

/// Bytes that are not text are spelled in hexadecimal, so that two names never look the same.
fn spelled(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().flat_map(|byte| ['\\', 'x'].into_iter().chain(hexadecimal(*byte))));
    }
    text
}

fn hexadecimal(byte: u8) -> impl Iterator<Item = char> {
    [byte >> 4, byte & 15].into_iter().filter_map(|digit| char::from_digit(digit.into(), 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_hidden() {
        let (lost, rec) = (LOST_AND_FOUND.name, FSCK_REC.name);
        assert!(is_hidden(lost, b"lost+found") && !is_hidden(lost, b"lost"));
        assert!(is_hidden(rec, b"FSCK0000.REC") && is_hidden(rec, b"fsck0001.rec") && !is_hidden(rec, b"FSCK"));
    }

    #[test]
    fn what_readdir_does_not_say_is_asked_of_the_entry() {
        let root = open(CWD, "/", OFlags::DIRECTORY).unwrap();
        assert_eq!(type_of(&root, b"proc", FileType::Unknown), Ok(FileType::Directory));
        assert_eq!(type_of(&root, b"proc", FileType::RegularFile), Ok(FileType::RegularFile), "as it was listed");
        assert!(type_of(&root, b"no such name", FileType::Unknown).is_err());
    }

    #[test]
    fn what_readdir_and_stat_say_must_agree() {
        let stat = statat(CWD, "/", AtFlags::empty()).unwrap();
        assert_eq!(agree(FileType::Directory, &stat, || "/d".to_owned()), Ok(()));
        let words = "readdir says that /d is a file, stat says that it is a directory".to_owned();
        assert_eq!(agree(FileType::RegularFile, &stat, || "/d".to_owned()), Err(Unseen::Contradicts(words)));
    }

    #[test]
    fn names_that_are_not_text_stay_different() {
        assert_eq!(spelled("ä/b".as_bytes()), "ä/b");
        assert_eq!(spelled(b"a\xff\xfeb"), "a\\xff\\xfeb");
        assert_ne!(spelled(b"\xff"), spelled(b"\xfe"));
    }
}
