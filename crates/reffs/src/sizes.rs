//! The kernel made to ask for the sizes that a restore has changed, on a thread of its own.
//!
//! A notice tells the kernel that what it knows of a file is not so any more, and it asks again when somebody looks at
//! the file. Somebody who has it open need not look: appends, pages of mappings, `sendfile` and `copy_file_range` go by
//! the size that the kernel was told last. So we look. To ask where a file ends makes the kernel ask us, with the lock
//! held that whoever writes to the file holds from finding the end to having written: no earlier size outlives that.
//!
//! A file is opened by its number: it may have another name by now, or none. The kernel lets nobody do this but root;
//! on a mount of another user it goes on with the size that it has until somebody looks.
//!
//! Who waits for an answer of its own process may wait forever. When that is killed, the kernel ends the conversation,
//! and with it the waiting, once the device of the mount is open no more; and in a thread that waits, it would be. So
//! this thread has a table of open files of its own.

use std::{
    collections::BTreeSet,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use libc::{c_int, c_uint};
use rustix::fs::{CWD, Mode, OFlags, SeekFrom, openat, seek};
use vfs::NodeId;

use crate::attr::ino;

/// The thread that asks.
pub struct Sizes {
    asked: Sender<BTreeSet<NodeId>>,
    done: Receiver<()>,
}

impl Sizes {
    /// Starts the thread for what is mounted on a directory.
    pub fn start(dir: PathBuf) -> io::Result<Self> {
        let (asked, to_do) = channel::<BTreeSet<NodeId>>();
        let (finished, done) = channel();
        thread::Builder::new().name("sizes".to_owned()).spawn(move || {
            if !leave_files() {
                return;
            }
            for files in to_do {
                look(&dir, &files);
                // Nobody listens any more when the file system is being unmounted.
                let _ = finished.send(());
            }
        })?;
        Ok(Self { asked, done })
    }

    /// Has the kernel know the sizes of these files when this returns, if that is possible.
    pub fn refresh(&self, files: BTreeSet<NodeId>) {
        if !files.is_empty() && self.asked.send(files).is_ok() {
            // It says nothing if it has ended, and then there is nothing to wait for.
            let _ = self.done.recv();
        }
    }
}

/// Gives the thread a table of open files of its own, with nothing in it but the three that every program has.
#[expect(unsafe_code, reason = "there is no safe function for it")]
fn leave_files() -> bool {
    // SAFETY: what is closed is closed for this thread alone, which has opened nothing yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_UNSHARE) == 0 }
}

/// Asks where each file ends. The directory is open for no longer than that: an unmount would find it busy.
fn look(dir: &Path, files: &BTreeSet<NodeId>) {
    let Ok(root) = openat(CWD, dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else { return };
    for file in files {
        match open(root.as_fd(), *file) {
            // The answer is for the kernel; without one it goes on with the size that it has.
            Ok(file) => drop(seek(file, SeekFrom::End(0))),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => return,
            // The kernel has dropped the file, and its size with it.
            Err(_) => {}
        }
    }
}

/// A file of FUSE by its number, as the kernel takes it (`fuse_encode_fh`): both halves of the number, the generation.
#[repr(C)]
struct Handle {
    bytes: c_uint,
    kind: c_int,
    node: [u32; 3],
}

/// `FILEID_INO64_GEN`.
const KIND: c_int = 0x81;

#[expect(unsafe_code, reason = "there is no safe function for it")]
#[expect(clippy::cast_possible_truncation, reason = "each half is cut out of the number")]
fn open(root: BorrowedFd<'_>, file: NodeId) -> io::Result<OwnedFd> {
    let number = ino(file).0;
    let node = [(number >> 32) as u32, number as u32, 0];
    let mut handle = Handle { bytes: size_of_val(&node) as c_uint, kind: KIND, node };
    // Whoever has a lease on the file is not waited for.
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the handle begins as a `file_handle` does and has as many bytes behind that as it says.
    let opened = unsafe { libc::open_by_handle_at(root.as_raw_fd(), (&raw mut handle).cast(), flags) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}
