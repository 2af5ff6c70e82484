//! From nothing to a kernel that starts: its supervisor, its folder, its arguments, and what it boots from.

use std::{
    fs,
    io::{self, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

use posix::message::BOOTED;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    Kernel,
    console::Console,
    cpio::{Entry, archive},
    embedded,
    scratch::Scratch,
};

/// A guest that was prepared. Its supervisor waits for a word on its standard input to start the kernel.
pub(crate) struct Prepared {
    pub supervisor: Child,
    pub console: Console,
    /// The kernel's working directory, which the supervisor removes, unless it is killed.
    pub folder: PathBuf,
}

/// Starts the supervisor of a guest and fills its folder, but for the sockets.
pub(crate) fn prepare(kernel: &Kernel, core: usize) -> io::Result<Prepared> {
    let (console, output) = io::pipe()?;
    let folder = Scratch::Guest.path();
    let program = program()?;
    let mut command = Command::new(format!("/proc/self/fd/{}", program.as_fd().as_raw_fd()));
    command.arg("supervise").arg(&folder).arg(core.to_string()).arg(kernel.program());
    command.arg(kernel.memory()).args(KERNEL_ARGUMENTS);
    // A bad access to memory is reported each time. A kernel that does not look for any would hand the word to init.
    command.args(kernel.is_for_debugging().then_some("kasan_multi_shot"));
    command.env_clear().env("HOME", ".").env("LD_PRELOAD", "./kernel.so");
    command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let mut supervisor = command.spawn()?;
    // From here on, the supervisor removes the folder.
    let in_folder = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    let filled = fs::create_dir(&folder)
        .map_err(in_folder)
        .and_then(|()| fs::write(folder.join("init.cpio"), initramfs(kernel.modules())?))
        .and_then(|()| fs::write(folder.join("kernel.so"), embedded::PRELOAD))
        .and_then(|()| Ok(Console::of_boot(console, BOOTED)?));
    match filled {
        Ok(console) => Ok(Prepared { supervisor, console, folder }),
        Err(error) => {
            drop(supervisor.stdin.take());
            let _ = supervisor.wait();
            Err(error)
        }
    }
}

/// The same for every guest, because the kernel mixes it into its random state; so sockets have relative names.
const KERNEL_ARGUMENTS: [&str; 12] = [
    "initrd=init.cpio",
    "con=null",
    "con0=null,fd:1",
    // Warnings are printed, chatter is not.
    "loglevel=5",
    "virtio_uml.device=s.0:2",
    "virtio_uml.device=s.1:2",
    "time-travel=inf-cpu",
    "time-travel-start=1000000000",
    // Some file systems write to disk what an earlier owner left in their memory.
    "init_on_alloc=1",
    "hung_task_panic=1",
    // What the kernel leaves in files of the host lies in its folder, too.
    "umid=guest",
    "uml_dir=./",
];

/// The program that supervises, launches and is init, and that mounts disks on the host, as a file that lies nowhere.
///
/// # Errors
/// There is no room for it.
pub fn program() -> io::Result<&'static OwnedFd> {
    static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    let file = in_memory("guest-init", embedded::PROGRAM)?;
    Ok(PROGRAM.get_or_init(|| file))
}

/// A file that lies in memory and can only be read: a program that is open for writing cannot be started.
pub(crate) fn in_memory(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let file = fs::File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    (&file).write_all(content)?;
    Ok(fs::File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into())
}

fn initramfs(modules: &[PathBuf]) -> io::Result<Vec<u8>> {
    let modules: Vec<(String, Vec<u8>)> = (0..)
        .zip(modules)
        .map(|(number, path)| Ok((format!("modules/{number}"), fs::read(path)?)))
        .collect::<io::Result<_>>()?;
    let mut entries = vec![
        Entry::Dir("dev"),
        Entry::Device("dev/console", 5, 1),
        Entry::Dir("mnt"),
        Entry::Dir("sys"),
        Entry::Dir("proc"),
        Entry::Dir("debug"),
        Entry::Dir("modules"),
        Entry::Program("init", embedded::PROGRAM),
    ];
    entries.extend(modules.iter().map(|(name, content)| Entry::Program(name, content)));
    Ok(archive(&entries))
}
