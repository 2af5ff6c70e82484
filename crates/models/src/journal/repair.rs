//! The repair of damaged metadata: what cannot be is taken away, what follows from the rest is computed anew.
//!
//! Pointers and names are kept where they make sense, the first of two claims to a block wins, nodes without a name go,
//! and link counts and bitmaps are those of what is left. There is no `lost+found`.

use std::collections::BTreeSet;

use disk::{Block, Disk};
use vfs::Errno;

use super::{
    Journal, Memory,
    change::Change,
    fsck::pointers,
    io,
    layout::{
        BLOCK_BITMAP, BLOCK_BYTES, DirEntry, ENTRIES_PER_BLOCK, FILE_BYTES_MAX, INODE_BITMAP, INODES, Inode, NONE,
        ROOT, ZEROS, inode_bit, set_bit,
    },
    volume::read_block,
};
use crate::nodes::{Ino, Kind};

impl Journal {
    /// Repairs an unmounted file system whose log is empty. It can be cut short and done again.
    pub(super) fn repair(self, disk: &mut Disk) -> Result<(), Errno> {
        let mut memory = Memory::new(self.journal_super(disk)?);
        let change = Change { variant: self.variant, memory: &mut memory, disk };
        Repair { change, claimed: BTreeSet::new() }.run()?;
        for (block, content) in memory.running.iter() {
            if read_block(disk, block)? != *content {
                disk.write(block, content).map_err(io)?;
            }
        }
        disk.flush().map_err(io)
    }
}

struct Repair<'a> {
    /// Here a transaction that never goes through the log: its blocks are written home at the end.
    change: Change<'a>,
    claimed: BTreeSet<Block>,
}

impl Repair<'_> {
    fn run(&mut self) -> Result<(), Errno> {
        for ino in (1..=INODES).map(Ino) {
            let inode = self.sound_inode(ino)?;
            self.change.store_inode(ino, inode)?;
        }
        let names = self.sound_names()?;
        let (mut blocks, mut inodes) = (ZEROS, ZEROS);
        for ino in (1..=INODES).map(Ino) {
            let Ok(mut inode) = self.change.volume().inode(ino) else { continue };
            let count = names[inode_bit(ino)];
            if count == 0 && ino != ROOT {
                self.change.store_inode(ino, None)?;
                continue;
            }
            inode.links = if inode.kind == Kind::Dir { 1 } else { count };
            self.change.store_inode(ino, Some(inode))?;
            set_bit(&mut inodes, inode_bit(ino), true);
            let pointers = pointers(&self.change.volume(), inode)?;
            let indices = pointers.into_iter().filter_map(|block| self.change.variant.layout.data_index(block));
            indices.for_each(|index| set_bit(&mut blocks, index, true));
        }
        self.change.put(BLOCK_BITMAP, blocks)?;
        self.change.put(INODE_BITMAP, inodes)
    }

    /// The inode without what cannot be; `None` if nothing is left of it.
    fn sound_inode(&mut self, ino: Ino) -> Result<Option<Inode>, Errno> {
        let table = self.change.volume().block(Inode::home(ino))?;
        let found = Inode::load(&table, ino).ok().flatten();
        let inode = match found {
            Some(inode) if ino != ROOT || inode.kind == Kind::Dir => inode,
            _ if ino == ROOT => Inode::new(Kind::Dir),
            _ => return Ok(None),
        };
        let direct = self.claim(inode.direct);
        let indirect = self.claim(inode.indirect);
        if indirect != NONE {
            let mut list = self.change.volume().block(indirect)?;
            for pointer in &mut list {
                *pointer = super::layout::pointer(self.claim(Block(u32::from(*pointer))));
            }
            self.change.put(indirect, list)?;
        }
        let mut inode = Inode { direct, indirect, ..inode };
        inode.size = inode.size.min(u16::try_from(FILE_BYTES_MAX).unwrap_or(u16::MAX));
        if inode.kind == Kind::Dir {
            self.cut_at_first_hole(&mut inode)?;
        }
        Ok(Some(inode))
    }

    /// The pointer if it leads to a data block that nobody has yet.
    fn claim(&mut self, block: Block) -> Block {
        let is_data = self.change.variant.layout.data_index(block).is_some();
        if is_data && self.claimed.insert(block) { block } else { NONE }
    }

    /// A directory has no holes and ends with a whole block.
    fn cut_at_first_hole(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        let volume = self.change.volume();
        let mut whole = 0;
        while whole < usize::from(inode.size) / BLOCK_BYTES && volume.mapped(*inode, whole)?.is_some() {
            whole += 1;
        }
        inode.size = u16::try_from(whole * BLOCK_BYTES).unwrap_or(u16::MAX);
        if whole == 0 {
            inode.direct = NONE;
        }
        if whole <= 1 {
            inode.indirect = NONE;
        }
        Ok(())
    }

    /// Clears names that cannot be, from the root on, and counts those that are left.
    fn sound_names(&mut self) -> Result<[u8; INODES as usize], Errno> {
        let mut names = [0; INODES as usize];
        let mut waiting = vec![ROOT];
        while let Some(dir) = waiting.pop() {
            let mut seen = BTreeSet::new();
            for block in self.change.volume().dir_blocks(dir)? {
                let content = self.change.volume().block(block)?;
                for slot in 0..ENTRIES_PER_BLOCK {
                    let entry = match DirEntry::load(&content, slot) {
                        Ok(None) => continue,
                        Ok(Some(entry)) if seen.insert(entry.name.to_owned()) => Some(entry),
                        _ => None,
                    };
                    let node =
                        entry.and_then(|entry| Some((entry.ino, self.change.volume().inode(entry.ino).ok()?.kind)));
                    match node {
                        Some((ino, Kind::File)) => names[inode_bit(ino)] += 1,
                        Some((ino, Kind::Dir)) if ino != ROOT && names[inode_bit(ino)] == 0 => {
                            names[inode_bit(ino)] = 1;
                            waiting.push(ino);
                        }
                        _ => self.change.alter(block, |content| DirEntry::store(content, slot, None))?,
                    }
                }
            }
        }
        Ok(names)
    }
}
