//! Snapshots for programs in Rust: the `ioctl`s of `include/shakedown_reffs.h`.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use crate::ioctl::{DISCARD, GROUP, KEY_BYTES, LOAD, PATH_BYTES, PICKLE, RESTORE, SAVE};

/// A mounted reference whose state can be saved and restored.
///
/// ```no_run
/// let mount = reffs::Client::open("/mnt/ref")?;
/// mount.save(1)?;
/// std::fs::write("/mnt/ref/file", "anything")?;
/// mount.restore(1)?;
/// assert!(!std::path::Path::new("/mnt/ref/file").exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Client(File);

type Key = [u8; KEY_BYTES];
type PathBytes = [u8; PATH_BYTES];

#[repr(C)]
struct Pickle {
    key: Key,
    path: PathBytes,
}

const fn opcode<T>(command: u8) -> Opcode {
    opcode::write::<T>(GROUP, command)
}

impl Client {
    /// Uses the mount of which this is any file or directory. Root and whoever mounted it may.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Keeps the state under a key, in place of what was kept there.
    ///
    /// # Errors
    /// `ENOTTY`: it is no mounted reference; `EPERM`: of somebody else.
    pub fn save(&self, key: u64) -> io::Result<()> {
        self.ask::<{ opcode::<Key>(SAVE) }, _>(key.to_ne_bytes())
    }

    /// Goes back to the state under a key, which stays kept. If the mount is not root's, the kernel may go by the size
    /// before of a file that stays open, until somebody asks for its attributes.
    ///
    /// # Errors
    /// `ENOENT`: there is none; or as [`Client::save`].
    pub fn restore(&self, key: u64) -> io::Result<()> {
        self.ask::<{ opcode::<Key>(RESTORE) }, _>(key.to_ne_bytes())
    }

    /// Keeps the state under a key no longer.
    ///
    /// # Errors
    /// As [`Client::restore`].
    pub fn discard(&self, key: u64) -> io::Result<()> {
        self.ask::<{ opcode::<Key>(DISCARD) }, _>(key.to_ne_bytes())
    }

    /// Writes the state under a key to a file, which the server makes or replaces.
    ///
    /// # Errors
    /// The file cannot be written; `EINVAL`: its path is not absolute or leads to something that is no file; or as
    /// [`Client::restore`].
    pub fn pickle(&self, key: u64, path: impl AsRef<Path>) -> io::Result<()> {
        let pickle = Pickle { key: key.to_ne_bytes(), path: path_bytes(path.as_ref())? };
        self.ask::<{ opcode::<Pickle>(PICKLE) }, _>(pickle)
    }

    /// Goes to the state that was written to a file. Whatever is open gives `ESTALE` from then on.
    ///
    /// # Errors
    /// The file cannot be read; `EINVAL`: its path is not absolute or leads to something that is no file; `EBADMSG`: it
    /// is no state; or as [`Client::save`].
    pub fn load(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.ask::<{ opcode::<PathBytes>(LOAD) }, _>(path_bytes(path.as_ref())?)
    }

    #[expect(unsafe_code, reason = "an ioctl is as safe as its number and its argument fit each other")]
    fn ask<const OPCODE: Opcode, T>(&self, argument: T) -> io::Result<()> {
        // SAFETY: each number was made from the type that is passed, for the kernel to read; it has no pointers in it.
        let asked = unsafe { ioctl(self.0.as_fd(), Setter::<OPCODE, T>::new(argument)) };
        asked.map_err(io::Error::from)
    }
}

/// A path with its terminating zero, in a field of fixed size.
fn path_bytes(path: &Path) -> io::Result<PathBytes> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() >= PATH_BYTES || bytes.contains(&0) {
        return Err(io::Error::from(io::ErrorKind::InvalidFilename));
    }
    let mut field = [0; PATH_BYTES];
    field[..bytes.len()].copy_from_slice(bytes);
    Ok(field)
}
