//! What the kernel knows of us: which nodes it may name, of which files it may have pages, and which directories it is
//! reading.
//!
//! The kernel counts how often it was told of a node and takes that back in one go when it drops the inode. Until then
//! a node without a name must be kept. This is the kernel's memory and not the file system's, so no snapshot has it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use fuser::FileHandle;
use vfs::{Node, NodeId};

/// Identities are given out in turn: they spread well enough when multiplied.
#[derive(Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// How often the kernel was told of each node.
#[derive(Default)]
pub struct Lookups(ByNumber<NodeId, u64>);

impl Lookups {
    /// The kernel is being told of a node.
    pub fn told(&mut self, id: NodeId) {
        *self.0.entry(id).or_default() += 1;
    }

    /// The kernel takes some of it back; whether that was all.
    pub fn taken_back(&mut self, id: NodeId, times: u64) -> bool {
        let Some(count) = self.0.get_mut(&id) else { return true };
        *count = count.saturating_sub(times);
        if *count == 0 {
            self.0.remove(&id);
        }
        !self.0.contains_key(&id)
    }

    /// Whether the kernel may name the node. The root it knows from the start.
    pub fn knows(&self, id: NodeId) -> bool {
        id == vfs::Reference::ROOT || self.0.contains_key(&id)
    }
}

/// The files of which the kernel may have pages: it gets them by reading and by writing, and keeps what it wrote. It
/// does not say which it maps or changes, so any of these may be changed where we do not see it, and no other.
#[derive(Default)]
pub struct Pages(HashSet<NodeId, BuildHasherDefault<Spread>>);

impl Pages {
    /// The kernel is reading or writing.
    pub fn passed(&mut self, id: NodeId) {
        self.0.insert(id);
    }

    /// The kernel has dropped the file, and its pages with it.
    pub fn dropped(&mut self, id: NodeId) {
        self.0.remove(&id);
    }

    /// Takes note of nothing any more, for one who tells the kernel to drop them all.
    pub fn take(&mut self) -> BTreeSet<NodeId> {
        self.0.drain().collect()
    }
}

/// The directories that are open, each with its names as they were when reading began: positions stay what they were
/// while names come and go.
#[derive(Default)]
pub struct OpenDirs {
    open: ByNumber<u64, Option<Arc<Listing>>>,
    next: u64,
}

/// The names of a directory, in order.
pub type Listing = Vec<(Arc<str>, NodeId)>;

impl OpenDirs {
    /// A handle for a directory that is not read yet.
    pub fn open(&mut self) -> FileHandle {
        self.next += 1;
        self.open.insert(self.next, None);
        FileHandle(self.next)
    }

    /// Whether names were listed for this handle.
    pub fn is_listed(&self, handle: FileHandle) -> bool {
        self.open.get(&handle.0).is_some_and(Option::is_some)
    }

    /// Lists a directory as it is now.
    pub fn list(&mut self, handle: FileHandle, node: &Node) {
        let entries = node.entries().into_iter().flatten();
        let listing = entries.map(|(name, id)| (Arc::clone(name), *id)).collect();
        self.open.insert(handle.0, Some(Arc::new(listing)));
    }

    /// What was listed.
    pub fn listing(&self, handle: FileHandle) -> Arc<Listing> {
        self.open.get(&handle.0).cloned().flatten().unwrap_or_default()
    }

    /// The handle is not needed any more.
    pub fn close(&mut self, handle: FileHandle) {
        self.open.remove(&handle.0);
    }
}
