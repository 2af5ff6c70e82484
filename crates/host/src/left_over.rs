//! What was left behind by a run of which every process was killed at once: empty loop devices, folders among the
//! temporary files, and mounts that nobody serves.
//!
//! The mounts of workers end with their processes; what `shakedown mount` has mounted does not, and neither does a
//! device or a folder. Devices are known by their numbers, and one that is in use cannot be removed. Folders and mounts
//! are named after the process that has them ([`process_name`]); what belongs to a container that we do not see into
//! stays.

use std::{
    fs::{self, DirEntry},
    io,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
};

use guest::scratch;
use posix::{loop_device, process_name};
use rustix::{
    mount::{UnmountFlags, unmount},
    process::geteuid,
};

/// What became of a left-over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// What it is.
    pub what: String,
    /// Why it could not be cleared away, if it could not: most often because it is in use.
    pub stays: Option<String>,
}

/// Clears away everything of ours that nobody uses any more.
pub fn clear() -> Vec<LeftOver> {
    let mounts = mounts().into_iter().map(|path| {
        let unmounted = unmount(&path, UnmountFlags::DETACH);
        left_over(format!("the mount on {}", path.display()), unmounted.map_err(Into::into))
    });
    let folders = folders().into_iter().map(|path| {
        let removed = fs::remove_dir_all(&path);
        left_over(path.display().to_string(), removed)
    });
    let devices = loop_device::ours().into_iter();
    let devices = devices.map(|number| left_over(loop_device::path(number), loop_device::remove(number)));
    mounts.chain(folders).chain(devices).collect()
}

fn left_over(what: String, cleared: io::Result<()>) -> LeftOver {
    LeftOver { what, stays: cleared.err().map(|error| error.to_string()) }
}

/// Our folders whose process is gone. One that somebody else has made, by whatever name, is not ours to remove.
fn folders() -> Vec<PathBuf> {
    let is_left_over = |entry: &DirEntry| {
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
        is_ours && scratch::is_left_over(&entry.path()) == Some(true)
    };
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return Vec::new() };
    entries.flatten().filter(is_left_over).map(|entry| entry.path()).collect()
}

/// Where something of ours is mounted whose server is gone.
fn mounts() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().filter_map(left_over_mount).collect()
}

/// The mount point in a line of the kernel's table, if what is mounted there is ours and its server is gone.
fn left_over_mount(line: &str) -> Option<PathBuf> {
    let mut words = line.split(' ');
    let (source, path, kind) = (words.next()?, words.next()?, words.next()?);
    let (process, _) = source.strip_prefix("shakedown-")?.split_once('-')?;
    // Whether the kernel is told more than that it is FUSE depends on who mounts.
    let is_left_over = ["fuse", "fuse.shakedown"].contains(&kind) && process_name::is_gone(process) == Some(true);
    is_left_over.then(|| unescaped(path).into())
}

/// The kernel writes what would part words or lines as a backslash and three octal digits.
fn unescaped(path: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(path.to_owned(), |path, (escape, plain)| path.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_and_has_no_server_is_left_over() {
        let own = process_name::own();
        let (namespace, _) = own.split_once('.').unwrap();
        let gone = format!("{namespace}.{}", i32::MAX);
        let elsewhere = format!("{namespace}0.{}", i32::MAX);
        let line = |source: &str, kind: &str| format!("{source} /mnt/a\\040b {kind} rw,nosuid 0 0");
        for kind in ["fuse", "fuse.shakedown"] {
            let dead = left_over_mount(&line(&format!("shakedown-{gone}-0"), kind));
            assert_eq!(dead, Some("/mnt/a b".into()), "{kind}");
        }
        let stay = [
            line(&format!("shakedown-{own}-0"), "fuse.shakedown"),
            line(&format!("shakedown-{elsewhere}-0"), "fuse.shakedown"),
            line(&format!("shakedown-{gone}-0"), "ext4"),
            line("shakedown", "fuse.shakedown"),
            line("/dev/sda1", "ext4"),
            String::new(),
        ];
        for line in stay {
            assert_eq!(left_over_mount(&line), None, "{line}");
        }
    }
}
