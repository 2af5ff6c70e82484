//! Commit: how a generation becomes durable.
//!
//! A commit writes the data and the changed nodes to free blocks, then a superblock over the older of the two. Until
//! the superblock is durable, the generation before is untouched; from then on, its blocks that the new one does
//! not share are free.

use disk::{Block, Disk, Image};
use vfs::Errno;

use super::{
    Cow,
    item::{Inode, Item, Items, Key, Pointer},
    layout::{BLOCK_BYTES, BLOCKS_FIRST, SUPER_BYTES, Superblock, checksum, geometry},
    memory::Memory,
    space::{self, Blocks},
    tree::Tree,
    variant::{Commit, Flaw},
};
use crate::nodes::{Kind, io};

impl Cow {
    pub(super) fn fresh(&self) -> Image {
        let mut disk = Disk::new(Image::zeroed(geometry(self.variant.blocks)));
        let root = Item { key: Key::inode(Self::ROOT), value: Inode::new(Kind::Dir).encode() };
        let mut memory = Memory { items: vec![root].into(), ..Memory::default() };
        memory.used = (0..BLOCKS_FIRST).map(Block).collect();
        let made = self.commit(&mut memory, &mut disk);
        debug_assert_eq!(made, Ok(()), "the smallest disk has room for the trees of an empty file system");
        disk.image().clone()
    }

    /// Makes everything durable.
    pub(super) fn commit(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        self.give_up_failed(memory, disk)?;
        if memory.is_clean() {
            return Ok(());
        }
        if self.variant.is(Flaw::ReuseFreed) {
            Self::free_early(memory)?;
        }
        self.write_pages(memory, disk, |_| true)?;
        let generation = memory.next_generation();
        let files = memory.files.next(memory.items.clone(), generation, &mut |before| match before {
            Some(block) if self.variant.is(Flaw::Overwrite) => Ok(block),
            _ => self.allocate(&mut memory.used, disk),
        })?;
        let extents = self.next_extents(memory, disk, &files, generation)?;
        memory.failed = true;
        files.write(disk, generation)?;
        extents.write(disk, generation)?;
        if self.variant.commit == Commit::Barrier && !self.variant.is(Flaw::NoBarrier) {
            disk.flush().map_err(io)?;
        }
        let log_root = memory.log_root.filter(|_| self.variant.is(Flaw::StaleLog));
        let mut next = Memory {
            sequence: memory.sequence,
            generation,
            log_root,
            items: files.items(),
            used: space::in_use(&extents.items()),
            files,
            extents,
            ..Memory::default()
        };
        match self.variant.commit {
            Commit::Barrier => self.write_superblock(&mut next, disk)?,
            Commit::Verify => Self::flush_with_superblock(&mut next, disk)?,
        }
        *memory = next;
        Ok(())
    }

    /// Makes sure that a generation that was tried and failed is not found any more, and that its number does not come
    /// again.
    pub(super) fn give_up_failed(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        if memory.failed { self.skip_generation(memory, disk) } else { Ok(()) }
    }

    /// Writes a superblock that leads where the last one led and takes the number of the generation that was begun
    /// after it. What is left of that one is then older than everything to come, and cannot be taken for a part of it.
    pub(super) fn skip_generation(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        let mut next = Memory { generation: memory.next_generation(), failed: false, ..memory.clone() };
        self.write_superblock(&mut next, disk)?;
        *memory = next;
        Ok(())
    }

    /// Writes the next superblock, sector by sector, for what the memory calls committed and logged.
    pub(super) fn write_superblock(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        let (place, bytes) = Self::next_superblock(memory);
        for (block, sector) in (place.0..).map(Block).zip(bytes.chunks_exact(BLOCK_BYTES)) {
            let is_late = self.variant.is(Flaw::SuperNotFlushed);
            let written = if is_late { disk.write(block, sector) } else { disk.write_fua(block, sector) };
            written.map_err(io)?;
        }
        memory.sequence = memory.next_sequence();
        Ok(())
    }

