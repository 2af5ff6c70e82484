//! One op, with the checks that Linux makes before it asks the file system, in the order in which it makes them.

use disk::Disk;
use vfs::{Errno, File, Op, Outcome, Path, Rename, Value, WriteAt, WriteVia};

use super::{
    DIR_MODE, FILE_MODE, Ino, Kind, Nodes, Renaming, Stat,
    names::{node, place},
};

/// A file system that an op is done to.
pub(super) struct Volume<'a, N: Nodes> {
    pub nodes: &'a N,
    pub memory: &'a mut N::Memory,
    pub disk: &'a mut Disk,
}

impl<N: Nodes> Volume<'_, N> {
    pub fn run(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Create { path, mode: FILE_MODE } => self.make(path, Kind::File)?,
            Op::Mkdir { path, mode: DIR_MODE } => self.make(path, Kind::Dir)?,
            Op::Unlink { path } => self.unlink(path)?,
            Op::Rmdir { path } => self.rmdir(path)?,
            Op::Rename { from, to, how: Rename::Replace } => self.rename(from, to)?,
            Op::Rename { from, to, how: Rename::Exchange } => self.exchange(from, to)?,
            Op::Chmod { path, mode: mode @ 0..=0o777 } => {
                let ino = node(self.nodes, self.memory, self.disk, path)?;
                let mode = u16::try_from(*mode).map_err(|_| Errno::EINVAL)?;
                self.nodes.chmod(self.memory, self.disk, ino, mode)?;
            }
            Op::Link { from, to } => self.link(from, to)?,
            Op::Write { file: File::Path(path), at, data, via: WriteVia::Buffered } => {
                let (ino, stat) = self.file(path)?;
                let (position, offset) = match at {
                    WriteAt::Offset(offset) => (*offset, *offset),
                    WriteAt::End => (0, stat.size),
                };
                check_signed(position.checked_add(data.len))?;
                if data.len > 0 {
                    self.nodes.write(self.memory, self.disk, ino, offset, *data)?;
                }
                return Ok(Value::Count(data.len));
            }
            Op::Read { file: File::Path(path), offset, len } => return self.read(path, *offset, *len),
            Op::Truncate { file: File::Path(path), size } => {
                check_signed(Some(*size))?;
                let (ino, _) = self.file(path)?;
                self.nodes.truncate(self.memory, self.disk, ino, *size)?;
            }
            Op::Fsync { file: File::Path(path) } | Op::Fdatasync { file: File::Path(path) } => {
                let ino = node(self.nodes, self.memory, self.disk, path)?;
                self.nodes.fsync(self.memory, self.disk, ino)?;
            }
            Op::Sync | Op::Syncfs => self.nodes.sync(self.memory, self.disk)?,
            _ => return Err(Errno::EOPNOTSUPP),
        }
        Ok(Value::Done)
    }

    fn stat(&self, ino: Ino) -> Result<Stat, Errno> {
        self.nodes.stat(self.memory, self.disk, ino)
    }

    /// A regular file that is opened for writing.
    fn file(&self, path: &Path) -> Result<(Ino, Stat), Errno> {
        let ino = node(self.nodes, self.memory, self.disk, path)?;
        let stat = self.stat(ino)?;
        if stat.kind == Kind::Dir { Err(Errno::EISDIR) } else { Ok((ino, stat)) }
    }

    fn make(&mut self, path: &Path, kind: Kind) -> Result<(), Errno> {
        match place(self.nodes, self.memory, self.disk, path)? {
            Some(place) if place.found.is_none() => self.nodes.make(self.memory, self.disk, place.at, kind),
            _ => Err(Errno::EEXIST),
        }
    }

    fn unlink(&mut self, path: &Path) -> Result<(), Errno> {
        let place = place(self.nodes, self.memory, self.disk, path)?.ok_or(Errno::EISDIR)?;
        let ino = place.found.ok_or(Errno::ENOENT)?;
        if self.stat(ino)?.kind == Kind::Dir {
            return Err(Errno::EISDIR);
        }
        self.nodes.remove(self.memory, self.disk, place.at, ino)
    }

    fn rmdir(&mut self, path: &Path) -> Result<(), Errno> {
        let place = place(self.nodes, self.memory, self.disk, path)?.ok_or(Errno::EBUSY)?;
        let ino = place.found.ok_or(Errno::ENOENT)?;
        if self.stat(ino)?.kind != Kind::Dir {
            return Err(Errno::ENOTDIR);
        }
        if !self.is_empty(ino)? {
            return Err(Errno::ENOTEMPTY);
        }
        self.nodes.remove(self.memory, self.disk, place.at, ino)
    }

    fn is_empty(&self, dir: Ino) -> Result<bool, Errno> {
        let mut empty = true;
        self.nodes.entries(self.memory, self.disk, dir, &mut |_, _| empty = false)?;
        Ok(empty)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (nodes, memory, disk) = (self.nodes, &*self.memory, &*self.disk);
        let old = place(nodes, memory, disk, from)?.ok_or(Errno::EBUSY)?;
        let new = place(nodes, memory, disk, to)?.ok_or(Errno::EBUSY)?;
        let ino = old.found.ok_or(Errno::ENOENT)?;
        if new.dirs.contains(&ino) {
            return Err(Errno::EINVAL);
        }
        if new.found.is_some_and(|replaced| old.dirs.contains(&replaced)) {
            return Err(Errno::ENOTEMPTY);
        }
        if new.found == Some(ino) {
            return Ok(());
        }
        let kind = self.stat(ino)?.kind;
        if let Some(replaced) = new.found {
            match (kind, self.stat(replaced)?.kind) {
                (Kind::Dir, Kind::File) => return Err(Errno::ENOTDIR),
                (Kind::File, Kind::Dir) => return Err(Errno::EISDIR),
                (Kind::Dir, Kind::Dir) if !self.is_empty(replaced)? => return Err(Errno::ENOTEMPTY),
                _ => {}
            }
        }
        let renaming = Renaming { from: old.at, to: new.at, ino, kind, replaced: new.found };
        self.nodes.rename(self.memory, self.disk, renaming)
    }

    fn exchange(&mut self, one: &Path, two: &Path) -> Result<(), Errno> {
        let (nodes, memory, disk) = (self.nodes, &*self.memory, &*self.disk);
        let one = place(nodes, memory, disk, one)?.ok_or(Errno::EBUSY)?;
        let two = place(nodes, memory, disk, two)?.ok_or(Errno::EBUSY)?;
        let [first, second] = [one.found.ok_or(Errno::ENOENT)?, two.found.ok_or(Errno::ENOENT)?];
        if two.dirs.contains(&first) || one.dirs.contains(&second) {
            return Err(Errno::EINVAL);
        }
        if first == second {
            return Ok(());
        }
        self.nodes.exchange(self.memory, self.disk, [(one.at, first), (two.at, second)])
    }

    fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (nodes, memory, disk) = (self.nodes, &*self.memory, &*self.disk);
        let ino = node(nodes, memory, disk, from)?;
        let place = place(nodes, memory, disk, to)?.ok_or(Errno::EEXIST)?;
        if place.found.is_some() {
            return Err(Errno::EEXIST);
        }
        if self.stat(ino)?.kind == Kind::Dir {
            return Err(Errno::EPERM);
        }
        self.nodes.link(self.memory, self.disk, ino, place.at)
    }

    fn read(&self, path: &Path, offset: u64, len: u64) -> Outcome {
        let ino = node(self.nodes, self.memory, self.disk, path)?;
        check_signed(offset.checked_add(len))?;
        if self.stat(ino)?.kind == Kind::Dir {
            return Err(Errno::EISDIR);
        }
        let bytes = self.nodes.read(self.memory, self.disk, ino)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)).min(bytes.len());
        Ok(Value::Bytes(bytes[start..end].to_vec()))
    }
}

/// Linux takes offsets and sizes as signed numbers; `None` is one that does not even fit without a sign.
fn check_signed(number: Option<u64>) -> Result<(), Errno> {
    number.and_then(|number| i64::try_from(number).ok()).map_or(Err(Errno::EINVAL), |_| Ok(()))
}
