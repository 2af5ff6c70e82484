//! File systems with directories: what they share, so that each model is about its disk and nothing else.
//!
//! A model implements [`Nodes`]: nodes by number, names in directories, bytes in files, what each op writes, what a
//! mount and a check do. [`NodeTarget`] makes a target of it: it follows paths, finds the errno that Linux would find,
//! looks at the whole tree, and undoes in memory what an op did that fails.

mod fill;
mod names;
mod observe;
mod ops;
mod target;

use check::{Finding, Promise};
use disk::{Block, Disk, Image, IoError};
use vfs::{
    Data, Errno,
    generate::{ObjectBounds, OpSet},
};

pub use self::target::NodeTarget;

/// The permission bits of a new file.
const FILE_MODE: u32 = 0o644;
/// The permission bits of a new directory.
const DIR_MODE: u32 = 0o755;

/// The number of a node, as directory entries say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u32);

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
}

impl Kind {
    /// The permission bits of a new node.
    pub(crate) fn mode(self) -> u32 {
        match self {
            Self::File => FILE_MODE,
            Self::Dir => DIR_MODE,
        }
    }
}

/// What is known of a node without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes in a file; of no matter for a directory.
    pub size: u64,
    /// How many names a file has, by its own count; of no matter for a directory.
    pub links: u32,
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The directory.
    pub dir: Ino,
    /// The component.
    pub name: &'a str,
}

/// A file system made of numbered nodes.
///
/// Whoever calls has followed the paths and checked what can be checked without knowing the disk: a name that is made
/// does not exist, one that is removed does, a directory that is removed is empty, a rename makes no cycle. What an op
/// did to memory is undone by the caller if it fails; what it wrote to the disk is not. Where a real one would allocate
/// memory, a model says so to [`Disk::allocate`], which may fail.
pub trait Nodes: Send + Sync {
    /// What it keeps in memory while mounted. Cloned at every step: indices and small arrays, or shared.
    type Memory: Clone + Send + Sync + 'static;

    /// The root directory.
    fn root(&self) -> Ino;

    /// A freshly made file system.
    fn mkfs(&self) -> Image;

    /// Mounts, and recovers as this file system does by itself.
    ///
    /// # Errors
    /// It cannot be mounted.
    fn mount(&self, disk: &mut Disk) -> Result<Self::Memory, Errno>;

    /// Leaves everything durable and ends. One that fails has changed nothing in memory: use goes on.
    ///
    /// # Errors
    /// Something could not be written.
    fn unmount(&self, memory: &mut Self::Memory, disk: &mut Disk) -> Result<(), Errno> {
        let before = memory.clone();
        self.sync(memory, disk).inspect_err(|errno| self.undo(memory, before, *errno))
    }

    /// What a node is.
    ///
    /// # Errors
    /// There is no such node, or it cannot be read.
    fn stat(&self, memory: &Self::Memory, disk: &Disk, ino: Ino) -> Result<Stat, Errno>;

    /// The permission bits of a node. Most models store none, and every node keeps those that it was made with.
    ///
    /// # Errors
    /// There is no such node, or it cannot be read.
    fn mode(&self, memory: &Self::Memory, disk: &Disk, ino: Ino, kind: Kind) -> Result<u32, Errno> {
        let _ = (memory, disk, ino);
        Ok(kind.mode())
    }

