//! The disk in words, for stories: what lies in a block, and what its content says.

use disk::{Block, Image};
use vfs::tree::Runs;

use super::{
    layout::{
        BLOCK_BITMAP, Content, Damaged, DirEntry, ENTRIES_PER_BLOCK, INODE_BITMAP, INODE_TABLE, INODES,
        INODES_PER_BLOCK, Inode, JOURNAL_SUPER, LOG, Layout, NONE, SUPER, Super, get_bit,
    },
    record::{JournalSuper, Record, RecordKind, TAGS_MAX, Tag, unescape},
};
use crate::nodes::{Ino, Kind};

impl Layout {
    /// What lies in a block.
    pub(super) fn block_name(self, block: Block) -> String {
        match block {
            SUPER => "superblock".to_owned(),
            BLOCK_BITMAP => "block bitmap".to_owned(),
            INODE_BITMAP => "inode bitmap".to_owned(),
            JOURNAL_SUPER => "journal superblock".to_owned(),
            Block(number) if number < JOURNAL_SUPER.0 => {
                let first = (number - INODE_TABLE.0) * INODES_PER_BLOCK + 1;
                format!("inode table {first}-{}", first + INODES_PER_BLOCK - 1)
            }
            Block(number) if self.is_log(block) => format!("log block {}", number - LOG.0),
            Block(number) => format!("data block {}", number - self.data_start().0),
        }
    }

    /// What a block's content says, where its place tells what it is. In the data area that is a guess: bytes that
    /// make up a directory are taken for one.
    pub(super) fn block_content(self, block: Block, content: &[u8]) -> Option<String> {
        let content: Content = content.try_into().ok()?;
        match block {
            SUPER => Some(match Super::decode(&content, self)? {
                Super { clean: true } => "clean".to_owned(),
                Super { clean: false } => "in use".to_owned(),
            }),
            JOURNAL_SUPER => JournalSuper::decode(&content, self).map(|found| found.to_string()),
            BLOCK_BITMAP => Some(bits(&content, usize::from(self.data), 0, "data blocks")),
            INODE_BITMAP => Some(bits(&content, INODES as usize, 1, "inodes")),
            Block(number) if number < JOURNAL_SUPER.0 => {
                let first = (number - INODE_TABLE.0) * INODES_PER_BLOCK + 1;
                let inodes = (first..first + INODES_PER_BLOCK).map(Ino);
                let said: Vec<String> = inodes.filter_map(|ino| self.inode_content(&content, ino)).collect();
                Some(if said.is_empty() { "all inodes free".to_owned() } else { said.join("; ") })
            }
            _ if self.is_log(block) => Record::decode(&content).map(|record| self.record_content(&record)),
            _ => directory_content(&content),
        }
    }

    /// What a write says. A block of the log that is no record is a copy; of what, the descriptor before it says.
    pub(super) fn written(self, disk: &Image, block: Block, content: &[u8]) -> Option<String> {
        if let Some(said) = self.block_content(block, content) {
            return Some(said);
        }
        let Tag { home, escaped } = self.is_log(block).then(|| self.tag_of_copy(disk, block)).flatten()?;
        let mut copy: Content = content.try_into().ok()?;
        if escaped {
            unescape(&mut copy);
        }
        let name = self.block_name(home);
        let said = self.block_content(home, &copy).unwrap_or_else(|| Runs(&copy).to_string());
        Some(format!("copy of {name}: {said}"))
    }

    fn is_log(self, block: Block) -> bool {
        (LOG.0..self.data_start().0).contains(&block.0)
    }

    /// What the last record before a block of the log says that it is, if that record is a descriptor.
    fn tag_of_copy(self, disk: &Image, block: Block) -> Option<Tag> {
        let index = block.0 - LOG.0 + u32::from(self.log);
        for back in 1..=TAGS_MAX {
            let before = disk.block(self.log_block(index.checked_sub(u32::try_from(back).ok()?)?));
            match Record::decode(before.try_into().ok()?) {
                Some(Record { kind: RecordKind::Descriptor(tags), .. }) => return tags.get(back - 1).copied(),
                Some(_) => return None,
                None => {}
            }
        }
        None
    }

