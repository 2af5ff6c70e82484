//! Contents: reading, writing by every way, resizing.

use std::ops::Range;

use super::{
    Reference,
    open::{readable, writable},
    permission::Access,
    resolve::Follow,
    signed,
};
use crate::{Contents, Data, Errno, File, NodeId, NodeKind, OpenFile, OpenFlags, Outcome, Value, WriteAt, WriteVia};

/// The most that one read or write moves, as in Linux.
const TRANSFER_MAX: u64 = 0x7fff_f000;

impl Reference {
    pub(super) fn read(&mut self, file: &File, offset: u64, len: u64) -> Outcome {
        let file = self.file_at(file, OpenFlags::RDONLY, offset)?;
        if !readable(file) {
            return Err(Errno::EBADF);
        }
        check_range(offset, len)?;
        let NodeKind::File(bytes) = &self.get(file.node).kind else { return Err(Errno::EISDIR) };
        let size = bytes.len() as u64;
        if file.flags.contains(OpenFlags::DIRECT) && offset < size && !self.aligned(offset | len) {
            return Err(Errno::EINVAL);
        }
        let end = (offset + len.min(TRANSFER_MAX)).min(size);
        Ok(Value::Bytes(bytes[range(offset.min(end), end)].to_vec()))
    }

    pub(super) fn write(&mut self, file: &File, at: WriteAt, data: Data, via: WriteVia) -> Outcome {
        if via == WriteVia::Mmap {
            return self.write_mapped(file, at, data);
        }
        let position = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => 0,
        };
        let file = self.file_at(file, OpenFlags::WRONLY, position)?;
        if !writable(file) {
            return Err(Errno::EBADF);
        }
        check_range(position, data.len)?;
        if data.len == 0 {
            return Ok(Value::Count(0));
        }
        let size = self.size(file.node);
        let appends = at == WriteAt::End || file.flags.contains(OpenFlags::APPEND);
        let start = if appends { size } else { position };
        if start >= self.config.file_size_max {
            return Err(Errno::EFBIG);
        }
        let direct = via == WriteVia::Direct || file.flags.contains(OpenFlags::DIRECT);
        if direct && !self.aligned(start | data.len) {
            return Err(Errno::EINVAL);
        }
        let end = start + data.len.min(TRANSFER_MAX).min(self.config.file_size_max - start);
        let end = end.min(size.saturating_add(self.free()).max(start));
        if end == start {
            return Err(Errno::ENOSPC);
        }
        self.store(file.node, start, end, data.fill);
        self.drop_set_id(file.node);
        Ok(Value::Count(end - start))
    }

    fn write_mapped(&mut self, file: &File, at: WriteAt, data: Data) -> Outcome {
        let file = self.file(file, OpenFlags::RDWR)?;
        let offset = match at {
            WriteAt::Offset(offset) => offset,
            WriteAt::End => self.size(file.node),
        };
        let end = self.may_map(file, offset, data.len, Access::READ.and(Access::WRITE))?;
        let size = self.size(file.node);
        if end > size {
            self.has_room(end - size)?;
            self.resize(file.node, end);
            self.drop_set_id(file.node);
        }
        self.store(file.node, offset, end, data.fill);
        Ok(Value::Count(data.len))
    }

    pub(super) fn msync(&mut self, file: &File, offset: u64, len: u64) -> Outcome {
        let file = self.file(file, OpenFlags::RDWR)?;
        self.may_map(file, offset, len, Access::READ)?;
        Ok(Value::Done)
    }

    /// Whether `mmap` would take this shared range, and where it ends.
    fn may_map(&self, file: OpenFile, offset: u64, len: u64, access: Access) -> Result<u64, Errno> {
        if len == 0 {
            return Err(Errno::EINVAL);
        }
        let end = offset.checked_add(len).filter(|end| *end <= self.config.file_size_max).ok_or(Errno::EOVERFLOW)?;
        if !readable(file) || access.includes(Access::WRITE) && !writable(file) {
            return Err(Errno::EACCES);
        }
        if self.get(file.node).is_dir() { Err(Errno::ENODEV) } else { Ok(end) }
    }

    pub(super) fn truncate(&mut self, file: &File, size: u64) -> Outcome {
        signed(size)?;
        let id = match file {
            File::Path(path) => {
                let id = self.resolve(path, Follow::Yes)?;
                let node = self.get(id);
                if node.is_dir() {
                    return Err(Errno::EISDIR);
                }
                self.may(node, Access::WRITE)?;
                id
            }
            File::Fd(fd) => {
                let file = *self.open.get(fd).ok_or(Errno::EBADF)?;
                if !writable(file) {
                    return Err(Errno::EINVAL);
                }
                file.node
            }
        };
        self.may_reach(id, size)?;
        self.resize(id, size);
        self.drop_set_id(id);
        Ok(Value::Done)
    }

    /// Whether a file may be extended to this size.
    pub(super) fn may_reach(&self, id: NodeId, size: u64) -> Result<(), Errno> {
        match size.saturating_sub(self.size(id)) {
            0 => Ok(()),
            _ if size > self.config.file_size_max => Err(Errno::EFBIG),
            growth => self.has_room(growth),
        }
    }

    fn has_room(&self, growth: u64) -> Result<(), Errno> {
        if growth > self.free() { Err(Errno::ENOSPC) } else { Ok(()) }
    }

    fn aligned(&self, number: u64) -> bool {
        number.is_multiple_of(self.config.sector_size)
    }

    /// The file of an op that names a position. `pread` and `pwrite` look at the position before the slot, but an op
    /// on a path has opened it by then.
    fn file_at(&mut self, file: &File, flags: OpenFlags, position: u64) -> Result<OpenFile, Errno> {
        if matches!(file, File::Fd(_)) {
            signed(position)?;
        }
        let file = self.file(file, flags)?;
        signed(position)?;
        Ok(file)
    }

    pub(super) fn size(&self, id: NodeId) -> u64 {
        match &self.get(id).kind {
            NodeKind::File(contents) => contents.size(),
            NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => 0,
        }
    }

    /// Sets a range of bytes, extending the file with zeros where needed.
    pub(super) fn store(&mut self, id: NodeId, start: u64, end: u64, fill: u8) {
        self.contents_of(id).fill(start..end, fill);
    }

    pub(super) fn resize(&mut self, id: NodeId, size: u64) {
        if size != self.size(id) {
            self.contents_of(id).resize(size);
        }
    }

    pub(super) fn contents_of(&mut self, id: NodeId) -> &mut Contents {
        match &mut self.get_mut(id).kind {
            NodeKind::File(contents) => contents,
            NodeKind::Dir(_) | NodeKind::Symlink(_) | NodeKind::Special(_) => {
                unreachable!("only files are opened for writing")
            }
        }
    }
}

/// Whether `pread` and `pwrite` take the range: it must not wrap around.
fn check_range(offset: u64, len: u64) -> Result<(), Errno> {
    offset.checked_add(len).ok_or(Errno::EINVAL).and_then(signed).map(|_| ())
}

/// A range of a file as indices. Files fit into memory, so their sizes do.
pub(super) fn range(start: u64, end: u64) -> Range<usize> {
    let index = |number| usize::try_from(number).expect("sizes are limited to what memory holds");
    index(start)..index(end)
}
