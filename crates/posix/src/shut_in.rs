//! A thread that sees one directory and nothing else.

#![expect(unsafe_code, reason = "unshare can do more than is asked of it here, so its wrapper is unsafe")]

use std::path::Path;

use rustix::{
    fs::Mode,
    io,
    process::{chdir, chroot, umask},
    thread::{UnshareFlags, unshare_unsafe},
};

/// Makes the directory the root of the calling thread, with this umask. No path leads out of it any more, absolute
/// symlinks included, and there is no way back: use a thread of its own. Takes root's rights.
///
/// # Errors
/// The thread may not do this, or there is no such directory.
pub fn shut_in(dir: &Path, mask: u32) -> io::Result<()> {
    // SAFETY: what threads share of open files stays shared; only root, working directory and umask become its own.
    unsafe { unshare_unsafe(UnshareFlags::FS)? };
    chroot(dir)?;
    chdir("/")?;
    umask(Mode::from_bits_retain(mask));
    Ok(())
}
