//! File systems of the running kernel, on disks of ours.
//!
//! These tests need root, `/dev/fuse` and loop devices; without them each says that it was skipped, or, in CI, fails.

mod commands;
mod debian;
mod searching;
mod stepping;
mod trouble;

use std::io::Write as _;

use check::{Target, Task};
use disk::OpIndex;
use guest::{Described, FileSystem, FileSystemKind, Which};
use host::{HostTarget, MountedBy, Subject};
use vfs::{Op, contract::Contract};

fn ext4() -> FileSystem {
    FileSystem { options: "nodelalloc".to_owned(), ..FileSystemKind::Ext4.usual() }
}

fn ext2() -> FileSystem {
    FileSystemKind::Ext2.usual()
}

/// A target on this machine; `None`, and a word about it, if it cannot be had.
fn here<T: Target>(target: T) -> Option<T> {
    let ready = target.ready().inspect_err(|error| {
        assert!(std::env::var_os("CI").is_none(), "could not {error}");
        // Written to standard error itself, because what a passing test prints is not shown.
        let _ = writeln!(std::io::stderr(), "skipped: could not {error}");
    });
    ready.is_ok().then_some(target)
}

fn kernel(file_system: FileSystem) -> Option<HostTarget> {
    here(HostTarget::new(Subject { file_system, mounted_by: MountedBy::RunningKernel }))
}

/// What is said of a file system that is held to this and needs nothing.
fn any(contract: Contract) -> Described {
    Described::new("fuse", contract)
}

/// A file system that a command mounts.
fn mounted_by(command: String, described: Described, kib: u32) -> HostTarget {
    let file_system = FileSystem::new(Which::Described(described.into()), kib);
    HostTarget::new(Subject { file_system, mounted_by: MountedBy::Command(command) })
}

fn task(op: &str, index: u32) -> Task {
    let op: Op = op.parse().expect("a test's op");
    Task { op, index: OpIndex(index), choice: 0, pc: 0, registers: [0; 12] }
}
