//! `shakedown kernel build`: from a kernel's source to a guest kernel.
//!
//! The source is Debian's package, or a tree of the user's. Objects are kept beside the result, in the cache: a second
//! build of a tree that was changed compiles what was changed.

mod options;
mod source;
mod tools;

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::available_parallelism,
};

use posix::message::{Got, Step};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    Guest, Kernel, folder,
    kernel::{self, FILE_SYSTEMS, PROGRAM, RANDOM_STATE, parse_symbols},
    randomness::VARIABLES,
    serve::NoDisk,
};

/// What is to be built.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// A kernel tree; `None` is Debian's source.
    pub source: Option<PathBuf>,
    /// With KASAN, lockdep and other aids, as a second kernel.
    pub debug: bool,
    /// Options of the kernel that are switched on besides, as `UDF_FS`.
    pub enable: Vec<String>,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A new part of the work, in words.
    Doing(String),
    /// So many files were compiled, this one last.
    Compiled(u32, String),
    /// Options that this source does not have; file systems that need them cannot be checked with this kernel.
    NotInThisSource(Vec<&'static str>),
}

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Where it lies.
    pub program: PathBuf,
    /// Whether it had been there before, so that there was nothing to do.
    pub was_there: bool,
}

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where to keep it.
    #[error("keep a kernel: HOME is not set")]
    NoHome,
    /// Something must be installed first.
    #[error("build a kernel: {missing} missing; as root: apt-get install {packages}")]
    Missing {
        /// What.
        missing: String,
        /// The Debian packages that bring it.
        packages: String,
    },
    /// A folder that holds no kernel source.
    #[error("build the kernel in {0}: it is no kernel tree with User-Mode Linux (there is no arch/um/Makefile)")]
    NoTree(PathBuf),
    /// The kernel's own build failed.
    #[error("build a kernel: {step} failed; its last words: {said}")]
    Failed {
        /// Which part of it.
        step: &'static str,
        /// The end of what it printed.
        said: String,
    },
    /// An option that is none.
    #[error("switch on {0:?}: an option of the kernel is named in capitals, digits and underscores, as UDF_FS")]
    NoOption(String),
    /// A kernel that was built, and does not run.
    #[error("boot the kernel that was built: {0}")]
    DoesNotBoot(String),
    /// The source lacks something without which there is no guest.
    #[error("build a kernel from this source: it does not have {0}")]
    Unfit(String),
    /// Files cannot be written or programs not started.
    #[error("build a kernel: {0}")]
    Io(#[from] io::Error),
}

/// Builds a kernel, unless it is there, and makes it the one that guests run.
///
/// # Errors
/// Something is missing, or the build fails.
pub fn build(order: &Order, progress: &mut dyn FnMut(Progress)) -> Result<Built, BuildError> {
    let fragment = options::fragment(order.debug) + &options::enabled(&order.enable)?;
    let cache = folder::cache().ok_or(BuildError::NoHome)?;
    tools::require(progress)?;
    let source = source::find(order.source.as_deref(), progress)?;
    let key = format!("{:032x}", xxh3_128(format!("{}\n{fragment}", source.identity).as_bytes()));
    let folder = cache.join(&key);
    let program = folder.join(PROGRAM);
    let was_there = source.never_changes && folder.join(FILE_SYSTEMS).is_file();
    if !was_there {
        let objects = cache.join("objects").join(&key);
        fs::create_dir_all(&objects)?;
        let tree = source::unpacked(&source, &cache, progress)?;
        configure(&tree, &objects, &fragment, order, progress)?;
        compile(&tree, &objects, progress)?;
        progress(Progress::Doing("booting".to_owned()));
        store(&objects, &folder, order.debug)?;
    }
    fs::write(cache.join(kernel::current(order.debug)), format!("{key}\n"))?;
    Ok(Built { program, was_there })
}

fn make(tree: &Path, objects: &Path) -> Command {
    let mut output = std::ffi::OsString::from("O=");
    output.push(objects);
    let mut make = Command::new("make");
    make.arg("-C").arg(tree).arg("ARCH=um").arg(output).stdin(Stdio::null()).env("LC_ALL", "C");
    make
}

