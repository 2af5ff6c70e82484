//! `shakedown kernel build`: from a kernel's source to a guest kernel.
//!
//! The source is Debian's package, or a tree of the user's. Objects are kept beside the result, in the cache: a second
//! build of a tree that was changed compiles what was changed.

mod job;
mod options;
mod source;
mod tools;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    thread::available_parallelism,
};

use explore::Stop;
use posix::message::{Got, Step};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    Guest, Kernel, folder,
    kernel::{DEBUG, FILE_SYSTEMS, PLAIN, PROGRAM, SYMBOLS, parse_symbols, program_hash},
    serve::NoDisk,
    variables::VARIABLES,
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
    /// What it is asked for by, if not as the plain one or the one for debugging.
    pub name: Option<String>,
    /// Ends the build when somebody asks.
    pub stop: Stop,
}

impl Order {
    /// The name that means the kernel when it was built.
    fn name(&self) -> Result<&str, BuildError> {
        let usual = if self.debug { DEBUG } else { PLAIN };
        let Some(name) = self.name.as_deref() else { return Ok(usual) };
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part);
        if is_name && !RESERVED.contains(&name) { Ok(name) } else { Err(BuildError::NoName(name.to_owned())) }
    }
}

/// Kernels that have their names already; the last one comes with a package of Debian.
const RESERVED: [&str; 3] = [PLAIN, DEBUG, "debian"];

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
    /// A name that is none, or that is taken.
    #[error(
        "call a kernel {0:?}: a name has letters, digits, hyphens and underscores, and is not plain, debug or debian"
    )]
    NoName(String),
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
    let name = order.name()?;
    let cache = folder::cache().ok_or(BuildError::NoHome)?;
    let wait = "waiting: somebody else builds a kernel";
    let _lock = folder::lock(&cache, &order.stop, || progress(Progress::Doing(wait.to_owned())))?;
    tools::require(progress)?;
    let source = source::find(order.source.as_deref(), progress)?;
    let key = format!("{:032x}", xxh3_128(format!("{}\n{fragment}", source.identity).as_bytes()));
    let there = source.never_changes.then(|| folder::finished(&cache, &key)).flatten();
    let was_there = there.is_some();
    let folder = if let Some(folder) = there {
        folder
    } else {
        let objects = cache.join("objects").join(&key);
        fs::create_dir_all(&objects)?;
        let tree = source::unpacked(&source, &cache, &order.stop, progress)?;
        configure(&tree, &objects, &fragment, order, progress)?;
        compile(&tree, &objects, &order.stop, progress)?;
        progress(Progress::Doing("booting".to_owned()));
        store(&objects, &cache, &key, order.debug)?
    };
    folder::call(&cache, name, &folder, order.debug)?;
    folder::sweep(&cache, &key)?;
    Ok(Built { program: folder.join(PROGRAM), was_there })
}

fn make(tree: &Path, objects: &Path) -> Command {
    let mut output = std::ffi::OsString::from("O=");
    output.push(objects);
    let mut make = Command::new("make");
    make.arg("-C").arg(tree).arg("ARCH=um").arg(output).env("LC_ALL", "C");
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
    let mut said = Vec::new();
    let status = job::run(&make, &order.stop, &mut |line| said.extend_from_slice(format!("{line}\n").as_bytes()))?;
    if !status.success() {
        return Err(BuildError::Failed { step: "its configuration", said: tools::last_words(&said) });
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

fn compile(tree: &Path, objects: &Path, stop: &Stop, progress: &mut dyn FnMut(Progress)) -> Result<(), BuildError> {
    progress(Progress::Doing("compiling".to_owned()));
    let jobs = available_parallelism().map_or(1, usize::from);
    let mut make = make(tree, objects);
    make.arg(format!("-j{jobs}")).arg(PROGRAM);
    let (mut compiled, mut said) = (0, Vec::new());
    let status = job::run(&make, stop, &mut |line| {
        if let Some(file) = line.trim_start().strip_prefix("CC ") {
            compiled += 1;
            progress(Progress::Compiled(compiled, file.trim().to_owned()));
        } else {
            said.extend_from_slice(format!("{line}\n").as_bytes());
        }
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(BuildError::Failed { step: "compiling", said: tools::last_words(&said) })
    }
}

/// Puts what guests need into a folder of the cache, all of it or nothing, and only if it boots.
fn store(objects: &Path, cache: &Path, key: &str, debug: bool) -> Result<PathBuf, BuildError> {
    let built = objects.join(PROGRAM);
    let symbols = Command::new("nm").arg("-S").arg(&built).output()?;
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let found = parse_symbols(&symbols);
    if let Some(missing) = VARIABLES.iter().find(|name| !found.iter().any(|variable| variable.name == **name)) {
        return Err(BuildError::Unfit(format!("the variable {missing}, without which nothing is the same twice")));
    }
    let folder = folder::of_program(cache, key, program_hash(&built)?);
    let lines = found.iter().map(|one| format!("{:x} {:x} d {}\n", one.address, one.len, one.name));
    let new = folder::unfinished(cache, key);
    if new.exists() {
        fs::remove_dir_all(&new)?;
    }
    fs::create_dir_all(&new)?;
    fs::write(new.join(SYMBOLS), lines.collect::<String>())?;
    fs::copy(&built, new.join(PROGRAM))?;
    fs::write(new.join(FILE_SYSTEMS), file_systems_of(&new, debug)?.join("\n") + "\n")?;
    if folder::is_whole(&folder) {
        fs::remove_dir_all(&new)?;
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&new, &folder)?;
    Ok(folder)
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
    fn a_kernel_is_called_as_its_user_says_unless_the_name_is_taken() {
        let called = |name: Option<&str>, debug| {
            let order = Order { name: name.map(ToOwned::to_owned), debug, ..Order::default() };
            order.name().ok().map(ToOwned::to_owned)
        };
        assert_eq!((called(None, false).as_deref(), called(None, true).as_deref()), (Some(PLAIN), Some(DEBUG)));
        assert_eq!(called(Some("my-patch_2"), true).as_deref(), Some("my-patch_2"));
        for wrong in ["", "-a", "a/b", "a.new", "plain", "debug", "debian"] {
            assert_eq!(called(Some(wrong), false), None, "{wrong}");
        }
    }

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
