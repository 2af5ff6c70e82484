//! Mount: how the last committed generation is found, and what is made sure of before it is used.

use disk::Disk;
use vfs::Errno;

use super::{
    Cow,
    item::{Item, ItemKind, Items, NAME_BYTES_MAX, Pointer},
    layout::{BLOCKS_FIRST, Superblock},
    memory::{Memory, read_data},
    space,
    tree::Tree,
    variant::{Commit, Flaw},
};
use crate::nodes::Kind;

impl Cow {
    /// Finds the last committed generation, and replays the log that belongs to it.
    pub(super) fn open(&self, disk: &mut Disk) -> Result<Memory, Errno> {
        let superblocks = Superblock::read_all(disk, !self.variant.is(Flaw::SuperUnchecked))?;
        let (newest, older) = superblocks.split_first().ok_or(Errno::EUCLEAN)?;
        // What could not be read may be there all the same: only what was read and is wrong was never written.
        let mut memory = match (self.load(disk, newest), older.first(), self.variant.commit) {
            (Err(Errno::EUCLEAN), Some(older), Commit::Verify) => self.load(disk, older)?,
            (loaded, ..) => loaded?,
        };
        if self.variant.commit == Commit::Verify && !self.variant.is(Flaw::GenerationReused) {
            // A crash may have left nodes of the generation that was under way. If it came again, they would be taken
            // for its own.
            self.skip_generation(&mut memory, disk)?;
        }
        if memory.log_root.is_some() {
            self.replay(&mut memory, disk)?;
        }
        Ok(memory)
    }

    fn load(&self, disk: &Disk, superblock: &Superblock) -> Result<Memory, Errno> {
        let generation_verified = !self.variant.is(Flaw::GenerationUnchecked);
        let files = Tree::read(disk, superblock.files, generation_verified)?;
        let extents = Tree::read(disk, superblock.extents, generation_verified)?;
        let items = files.items();
        self.check_items(&items)?;
        if items.inode(Self::ROOT).is_none_or(|root| root.kind != Kind::Dir) {
            return Err(Errno::EUCLEAN);
        }
        if self.variant.commit == Commit::Verify {
            for extent in items.all(ItemKind::Extent) {
                read_data(disk, Pointer::decode(extent.value), self.data_verified())?;
            }
        }
        Ok(Memory {
            sequence: superblock.sequence,
            generation: superblock.generation,
            used: space::in_use(&extents.items()),
            log_root: superblock.log,
            items,
            files,
            extents,
            ..Memory::default()
        })
    }

    /// Items that the rest of the code could not make sense of.
    pub(super) fn check_items(&self, items: &Items) -> Result<(), Errno> {
        let makes_sense = |item: &Item| match item.key.kind {
            ItemKind::Inode => true,
            ItemKind::Entry => item.key.name(&mut [0; NAME_BYTES_MAX]).is_some(),
            ItemKind::Extent => {
                let block = Pointer::decode(item.value).block.0;
                (BLOCKS_FIRST..self.variant.blocks).contains(&block)
                    && item.key.offset < u64::from(Self::FILE_BLOCKS_MAX)
            }
            ItemKind::NodeBlocks | ItemKind::DataBlocks => false,
        };
        if items.as_slice().iter().all(makes_sense) { Ok(()) } else { Err(Errno::EUCLEAN) }
    }

    pub(super) fn data_verified(&self) -> bool {
        !self.variant.is(Flaw::DataUnchecked)
    }
}
