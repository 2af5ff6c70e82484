//! Where the source of a kernel comes from.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use explore::Stop;
use xxhash_rust::xxh3::Xxh3;

use super::{BuildError, Progress, job, tools};

/// Debian's source of the kernel that it ships.
const PACKAGE: &str = "linux-source-6.1";
const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";

/// A kernel's source.
pub(super) struct Source {
    /// By what it is known.
    pub identity: String,
    /// Whether the same identity is always the same source. A tree of the user's changes all the time; make finds out
    /// what to do.
    pub never_changes: bool,
    place: Place,
}

enum Place {
    Tree(PathBuf),
    Archive,
}

/// Finds the source, and installs Debian's if it is asked for and missing.
pub(super) fn find(tree: Option<&Path>, progress: &mut dyn FnMut(Progress)) -> Result<Source, BuildError> {
    if let Some(tree) = tree {
        let no_tree = || BuildError::NoTree(tree.to_owned());
        let tree = tree.canonicalize().map_err(|_| no_tree())?;
        if !tree.join("arch/um/Makefile").is_file() {
            return Err(no_tree());
        }
        let identity = format!("tree {}", tree.display());
        return Ok(Source { identity, never_changes: false, place: Place::Tree(tree) });
    }
    if !Path::new(ARCHIVE).is_file() {
        tools::install(&[(ARCHIVE, PACKAGE)], progress)?;
    }
    let identity = format!("archive {:032x}", hash(Path::new(ARCHIVE))?);
    Ok(Source { identity, never_changes: true, place: Place::Archive })
}

fn hash(file: &Path) -> std::io::Result<u128> {
    let (mut file, mut hash, mut buffer) = (File::open(file)?, Xxh3::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest128()),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// The tree of a source, which is unpacked if it is not yet.
pub(super) fn unpacked(
    source: &Source,
    cache: &Path,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, BuildError> {
    let Place::Tree(tree) = &source.place else {
        let tree = cache.join("source").join(source.identity.replace(' ', "-"));
        if !tree.is_dir() {
            unpack(&tree, stop, progress)?;
        }
        return Ok(tree);
    };
    Ok(tree.clone())
}

/// All of it or nothing.
fn unpack(tree: &Path, stop: &Stop, progress: &mut dyn FnMut(Progress)) -> Result<(), BuildError> {
    progress(Progress::Doing(format!("unpacking {ARCHIVE}")));
    let new = tree.with_extension("new");
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    fs::create_dir_all(&new)?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(ARCHIVE).args(["--strip-components=1", "-C"]).arg(&new);
    let mut said = Vec::new();
    let status = job::run(&tar, stop, &mut |line| said.extend_from_slice(format!("{line}\n").as_bytes()))?;
    if !status.success() {
        return Err(BuildError::Failed { step: "unpacking", said: tools::last_words(&said) });
    }
    Ok(fs::rename(&new, tree)?)
}
