//! Files: which block holds which bytes. Blocks are never changed in place, and bytes behind the end are zero.

use disk::Disk;
use vfs::{Data, Errno};

use super::{
    Memory,
    clean::Room,
    codec::{CHILDREN, DIRECT, INDEX, Nid, Node, Role, Summary},
    layout::{Addr, BLOCK},
    log::{Fs, Run, Stream, read_block},
    variant::Flaw,
};

/// Blocks of the largest file: those in its inode and those in its direct nodes.
pub(super) const FILE_BLOCKS: usize = INDEX + CHILDREN * DIRECT;
/// Bytes of the largest file.
pub(super) const FILE_BYTES: u64 = (FILE_BLOCKS * BLOCK) as u64;

/// Which node has the address of a block of a file: the inode, or one of its direct nodes.
#[derive(Clone, Copy)]
enum Holder {
    Inode { at: usize },
    Child { which: usize, at: usize },
}

impl Holder {
    fn of(number: usize) -> Self {
        match number.checked_sub(INDEX) {
            None => Self::Inode { at: number },
            Some(rest) => Self::Child { which: rest / DIRECT, at: rest % DIRECT },
        }
    }
}

impl Memory {
    /// Where a block of a file lies.
    fn find(&self, ino: Nid, number: usize) -> Addr {
        let node = self.node(ino);
        match Holder::of(number) {
            Holder::Inode { at } => node.index[at],
            Holder::Child { which, at } => match node.children[which] {
                child if child.exists() => self.node(child).index[at],
                _ => Addr::NONE,
            },
        }
    }

    pub(super) fn content(&self, disk: &Disk, ino: Nid) -> Result<Vec<u8>, Errno> {
        let size = usize::from(self.node(ino).size);
        let mut bytes = vec![0; size];
        for (number, part) in bytes.chunks_mut(BLOCK).enumerate().take(FILE_BLOCKS) {
            let addr = self.find(ino, number);
            if addr != Addr::NONE {
                part.copy_from_slice(&read_block(disk, addr.block())?[..part.len()]);
            }
        }
        Ok(bytes)
    }
}

