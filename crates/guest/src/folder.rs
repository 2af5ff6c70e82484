//! Where built kernels lie: the one place that knows the layout of the cache.
//!
//! A kernel has a folder of its own, named by the key of its source and options and by a hash of its program, so that
//! none is ever replaced: whoever runs one goes on with it while another is built. Files beside the folders, one for
//! each name that a kernel is asked for by, say which of them is meant.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use explore::Stop;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::kernel::{DEBUG, FILE_SYSTEMS, PLAIN, PROGRAM, SYMBOLS};

/// The folder for what can be made again.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("shakedown/kernels"))
}

/// The files that say which kernel is meant by a name.
const CURRENT: &str = "current";
const CURRENT_DEBUG: &str = "current-debug";
const NAMED: &str = "named-";
/// Behind the folder in such a file: the kernel has debugging aids.
const WITH_AIDS: &str = "debug";

fn pointer(name: &str) -> String {
    match name {
        PLAIN => CURRENT.to_owned(),
        DEBUG => CURRENT_DEBUG.to_owned(),
        name => format!("{NAMED}{name}"),
    }
}

/// The name for which a file of the cache stands.
fn name_of(pointer: &str) -> Option<&str> {
    match pointer {
        CURRENT => Some(PLAIN),
        CURRENT_DEBUG => Some(DEBUG),
        other => other.strip_prefix(NAMED).filter(|name| !name.ends_with(NEW)),
    }
}

/// The folder of the kernel that is meant by a name, and whether it has debugging aids.
pub(crate) fn meant_by(cache: &Path, name: &str) -> Option<(PathBuf, bool)> {
    let text = fs::read_to_string(cache.join(pointer(name))).ok()?;
    let mut words = text.split_whitespace();
    let folder = cache.join(words.next()?);
    Some((folder, name == DEBUG || words.next() == Some(WITH_AIDS)))
}

/// Lets a name mean the kernel in a folder.
pub(crate) fn call(cache: &Path, name: &str, folder: &Path, debug: bool) -> io::Result<()> {
    let file = cache.join(pointer(name));
    let new = cache.join(pointer(name) + NEW);
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let aids = if debug { format!(" {WITH_AIDS}") } else { String::new() };
    fs::write(&new, format!("{folder}{aids}\n"))?;
    fs::rename(new, file)
}

/// What something is called that is not complete.
const NEW: &str = ".new";

/// The names that mean a kernel, sorted.
pub(crate) fn names(cache: &Path) -> Vec<String> {
    let mut names: Vec<String> = entries(cache).iter().filter_map(|entry| Some(name_of(entry)?.to_owned())).collect();
    names.sort();
    names
}

