//! Saving and restoring, on a thread of its own.
//!
//! A snapshot is a clone of the state, which shares everything with it. A restore puts the clone back and tells the
//! kernel what is different now; what both share is not looked at.
//!
//! To tell the kernel may have to wait: for a page that is being read, a directory that is being changed, a mapped page
//! that is written back first. Whoever is waited for waits for us, so the threads that answer requests must go on:
//! notices are sent from here, without a lock.
//!
//! What was stored through mappings before a command belongs to the state before it, and so to what is saved. It is in
//! pages of the kernel until these are dropped, so whatever file it may have pages of is told to drop them *before* a
//! state is saved or exchanged: each change comes in as a write. This costs what was read or written since the last
//! time, and less than that did. If anything was served meanwhile, the kernel may have cached it, and what an exchange
//! made different is told again. Sizes that are different now are the one thing that it must know at once, and not when
//! somebody asks it: see [`crate::sizes`].

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader, Read as _, Take, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::Path,
    sync::{Arc, mpsc::Receiver},
};

use fuser::{Notifier, ReplyIoctl};
use rustix::fs::OFlags;
use vfs::{Entries, Errno, Node, NodeId, NodeKind};

use crate::{
    attr::{errno, ino},
    ioctl::Command,
    kernel::Lookups,
    live::Shared,
    names,
    pickle::{self, number},
    sizes::Sizes,
    state::State,
};

/// A command and who waits for it.
pub struct Job {
    pub command: Command,
    pub reply: ReplyIoctl,
}

/// Something that the kernel must not remember.
#[derive(Debug, PartialEq, Eq)]
enum Notice {
    /// The attributes of a node.
    Attributes(NodeId),
    /// Its attributes and contents.
    Everything(NodeId),
    /// What a name in a directory leads to, or that it leads nowhere.
    Name(NodeId, Arc<str>),
}

/// What the kernel may remember of one state that is not so in another.
#[derive(Debug, Default)]
struct Stale {
    notices: Vec<Notice>,
    /// Files that have another size.
    resized: BTreeSet<NodeId>,
}

/// The states that are kept.
pub struct Snapshots {
    shared: Arc<Shared>,
    notifier: Notifier,
    sizes: Sizes,
    kept: BTreeMap<u64, State>,
}

impl Snapshots {
    pub fn new(shared: Arc<Shared>, notifier: Notifier, sizes: Sizes) -> Self {
        Self { shared, notifier, sizes, kept: BTreeMap::new() }
    }

    /// Does jobs until there are none to come.
    pub fn run(mut self, jobs: &Receiver<Job>) {
        for Job { command, reply } in jobs {
            match self.execute(command) {
                Ok(()) => reply.ioctl(0, &[]),
                Err(error) => reply.error(errno(error)),
            }
        }
    }

    fn execute(&mut self, command: Command) -> Result<(), Errno> {
        match command {
            Command::Save(key) => {
                self.gather();
                let state = self.shared.lock().state.clone();
                self.kept.insert(key, state);
                Ok(())
            }
            Command::Restore(key) => {
                self.replace(self.kept.get(&key).ok_or(Errno::ENOENT)?.clone());
                Ok(())
            }
            Command::Discard(key) => self.kept.remove(&key).map(drop).ok_or(Errno::ENOENT),
            Command::Pickle(key, path) => {
                let state = self.kept.get(&key).ok_or(Errno::ENOENT)?;
                replaceable(&path)?;
                write(&path, &pickle::encode(state)).map_err(|error| number(&error))
            }
            Command::Load(path) => {
                let file = open(&path)?;
                let now = self.shared.lock().state.clone();
                self.replace(pickle::decode(BufReader::new(file), &now)?);
                Ok(())
            }
        }
    }

    /// Has the kernel write what was stored through mappings.
    fn gather(&self) {
        let notices = {
            let mut live = self.shared.lock();
            let pages = live.pages.take();
            pages.into_iter().filter(|id| live.lookups.knows(*id)).map(Notice::Everything).collect()
        };
        self.send(notices);
    }

