//! link: a file is a chain of blocks through an allocation table, as in FAT.
//!
//! Two inodes a block (length, first block), then the table, one byte a data block (free, end of chain, or the next
//! block), then the data. A file has its first block from the moment it is created.

use check::Task;
use disk::{Block, Disk, Image, IoError};

use super::{
    Writes,
    layout::{BLOCK_BYTES, Inode, Kind, Layout, NOWHERE, Notes, Place, Request, update},
};

/// The layout with a table of chains.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    files: u8,
    blocks: u8,
}

/// What the table says of a block that belongs to no chain.
const FREE: u8 = 0xfe;
/// What it says of the last block of a chain.
const END: u8 = 0xff;

impl Link {
    fn inode_blocks(self) -> u32 {
        u32::from(self.files).div_ceil(2)
    }

    /// One byte a data block, and at least one to spare, as in the study.
    fn table_blocks(self) -> u32 {
        (u32::from(self.blocks) + 1).div_ceil(4)
    }

    fn entry(self, image: &Image, block: u8) -> u8 {
        self.link_place(block).of(image)[0]
    }

    /// The block after this one.
    fn next(self, disk: &Disk, block: u8) -> Option<u8> {
        let place = self.link_place(block);
        let entry = disk.block(place.block)[place.offset];
        (entry < self.blocks).then_some(entry)
    }

    /// The chain from a block on; no longer than there are blocks, even if it is a circle.
    fn chain(self, disk: &Disk, first: u8) -> Vec<u8> {
        let first = (first < self.blocks).then_some(first);
        std::iter::successors(first, |block| self.next(disk, *block)).take(usize::from(self.blocks)).collect()
    }

    fn update_table(self, disk: &mut Disk, change: impl FnOnce(&mut [u8])) -> Result<(), IoError> {
        let table = self.table();
        update(disk, Block(table.start), table.len(), change)
    }

    /// The last block of the file before the op. On a damaged disk there may be none.
    fn last(self, disk: &Disk, notes: Notes) -> Option<usize> {
        let chain = self.chain(disk, notes.first);
        chain.get(usize::from(notes.len).checked_sub(1)?).map(|block| usize::from(*block))
    }
}

impl Layout for Link {
    fn new(files: u8, blocks: u8) -> Self {
        Self { files, blocks }
    }

    fn files(&self) -> u8 {
        self.files
    }

    fn blocks(&self) -> u8 {
        self.blocks
    }

    fn disk_blocks(&self) -> u32 {
        self.inode_blocks() + self.table_blocks() + u32::from(self.blocks)
    }

    fn format(&self, image: &mut Image) {
        for block in 0..self.inode_blocks() {
            image.write(Block(block), &[0, NOWHERE, 0, NOWHERE]).expect("the disk was made to fit");
        }
        for block in self.table() {
            image.write(Block(block), &[FREE; BLOCK_BYTES]).expect("the disk was made to fit");
        }
    }

    fn file_blocks_max(&self) -> u8 {
        self.blocks
    }

    fn blocks_needed(&self, kind: Kind, len: u8) -> usize {
        match kind {
            Kind::Create => 1,
            Kind::Append => usize::from(len > 0),
            Kind::Delete => 0,
        }
    }

