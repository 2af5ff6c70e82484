//! The snapshot commands as `ioctl` numbers and bytes. `include/shakedown_reffs.h` says the same for C.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use vfs::Errno;

/// The letter of all our commands.
pub const GROUP: u8 = 0xF5;
/// Bytes of a path with its terminating zero.
pub const PATH_BYTES: usize = 4096;

pub const SAVE: u8 = 1;
pub const RESTORE: u8 = 2;
pub const DISCARD: u8 = 3;
pub const PICKLE: u8 = 4;
pub const LOAD: u8 = 5;

/// A key as it is passed.
pub const KEY_BYTES: usize = 8;

/// What is asked about snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Keep the state under a key, in place of what was kept there.
    Save(u64),
    /// Go back to the state that was kept. It stays kept.
    Restore(u64),
    /// Keep it no longer.
    Discard(u64),
    /// Write a kept state to a file.
    Pickle(u64, PathBuf),
    /// Go to the state that was written to a file.
    Load(PathBuf),
}

/// The number of a command that passes so many bytes to the kernel.
#[expect(clippy::cast_possible_truncation, reason = "the kernel has 14 bits for the size, and ours fit")]
pub const fn number(command: u8, bytes: usize) -> u32 {
    const WRITE: u32 = 1 << 30;
    WRITE | (bytes as u32) << 16 | (GROUP as u32) << 8 | command as u32
}

impl Command {
    /// The command of an `ioctl`. `None` if it is not one of ours, an error if it makes no sense.
    pub fn decode(command: u32, bytes: &[u8]) -> Option<Result<Self, Errno>> {
        const SAVE_NUMBER: u32 = number(SAVE, KEY_BYTES);
        const RESTORE_NUMBER: u32 = number(RESTORE, KEY_BYTES);
        const DISCARD_NUMBER: u32 = number(DISCARD, KEY_BYTES);
        const PICKLE_NUMBER: u32 = number(PICKLE, KEY_BYTES + PATH_BYTES);
        const LOAD_NUMBER: u32 = number(LOAD, PATH_BYTES);
        Some(match command {
            SAVE_NUMBER => key(bytes).map(|(key, _)| Self::Save(key)),
            RESTORE_NUMBER => key(bytes).map(|(key, _)| Self::Restore(key)),
            DISCARD_NUMBER => key(bytes).map(|(key, _)| Self::Discard(key)),
            PICKLE_NUMBER => key(bytes).and_then(|(key, rest)| Ok(Self::Pickle(key, path(rest)?))),
            LOAD_NUMBER => path(bytes).map(Self::Load),
            _ => return None,
        })
    }
}

fn key(bytes: &[u8]) -> Result<(u64, &[u8]), Errno> {
    let (key, rest) = bytes.split_first_chunk::<KEY_BYTES>().ok_or(Errno::EINVAL)?;
    Ok((u64::from_ne_bytes(*key), rest))
}

/// A path that ends with a zero byte. It must be absolute: the server's directory is none of the caller's business.
fn path(bytes: &[u8]) -> Result<PathBuf, Errno> {
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::EINVAL)?;
    let path = PathBuf::from(OsStr::from_bytes(&bytes[..end]));
    if path.is_absolute() { Ok(path) } else { Err(Errno::EINVAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_the_header_says() {
        let header = include_str!("../include/shakedown_reffs.h");
        let line = |name: &str| header.lines().find(|line| line.starts_with(&format!("#define {name} "))).unwrap();
        for (name, number) in [("SAVE", SAVE), ("RESTORE", RESTORE), ("DISCARD", DISCARD)] {
            let expected = format!("_IOW(SHAKEDOWN_REFFS_GROUP, {number}, __u64)");
            assert!(line(&format!("SHAKEDOWN_REFFS_{name}")).ends_with(&expected));
        }
        assert!(line("SHAKEDOWN_REFFS_GROUP").ends_with("0xF5"));
        assert!(line("SHAKEDOWN_REFFS_PATH_BYTES").ends_with("4096"));
        assert!(line("SHAKEDOWN_REFFS_PICKLE").ends_with("4, struct shakedown_reffs_pickle)"));
        assert!(line("SHAKEDOWN_REFFS_LOAD").ends_with("5, struct shakedown_reffs_load)"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut bytes = vec![0; PATH_BYTES];
        assert_eq!(Command::decode(1, &[]), None);
        assert_eq!(Command::decode(number(SAVE, 8), &7_u64.to_ne_bytes()), Some(Ok(Command::Save(7))));
        assert_eq!(Command::decode(number(SAVE, 8), &[1]), Some(Err(Errno::EINVAL)));
        assert_eq!(Command::decode(number(LOAD, PATH_BYTES), &bytes), Some(Err(Errno::EINVAL)), "empty");
        bytes[..2].copy_from_slice(b"/a");
        assert_eq!(Command::decode(number(LOAD, PATH_BYTES), &bytes), Some(Ok(Command::Load("/a".into()))));
        bytes.fill(b'/');
        assert_eq!(Command::decode(number(LOAD, PATH_BYTES), &bytes), Some(Err(Errno::EINVAL)), "no end");
    }
}