    /// Writes the next superblock and flushes it together with everything that it leads to.
    fn flush_with_superblock(memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        let (place, bytes) = Self::next_superblock(memory);
        disk.write(place, &bytes).map_err(io)?;
        disk.flush().map_err(io)?;
        memory.sequence = memory.next_sequence();
        Ok(())
    }

    /// One that fails has not counted: the next goes to the same place, and never over the one that is in force.
    fn next_superblock(memory: &Memory) -> (Block, [u8; SUPER_BYTES]) {
        let superblock = Superblock {
            sequence: memory.next_sequence(),
            generation: memory.generation,
            files: memory.files.root(),
            extents: memory.extents.root(),
            log: memory.log_root,
        };
        (Superblock::place(superblock.sequence), superblock.encode())
    }

    /// Gives blocks to the data in memory of some files, and writes it there.
    pub(super) fn write_pages(
        &self,
        memory: &mut Memory,
        disk: &mut Disk,
        which: impl Fn(&Key) -> bool,
    ) -> Result<(), Errno> {
        for (key, page) in memory.pages.clone().iter().filter(|(key, _)| which(key)) {
            let block = self.allocate(&mut memory.used, disk)?;
            disk.write(block, &**page).map_err(io)?;
            memory.items.put(*key, Pointer { block, check: checksum(&**page, block) }.encode());
        }
        memory.forget_pages(which);
        Ok(())
    }

    /// The extent tree is written as a whole: it lists its own nodes too, so that which of them change could not be
    /// known before it is done.
    fn next_extents(&self, memory: &mut Memory, disk: &Disk, files: &Tree, generation: u32) -> Result<Tree, Errno> {
        let mut own = Vec::new();
        for _ in 0..Self::extent_nodes(self.variant.blocks, generation)? {
            own.push(self.allocate(&mut memory.used, disk)?);
        }
        let nodes: Blocks = files.blocks().chain(own.iter().copied()).chain((0..BLOCKS_FIRST).map(Block)).collect();
        let items = space::items(nodes, memory.data_blocks().collect(), self.variant.blocks);
        let mut own = own.into_iter();
        Tree::default().next(items, generation, &mut |_| own.next().ok_or(Errno::ENOSPC))
    }

    fn extent_nodes(blocks: u32, generation: u32) -> Result<usize, Errno> {
        count_nodes(&Tree::default(), space::items(Blocks::default(), Blocks::default(), blocks), generation)
    }

    /// How many blocks a commit would take if the files had these items, and all data in memory were theirs.
    pub(super) fn commit_needs(&self, memory: &Memory, items: Items) -> Result<usize, Errno> {
        let generation = memory.next_generation();
        let nodes = count_nodes(&memory.files, items, generation)?;
        Ok(memory.pages.len() + nodes + Self::extent_nodes(self.variant.blocks, generation)?)
    }

    /// The flaw: only what the next generation will share is kept.
    fn free_early(memory: &mut Memory) -> Result<(), Errno> {
        let generation = memory.next_generation();
        let planned = memory.files.next(memory.items.clone(), generation, &mut |_| Ok(Pointer::NOWHERE.block))?;
        let superblocks = (0..BLOCKS_FIRST).map(Block);
        memory.used = superblocks.chain(planned.blocks_before(generation)).chain(memory.data_blocks()).collect();
        Ok(())
    }

    /// A free block, and a buffer for what goes there.
    pub(super) fn allocate(&self, used: &mut Blocks, disk: &Disk) -> Result<Block, Errno> {
        disk.allocate().map_err(io)?;
        let block = used.first_free(self.variant.blocks).ok_or(Errno::ENOSPC)?;
        used.insert(block);
        Ok(block)
    }
}

/// How many nodes the next version of a tree writes.
pub(super) fn count_nodes(tree: &Tree, items: Items, generation: u32) -> Result<usize, Errno> {
    let mut count = 0;
    tree.next(items, generation, &mut |_| {
        count += 1;
        Ok(Pointer::NOWHERE.block)
    })?;
    Ok(count)
}
