//! Which kernel guests run: a program, and where in it the variables lie that are changed.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use xxhash_rust::xxh3::xxh3_64;

use crate::{
    folder,
    variables::{VARIABLES, Variable},
};

/// A guest kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    program: PathBuf,
    /// Keeps the program from being removed, if it could be.
    _in_use: Option<Arc<File>>,
    /// Empty if nobody knows.
    variables: Vec<Variable>,
    debug: bool,
    /// What init loads before anything else.
    modules: Vec<PathBuf>,
    /// Those that it can mount.
    file_systems: Vec<String>,
}

/// There is no kernel to run.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// None was built.
    #[error("start a guest: no kernel was built yet; build one with: {}", build_command(name))]
    NotBuilt {
        /// Which one was asked for.
        name: &'static str,
    },
    /// None was built under this name.
    #[error("use kernel={name}: no kernel was built under this name, only {}; build one with: \
             shakedown kernel build --name {name}", there.join(", "))]
    NotNamed {
        /// The name.
        name: String,
        /// Those that are there.
        there: Vec<String>,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where things are kept.
    #[error("find the guest kernel: HOME is not set")]
    NoHome,
    /// What was built is incomplete.
    #[error("use the guest kernel in {0}: {1}; build it again with: shakedown kernel build")]
    Broken(PathBuf, String),
}

fn build_command(name: &str) -> &'static str {
    if name == DEBUG { "shakedown kernel build --debug" } else { "shakedown kernel build" }
}

/// The kernel that was built last.
pub const PLAIN: &str = "plain";
/// The one with debugging aids that was built last.
pub const DEBUG: &str = "debug";

/// The program's name in a kernel's folder.
pub(crate) const PROGRAM: &str = "linux";
/// The file beside it that says where its variables lie: lines of address and length in hexadecimal, and a name.
pub(crate) const SYMBOLS: &str = "variables";
/// The file that lists the file systems that it has, as it says itself.
pub(crate) const FILE_SYSTEMS: &str = "file-systems";

impl Kernel {
    /// The kernel of this name: [`PLAIN`], [`DEBUG`], or one that was given to it when it was built.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn built(name: &str) -> Result<Self, KernelError> {
        let cache = folder::cache().ok_or(KernelError::NoHome)?;
        let not_built = || match name {
            PLAIN => KernelError::NotBuilt { name: PLAIN },
            DEBUG => KernelError::NotBuilt { name: DEBUG },
            name => KernelError::NotNamed { name: name.to_owned(), there: Self::names() },
        };
        let find = || folder::meant_by(&cache, name).ok_or_else(not_built);
        let (folder, debug) = find()?;
        Self::in_folder(&folder, debug).or_else(|error| match find()? {
            // One that was built meanwhile has taken its place.
            (other, debug) if other != folder => Self::in_folder(&other, debug),
            _ => Err(error),
        })
    }

    /// The names of the kernels that were built.
    pub fn names() -> Vec<String> {
        folder::cache().map(|cache| folder::names(&cache)).unwrap_or_default()
    }

    /// The kernel in a folder, with debugging aids or without.
    ///
    /// # Errors
    /// It is incomplete.
    pub fn in_folder(folder: &Path, debug: bool) -> Result<Self, KernelError> {
        let broken = |what: &str| KernelError::Broken(folder.to_owned(), what.to_owned());
        let program = folder.join(PROGRAM);
        if !program.is_file() {
            return Err(broken("the program is missing"));
        }
        let text = std::fs::read_to_string(folder.join(SYMBOLS));
        let text = text.map_err(|_| broken("it is not known where its variables lie"))?;
        let variables = parse_symbols(&text);
        if variables.len() != VARIABLES.len() {
            return Err(broken("it is not known where all of its variables lie"));
        }
        let file_systems = std::fs::read_to_string(folder.join(FILE_SYSTEMS)).unwrap_or_default();
        let file_systems = file_systems.lines().map(ToOwned::to_owned).collect();
        let in_use = folder::in_use(&program).map(Arc::new);
        Ok(Self { program, _in_use: in_use, variables, debug, modules: Vec::new(), file_systems })
    }

    /// The kernel that Debian has built, if it is installed. It has no virtual time, and nobody knows where its random
    /// state lies, so that nothing that it does is the same twice but in its shape; its allocations cannot be made to
    /// fail. Of its file systems, those are used that need no module.
    pub fn of_debian() -> Option<Self> {
        let modules = std::fs::read_dir(DEBIAN_MODULES).ok()?.find_map(Result::ok)?.path();
        let built_in = std::fs::read_to_string(modules.join("modules.builtin")).ok()?;
        let disk = modules.join("kernel/drivers/block/virtio_blk.ko");
        let program = PathBuf::from(DEBIAN_PROGRAM);
        (program.is_file() && disk.is_file()).then(|| Self {
            program,
            _in_use: None,
            variables: Vec::new(),
            debug: false,
            modules: vec![disk],
            file_systems: built_in_file_systems(&built_in),
        })
    }

    /// Which kernel it is: its release, whether it has debugging aids, the key of its source and options, and a hash of
    /// the program itself, since a tree of the user's is another one tomorrow under the same key.
    pub fn identity(&self) -> String {
        let said = Command::new(&self.program).arg("--version").stdin(Stdio::null()).output();
        let release = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
        let debug = if self.debug { " with debugging aids" } else { "" };
        let folder = self.program.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let key = folder.split('-').next().unwrap_or_default();
        let origin = if self.modules.is_empty() { format!("built as {key}") } else { "built by Debian".to_owned() };
        let program = program_hash(&self.program).unwrap_or_default();
        format!("Linux {release}{debug}, {origin}, program {program:016x}")
    }

    /// Whether it lacks a file system, and what to do about it: words that fit after "could not ".
    pub fn lacks(&self, file_system: &str) -> Option<String> {
        if self.file_systems.iter().any(|has| has == file_system) {
            return None;
        }
        if file_system.is_empty() {
            return Some("mount anything: say what, as in 'guest:other?type=ext2,mkfs=\"mke2fs -q {dev}\"'".to_owned());
        }
        let remedy = "if it is one, build a kernel with: shakedown kernel build [--enable OPTION]";
        Some(format!("use {file_system}: the guest kernel has no file system of that name; {remedy}"))
    }

    /// How much memory it gets, as it is told: enough for every file system, and little to set up. Debugging aids take
    /// as much again.
    pub(crate) fn memory(&self) -> &'static str {
        if self.debug { "mem=128M" } else { "mem=64M" }
    }

    /// Whether it has debugging aids.
    pub(crate) fn is_for_debugging(&self) -> bool {
        self.debug
    }

    /// The program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// What init loads before anything else.
    pub(crate) fn modules(&self) -> &[PathBuf] {
        &self.modules
    }

    pub(crate) fn variables(&self) -> &[Variable] {
        &self.variables
    }
}

