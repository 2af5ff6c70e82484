//! Mounting, and being unmounted in every way there is.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use fuser::{MountOption, Session, SessionACL, SessionUnmounter};
use posix::process_name;
use rustix::{
    mount::{UnmountFlags, unmount},
    process::{getegid, geteuid},
};
use vfs::{contents::BLOCK_SIZE, reference::Owner};

use crate::{
    live::Shared,
    server::Server,
    sizes::Sizes,
    snapshots::Snapshots,
    state::{Room, State},
    times::Time,
    watcher::Watcher,
};

/// Where the kernel takes file systems from programs.
const DEVICE: &str = "/dev/fuse";
/// States are compared and written by recursion over directories, however deep they are.
const SNAPSHOT_STACK_BYTES: usize = 256 << 20;

/// How a mounted reference is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes that all files may hold together, in blocks of 4096. Holes take nothing.
    pub capacity: u64,
    /// How many files, directories and others there may be.
    pub inodes: u64,
    /// How many threads answer the kernel.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        Self { capacity: 1 << 30, inodes: 1 << 20, threads }
    }
}

/// Why nothing was mounted; fits after "could not ".
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// There is nothing to mount on.
    #[error("mount on {0}: it is not a directory")]
    NotADirectory(PathBuf),
    /// The kernel has no FUSE.
    #[error("mount on {0}: {DEVICE} is not there; as root: modprobe fuse")]
    NoFuse(PathBuf),
    /// Nobody may mount it.
    #[error("mount on {0}: only root can do so without fusermount3; it is in the package fuse3")]
    NotRoot(PathBuf),
    /// The system refused.
    #[error("mount on {0}: {1}")]
    System(PathBuf, #[source] io::Error),
}

/// A mounted reference. Dropping it unmounts it.
pub struct Mount {
    dir: PathBuf,
    ender: Ender,
    ended: Receiver<io::Result<()>>,
    /// Dropped after the file system was unmounted, when there is nothing left for it to do.
    _watcher: Watcher,
}

/// What can end a mount from anywhere.
#[derive(Clone)]
pub struct Ender {
    dir: PathBuf,
    unmounter: Arc<Mutex<SessionUnmounter>>,
    ended: Sender<io::Result<()>>,
}

impl Ender {
    /// Unmounts. If somebody is still using the file system it is taken off its directory all the same, and what is
    /// open there fails once this process ends.
    pub fn end(&self) {
        let orderly = self.unmounter.lock().unwrap_or_else(PoisonError::into_inner).unmount();
        if orderly.is_err() {
            // There is no third way; the watcher tries once more when we are gone.
            let _ = unmount(&self.dir, UnmountFlags::DETACH);
        }
        // Nobody listens if the mount has been given up already.
        let _ = self.ended.send(Ok(()));
    }
}

impl Mount {
    /// Mounts an empty file system on a directory and serves it on threads of its own.
    ///
    /// # Errors
    /// It cannot be mounted; nothing is left behind.
    pub fn start(dir: &Path, options: &Options) -> Result<Self, MountError> {
        let place = dir.canonicalize().ok().filter(|place| place.is_dir());
        let place = place.ok_or_else(|| MountError::NotADirectory(dir.to_owned()))?;
        if !Path::new(DEVICE).exists() {
            return Err(MountError::NoFuse(dir.to_owned()));
        }
        if !geteuid().is_root() && !has_fusermount() {
            return Err(MountError::NotRoot(dir.to_owned()));
        }
        Self::serve(place, options).map_err(|error| MountError::System(dir.to_owned(), error))
    }

    fn serve(dir: PathBuf, options: &Options) -> io::Result<Self> {
        let owner = Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() };
        let room = Room { blocks: options.capacity / BLOCK_SIZE, inodes: options.inodes };
        let shared = Shared::new(State::new(room, owner, Time::now()), owner.uid);
        let (jobs, to_do) = channel();
        let source = source();
        // It comes first: from the moment the mount exists, somebody will unmount it.
        let watcher = Watcher::start(&dir, &source)?;
        let server = Server { shared: Arc::clone(&shared), jobs };
        let mut session = Session::new(server, &dir, &config(&source, options))?;
        let snapshots = Snapshots::new(shared, session.notifier(), Sizes::start(dir.clone())?);
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        spawn("snapshots").stack_size(SNAPSHOT_STACK_BYTES).spawn(move || snapshots.run(&to_do))?;
        let (end, ended) = channel();
        let unmounter = Arc::new(Mutex::new(session.unmount_callable()));
        let unmounting = Ender { dir: dir.clone(), unmounter, ended: end.clone() };
        spawn("session").spawn(move || {
            // Nobody listens if the mount has been given up already.
            let _ = end.send(session.run());
        })?;
        Ok(Self { dir, ender: unmounting, ended, _watcher: watcher })
    }

    /// Where it is mounted.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Something that ends this mount, for a thread that waits for signals.
    pub fn ender(&self) -> Ender {
        self.ender.clone()
    }

    /// Waits until it is unmounted, by anybody.
    ///
    /// # Errors
    /// The kernel ended the conversation.
    pub fn wait(&self) -> io::Result<()> {
        self.ended.recv().unwrap_or(Ok(()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.ender.end();
    }
}

/// A name for the mount's source that no other mount has.
fn source() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("shakedown-{}-{}", process_name::own(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn config(source: &str, options: &Options) -> fuser::Config {
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        MountOption::FSName(source.to_owned()),
        MountOption::Subtype("shakedown".to_owned()),
        MountOption::DefaultPermissions,
    ];
    if geteuid().is_root() {
        config.mount_options.extend([MountOption::Dev, MountOption::Suid]);
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(options.threads.max(1));
    config.clone_fd = true;
    config
}

fn has_fusermount() -> bool {
    ["fusermount3", "fusermount"].iter().any(|name| Command::new(name).arg("--version").output().is_ok())
}