fn configure(
    tree: &Path,
    objects: &Path,
    fragment: &str,
    order: &Order,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), BuildError> {
    progress(Progress::Doing("configuring".to_owned()));
    let file = objects.join("fragment");
    fs::write(&file, fragment)?;
    // A tree of the user's may be another one today, with other options for the same wishes.
    let new = objects.join("config.new");
    let mut make = make(tree, objects);
    make.arg("alldefconfig").env("KCONFIG_ALLCONFIG", &file).env("KCONFIG_CONFIG", &new);
    let output = make.output()?;
    if !output.status.success() {
        let said = tools::last_words(&[output.stdout, output.stderr].concat());
        return Err(BuildError::Failed { step: "its configuration", said });
    }
    let config = fs::read_to_string(&new)?;
    if let Some(name) = order.enable.iter().find(|name| !options::is_on(&config, name)) {
        return Err(BuildError::Unfit(format!(
            "CONFIG_{name}, or not without other options, which can be enabled too"
        )));
    }
    let not_taken = options::not_taken(&config, order.debug);
    if let Some((name, group)) = not_taken.iter().find(|(_, group)| group.needed) {
        return Err(BuildError::Unfit(format!("CONFIG_{name} ({})", group.why)));
    }
    if !not_taken.is_empty() {
        progress(Progress::NotInThisSource(not_taken.iter().map(|(name, _)| *name).collect()));
    }
    replace_if_other(&objects.join(".config"), &config)?;
    Ok(())
}

/// A configuration that is written anew is newer than every object, and all of them would be made again.
fn replace_if_other(file: &Path, content: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|known| known == content) { Ok(()) } else { fs::write(file, content) }
}

fn compile(tree: &Path, objects: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), BuildError> {
    progress(Progress::Doing("compiling".to_owned()));
    let jobs = available_parallelism().map_or(1, usize::from);
    let (output, errors) = io::pipe()?;
    let mut make = make(tree, objects);
    make.arg(format!("-j{jobs}")).arg(PROGRAM).stdout(errors.try_clone()?).stderr(errors);
    let mut child = make.spawn()?;
    // The command holds the other ends of the pipe, which would never end.
    drop(make);
    let (mut compiled, mut said) = (0, Vec::new());
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let text = String::from_utf8_lossy(&line).into_owned();
        if let Some(file) = text.trim_start().strip_prefix("CC ") {
            compiled += 1;
            progress(Progress::Compiled(compiled, file.trim().to_owned()));
        } else {
            said.extend_from_slice(&line);
            said.push(b'\n');
        }
    }
    if child.wait()?.success() {
        Ok(())
    } else {
        Err(BuildError::Failed { step: "compiling", said: tools::last_words(&said) })
    }
}

/// Puts what guests need into the folder, all of it or nothing, and only if it boots.
fn store(objects: &Path, folder: &Path, debug: bool) -> Result<(), BuildError> {
    let built = objects.join(PROGRAM);
    let symbols = Command::new("nm").arg("-S").arg(&built).output()?;
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let found = parse_symbols(&symbols);
    if let Some(missing) = VARIABLES.iter().find(|name| !found.iter().any(|variable| variable.name == **name)) {
        return Err(BuildError::Unfit(format!("the variable {missing}, in which random numbers would be kept")));
    }
    let lines = found.iter().map(|one| format!("{:x} {:x} d {}\n", one.address, one.len, one.name));
    let new = folder.with_extension("new");
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    fs::create_dir_all(&new)?;
    fs::write(new.join(RANDOM_STATE), lines.collect::<String>())?;
    fs::copy(&built, new.join(PROGRAM))?;
    fs::write(new.join(FILE_SYSTEMS), file_systems_of(&new, debug)?.join("\n") + "\n")?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::rename(&new, folder)?)
}

/// Boots a kernel and asks it.
fn file_systems_of(folder: &Path, debug: bool) -> Result<Vec<String>, BuildError> {
    let does_not = |error: &dyn std::fmt::Display| BuildError::DoesNotBoot(error.to_string());
    let kernel = Kernel::in_folder(folder, debug).map_err(|error| does_not(&error))?;
    let mut guest = Guest::boot(&kernel, 1, 0).map_err(|error| does_not(&error))?;
    let mut answers = guest.run(&mut NoDisk, &[Step::FileSystems]).map_err(|error| does_not(&error))?;
    match answers.pop() {
        Some(Ok(Got::Names(names))) => Ok(names),
        _ => Err(does_not(&"it does not say which file systems it has")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_written_only_if_it_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".config");
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let is_untouched = || fs::metadata(&file).unwrap().modified().unwrap() == long_ago;
        replace_if_other(&file, "CONFIG_EXT4_FS=y\n").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        replace_if_other(&file, "CONFIG_EXT4_FS=y\n").unwrap();
        assert!(is_untouched());
        replace_if_other(&file, "CONFIG_XFS_FS=y\n").unwrap();
        assert!(!is_untouched());
        assert_eq!(fs::read_to_string(&file).unwrap(), "CONFIG_XFS_FS=y\n");
    }
}
