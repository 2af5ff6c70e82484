//! The check of all metadata, mounted or not: what each structure says of the others must agree.

use std::collections::BTreeSet;

use check::Finding;
use disk::{Block, Disk};
use explore::Property;
use vfs::Errno;

use super::{
    Flaw, FsckMode, Journal, io,
    layout::{
        BLOCK_BITMAP, BLOCK_BYTES, Content, DirEntry, ENTRIES_PER_BLOCK, FILE_BYTES_MAX, INODE_BITMAP, INODES, Inode,
        NONE, ROOT, get_bit, inode_bit, is_inode,
    },
    volume::Volume,
};
use crate::nodes::{Ino, Kind};

/// A block is allocated, but no inode has it: room is lost, data is not.
pub const LEAKED_BLOCK: Property = Property::not_critical("leaked-block");
/// An inode is allocated, but no name leads to it.
pub const LEAKED_INODE: Property = Property::not_critical("leaked-inode");
/// An inode has a block that the bitmap calls free: the next allocation will destroy data.
pub const FREE_BLOCK_IN_USE: Property = Property::critical("free-block-in-use");
/// The inode table has an inode that the bitmap calls free.
pub const FREE_INODE_IN_USE: Property = Property::critical("free-inode-in-use");
/// Two pointers lead to one block.
pub const DOUBLE_BLOCK: Property = Property::critical("double-block");
/// A pointer leads out of the data area.
pub const BAD_POINTER: Property = Property::critical("bad-pointer");
/// An inode says what no inode can say, or the root is no directory.
pub const BAD_INODE: Property = Property::critical("bad-inode");
/// A directory has a name that cannot be, or has one twice.
pub const BAD_ENTRY: Property = Property::critical("bad-entry");
/// A name leads to an inode that is free or does not exist.
pub const DANGLING_NAME: Property = Property::critical("dangling-name");
/// A directory has two names, or the root has one.
pub const DOUBLE_NAME: Property = Property::critical("double-name");
/// A file has not as many names as its inode says.
pub const WRONG_LINKS: Property = Property::critical("wrong-links");
/// The full check found damage and repaired it. After a recovery there should be none.
pub const REPAIRED: Property = Property::not_critical("repaired");

/// Everything that is wrong.
pub(super) fn check(volume: &Volume<'_>) -> Vec<Finding> {
    let mut check = Check { volume, findings: Vec::new(), owners: [None; 256], names: [0; INODES as usize] };
    if let Err(errno) = check.run() {
        check.find(BAD_INODE, format!("the check ended early with {errno}"));
    }
    check.findings
}

struct Check<'a> {
    volume: &'a Volume<'a>,
    findings: Vec<Finding>,
    /// Which inode has each block of the data area.
    owners: [Option<Ino>; 256],
    /// How many names lead to each inode.
    names: [u32; INODES as usize],
}

