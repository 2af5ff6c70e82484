//! `fallocate` in its modes. Allocation itself cannot be seen, so a mode is what it does to size and bytes.

use super::{Reference, open::writable, signed};
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
            Fallocate::KeepSize | Fallocate::PunchHole | Fallocate::ZeroRangeKeepSize => {}
            Fallocate::Allocate | Fallocate::ZeroRange => self.may_reach(id, end)?,
            Fallocate::CollapseRange => self.may_collapse(id, offset, end)?,
            Fallocate::InsertRange => self.may_insert(id, offset, len)?,
        }
        self.contents_of(id).allocate(how, offset..end);
        self.drop_set_id(id);
        Ok(Value::Done)
    }

    fn may_collapse(&self, id: NodeId, offset: u64, end: u64) -> Result<(), Errno> {
        if !self.blocks(offset | end) || end >= self.size(id) { Err(Errno::EINVAL) } else { Ok(()) }
    }

    fn may_insert(&self, id: NodeId, offset: u64, len: u64) -> Result<(), Errno> {
        if !self.blocks(offset | len) || offset >= self.size(id) {
            return Err(Errno::EINVAL);
        }
        self.may_reach(id, self.size(id) + len)
    }

    fn blocks(&self, number: u64) -> bool {
        number.is_multiple_of(self.config.block_size)
    }
}
