//! Checkpoints: how everything becomes durable at once.
//!
//! First the logs become durable. What changed in the SIT and NAT then goes to the journals of the pack or, where they
//! are full, to the copy of the block that the last checkpoint does not use. The pack that is older is overwritten; it
//! counts only when its last block carries the version of its first, and that block is written when all else is
//! durable.

use disk::Disk;
use vfs::Errno;

use super::{
    F2fs, Memory,
    codec::{self, Bytes, Header, Node, Role, Summary},
    layout::{Addr, Layout, NIDS, TABLE_ENTRIES},
    log::{Fs, Run, io, read_block},
    memory::{LOGS, Log, bits},
    variant::Flaw,
};

impl Fs<'_> {
    /// Makes everything durable.
    pub fn checkpoint(&mut self) -> Result<(), Errno> {
        let mut run = Run::default();
        for nid in bits(self.memory.dirty_nodes.into()) {
            self.write_node(codec::Nid(nid), false, &mut run)?;
        }
        run.end(self.disk)?;
        if self.memory.unflushed && !self.f2fs.has(Flaw::BarrierOff) {
            self.flush()?;
        }
        self.write_sit(&mut run)?;
        self.write_nat(&mut run)?;
        run.end(self.disk)?;
        self.write_pack()?;
        let memory = &mut *self.memory;
        memory.free |= std::mem::take(&mut memory.prefree);
        (memory.dirty_sit, memory.dirty_nat, memory.dirty_nodes) = (0, 0, 0);
        (memory.renamed, memory.unflushed) = (false, false);
        memory.know_nodes();
        Ok(())
    }

    fn write_sit(&mut self, run: &mut Run) -> Result<(), Errno> {
        let memory = &mut *self.memory;
        memory.sit_journal |= memory.dirty_sit;
        if memory.sit_journal.count_ones() <= u32::from(self.f2fs.variant.journal) {
            return Ok(());
        }
        for index in 0..self.f2fs.layout.sit_blocks() {
            if memory.sit_journal & table_mask(index) == 0 {
                continue;
            }
            if !self.f2fs.has(Flaw::VersionsOff) {
                memory.sit_versions ^= 1 << index;
            }
            let copy = memory.sit_versions >> index & 1 != 0;
            let entries = std::array::from_fn(|at| memory.sit[usize::from(index * TABLE_ENTRIES) + at]);
            run.put(self.disk, self.f2fs.layout.sit_block(index, copy), &codec::encode_table(entries))?;
        }
        memory.sit_journal = 0;
        Ok(())
    }

    fn write_nat(&mut self, run: &mut Run) -> Result<(), Errno> {
        let memory = &mut *self.memory;
        memory.nat_journal |= memory.dirty_nat;
        if memory.nat_journal.count_ones() <= u32::from(self.f2fs.variant.journal) {
            return Ok(());
        }
        for index in 0..NIDS.to_le_bytes()[0] / TABLE_ENTRIES {
            if u64::from(memory.nat_journal) & table_mask(index) == 0 {
                continue;
            }
            if !self.f2fs.has(Flaw::VersionsOff) {
                memory.nat_versions ^= 1 << index;
            }
            let copy = memory.nat_versions >> index & 1 != 0;
            let entries = std::array::from_fn(|at| memory.nat[usize::from(index * TABLE_ENTRIES) + at].0);
            run.put(self.disk, self.f2fs.layout.nat_block(index, copy), &codec::encode_table(entries))?;
        }
        memory.nat_journal = 0;
        Ok(())
    }

    fn write_pack(&mut self) -> Result<(), Errno> {
        self.allocate()?;
        let memory = &mut *self.memory;
        memory.version += 1;
        memory.pack ^= 1;
        let count = |mask: u64| mask.count_ones().to_le_bytes()[0];
        let header = codec::encode_header(&Header {
            version: memory.version,
            sit_journal: count(memory.sit_journal),
            nat_journal: count(memory.nat_journal.into()),
            sit_versions: memory.sit_versions,
            nat_versions: memory.nat_versions,
            logs: memory.logs.map(|log| (log.segment, log.next)),
        });
        let sit = bits(memory.sit_journal).map(|segment| (segment, memory.sit[usize::from(segment)]));
        let nat = bits(memory.nat_journal.into()).map(|nid| (nid, memory.nat[usize::from(nid)].0));
        let body: [Bytes; 3] = [header, codec::encode_journal(sit), codec::encode_journal(nat)];
        self.disk.write(Layout::pack(memory.pack), body.as_flattened()).map_err(io)?;
        let (last, footer) = (Layout::pack_footer(memory.pack), codec::encode_footer(memory.version));
        if self.f2fs.has(Flaw::BarrierOff) {
            self.disk.write(last, &footer).map_err(io)?;
            return self.disk.flush().map_err(io);
        }
        self.disk.flush().map_err(io)?;
        self.disk.write_fua(last, &footer).map_err(io)
    }
}

/// The entries that lie in one SIT or NAT block.
fn table_mask(index: u8) -> u64 {
    0b1111 << (index * TABLE_ENTRIES)
}

impl Memory {
    /// What the last checkpoint says about nodes, and which numbers are free since.
    fn know_nodes(&mut self) {
        let known = (0..NIDS).filter(|nid| self.nat[*nid] != Addr::NONE);
        self.checkpointed = known.fold(0, |known, nid| known | 1 << nid);
        self.free_nids = !self.checkpointed & u16::MAX << 1;
    }
}

