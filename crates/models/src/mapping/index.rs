//! index: an inode lists the blocks of its file, as in ext2.
//!
//! One inode a block (length, two direct pointers, one indirect pointer), then one block with the bitmap, then the
//! data. The indirect block holds four more pointers and is itself taken from the data blocks.

use check::Task;
use disk::{Block, Disk, Image, IoError};

use super::{
    Writes,
    layout::{BLOCK_BYTES, Inode, Kind, Layout, NOWHERE, Notes, Place, Request, update},
};

/// The layout with index tables.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    files: u8,
    blocks: u8,
}

/// How many pointers an inode has besides the indirect one.
const DIRECT: u8 = 2;
/// How many pointers an indirect block has: one a byte.
const LISTED: u8 = 4;
/// The length of an inode that no file uses.
const UNUSED: u8 = 0xff;

impl Index {
    fn valid(self, pointer: u8) -> Option<u8> {
        (pointer < self.blocks).then_some(pointer)
    }

    fn update_bitmap(self, disk: &mut Disk, change: impl FnOnce(u16) -> u16) -> Result<(), IoError> {
        update(disk, Block(self.table().start), 1, |data| {
            let bits = change(u16::from_le_bytes([data[0], data[1]]));
            data[..2].copy_from_slice(&bits.to_le_bytes());
        })
    }

    /// The indirect block that the op works with: the one that the file had, or the new one.
    fn indirect(notes: Notes) -> u8 {
        if notes.fresh_indirect == NOWHERE { notes.indirect } else { notes.fresh_indirect }
    }

    /// The inode as the op leaves it.
    fn inode_after(self, disk: &Disk, notes: Notes) -> [u8; BLOCK_BYTES] {
        match notes.kind {
            kind if kind == Kind::Create as u8 => [0, NOWHERE, NOWHERE, NOWHERE],
            kind if kind == Kind::Delete as u8 => [UNUSED, NOWHERE, NOWHERE, NOWHERE],
            _ => {
                let mut inode = [0; BLOCK_BYTES];
                inode.copy_from_slice(disk.block(self.inode_place(notes.file).block));
                inode[0] = notes.len + 1;
                if notes.len < DIRECT {
                    inode[usize::from(notes.len) + 1] = notes.fresh;
                } else {
                    inode[3] = Self::indirect(notes);
                }
                inode
            }
        }
    }

    /// The blocks of a file, one bit each, as the op that deletes it remembers them.
    fn remembered(self, notes: Notes) -> u16 {
        let [a, b, c, d] = notes.listed;
        let blocks = [notes.first, notes.second, notes.indirect, a, b, c, d];
        blocks.into_iter().filter_map(|pointer| self.valid(pointer)).fold(0, |bits, block| bits | 1 << block)
    }
}

