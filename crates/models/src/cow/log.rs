//! The log: what fsync writes instead of a whole commit.
//!
//! It is a tree of its own with all items of the files that were fsynced since the last commit, all their names, and
//! the directories above them that are new. A mount puts these over the committed items and commits. That is right
//! as long as names were only added: what was taken away a log cannot say. So fsync looks for removals since the last
//! commit that concern the file, and where it finds one it commits everything. btrfs does the same; most of its log
//! bugs are a removal that it did not look for.

use disk::Disk;
use vfs::Errno;

use super::{
    Cow,
    commit::count_nodes,
    item::{Inode, Item, ItemKind, Items, Key},
    memory::{Memory, Removal, RemovedBy},
    tree::Tree,
    variant::Flaw,
};
use crate::nodes::{Ino, Kind, io};

impl Cow {
    /// Makes one file durable through the log if that is possible, else everything.
    pub(super) fn log_or_commit(&self, memory: &mut Memory, disk: &mut Disk, ino: Ino) -> Result<(), Errno> {
        self.give_up_failed(memory, disk)?;
        if memory.is_clean() {
            return Ok(());
        }
        if memory.items.inode(ino).ok_or(Errno::ENOENT)?.kind == Kind::Dir {
            if self.variant.is(Flaw::LogSkipsLoggedDir) && memory.log.inode(ino).is_some() {
                return Ok(());
            }
            return self.commit(memory, disk);
        }
        let above = above(&memory.items, ino);
        if self.removals_concern(memory, ino, &above) {
            return self.commit(memory, disk);
        }
        let log = self.next_log(memory, ino, &above);
        let committed = memory.files.items();
        let after = replayed(&committed, &log);
        let is_dirty = memory.pages.iter().any(|(key, _)| key.ino() == ino);
        if !is_dirty && after == replayed(&committed, &memory.log) {
            return Ok(());
        }
        // Room must be left for the next commit, and for the one with which a mount replays the log.
        let generation = memory.next_generation();
        let needs = self.commit_needs(memory, memory.items.clone())?.max(self.commit_needs(memory, after)?);
        if needs + count_nodes(&Tree::default(), log, generation)? > memory.used.free(self.variant.blocks) {
            return self.commit(memory, disk);
        }
        self.write_pages(memory, disk, |key| key.ino() == ino)?;
        memory.log = self.next_log(memory, ino, &above);
        let allocate = &mut |_| self.allocate(&mut memory.used, disk);
        let tree = Tree::default().next(memory.log.clone(), generation, allocate)?;
        memory.failed = true;
        tree.write(disk, generation)?;
        disk.flush().map_err(io)?;
        memory.log_root = Some(tree.root());
        self.write_superblock(memory, disk)?;
        memory.failed = false;
        Ok(())
    }

    /// Whether something was taken away since the last commit that the log of this file would have to tell of.
    fn removals_concern(&self, memory: &Memory, ino: Ino, above: &[Ino]) -> bool {
        let forgets = |flaw| self.variant.is(flaw);
        let own = |removal: &Removal| {
            let forgotten = match removal.how {
                RemovedBy::Rename => forgets(Flaw::LogForgetsRename),
                RemovedBy::Unlink => forgets(Flaw::LogForgetsUnlink),
            };
            removal.ino == ino && !forgotten
        };
        let of_parent = |removal: &Removal| above.contains(&removal.ino) && !forgets(Flaw::LogForgetsRenamedParent);
        let takes_name = |removal: &Removal| {
            let to = memory.items.get(removal.entry).map(|value| Item { key: removal.entry, value }.child());
            to.is_some_and(|to| to == ino || above.contains(&to)) && !forgets(Flaw::LogForgetsTakenName)
        };
        memory.removals.iter().any(|removal| own(removal) || of_parent(removal) || takes_name(removal))
    }

    /// The log with this file as it is now.
    fn next_log(&self, memory: &Memory, ino: Ino, above: &[Ino]) -> Items {
        let mut log = memory.log.clone();
        log.retain(|item| !belongs(item, ino));
        let names_max = if self.variant.is(Flaw::LogOneName) { 1 } else { usize::MAX };
        let committed = memory.files.items();
        let add = |log: &mut Items, ino, names_max| {
            let own = memory.items.as_slice().iter().filter(|item| belongs(item, ino));
            let all = own.chain(memory.items.names(ino).take(names_max));
            all.for_each(|item| log.put(item.key, item.value));
        };
        add(&mut log, ino, names_max);
        if let (true, Some(was), Some(now)) =
            (self.variant.is(Flaw::LogForgetsMode), committed.inode(ino), log.inode(ino))
        {
            log.put(Key::inode(ino), Inode { mode: was.mode, ..now }.encode());
        }
        let is_new = |dir: &&Ino| committed.inode(**dir).is_none();
        above.iter().filter(is_new).for_each(|dir| add(&mut log, *dir, usize::MAX));
        log
    }

    /// Puts the log over the committed items and commits.
    pub(super) fn replay(&self, memory: &mut Memory, disk: &mut Disk) -> Result<(), Errno> {
        let root = memory.log_root.ok_or(Errno::EIO)?;
        let tree = Tree::read(disk, root, !self.variant.is(Flaw::GenerationUnchecked))?;
        memory.log = tree.items();
        self.check_items(&memory.log)?;
        memory.items = replayed(&memory.items, &memory.log);
        let of_log = tree.blocks().chain(memory.data_blocks()).collect::<Vec<_>>();
        if !self.variant.is(Flaw::ReplayForgetsBlocks) {
            of_log.into_iter().for_each(|block| {
                memory.used.insert(block);
            });
        }
        if self.variant.is(Flaw::ReplayNotCommitted) {
            memory.log_root = None;
            return self.write_superblock(memory, disk);
        }
        self.commit(memory, disk)?;
        memory.held = self.variant.is(Flaw::ReplayKeepsRoom);
        Ok(())
    }
}

/// Whether an item is part of a file, or says that a directory exists.
fn belongs(item: &Item, ino: Ino) -> bool {
    item.key.ino() == ino && item.key.kind != ItemKind::Entry
}

/// What a mount makes of these committed items and this log.
fn replayed(committed: &Items, log: &Items) -> Items {
    let mut items = committed.clone();
    if !log.as_slice().is_empty() {
        items.retain(|item| item.key.kind != ItemKind::Extent || log.inode(item.key.ino()).is_none());
        log.as_slice().iter().for_each(|item| items.put(item.key, item.value));
    }
    items
}

/// The directories above all names of a node, each once.
fn above(items: &Items, ino: Ino) -> Vec<Ino> {
    let mut found: Vec<Ino> = Vec::new();
    let mut next = vec![ino];
    while let Some(node) = next.pop() {
        for Item { key: Key { object, .. }, .. } in items.names(node) {
            let dir = Ino(u32::from(*object));
            if !found.contains(&dir) {
                found.push(dir);
                next.push(dir);
            }
        }
    }
    found
}