fn entries(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The folders of kernels with this key.
fn of_key(cache: &Path, key: &str) -> Vec<PathBuf> {
    let is_one = |entry: &String| entry.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let mut folders: Vec<PathBuf> =
        entries(cache).iter().filter(|entry| is_one(entry)).map(|one| cache.join(one)).collect();
    folders.sort();
    folders
}

/// The folder for a kernel with this key and this program.
pub(crate) fn of_program(cache: &Path, key: &str, program_hash: u64) -> PathBuf {
    cache.join(format!("{key}-{program_hash:016x}"))
}

/// Where a kernel with this key is put together.
pub(crate) fn unfinished(cache: &Path, key: &str) -> PathBuf {
    cache.join(key.to_owned() + NEW)
}

/// A kernel with this key that is there and whole.
pub(crate) fn finished(cache: &Path, key: &str) -> Option<PathBuf> {
    of_key(cache, key).into_iter().find(|folder| is_whole(folder))
}

/// Whether a kernel's folder has all that belongs to one. An earlier build may have put less there.
pub(crate) fn is_whole(folder: &Path) -> bool {
    [PROGRAM, SYMBOLS, FILE_SYSTEMS].into_iter().all(|file| folder.join(file).is_file())
}

/// Removes the kernels with this key that no name means and nobody runs.
pub(crate) fn sweep(cache: &Path, key: &str) -> io::Result<()> {
    let meant: Vec<PathBuf> = names(cache).iter().filter_map(|name| Some(meant_by(cache, name)?.0)).collect();
    for folder in of_key(cache, key).into_iter().filter(|folder| !meant.contains(folder)) {
        let program = File::open(folder.join(PROGRAM));
        if program.is_ok_and(|program| flock(&program, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            fs::remove_dir_all(folder)?;
        }
    }
    Ok(())
}

/// The program of a kernel, which nobody removes as long as this is open.
pub(crate) fn in_use(program: &Path) -> Option<File> {
    let file = File::open(program).ok()?;
    flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
    Some(file)
}

/// The right to build in the cache, until it is dropped; `wait` is called if somebody else has it.
pub(crate) fn lock(cache: &Path, stop: &Stop, wait: impl FnOnce()) -> io::Result<File> {
    const INTERVAL: Duration = Duration::from_millis(50);
    fs::create_dir_all(cache)?;
    let file = File::options().create(true).truncate(false).write(true).open(cache.join("lock"))?;
    let mut wait = Some(wait);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if stop.is_stopped() => return Err(io::ErrorKind::Interrupted.into()),
            Err(Errno::WOULDBLOCK) => wait.take().map_or_else(|| thread::sleep(INTERVAL), |wait| wait()),
            locked => return Ok(locked.map(|()| file)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Path, key: &str, program_hash: u64) -> PathBuf {
        let folder = of_program(cache, key, program_hash);
        fs::create_dir_all(&folder).unwrap();
        for file in [PROGRAM, SYMBOLS, FILE_SYSTEMS] {
            fs::write(folder.join(file), "").unwrap();
        }
        folder
    }

    #[test]
    fn a_kernel_stays_as_long_as_a_name_means_it_or_somebody_runs_it() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        let [old, run, unused, new] = [1, 2, 3, 4].map(|hash| put(cache, "key", hash));
        let other = put(cache, "key2", 1);
        call(cache, "before", &old, true).unwrap();
        call(cache, PLAIN, &unused, false).unwrap();
        call(cache, PLAIN, &new, false).unwrap();
        let running = in_use(&run.join(PROGRAM)).unwrap();
        sweep(cache, "key").unwrap();
        assert!(old.exists() && run.exists() && new.exists() && other.exists() && !unused.exists());
        assert_eq!(meant_by(cache, PLAIN), Some((new.clone(), false)));
        assert_eq!(meant_by(cache, "before"), Some((old, true)));
        assert_eq!((meant_by(cache, DEBUG), meant_by(cache, "after")), (None, None));
        assert_eq!(names(cache), ["before", PLAIN]);
        drop(running);
        sweep(cache, "key").unwrap();
        assert!(!run.exists() && new.exists());
    }

    #[test]
    fn only_what_is_whole_counts_as_there() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir(unfinished(cache.path(), "key")).unwrap();
        assert_eq!(finished(cache.path(), "key"), None);
        let folder = put(cache.path(), "key", 1);
        assert_eq!((finished(cache.path(), "key"), finished(cache.path(), "ke")), (Some(folder.clone()), None));
        fs::remove_file(folder.join(SYMBOLS)).unwrap();
        assert_eq!(finished(cache.path(), "key"), None, "an earlier build has put less there");
    }

    #[test]
    fn one_builds_at_a_time() {
        let (cache, stop) = (tempfile::tempdir().unwrap(), Stop::default());
        let lock = |wait: &dyn Fn()| lock(cache.path(), &stop, wait);
        let first = lock(&|| panic!("nobody else is there")).unwrap();
        assert_eq!(lock(&|| stop.stop()).unwrap_err().kind(), io::ErrorKind::Interrupted);
        drop(first);
        assert!(lock(&|| panic!("the first has ended")).is_ok());
    }
}