    fn program(&self, writes: Writes, task: &Task) -> &'static [Request] {
        use Request::{Chain, Data, Flush, Free, Inode, Mark, MarkAndChain};
        let notes = Notes::of(task);
        let (create, first, more, delete): (&[_], &[_], &[_], &[_]) = match writes {
            Writes::Naive => (&[Inode, Mark], &[Inode, Data], &[Inode, MarkAndChain, Data], &[Free, Inode]),
            Writes::Cached => (
                &[Inode, Mark, Flush],
                &[Inode, Data, Flush],
                &[Inode, MarkAndChain, Data, Flush],
                &[Free, Inode, Flush],
            ),
            Writes::Ordered => (&[Mark, Inode], &[Data, Inode], &[Data, Mark, Chain, Inode], &[Inode, Free]),
            Writes::Barrier => (
                &[Mark, Flush, Inode, Flush],
                &[Data, Flush, Inode, Flush],
                &[Data, Mark, Flush, Chain, Flush, Inode, Flush],
                &[Inode, Flush, Free, Flush],
            ),
        };
        match notes.kind {
            kind if kind == Kind::Create as u8 => create,
            kind if kind == Kind::Delete as u8 => delete,
            _ if notes.len == 0 => first,
            _ => more,
        }
    }

    fn perform(&self, request: Request, disk: &mut Disk, task: &Task) -> Result<(), IoError> {
        let notes = Notes::of(task);
        match request {
            Request::Flush => disk.flush(),
            Request::Data => {
                let block = if notes.len == 0 { notes.first } else { notes.fresh };
                disk.write(self.data_block(block), &[notes.fill; BLOCK_BYTES])
            }
            Request::Inode => {
                let inode = match notes.kind {
                    kind if kind == Kind::Create as u8 => [0, notes.fresh],
                    kind if kind == Kind::Delete as u8 => [0, NOWHERE],
                    _ => [notes.len + 1, notes.first],
                };
                let place = self.inode_place(notes.file);
                update(disk, place.block, 1, |data| data[place.offset..][..2].copy_from_slice(&inode))
            }
            Request::Mark => self.update_table(disk, |table| table[usize::from(notes.fresh)] = END),
            Request::Chain | Request::MarkAndChain => {
                let last = self.last(disk, notes);
                self.update_table(disk, |table| {
                    if request == Request::MarkAndChain {
                        table[usize::from(notes.fresh)] = END;
                    }
                    if let Some(last) = last {
                        table[last] = notes.fresh;
                    }
                })
            }
            Request::Free => {
                let chain = self.chain(disk, notes.first);
                self.update_table(disk, |table| chain.iter().for_each(|block| table[usize::from(*block)] = FREE))
            }
            Request::Indirect | Request::ClearIndirect => Ok(()),
        }
    }

    fn inode(&self, disk: &Disk, file: u8) -> Option<Inode> {
        let place = self.inode_place(file);
        let block = disk.block(place.block);
        let (len, first) = (block[place.offset], block[place.offset + 1]);
        (first != NOWHERE).then_some(Inode { len, pointers: [first, NOWHERE, NOWHERE] })
    }

    fn mapped(&self, disk: &Disk, inode: Inode) -> Vec<Option<u8>> {
        let mut mapped: Vec<_> = self.chain(disk, inode.pointers[0]).into_iter().map(Some).collect();
        mapped.resize(usize::from(inode.len), None);
        mapped
    }

    fn held(&self, disk: &Disk, inode: Inode) -> Vec<Option<u8>> {
        if inode.len > 0 {
            return Vec::new();
        }
        vec![self.chain(disk, inode.pointers[0]).first().copied()]
    }

    fn is_allocated(&self, image: &Image, block: u8) -> bool {
        self.entry(image, block) != FREE
    }

    fn repair(&self, disk: &mut Disk, dead: u16) -> Result<(), IoError> {
        if dead == 0 {
            return Ok(());
        }
        let lasts: Vec<u8> = (0..self.files)
            .filter_map(|file| self.inode(disk, file))
            .filter_map(|inode| {
                let chain = self.chain(disk, inode.pointers[0]);
                chain.get(usize::from(inode.len.max(1)) - 1).copied()
            })
            .collect();
        self.update_table(disk, |table| {
            for block in (0..self.blocks).filter(|block| dead & 1 << block != 0) {
                table[usize::from(block)] = FREE;
            }
            // What a file has beyond its length was dead; its chain ends where its length says.
            lasts.iter().for_each(|last| table[usize::from(*last)] = END);
        })?;
        disk.flush()
    }

    fn data_block(&self, block: u8) -> Block {
        Block(self.inode_blocks() + self.table_blocks() + u32::from(block))
    }

    fn inode_place(&self, file: u8) -> Place {
        Place { block: Block(u32::from(file / 2)), offset: usize::from(file % 2) * 2, len: 2 }
    }

    fn inodes_per_block(&self) -> u8 {
        2
    }

    fn link_place(&self, block: u8) -> Place {
        Place { block: Block(self.inode_blocks() + u32::from(block / 4)), offset: usize::from(block % 4), len: 1 }
    }

    fn table(&self) -> std::ops::Range<u32> {
        self.inode_blocks()..self.inode_blocks() + self.table_blocks()
    }

    fn is_free(&self, table: &[u8], block: u8) -> bool {
        table[usize::from(block)] == FREE
    }

    fn block_name(&self, block: Block) -> String {
        if block.0 < self.inode_blocks() {
            format!("inodes {}-{}", block.0 * 2, block.0 * 2 + 1)
        } else if self.table().contains(&block.0) {
            "table".to_owned()
        } else {
            format!("data block {}", block.0 - self.table().end)
        }
    }

    fn block_content(&self, block: Block, content: &[u8]) -> String {
        if block.0 < self.inode_blocks() {
            let inode = |at: usize| match content[at * 2 + 1] {
                NOWHERE => format!("/f{} absent", block.0 as usize * 2 + at),
                first => format!("/f{} has {} blocks from {first}", block.0 as usize * 2 + at, content[at * 2]),
            };
            format!("{}, {}", inode(0), inode(1))
        } else if self.table().contains(&block.0) {
            let used = content.iter().enumerate().filter(|(_, entry)| **entry != FREE);
            let entries = used.map(|(block, entry)| match *entry {
                END => format!("{block} ends a chain"),
                next => format!("{block} -> {next}"),
            });
            let entries: Vec<String> = entries.collect();
            if entries.is_empty() { "all free".to_owned() } else { entries.join(", ") }
        } else {
            format!("{content:02x?}")
        }
    }
}
