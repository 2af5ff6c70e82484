//! The file system as it is now, with what the kernel knows of it, behind one lock.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fuser::{FileHandle, INodeNo};
use vfs::{Errno, NodeId, NodeKind, reference::Removal};

use crate::{
    attr::id,
    kernel::{Lookups, OpenDirs, Pages},
    names,
    state::State,
    times::Time,
};

/// The file system and what the kernel knows of it.
pub struct Live {
    pub state: State,
    pub lookups: Lookups,
    pub pages: Pages,
    pub dirs: OpenDirs,
    /// Files that a restore gave another size, for as long as the kernel may not know it.
    pub resized: BTreeSet<NodeId>,
    /// How many requests were answered from the state or changed it.
    pub served: u64,
}

/// What all threads share.
pub struct Shared {
    live: Mutex<Live>,
    /// Who may use snapshots, besides root.
    owner: u32,
}

impl Shared {
    /// A file system that belongs to a user.
    pub fn new(state: State, owner: u32) -> Arc<Self> {
        let (lookups, pages, dirs) = (Lookups::default(), Pages::default(), OpenDirs::default());
        let live = Live { state, lookups, pages, dirs, resized: BTreeSet::new(), served: 0 };
        Arc::new(Self { live: Mutex::new(live), owner })
    }

    /// The live state. A request that panicked has changed nothing that others rely on: each change is one call.
    pub fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The live state, for a request that depends on it.
    pub fn serve(&self) -> MutexGuard<'_, Live> {
        let mut live = self.lock();
        live.served += 1;
        live
    }

    /// Who may use snapshots, besides root.
    pub fn owner(&self) -> u32 {
        self.owner
    }
}

impl Live {
    /// A name is gone; so is its node, unless it has another or the kernel knows it.
    pub fn settle(&mut self, lost: NodeId) {
        if !self.lookups.knows(lost) {
            self.state.let_go(lost);
        }
    }

    /// Where to write what a program writes there. The kernel has looked for the end of the file if this is an append,
    /// and may have done so before a restore.
    pub fn place_of_write(&self, id: NodeId, offset: u64, is_append: bool) -> u64 {
        match self.state.node(id).map(|(node, _)| &node.kind) {
            Ok(NodeKind::File(contents)) if is_append && self.resized.contains(&id) => contents.size(),
            _ => offset,
        }
    }

    pub fn remove(&mut self, dir: INodeNo, name: &OsStr, removal: Removal) -> Result<(), Errno> {
        let lost = self.state.remove(id(dir), &names::name(name)?, removal, Time::now())?;
        self.settle(lost);
        Ok(())
    }

    pub fn forget(&mut self, ino: INodeNo, times: u64) {
        let id = id(ino);
        if self.lookups.taken_back(id, times) {
            self.pages.dropped(id);
            self.state.let_go(id);
        }
    }

    /// Lists a directory that is read from its start, or from a position that another handle was given.
    pub fn list_if_needed(&mut self, ino: INodeNo, handle: FileHandle, offset: u64) -> Result<(), Errno> {
        if offset == 0 || !self.dirs.is_listed(handle) {
            let (node, _) = self.state.node(id(ino))?;
            self.dirs.list(handle, node);
            self.state.accessed(id(ino), Time::now());
        }
        Ok(())
    }
}
