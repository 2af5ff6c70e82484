//! `fallocate` in its modes. Allocation itself cannot be seen, so a mode is what it does to size and bytes.

use super::{Reference, data::range, open::writable, signed};
use crate::{Errno, Fallocate, File, NodeId, OpenFlags, Outcome, Value};

impl Reference {
    pub(super) fn fallocate(&mut self, file: &File, how: Fallocate, offset: u64, len: u64) -> Outcome {
        let file = self.file(file, OpenFlags::WRONLY)?;
        signed(offset)?;
        if signed(len)? == 0 {
            return Err(Errno::EINVAL);
        }
        if !writable(file) {
            return Err(Errno::EBADF);
        }
        let end = offset + len;
        if end > self.config.file_size_max {
            return Err(Errno::EFBIG);
        }
        let id = file.node;
        match how {
            Fallocate::KeepSize => {}
            Fallocate::Allocate => self.extend(id, end)?,
            Fallocate::ZeroRange => {
                self.extend(id, end)?;
                self.zero(id, offset, end);
            }
            Fallocate::PunchHole | Fallocate::ZeroRangeKeepSize => self.zero(id, offset, end),
            Fallocate::CollapseRange => self.collapse(id, offset, end)?,
            Fallocate::InsertRange => self.insert(id, offset, len)?,
        }
        self.drop_set_id(id);
        Ok(Value::Done)
    }

    fn extend(&mut self, id: NodeId, end: u64) -> Result<(), Errno> {
        self.may_reach(id, end)?;
        self.resize(id, end.max(self.size(id)));
        Ok(())
    }

    /// Zeros the part of a range that lies within the file.
    fn zero(&mut self, id: NodeId, offset: u64, end: u64) {
        let end = end.min(self.size(id));
        if offset < end {
            self.store(id, offset, end, 0);
        }
    }

    fn collapse(&mut self, id: NodeId, offset: u64, end: u64) -> Result<(), Errno> {
        if !self.blocks(offset | end) || end >= self.size(id) {
            return Err(Errno::EINVAL);
        }
        self.edit(id, |bytes| drop(bytes.drain(range(offset, end))));
        Ok(())
    }

    fn insert(&mut self, id: NodeId, offset: u64, len: u64) -> Result<(), Errno> {
        if !self.blocks(offset | len) || offset >= self.size(id) {
            return Err(Errno::EINVAL);
        }
        let size = self.size(id) + len;
        self.may_reach(id, size)?;
        self.edit(id, |bytes| {
            bytes.resize(range(0, size).end, 0);
            let moved = range(offset, size);
            let distance = range(0, len).end;
            bytes[moved.clone()].rotate_right(distance);
            bytes[moved.start..moved.start + distance].fill(0);
        });
        Ok(())
    }

    fn blocks(&self, number: u64) -> bool {
        number.is_multiple_of(self.config.block_size)
    }
}
