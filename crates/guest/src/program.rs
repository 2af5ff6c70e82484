//! Programs of the host that make and check file systems, run so that what they write follows from their arguments and
//! from the image alone.
//!
//! What they ask the C library for is fixed (`preload/fixed.rs`), memory that they allocate is zeros, addresses and
//! what guards their stack are the same each time, and the image is their standard input, so that its name is the same
//! too: some write left-over memory to the disk, names, addresses and guards included. They die with us, as a guest.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::{AsFd as _, AsRawFd, OwnedFd},
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use rustix::process::Signal;

use crate::{embedded, start};

/// A program of the host that is needed, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub name: &'static str,
    pub package: &'static str,
}

/// System programs are not on every user's path.
const PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";
/// The image, as a program finds it.
pub(crate) const IMAGE: &str = "/proc/self/fd/0";
/// The moment at which all of it happens.
const NOW: &str = "1000000000";
/// The moment at which e2fsck looks: what a guest has written would lie in its future otherwise, and it would say so.
const LATER: &str = "1100000000";

impl Program {
    /// Where it lies.
    pub fn find(self) -> Option<PathBuf> {
        PATH.split(':').map(|folder| Path::new(folder).join(self.name)).find(|path| path.is_file())
    }

    /// Runs it on an image.
    pub fn run(self, arguments: &[&str], image: &File) -> io::Result<Output> {
        let program = self.find().ok_or_else(|| io::Error::other(format!("{} is not installed", self.name)))?;
        let mut command = fixed_command(image, PATH.as_ref())?;
        output(command.arg(program).args(arguments).arg(IMAGE))
    }
}

/// Runs a command of the user's on an image, for which `{dev}` stands.
pub(crate) fn shell(command: &str, image: &File) -> io::Result<Output> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
    output(fixed_command(image, &path)?.args(["/bin/sh", "-c"]).arg(command.replace("{dev}", IMAGE)))
}

/// The signals by which a program dies of its own faults: what it was given is more than it can take.
const OWN_FAULTS: [Signal; 5] = [Signal::ABORT, Signal::BUS, Signal::FPE, Signal::ILL, Signal::SEGV];

/// What a program has to say. One that was killed by somebody else has said nothing of the image. It is in a group of
/// its own, so that whoever interrupts us from a terminal does not interrupt it; it dies with us all the same.
fn output(command: &mut Command) -> io::Result<Output> {
    let output = command.process_group(0).output()?;
    let killed_by = output.status.signal();
    match killed_by.filter(|signal| !OWN_FAULTS.iter().any(|own| own.as_raw() == *signal)) {
        None => Ok(output),
        Some(signal) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!("it was killed by signal {signal}; it said last: {}", said.trim())))
        }
    }
}

/// What runs a program, whose name and arguments follow, on an image.
fn fixed_command(image: &File, path: &OsStr) -> io::Result<Command> {
    let launcher = start::program()?.as_fd().as_raw_fd();
    let mut command = Command::new(format!("/proc/self/fd/{launcher}"));
    command.arg("perform").stdin(image.try_clone()?);
    command.env_clear().env("PATH", path).env("LC_ALL", "C").env("TZ", "UTC").env("LD_PRELOAD", fixed()?);
    // Fills what is allocated with the complement: zeros.
    command.env("MALLOC_PERTURB_", "255");
    command.env("E2FSPROGS_FAKE_TIME", NOW).env("E2FSCK_TIME", LATER);
    // The configuration of the host must not decide what is checked: without one, the programs have their own.
    command.env("MKE2FS_CONFIG", "/nonexistent").env("E2FSCK_CONFIG", "/nonexistent");
    Ok(command)
}

/// The name of the library that fixes time and randomness, which lies in memory and nowhere else.
fn fixed() -> io::Result<String> {
    static FIXED: OnceLock<OwnedFd> = OnceLock::new();
    if FIXED.get().is_none() {
        let file = start::in_memory("fixed", embedded::FIXED)?;
        // Whoever comes second finds the first one's.
        let _ = FIXED.set(file);
    }
    let library = FIXED.get().map_or(-1, AsRawFd::as_raw_fd);
    Ok(format!("/proc/{}/fd/{library}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that interrupts its whole group interrupts itself and nobody else, this test least of all.
    #[test]
    fn what_is_killed_says_nothing_and_what_crashes_does() {
        let image = File::open("/dev/null").unwrap();
        for (command, signal) in [("kill -INT 0; sleep 9", 2), ("kill -KILL $$", 9), ("kill -TERM $$", 15)] {
            let error = shell(command, &image).unwrap_err().to_string();
            assert!(error.contains(&format!("killed by signal {signal}")), "{command}: {error}");
        }
        assert_eq!(shell("exit 4", &image).unwrap().status.code(), Some(4));
        assert_eq!(shell("kill -SEGV $$", &image).unwrap().status.signal(), Some(11));
    }

    /// btrfs would look for the rest of a file system on every disk of this machine. That it asks us, and not the
    /// library that looks, is told by whoever links the two.
    #[test]
    fn programs_are_not_told_of_other_disks() {
        let btrfs = Program { name: "btrfs", package: "btrfs-progs" };
        let Some(program) = btrfs.find() else {
            assert!(std::env::var_os("CI").is_none(), "install {}", btrfs.package);
            return;
        };
        let mut command = Command::new(program);
        command
            .arg("--version")
            .env("LD_PRELOAD", fixed().unwrap())
            .env("LD_DEBUG", "bindings")
            .env("LD_BIND_NOW", "1");
        let told = command.output().unwrap().stderr;
        let told = String::from_utf8_lossy(&told);
        let mut bound = told.lines().filter(|line| line.contains("btrfs [0] to") && line.contains("`blkid_probe_all"));
        let to_ours = bound.next().expect("this version of btrfs looks in another way");
        assert!(to_ours.contains(&fixed().unwrap()) && bound.next().is_none(), "{to_ours}");
    }
}