impl Fs<'_> {
    pub fn write(&mut self, ino: Nid, offset: u64, data: Data) -> Result<(), Errno> {
        let end = offset.checked_add(data.len).filter(|end| *end <= FILE_BYTES).ok_or(Errno::EFBIG)?;
        let narrow = |bytes: u64| usize::try_from(bytes).map_err(|_| Errno::EFBIG);
        let (start, end) = (narrow(offset)?, narrow(end)?);
        let blocks = start / BLOCK..end.div_ceil(BLOCK);
        self.f2fs.admit(self.memory, u32::try_from(blocks.len()).unwrap_or(u32::MAX), 0, Room::Ordinary)?;
        self.allocate()?;
        let mut run = Run::default();
        for number in blocks {
            let first = number * BLOCK;
            let (from, to) = (start.max(first) - first, end.min(first + BLOCK) - first);
            let mut content = self.old_content(ino, number, to - from)?;
            content[from..to].fill(data.fill);
            self.put_block(ino, number, &content, &mut run)?;
        }
        run.end(self.disk)?;
        let node = self.memory.node_mut(ino);
        node.size = node.size.max(u16::try_from(end).unwrap_or(u16::MAX));
        Ok(())
    }

    /// What a block holds, unless all of it is about to be replaced.
    fn old_content(&self, ino: Nid, number: usize, replaced: usize) -> Result<[u8; BLOCK], Errno> {
        match self.memory.find(ino, number) {
            addr if addr != Addr::NONE && replaced < BLOCK => read_block(self.disk, addr.block()).copied(),
            _ => Ok([0; BLOCK]),
        }
    }

    /// Gives a file a new version of a block.
    fn put_block(&mut self, ino: Nid, number: usize, content: &[u8; BLOCK], run: &mut Run) -> Result<(), Errno> {
        let (nid, at) = match Holder::of(number) {
            Holder::Inode { at } => (ino, at),
            Holder::Child { which, at } => (self.direct_node(ino, which)?, at),
        };
        let addr = self.take(Stream::Data, Summary { nid, at: at.to_le_bytes()[0] })?;
        run.put(self.disk, addr.block(), content)?;
        let old = std::mem::replace(&mut self.memory.node_mut(nid).index[at], addr);
        self.kill(old);
        Ok(())
    }

    fn direct_node(&mut self, ino: Nid, which: usize) -> Result<Nid, Errno> {
        let known = self.memory.node(ino).children[which];
        if known.exists() {
            return Ok(known);
        }
        let nid = self.new_node(Node { role: Role::Direct, owner: ino, ..Node::default() })?;
        self.memory.node_mut(ino).children[which] = nid;
        Ok(nid)
    }

    pub fn truncate(&mut self, ino: Nid, size: u64) -> Result<(), Errno> {
        if size > FILE_BYTES {
            return Err(Errno::EFBIG);
        }
        let size = u16::try_from(size).map_err(|_| Errno::EFBIG)?;
        let (kept, part) = (usize::from(size).div_ceil(BLOCK), usize::from(size) % BLOCK);
        let cut = size < self.memory.node(ino).size && part > 0;
        self.f2fs.admit(self.memory, u32::from(cut), 0, Room::Releasing)?;
        if let Err(errno) = self.allocate() {
            return if self.f2fs.has(Flaw::MemoryUnchecked) { Ok(()) } else { Err(errno) };
        }
        if cut && self.memory.find(ino, kept - 1) != Addr::NONE {
            let mut content = self.old_content(ino, kept - 1, part)?;
            content[part..].fill(0);
            let mut run = Run::default();
            self.put_block(ino, kept - 1, &content, &mut run)?;
            run.end(self.disk)?;
        }
        self.release_from(ino, kept);
        self.memory.node_mut(ino).size = size;
        Ok(())
    }

    /// Gives up the blocks of a file from this one on.
    fn release_from(&mut self, ino: Nid, first: usize) {
        self.release_index(ino, first);
        for which in 0..CHILDREN {
            let child = self.memory.node(ino).children[which];
            let before = INDEX + which * DIRECT;
            if !self.memory.is(child, Role::Direct) {
                continue;
            }
            if first > before {
                self.release_index(child, first - before);
            } else {
                self.memory.node_mut(ino).children[which] = Nid::NONE;
                self.release_node(child);
            }
        }
    }

    fn release_index(&mut self, nid: Nid, first: usize) {
        for at in first..self.memory.node(nid).room() {
            let addr = self.memory.node(nid).index[at];
            if addr != Addr::NONE {
                self.memory.node_mut(nid).index[at] = Addr::NONE;
                self.kill(addr);
            }
        }
    }

    /// Gives up a node with its blocks.
    pub fn release_node(&mut self, nid: Nid) {
        if matches!(self.memory.node(nid).role, Role::File) {
            self.release_from(nid, 0);
        } else {
            self.release_index(nid, 0);
        }
        let addr = std::mem::take(&mut self.memory.nat[nid.index()]);
        if addr != Addr::NONE {
            self.kill(addr);
            self.memory.dirty_nat |= nid.bit();
        }
        self.memory.nodes[nid.index()] = Node::default();
        self.memory.dirty_nodes &= !nid.bit();
        if self.f2fs.has(Flaw::NidImmediate) {
            self.memory.free_nids |= nid.bit();
        }
    }

    /// Gives a node the first free number. A number is free again after the checkpoint that forgets the node.
    pub fn new_node(&mut self, node: Node) -> Result<Nid, Errno> {
        let nid = Nid(self.memory.free_nids.trailing_zeros().to_le_bytes()[0]);
        if self.memory.free_nids == 0 {
            return Err(Errno::ENOSPC);
        }
        self.allocate()?;
        self.memory.free_nids &= !nid.bit();
        *self.memory.node_mut(nid) = node;
        Ok(nid)
    }
}