    /// Puts another state in place of the live one.
    fn replace(&self, mut next: State) {
        let (Stale { notices, resized }, served) = {
            let mut live = self.shared.lock();
            let pages = live.pages.take();
            (stale(&live.state, &next, &live.lookups, &pages), live.served)
        };
        self.send(notices);
        let Stale { notices, resized } = {
            let mut live = self.shared.lock();
            next.fs.continue_identities_of(&live.state.fs);
            let nameless: Vec<NodeId> = next.fs.nameless().collect();
            nameless.into_iter().filter(|id| !live.lookups.knows(*id)).for_each(|id| next.let_go(id));
            let again = if live.served == served {
                Stale { resized, ..Stale::default() }
            } else {
                stale(&live.state, &next, &live.lookups, &BTreeSet::new())
            };
            live.resized.clone_from(&again.resized);
            live.state = next;
            again
        };
        self.send(notices);
        self.sizes.refresh(resized);
        // Whoever looks for an end from here on finds the restored one.
        self.shared.lock().resized.clear();
    }

    /// Tells the kernel. What it does not have it need not drop, and once it is gone there is nobody to tell.
    fn send(&self, notices: Vec<Notice>) {
        for notice in notices {
            let _ = match notice {
                Notice::Attributes(id) => self.notifier.inval_inode(ino(id), -1, 0),
                Notice::Everything(id) => self.notifier.inval_inode(ino(id), 0, 0),
                Notice::Name(dir, name) => self.notifier.inval_entry(ino(dir), OsStr::from_bytes(&names::bytes(&name))),
            };
        }
    }
}

/// What the kernel must be told, and that it must drop the pages of these files.
fn stale(old: &State, new: &State, lookups: &Lookups, pages: &BTreeSet<NodeId>) -> Stale {
    let mut stale = Stale::default();
    let nodes = new.fs.changed_since(&old.fs);
    let times = old.times.differences(&new.times, |left, right| left == right).into_iter().map(NodeId);
    let all = nodes.into_iter().chain(times).chain(pages.iter().copied());
    let changed: BTreeSet<NodeId> = all.filter(|id| lookups.knows(*id)).collect();
    for id in changed {
        let (old, new) = (old.fs.node(id), new.fs.node(id));
        let same_contents = match (old.map(|node| &node.kind), new.map(|node| &node.kind)) {
            (Some(NodeKind::File(old)), Some(NodeKind::File(new))) => {
                if old.size() != new.size() {
                    stale.resized.insert(id);
                }
                old.shared_with(new)
            }
            (Some(NodeKind::File(_)), None) => false,
            _ => true,
        } && !pages.contains(&id);
        stale.notices.extend(changed_names(old, new).into_iter().map(|name| Notice::Name(id, name)));
        stale.notices.push(if same_contents { Notice::Attributes(id) } else { Notice::Everything(id) });
    }
    stale
}

fn changed_names(old: Option<&Arc<Node>>, new: Option<&Arc<Node>>) -> Vec<Arc<str>> {
    let none = Entries::new();
    let [old, new] = [old, new].map(|node| node.and_then(|node| node.entries()).unwrap_or(&none));
    old.differences(new)
}

/// Opens a file of which there is an end, and no more than it has now. All commands wait for this one: nothing that it
/// may have to wait for itself, as a pipe is, gets as far as being read.
fn open(path: &Path) -> Result<Take<File>, Errno> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| number(&error))?;
    let metadata = file.metadata().map_err(|error| number(&error))?;
    if metadata.is_file() { Ok(file.take(metadata.len())) } else { Err(Errno::EINVAL) }
}

/// Whether a file may take the place of what is there. A device or a pipe is somebody's, and no earlier state.
fn replaceable(path: &Path) -> Result<(), Errno> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => Err(Errno::EINVAL),
        // Whatever cannot be looked at will not be written either, and that says why.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Writes a file beside its place and moves it there, so that nobody finds half of it.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    // One that was killed may have had our number. What we make is new: nobody has put a pipe there.
    let _ = fs::remove_file(&beside);
    let written = File::create_new(&beside).and_then(|mut file| file.write_all(bytes));
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        // There may be nothing to remove; the error that counts is the first.
        let _ = fs::remove_file(&beside);
    }
    moved
}