impl F2fs {
    /// The state of the newest checkpoint that is complete.
    pub(super) fn load(&self, disk: &Disk) -> Result<Memory, Errno> {
        let packs = [self.pack(disk, 0)?, self.pack(disk, 1)?];
        let newest = (0..2).filter_map(|pack| packs[usize::from(pack)].map(|header| (pack, header)));
        let (pack, header) = newest.max_by_key(|(_, header)| header.version).ok_or(Errno::EIO)?;
        let mut memory = Memory::blank(&self.layout);
        (memory.version, memory.pack) = (header.version, pack);
        (memory.sit_versions, memory.nat_versions) = (header.sit_versions, header.nat_versions);
        memory.logs = header.logs.map(|(segment, next)| Log { segment, next });
        self.load_sit(&mut memory, disk, &header)?;
        self.load_nat(&mut memory, disk, &header)?;
        self.load_nodes(&mut memory, disk)?;
        memory.know_nodes();
        self.find_free(&mut memory);
        self.summarise_current(&mut memory);
        Ok(memory)
    }

    /// The header of a pack that counts.
    fn pack(&self, disk: &Disk, pack: u8) -> Result<Option<Header>, Errno> {
        let header = codec::decode_header(read_block(disk, Layout::pack(pack))?);
        let Some(header) = header.filter(|header| self.is_sound(header)) else { return Ok(None) };
        let footer = codec::pack_version(read_block(disk, Layout::pack_footer(pack))?);
        let complete = footer == Some(header.version) || self.has(Flaw::FooterUnchecked);
        Ok(complete.then_some(header))
    }

    /// Whether its logs are places where one can write; a damaged header may say anything.
    fn is_sound(&self, header: &Header) -> bool {
        let logs = &header.logs[..self.logs()];
        let within =
            logs.iter().all(|(segment, next)| *segment < self.layout.segments && *next < self.layout.segment_blocks());
        let distinct = (1..logs.len()).all(|log| logs[..log].iter().all(|other| other.0 != logs[log].0));
        within && distinct && header.version < u32::MAX
    }

    fn load_sit(&self, memory: &mut Memory, disk: &Disk, header: &Header) -> Result<(), Errno> {
        for index in 0..self.layout.sit_blocks() {
            let copy = header.sit_versions >> index & 1 != 0;
            let entries = codec::table(read_block(disk, self.layout.sit_block(index, copy))?);
            memory.sit[usize::from(index * TABLE_ENTRIES)..][..entries.len()].copy_from_slice(&entries);
        }
        memory.sit[usize::from(self.layout.segments)..].fill(0);
        let journal = read_block(disk, disk::Block(Layout::pack(memory.pack).0 + 1))?;
        for (segment, map) in codec::journal(journal, header.sit_journal) {
            if segment < self.layout.segments {
                memory.sit[usize::from(segment)] = map;
                memory.sit_journal |= 1 << segment;
            }
        }
        memory.sit.iter_mut().for_each(|map| *map &= self.layout.full());
        Ok(())
    }

    fn load_nat(&self, memory: &mut Memory, disk: &Disk, header: &Header) -> Result<(), Errno> {
        for index in 0..NIDS.to_le_bytes()[0] / TABLE_ENTRIES {
            let copy = header.nat_versions >> index & 1 != 0;
            let entries = codec::table(read_block(disk, self.layout.nat_block(index, copy))?);
            memory.nat[usize::from(index * TABLE_ENTRIES)..][..entries.len()].copy_from_slice(&entries.map(Addr));
        }
        let journal = read_block(disk, disk::Block(Layout::pack(memory.pack).0 + 2))?;
        for (nid, addr) in codec::journal(journal, header.nat_journal) {
            if usize::from(nid) < NIDS {
                memory.nat[usize::from(nid)] = Addr(addr);
                memory.nat_journal |= 1 << nid;
            }
        }
        memory.nat[0] = Addr::NONE;
        Ok(())
    }

    /// Reads every node that the NAT knows. One that is not where it should be stays free, which a check will find.
    fn load_nodes(&self, memory: &mut Memory, disk: &Disk) -> Result<(), Errno> {
        for nid in 1..NIDS {
            let addr = memory.nat[nid];
            if self.layout.spot(addr).is_none() {
                continue;
            }
            let found = codec::decode_node(read_block(disk, addr.block())?);
            memory.nodes[nid] = match found {
                Some((node, footer)) if footer.nid.index() == nid => node,
                _ => Node::default(),
            };
        }
        Ok(())
    }

    /// The free segments: those without a valid block that no log writes.
    pub(super) fn find_free(&self, memory: &mut Memory) {
        let empty = |segment: &u8| memory.sit[usize::from(*segment)] == 0 && !self.is_current(memory, *segment);
        memory.free = (0..self.layout.segments).filter(empty).fold(0, |free, segment| free | 1 << segment);
    }

    /// Finds out from the nodes what the blocks of a segment are.
    pub(super) fn summarise(&self, memory: &Memory, segment: u8) -> [Summary; 16] {
        let mut summaries = [Summary::default(); 16];
        let mut note = |addr: Addr, summary: Summary| {
            if let Some(spot) = self.layout.spot(addr).filter(|spot| spot.segment == segment) {
                summaries[usize::from(spot.offset)] = summary;
            }
        };
        for (nid, node) in (0..).map(codec::Nid).zip(&memory.nodes).filter(|(_, node)| node.role != Role::Free) {
            note(memory.nat[nid.index()], Summary { nid, at: Summary::NODE });
            (0..).zip(&node.index[..node.room()]).for_each(|(at, addr)| note(*addr, Summary { nid, at }));
        }
        summaries
    }

    /// The summaries of the segments that the logs write are nowhere on the disk.
    pub(super) fn summarise_current(&self, memory: &mut Memory) {
        for log in 0..self.logs().min(LOGS) {
            memory.summaries[log] = self.summarise(memory, memory.logs[log].segment);
        }
    }
}