impl Check<'_> {
    fn find(&mut self, property: Property, detail: String) {
        self.findings.push(Finding { property, detail });
    }

    fn run(&mut self) -> Result<(), Errno> {
        let blocks = self.volume.block(BLOCK_BITMAP)?;
        let inodes = self.volume.block(INODE_BITMAP)?;
        self.walk()?;
        for ino in (1..=INODES).map(Ino) {
            self.inode(ino, &inodes, &blocks)?;
        }
        for (index, _) in self.volume.variant.layout.data_blocks().enumerate() {
            if get_bit(&blocks, index) && self.owners[index].is_none() {
                self.find(LEAKED_BLOCK, format!("data block {index} is allocated but belongs to no inode"));
            }
        }
        Ok(())
    }

    /// Counts names, from the root on.
    fn walk(&mut self) -> Result<(), Errno> {
        let mut waiting = vec![ROOT];
        let mut seen = BTreeSet::from([ROOT]);
        while let Some(dir) = waiting.pop() {
            let blocks = match self.volume.dir_blocks(dir) {
                Ok(blocks) => blocks,
                Err(Errno::EUCLEAN) => {
                    self.find(BAD_INODE, format!("inode {} should be a directory and cannot be read as one", dir.0));
                    continue;
                }
                Err(errno) => return Err(errno),
            };
            let mut names = BTreeSet::new();
            for block in blocks {
                let content = self.volume.block(block)?;
                for slot in 0..ENTRIES_PER_BLOCK {
                    if let Some(ino) = self.entry(dir, &content, slot, &mut names)?
                        && self.volume.inode(ino)?.kind == Kind::Dir
                        && seen.insert(ino)
                    {
                        waiting.push(ino);
                    }
                }
            }
        }
        Ok(())
    }

    /// Judges one slot of a directory; the inode that it leads to, if there is one.
    fn entry(
        &mut self,
        dir: Ino,
        content: &Content,
        slot: usize,
        names: &mut BTreeSet<String>,
    ) -> Result<Option<Ino>, Errno> {
        let Ok(entry) = DirEntry::load(content, slot) else {
            self.find(BAD_ENTRY, format!("directory {} has a name that cannot be", dir.0));
            return Ok(None);
        };
        let Some(DirEntry { ino, name }) = entry else { return Ok(None) };
        if !names.insert(name.to_owned()) {
            self.find(BAD_ENTRY, format!("directory {} has the name {name:?} twice", dir.0));
        }
        match self.volume.inode(ino) {
            Ok(_) => {
                self.names[inode_bit(ino)] += 1;
                Ok(Some(ino))
            }
            Err(Errno::EUCLEAN) => {
                let what = if is_inode(ino) { "is not in use" } else { "does not exist" };
                self.find(
                    DANGLING_NAME,
                    format!("{name:?} in directory {} leads to inode {}, which {what}", dir.0, ino.0),
                );
                Ok(None)
            }
            Err(errno) => Err(errno),
        }
    }

    fn inode(&mut self, ino: Ino, inodes: &Content, blocks: &Content) -> Result<(), Errno> {
        let table = self.volume.block(Inode::home(ino))?;
        let (allocated, number, names) = (get_bit(inodes, inode_bit(ino)), ino.0, self.names[inode_bit(ino)]);
        let Ok(inode) = Inode::load(&table, ino) else {
            self.find(BAD_INODE, format!("inode {number} is of no known kind"));
            return Ok(());
        };
        let Some(inode) = inode else {
            if allocated {
                self.find(LEAKED_INODE, format!("inode {number} is allocated but empty"));
            }
            return Ok(());
        };
        if !allocated {
            self.find(FREE_INODE_IN_USE, format!("inode {number} is in use but free in the inode bitmap"));
        }
        if u64::from(inode.size) > FILE_BYTES_MAX {
            self.find(BAD_INODE, format!("inode {number} has {} bytes, more than any file can have", inode.size));
        }
        match (inode.kind, names) {
            (Kind::Dir, 0) if ino == ROOT => {}
            (_, 0) => self.find(LEAKED_INODE, format!("inode {number} is in use but has no name")),
            (Kind::Dir, 1) if ino != ROOT => {}
            (Kind::Dir, _) => self.find(DOUBLE_NAME, format!("directory {number} has {names} names")),
            (Kind::File, _) if names == u32::from(inode.links) => {}
            (Kind::File, _) => {
                self.find(WRONG_LINKS, format!("file {number} has {names} names, but its inode says {}", inode.links));
            }
        }
        self.blocks(ino, inode, blocks)
    }

    fn blocks(&mut self, ino: Ino, inode: Inode, bitmap: &Content) -> Result<(), Errno> {
        let layout = self.volume.variant.layout;
        for block in pointers(self.volume, inode)? {
            let Some(index) = layout.data_index(block) else {
                self.find(BAD_POINTER, format!("inode {} points to block {}, which is no data block", ino.0, block.0));
                continue;
            };
            if let Some(other) = self.owners[index].replace(ino) {
                self.find(
                    DOUBLE_BLOCK,
                    format!("data block {index} belongs to inode {} and to inode {}", other.0, ino.0),
                );
            }
            if !get_bit(bitmap, index) {
                let detail = format!("data block {index} belongs to inode {} but is free in the block bitmap", ino.0);
                self.find(FREE_BLOCK_IN_USE, detail);
            }
        }
        Ok(())
    }
}

/// Every pointer of an inode that leads somewhere, right or wrong.
pub(super) fn pointers(volume: &Volume<'_>, inode: Inode) -> Result<Vec<Block>, Errno> {
    let mut pointers = vec![inode.direct, inode.indirect];
    if volume.variant.layout.data_index(inode.indirect).is_some() {
        let list = volume.block(inode.indirect)?;
        pointers.extend(list.map(|number| Block(u32::from(number))));
    }
    pointers.retain(|block| *block != NONE);
    Ok(pointers)
}

impl Journal {
    /// The check of an unmounted file system: a replay, which is all if it is fast, and what a full one does after it.
    pub(super) fn check_offline(self, disk: &mut Disk, mode: FsckMode) -> Result<Vec<Finding>, Errno> {
        let clean = self.read_super(disk)?.clean;
        if !clean && self.is(Flaw::CleanTooEarly) {
            self.mark(disk, true).map_err(io)?;
        }
        if !clean {
            self.replay(disk, mode)?;
        }
        let findings = if mode == FsckMode::Full { self.check_and_repair(disk)? } else { Vec::new() };
        if !clean && !self.is(Flaw::CleanTooEarly) {
            self.mark(disk, true).map_err(io)?;
        }
        Ok(findings)
    }

    /// The full check of an unmounted file system whose log is empty. What it finds it repairs.
    fn check_and_repair(self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let memory = super::Memory::new(self.journal_super(disk)?);
        let found = check(&self.volume(&memory, disk));
        if found.is_empty() {
            return Ok(found);
        }
        self.repair(disk)?;
        let repaired = |Finding { property, detail }| {
            let detail = format!("{}: {detail}; repaired", property.name);
            Finding { property: REPAIRED, detail }
        };
        let left = check(&self.volume(&memory, disk));
        Ok(found.into_iter().map(repaired).chain(left).collect())
    }
}

const _: () = assert!(BLOCK_BYTES * 8 >= super::BLOCKS_MAX as usize, "one block of bitmap covers the data area");