    /// Calls `visit` with each name in a directory and what it leads to, without `.` and `..`.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn entries(
        &self,
        memory: &Self::Memory,
        disk: &Disk,
        dir: Ino,
        visit: &mut dyn FnMut(&str, Ino),
    ) -> Result<(), Errno>;

    /// All bytes of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&self, memory: &Self::Memory, disk: &Disk, ino: Ino) -> Result<Vec<u8>, Errno>;

    /// Makes an empty file or directory.
    ///
    /// # Errors
    /// There is no room, or the disk failed.
    fn make(&self, memory: &mut Self::Memory, disk: &mut Disk, at: Name<'_>, kind: Kind) -> Result<(), Errno>;

    /// Removes a name, and what it leads to if that was the last one.
    ///
    /// # Errors
    /// There is no room, or the disk failed.
    fn remove(&self, memory: &mut Self::Memory, disk: &mut Disk, at: Name<'_>, ino: Ino) -> Result<(), Errno>;

    /// Moves a name to another place; what had that name before, if anything, goes.
    ///
    /// # Errors
    /// There is no room, or the disk failed.
    fn rename(&self, memory: &mut Self::Memory, disk: &mut Disk, rename: Renaming<'_>) -> Result<(), Errno>;

    /// Gives a file one more name.
    ///
    /// # Errors
    /// The file system has no links, there is no room, or the disk failed.
    fn link(&self, memory: &mut Self::Memory, disk: &mut Disk, ino: Ino, to: Name<'_>) -> Result<(), Errno> {
        let _ = (memory, disk, ino, to);
        Err(Errno::EOPNOTSUPP)
    }

    /// Lets two names exchange what they lead to.
    ///
    /// # Errors
    /// The file system cannot do that, there is no room, or the disk failed.
    fn exchange(&self, memory: &mut Self::Memory, disk: &mut Disk, names: [(Name<'_>, Ino); 2]) -> Result<(), Errno> {
        let _ = (memory, disk, names);
        Err(Errno::EOPNOTSUPP)
    }

    /// Sets the permission bits of a node.
    ///
    /// # Errors
    /// The file system stores none, there is no room, or the disk failed.
    fn chmod(&self, memory: &mut Self::Memory, disk: &mut Disk, ino: Ino, mode: u16) -> Result<(), Errno> {
        let _ = (memory, disk, ino, mode);
        Err(Errno::EOPNOTSUPP)
    }

    /// Stores bytes at an offset; a gap between the end and the offset reads as zeros.
    ///
    /// # Errors
    /// There is no room, the file would become too large, or the disk failed.
    fn write(&self, memory: &mut Self::Memory, disk: &mut Disk, ino: Ino, offset: u64, data: Data)
    -> Result<(), Errno>;

    /// Sets the size; what is added reads as zeros.
    ///
    /// # Errors
    /// There is no room, the file would become too large, or the disk failed.
    fn truncate(&self, memory: &mut Self::Memory, disk: &mut Disk, ino: Ino, size: u64) -> Result<(), Errno>;

    /// Makes a file or directory durable.
    ///
    /// # Errors
    /// Something could not be written.
    fn fsync(&self, memory: &mut Self::Memory, disk: &mut Disk, ino: Ino) -> Result<(), Errno>;

    /// Makes everything durable.
    ///
    /// # Errors
    /// Something could not be written.
    fn sync(&self, memory: &mut Self::Memory, disk: &mut Disk) -> Result<(), Errno>;

    /// Puts memory back to what it was before an op that failed.
    fn undo(&self, memory: &mut Self::Memory, before: Self::Memory, errno: Errno) {
        let _ = errno;
        *memory = before;
    }

    /// Checks and repairs offline; see [`check::Target::fsck`].
    ///
    /// # Errors
    /// The check itself failed.
    fn fsck(&self, disk: &mut Disk) -> Result<Vec<Finding>, Errno> {
        let _ = disk;
        Ok(Vec::new())
    }

    /// Checks more thoroughly than recovery does; see [`check::Target::full_fsck`].
    ///
    /// # Errors
    /// The check itself failed.
    fn full_fsck(&self, disk: &mut Disk) -> Option<Result<Vec<Finding>, Errno>> {
        let _ = disk;
        None
    }

    /// Checks the metadata while mounted.
    fn invariants(&self, memory: &Self::Memory, disk: &Disk) -> Vec<Finding>;

    /// Appends the bytes of the memory that decide the future, besides the disk and the tree.
    fn encode(&self, memory: &Self::Memory, bytes: &mut Vec<u8>);

    /// What it promises to leave after a crash.
    fn promise(&self) -> Promise;

    /// Whether it ever makes FUA writes; see [`check::Target::uses_fua`].
    fn uses_fua(&self) -> bool {
        true
    }

    /// The ops that it can do, and how far a workload goes with them unless the user says otherwise.
    fn bounds(&self) -> ObjectBounds;

    /// The kinds of ops that it has, whether or not its own workload proposes them.
    fn ops(&self) -> OpSet {
        self.bounds().ops
    }

    /// The longest name.
    fn name_bytes_max(&self) -> usize;

    /// What lies in a block, for people.
    fn block_name(&self, block: Block) -> String;

    /// What a block's content says, for people, where it can tell.
    fn block_content(&self, block: Block, content: &[u8]) -> Option<String> {
        let _ = (block, content);
        None
    }

    /// What a write of a block says, for people, given what the disk shows before it.
    fn written(&self, disk: &Image, block: Block, content: &[u8]) -> Option<String> {
        let _ = disk;
        self.block_content(block, content)
    }
}

/// What a user sees of a disk that refused a request, or of memory that ran out.
pub(crate) fn io(error: IoError) -> Errno {
    if matches!(error, IoError::Memory) { Errno::ENOMEM } else { Errno::EIO }
}

/// A rename whose paths were followed.
#[derive(Clone, Copy, Debug)]
pub struct Renaming<'a> {
    /// The old name.
    pub from: Name<'a>,
    /// The new one.
    pub to: Name<'a>,
    /// What moves.
    pub ino: Ino,
    /// What it is.
    pub kind: Kind,
    /// What had the new name before.
    pub replaced: Option<Ino>,
}