/// Where Debian's package `user-mode-linux` puts its kernel, and a folder of modules for it.
const DEBIAN_PROGRAM: &str = "/usr/bin/linux.uml";
const DEBIAN_MODULES: &str = "/usr/lib/uml/modules";

/// The file systems in a list of what was built in. ext3 is one of the things that ext4 does.
fn built_in_file_systems(built_in: &str) -> Vec<String> {
    let in_folder = |line: &str| line.strip_prefix("kernel/fs/")?.split_once('/').map(|(name, _)| name.to_owned());
    let mut names: Vec<String> = built_in.lines().filter_map(in_folder).collect();
    if names.iter().any(|name| name == "ext4") {
        names.push("ext3".to_owned());
    }
    names
}

/// By what a program is told from others.
pub(crate) fn program_hash(program: &Path) -> io::Result<u64> {
    Ok(xxh3_64(&std::fs::read(program)?))
}

/// The variables that are changed, in the output of `nm -S`.
pub(crate) fn parse_symbols(text: &str) -> Vec<Variable> {
    let parse = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [address, len, _, name] = words[..] else { return None };
        let address = u64::from_str_radix(address, 16).ok()?;
        let len = usize::from_str_radix(len, 16).ok()?;
        VARIABLES.contains(&name).then(|| Variable { name: name.to_owned(), address, len })
    };
    text.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_changed_is_taken_from_the_symbols() {
        let text = "0000000060a0 0000000000000030 d base_crng\n0000000060001000 T start\n60b0 20 d other\n";
        let expected = Variable { name: "base_crng".to_owned(), address: 0x60a0, len: 0x30 };
        assert_eq!(parse_symbols(text), [expected]);
    }

    #[test]
    fn file_systems_that_are_built_in_are_known_by_their_folders() {
        let list = "kernel/fs/ext4/ext4.ko\nkernel/fs/mbcache.ko\nkernel/fs/xfs/xfs.ko\nkernel/lib/crc16.ko\n";
        assert_eq!(built_in_file_systems(list), ["ext4", "xfs", "ext3"]);
    }

    #[test]
    fn a_kernel_is_known_by_its_release_its_key_and_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("key");
        std::fs::create_dir(&folder).unwrap();
        let identity = |debug, program: &str| {
            let file = folder.join(PROGRAM);
            std::fs::write(&file, program).unwrap();
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let kernel = Kernel {
                program: file,
                _in_use: None,
                variables: Vec::new(),
                debug,
                modules: Vec::new(),
                file_systems: Vec::new(),
            };
            kernel.identity()
        };
        let usual = identity(false, "#!/bin/sh\necho 6.1.0\n");
        assert!(usual.starts_with("Linux 6.1.0, built as key, program "), "{usual}");
        assert_ne!(usual, identity(false, "#!/bin/sh\n echo 6.1.0\n"), "another program of the same key");
        assert!(identity(true, "#!/bin/sh\necho 6.1.0\n").starts_with("Linux 6.1.0 with debugging aids, built as key"));
    }

    #[test]
    fn a_folder_without_a_kernel_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = Kernel::in_folder(folder.path(), false).unwrap_err().to_string();
        assert!(error.contains("the program is missing; build it again with: shakedown kernel build"), "{error}");
    }
}
