//! A file system of one file with a redo journal of one block, for power cuts in the middle of recovery.
//!
//! `create` commits a record to the journal and is done. Recovery copies what the record stands for to its home, two
//! blocks that belong together, and clears the journal. The right order is: home, flush, clear, flush.

use check::{Finding, Promise, Target, Task, View};
use disk::{Block, BlockSize, Disk, Geometry, Image, IoError};
use explore::Property;
use vfs::{Errno, Op, Outcome, Tree, Value};

use crate::toy::{create, found_if, get, set, tree_of};

/// One block of the file's home is there and the other is not.
const HALF: Property = Property::critical("half");

const RECORD: Block = Block(0);
/// A second copy of the record that is never cleared, in the way that needs it.
const BACKUP: Block = Block(1);
const HOME: [Block; 2] = [Block(2), Block(3)];

/// How recovery empties the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    Right,
    /// Right, with both home blocks in one request.
    RightInOne,
    /// The journal is cleared before its content is at home.
    ClearsFirst,
    /// Nothing is flushed before the journal is cleared.
    NoFlush,
    /// Both home blocks in one request, which counts as done if the first is there.
    TrustsFirst,
    /// Both home blocks in one request, which counts as done if the last is there.
    TrustsLast,
    /// Both home blocks in one request, and no flush. If nothing came home, the record is restored from
    /// the backup.
    NoFlushButBackup,
}

pub struct Journal(pub Replay);

impl Journal {
    fn recover(&self, disk: &mut Disk) -> Result<(), IoError> {
        let lost = HOME.iter().all(|block| get(disk, *block) == 0);
        if get(disk, BACKUP) != 0 && lost {
            set(disk, RECORD, 1)?;
            disk.flush()?;
        }
        if get(disk, RECORD) == 0 {
            return Ok(());
        }
        match self.0 {
            Replay::Right => {
                Self::copy(disk)?;
                disk.flush()?;
                Self::clear(disk)
            }
            Replay::ClearsFirst => {
                Self::clear(disk)?;
                Self::copy(disk)?;
                disk.flush()
            }
            Replay::NoFlush => {
                Self::copy(disk)?;
                Self::clear(disk)
            }
            Replay::RightInOne => Self::copy_in_one(disk, true, true),
            Replay::TrustsFirst => Self::copy_in_one(disk, get(disk, HOME[0]) == 0, true),
            Replay::TrustsLast => Self::copy_in_one(disk, get(disk, HOME[1]) == 0, true),
            Replay::NoFlushButBackup => Self::copy_in_one(disk, true, false),
        }
    }

    fn copy(disk: &mut Disk) -> Result<(), IoError> {
        HOME.into_iter().try_for_each(|block| set(disk, block, 1))
    }

    fn copy_in_one(disk: &mut Disk, needed: bool, flush: bool) -> Result<(), IoError> {
        if needed {
            disk.write(HOME[0], &[1; 8])?;
        }
        if flush {
            disk.flush()?;
        }
        Self::clear(disk)
    }

    fn clear(disk: &mut Disk) -> Result<(), IoError> {
        set(disk, RECORD, 0)?;
        disk.flush()
    }
}

impl Target for Journal {
    type Mounted = ();

    fn mkfs(&self) -> Image {
        Image::zeroed(Geometry { block_size: BlockSize::MIN, blocks: 4 })
    }

    fn mount(&self, _: &mut Disk) -> Result<(), Errno> {
        Ok(())
    }

    fn step(&self, (): &mut (), disk: &mut Disk, _: &mut Task) -> Option<Outcome> {
        let mut commit = || {
            if self.0 == Replay::NoFlushButBackup {
                set(disk, BACKUP, 1)?;
                disk.flush()?;
            }
            set(disk, RECORD, 1)?;
            disk.flush()
        };
        Some(commit().map(|()| Value::Done).map_err(|_| Errno::EIO))
    }

    fn observe(&self, (): &(), disk: &Disk) -> Result<Tree, Errno> {
        let present = get(disk, RECORD) != 0 || HOME.iter().all(|block| get(disk, *block) != 0);
        Ok(tree_of(present.then_some("a")))
    }

    fn encode(&self, (): &(), _: &mut Vec<u8>) {}

    fn promise(&self) -> Promise {
        Promise { write_through: true, ..Promise::default() }
    }

    fn workload(&self, view: &View<'_, Self>, ops: &mut Vec<Op>) {
        ops.extend(view.tree().lookup(create("a").paths()[0]).is_none().then(|| create("a")));
    }

    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        self.recover(disk).map_err(|_| Errno::EIO)?;
        let [first, last] = HOME.map(|block| get(disk, block) != 0);
        Ok(found_if(first != last, HALF, "only one block of the file is at home"))
    }

    fn probe(&self, _: &Tree) -> Vec<Vec<Op>> {
        vec![Vec::new()]
    }

    fn block_name(&self, block: Block) -> String {
        ["record", "backup", "home 1", "home 2"][block.0 as usize].to_owned()
    }
}