    fn record_content(self, record: &Record) -> String {
        let names = |blocks: &mut dyn Iterator<Item = Block>| {
            blocks.map(|block| self.block_name(block)).collect::<Vec<_>>().join(", ")
        };
        let says = match &record.kind {
            RecordKind::Descriptor(tags) => format!("copies of {} follow", names(&mut tags.iter().map(|tag| tag.home))),
            RecordKind::Revoke(blocks) => format!("revokes {}", names(&mut blocks.iter().copied())),
            RecordKind::Commit => "commit".to_owned(),
        };
        format!("transaction {}: {says}", record.sequence)
    }

    fn inode_content(self, table: &Content, ino: Ino) -> Option<String> {
        let said = match Inode::load(table, ino) {
            Err(Damaged) => "damaged".to_owned(),
            Ok(inode) => {
                let Inode { kind, links, size, direct, indirect } = inode?;
                let kind = if kind == Kind::Dir { "directory" } else { "file" };
                let pointer = |what: &str, block: Block| match self.data_index(block) {
                    _ if block == NONE => String::new(),
                    Some(index) => format!(", {what} data block {index}"),
                    None => format!(", {what} block {}, which is none of the data area", block.0),
                };
                let (direct, indirect) = (pointer("direct", direct), pointer("indirect", indirect));
                let (links, size) = (count(u32::from(links), "link"), count(u32::from(size), "byte"));
                format!("{kind}, {links}, {size}{direct}{indirect}")
            }
        };
        Some(format!("inode {}: {said}", ino.0))
    }
}

/// The names in a block, if it looks like one of a directory.
fn directory_content(content: &Content) -> Option<String> {
    let entries: Result<Vec<_>, Damaged> = (0..ENTRIES_PER_BLOCK).map(|slot| DirEntry::load(content, slot)).collect();
    let is_plain = |entry: &DirEntry<'_>| entry.name.chars().all(|letter| letter.is_ascii_graphic());
    let entries: Vec<_> = entries.ok()?.into_iter().flatten().collect();
    let said: Vec<String> =
        entries.iter().map(|DirEntry { ino, name }| format!("{name:?} is inode {}", ino.0)).collect();
    (!said.is_empty() && entries.iter().all(is_plain)).then(|| said.join(", "))
}

fn bits(bitmap: &Content, count: usize, first: usize, what: &str) -> String {
    let taken: Vec<String> =
        (0..count).filter(|bit| get_bit(bitmap, *bit)).map(|bit| (bit + first).to_string()).collect();
    if taken.is_empty() { format!("no {what} in use") } else { format!("{what} {} in use", taken.join(" ")) }
}

fn count(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::layout::{ZEROS, set_bit};

    #[test]
    fn a_copy_in_the_log_is_told_by_its_descriptor() {
        let layout = Layout { log: 12, data: 4 };
        let mut disk = layout.format();
        let mut bitmap = ZEROS;
        set_bit(&mut bitmap, 1, true);
        let copy = layout.log_block(12);
        assert_eq!(layout.written(&disk, copy, &bitmap), None, "without a descriptor nobody knows");
        // The log goes round: the descriptor is its last block, the copy its first.
        let tags = [Tag { home: INODE_BITMAP, escaped: false }].into_iter().collect();
        let descriptor = Record { sequence: 7, kind: RecordKind::Descriptor(tags) };
        disk.write(layout.log_block(11), &descriptor.encode()).unwrap();
        assert_eq!(layout.written(&disk, copy, &bitmap).unwrap(), "copy of inode bitmap: inodes 2 in use");
        assert_eq!(layout.record_content(&descriptor), "transaction 7: copies of inode bitmap follow");
        assert_eq!(layout.written(&disk, layout.log_block(1), &bitmap), None, "it announces one copy only");
    }

    #[test]
    fn a_block_of_data_is_a_directory_if_it_looks_like_one() {
        let layout = Layout { log: 12, data: 4 };
        let mut content = ZEROS;
        assert_eq!(layout.block_content(layout.data_start(), &content), None);
        DirEntry::store(&mut content, 1, Some(DirEntry { ino: Ino(3), name: "b" }));
        assert_eq!(layout.block_content(layout.data_start(), &content).unwrap(), "\"b\" is inode 3");
        assert_eq!(layout.block_content(layout.data_start(), &[7; 32]), None);
    }
}