impl Layout for Index {
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
        u32::from(self.files) + 1 + u32::from(self.blocks)
    }

    fn format(&self, image: &mut Image) {
        for block in 0..u32::from(self.files) {
            image.write(Block(block), &[UNUSED, NOWHERE, NOWHERE, NOWHERE]).expect("the disk was made to fit");
        }
        for block in 0..self.blocks {
            image.write(self.data_block(block), &[NOWHERE; BLOCK_BYTES]).expect("the disk was made to fit");
        }
    }

    fn file_blocks_max(&self) -> u8 {
        DIRECT + LISTED
    }

    fn blocks_needed(&self, kind: Kind, len: u8) -> usize {
        match kind {
            Kind::Append if len == DIRECT => 2,
            Kind::Append => 1,
            Kind::Create | Kind::Delete => 0,
        }
    }

    fn program(&self, writes: Writes, task: &Task) -> &'static [Request] {
        use Request::{ClearIndirect, Data, Flush, Free, Indirect, Inode, Mark};
        let notes = Notes::of(task);
        let (direct, indirect, delete, delete_indirect): (&[_], &[_], &[_], &[_]) = match writes {
            Writes::Naive => {
                (&[Inode, Mark, Data], &[Inode, Indirect, Mark, Data], &[Free, Inode], &[ClearIndirect, Free, Inode])
            }
            Writes::Cached => (
                &[Inode, Mark, Data, Flush],
                &[Inode, Indirect, Mark, Data, Flush],
                &[Free, Inode, Flush],
                &[ClearIndirect, Free, Inode, Flush],
            ),
            Writes::Ordered => {
                (&[Data, Mark, Inode], &[Data, Mark, Indirect, Inode], &[Inode, Free], &[Inode, ClearIndirect, Free])
            }
            Writes::Barrier => (
                &[Data, Mark, Flush, Inode, Flush],
                &[Data, Mark, Flush, Indirect, Flush, Inode, Flush],
                &[Inode, Flush, Free, Flush],
                &[Inode, Flush, ClearIndirect, Flush, Free, Flush],
            ),
        };
        match notes.kind {
            kind if kind == Kind::Create as u8 && matches!(writes, Writes::Cached | Writes::Barrier) => &[Inode, Flush],
            kind if kind == Kind::Create as u8 => &[Inode],
            kind if kind == Kind::Delete as u8 && notes.len > DIRECT => delete_indirect,
            kind if kind == Kind::Delete as u8 => delete,
            _ if notes.len < DIRECT => direct,
            _ => indirect,
        }
    }

    fn perform(&self, request: Request, disk: &mut Disk, task: &Task) -> Result<(), IoError> {
        let notes = Notes::of(task);
        match request {
            Request::Flush => disk.flush(),
            Request::Data => disk.write(self.data_block(notes.fresh), &[notes.fill; BLOCK_BYTES]),
            Request::Inode => {
                let inode = self.inode_after(disk, notes);
                disk.write(self.inode_place(notes.file).block, &inode)
            }
            Request::Mark => {
                let fresh = [notes.fresh, notes.fresh_indirect];
                let fresh =
                    fresh.into_iter().filter(|block| *block != NOWHERE).fold(0, |bits, block| bits | 1 << block);
                self.update_bitmap(disk, |bits| bits | fresh)
            }
            Request::Free => {
                let gone = self.remembered(notes);
                self.update_bitmap(disk, |bits| bits & !gone)
            }
            Request::Indirect => {
                let slot = usize::from(notes.len - DIRECT);
                let block = self.data_block(Self::indirect(notes));
                let mut table = [NOWHERE; BLOCK_BYTES];
                if notes.fresh_indirect == NOWHERE {
                    table.copy_from_slice(disk.try_block(block)?);
                }
                table[slot] = notes.fresh;
                disk.write(block, &table)
            }
            Request::ClearIndirect => disk.write(self.data_block(notes.indirect), &[NOWHERE; BLOCK_BYTES]),
            Request::Chain | Request::MarkAndChain => Ok(()),
        }
    }

    fn listed(&self, disk: &Disk, inode: Inode) -> [u8; 4] {
        let mut listed = [NOWHERE; 4];
        if inode.len > DIRECT
            && let Some(block) = self.valid(inode.pointers[2])
        {
            let used = usize::from(inode.len - DIRECT).min(BLOCK_BYTES);
            listed[..used].copy_from_slice(&disk.block(self.data_block(block))[..used]);
        }
        listed
    }

    fn inode(&self, disk: &Disk, file: u8) -> Option<Inode> {
        let block = disk.block(self.inode_place(file).block);
        (block[0] != UNUSED).then_some(Inode { len: block[0], pointers: [block[1], block[2], block[3]] })
    }

    fn mapped(&self, disk: &Disk, inode: Inode) -> Vec<Option<u8>> {
        let [first, second, indirect] = inode.pointers;
        let direct = [first, second].map(|pointer| self.valid(pointer));
        let table = self.valid(indirect).filter(|_| inode.len > DIRECT).map(|block| disk.block(self.data_block(block)));
        let beyond = (0..BLOCK_BYTES).map(|slot| table.and_then(|table| self.valid(table[slot])));
        let mut mapped: Vec<_> = direct.into_iter().chain(beyond).collect();
        mapped.resize(usize::from(inode.len), None);
        mapped
    }

    fn held(&self, _: &Disk, inode: Inode) -> Vec<Option<u8>> {
        if inode.len > DIRECT { vec![self.valid(inode.pointers[2])] } else { Vec::new() }
    }

    fn is_allocated(&self, image: &Image, block: u8) -> bool {
        let bitmap = image.block(Block(self.table().start));
        u16::from_le_bytes([bitmap[0], bitmap[1]]) & 1 << block != 0
    }

    fn repair(&self, disk: &mut Disk, dead: u16) -> Result<(), IoError> {
        let before = disk.position();
        for file in 0..self.files {
            let Some(inode) = self.inode(disk, file).filter(|inode| inode.len > DIRECT) else { continue };
            let block = self.data_block(inode.pointers[2]);
            let used = usize::from(inode.len - DIRECT);
            if disk.try_block(block)?[used..].iter().any(|pointer| *pointer != NOWHERE) {
                update(disk, block, 1, |table| table[used..].fill(NOWHERE))?;
            }
        }
        // A block that no file has may have been an indirect one: its old pointers must not be read when it becomes one
        // again.
        for block in 0..self.blocks {
            let is_dead = dead & 1 << block != 0;
            let has_pointers = |disk: &Disk| disk.block(self.data_block(block)).iter().any(|byte| *byte < self.blocks);
            if (is_dead || !self.is_allocated(disk.image(), block)) && has_pointers(disk) {
                disk.write(self.data_block(block), &[NOWHERE; BLOCK_BYTES])?;
            }
        }
        if dead != 0 {
            self.update_bitmap(disk, |bits| bits & !dead)?;
        }
        if disk.position() > before { disk.flush() } else { Ok(()) }
    }

    fn data_block(&self, block: u8) -> Block {
        Block(u32::from(self.files) + 1 + u32::from(block))
    }

    fn inode_place(&self, file: u8) -> Place {
        Place { block: Block(u32::from(file)), offset: 0, len: BLOCK_BYTES }
    }

    fn inodes_per_block(&self) -> u8 {
        1
    }

    fn link_place(&self, block: u8) -> Place {
        Place { block: self.data_block(block), offset: 0, len: BLOCK_BYTES }
    }

    fn table(&self) -> std::ops::Range<u32> {
        u32::from(self.files)..u32::from(self.files) + 1
    }

    fn is_free(&self, table: &[u8], block: u8) -> bool {
        u16::from_le_bytes([table[0], table[1]]) & 1 << block == 0
    }

    fn block_name(&self, block: Block) -> String {
        if block.0 < self.table().start {
            format!("inode {}", block.0)
        } else if block.0 < self.table().end {
            "bitmap".to_owned()
        } else {
            format!("data block {}", block.0 - self.table().end)
        }
    }

    fn block_content(&self, block: Block, content: &[u8]) -> String {
        let pointer = |pointer: &u8| self.valid(*pointer).map_or("-".to_owned(), |block| block.to_string());
        if block.0 < self.table().start {
            match content[0] {
                UNUSED => format!("/f{} absent", block.0),
                len => {
                    let pointers: Vec<String> = content[1..].iter().map(pointer).collect();
                    format!("/f{} has {len} blocks: {}", block.0, pointers.join(" "))
                }
            }
        } else if block.0 < self.table().end {
            let used: Vec<String> = (0..self.blocks)
                .filter(|block| !self.is_free(content, *block))
                .map(|block| block.to_string())
                .collect();
            if used.is_empty() { "all free".to_owned() } else { format!("allocated: {}", used.join(" ")) }
        } else {
            format!("{content:02x?}")
        }
    }
}
