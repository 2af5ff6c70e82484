//! Set-up: the programs that tests and bench start and that Rust does not bring along, the test suites of others, and
//! the kernel that tests boot.
//!
//! As root the programs are installed with apt; anyone else is told in one line. A program counts as present when the
//! search path has it, however it came there. The kernel is built by Shakedown itself, once: minutes the first time,
//! nothing later.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::bench::PEER_SOURCE;
use crate::process;
use crate::shakedown::Shakedown;
use crate::workspace::{self, Metadata};

/// A program that is needed, and how to get it.
#[derive(Debug)]
pub struct Requirement {
    /// The command that shows that it is there, or, with its path, the file.
    pub command: &'static str,
    /// The Debian packages that bring it.
    pub packages: &'static [&'static str],
    /// Why it is needed.
    pub reason: &'static str,
}

/// Everything that is needed beyond Rust.
pub const REQUIREMENTS: [Requirement; 19] = [
    Requirement { command: "spin", packages: &["spin"], reason: "the peer of the bench and of the state counts" },
    Requirement { command: "gcc", packages: &["gcc", "libc6-dev"], reason: "compiles the verifiers that SPIN writes" },
    Requirement { command: "mke2fs", packages: &["e2fsprogs"], reason: "makes and checks ext2, ext3, ext4" },
    Requirement { command: "mkfs.xfs", packages: &["xfsprogs"], reason: "makes and checks xfs" },
    Requirement { command: "mkfs.btrfs", packages: &["btrfs-progs"], reason: "makes and checks btrfs" },
    Requirement { command: "mkfs.f2fs", packages: &["f2fs-tools"], reason: "makes and checks f2fs" },
    Requirement { command: "mkfs.jfs", packages: &["jfsutils"], reason: "makes, recovers and checks jfs" },
    Requirement { command: "mkfs.fat", packages: &["dosfstools"], reason: "makes, recovers and checks vfat, msdos" },
    Requirement { command: "mkreiserfs", packages: &["reiserfsprogs"], reason: "makes and checks reiserfs" },
    Requirement { command: "mkfs.nilfs2", packages: &["nilfs-tools"], reason: "makes nilfs2" },
    Requirement { command: "mkfs.exfat", packages: &["exfatprogs"], reason: "makes, recovers and checks exfat" },
    Requirement { command: "mkfs.minix", packages: &["util-linux"], reason: "makes, recovers and checks minix" },
    Requirement { command: "mkntfs", packages: &["ntfs-3g"], reason: "makes ntfs" },
    Requirement {
        command: "linux.uml",
        packages: &["user-mode-linux"],
        reason: "a guest kernel for whom has built none",
    },
    Requirement {
        command: "/usr/include/sys/acl.h",
        packages: &["libacl1-dev"],
        reason: "pjdfstest is linked with it, which tests the mounted reference",
    },
    Requirement { command: "pkg-config", packages: &["pkg-config"], reason: "finds libfuse for the bench" },
    Requirement {
        command: PEER_SOURCE,
        packages: &["fuse3", "libfuse3-dev"],
        reason: "the peer of the mounted reference in the bench",
    },
    Requirement { command: "fuse2fs", packages: &["fuse2fs"], reason: "a file system in user space with a disk" },
    Requirement { command: "bindfs", packages: &["bindfs"], reason: "a file system in user space without a disk" },
];

/// Installs what is missing, or names it. In CI, what stays missing is an error.
///
/// # Errors
/// When the installation fails, or in CI when something is missing and this is not root.
pub fn run() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if is_root()? && process::find("apt-get").is_some() {
        return install(&missing);
    }
    let remark = remark(&missing);
    if process::in_ci() {
        bail!("{remark}");
    }
    println!("{remark}");
    Ok(())
}

/// Builds the guest kernel unless it is there. In CI, tests without one are an error; elsewhere they are skipped.
///
/// # Errors
/// When Shakedown does not build, or in CI when the kernel does not.
pub fn kernel() -> Result<()> {
    let shakedown = Shakedown::to_use(&Metadata::read()?)?;
    match process::run(shakedown.command().args(["kernel", "build"])) {
        Err(error) if !process::in_ci() => {
            println!("SKIPPED: tests that boot a kernel, since there is none: {error:#}");
            Ok(())
        }
        built => built,
    }
}

/// The requirements that the search path does not satisfy.
pub fn missing() -> Vec<&'static Requirement> {
    REQUIREMENTS.iter().filter(|requirement| !is_there(requirement.command)).collect()
}

fn is_there(command: &str) -> bool {
    if command.starts_with('/') { Path::new(command).exists() } else { process::find(command).is_some() }
}

/// The test suites that are run on the mounted reference: crates with a program, each in the version that was tried.
const SUITES: [(&str, &str); 2] = [("pjdfstest", "0.2.2"), ("fsx", "0.3.2")];

/// Where the program of a test suite is, or would be.
pub fn suite(metadata: &Metadata, name: &str) -> PathBuf {
    metadata.target_directory.join("tools/bin").join(name)
}

/// Builds the test suites that are missing, in the build folder. In CI, tests without them are an error; elsewhere they
/// are skipped.
///
/// # Errors
/// In CI, when one does not build.
pub fn suites() -> Result<()> {
    let metadata = Metadata::read()?;
    for (name, version) in SUITES.iter().filter(|(name, _)| !suite(&metadata, name).exists()) {
        let tools = metadata.target_directory.join("tools");
        let mut install = workspace::cargo();
        install.args(["install", "--quiet", "--locked", &format!("{name}@{version}"), "--root"]).arg(&tools);
        let installed = process::run(install.arg("--target-dir").arg(tools.join("build")));
        match installed {
            Err(error) if !process::in_ci() => {
                println!("SKIPPED: the tests of {name}, which does not build: {error:#}");
            }
            installed => installed?,
        }
    }
    Ok(())
}

fn packages(missing: &[&Requirement]) -> Vec<&'static str> {
    missing.iter().flat_map(|requirement| requirement.packages).copied().collect()
}

fn remark(missing: &[&Requirement]) -> String {
    let list: Vec<String> = missing.iter().map(|one| format!("{} ({})", one.command, one.reason)).collect();
    format!("missing: {}; as root: apt-get install {}", list.join(", "), packages(missing).join(" "))
}

fn install(missing: &[&Requirement]) -> Result<()> {
    println!("{}", remark(missing));
    process::run(apt_get().args(["--quiet", "update"]))?;
    process::run(apt_get().args(["--quiet", "--yes", "--no-install-recommends", "install"]).args(packages(missing)))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Whether this is root.
///
/// # Errors
/// When the system does not say.
pub fn is_root() -> Result<bool> {
    Ok(process::capture(Command::new("id").arg("-u"))?.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remark_is_one_line_with_the_reason_and_the_command() {
        let all: Vec<&Requirement> = REQUIREMENTS.iter().collect();
        let remark = remark(&all);
        assert_eq!(remark.lines().count(), 1);
        assert!(remark.contains("spin (the peer"), "{remark}");
        assert!(remark.contains("apt-get install spin gcc libc6-dev e2fsprogs xfsprogs "), "{remark}");
    }
}
