//! Real kernels: what they do must follow from the disk and from the ops, and nothing of them may stay behind.
//!
//! These tests need a guest kernel (`shakedown kernel build`); without one each says that it was skipped, or, in CI,
//! fails.

mod accusing;
mod determinism;
mod dying;
mod searching;
mod talking;

use std::io::Write as _;

use check::Task;
use disk::OpIndex;
use guest::{FileSystem, FileSystemKind, GuestTarget, Kernel};
use vfs::Op;

/// The kernel under test; `None`, and a word about it, if there is none.
fn kernel() -> Option<Kernel> {
    Kernel::built(guest::PLAIN)
        .inspect_err(|error| {
            assert!(std::env::var_os("CI").is_none(), "could not {error}");
            // Written to standard error itself, because what a passing test prints is not shown.
            let _ = writeln!(std::io::stderr(), "skipped: could not {error}");
        })
        .ok()
}

fn ext4() -> FileSystem {
    FileSystemKind::Ext4.usual()
}

fn ext2() -> FileSystem {
    FileSystemKind::Ext2.usual()
}

/// A target on this machine, if there is a kernel.
fn target(file_system: FileSystem) -> Option<GuestTarget> {
    kernel().map(|_| GuestTarget::new(file_system, guest::PLAIN))
}

/// What stands beside a kernel about its variables, for one that has none.
fn variables_of_no_kernel() -> String {
    let random_state = ["base_crng", "crngs", "batched_entropy_u8", "batched_entropy_u16", "batched_entropy_u32"];
    let others = ["batched_entropy_u64", "input_pool", "time_travel_ext_waiting"];
    let lines: Vec<String> = random_state.iter().chain(&others).map(|name| format!("1000 30 d {name}\n")).collect();
    lines.concat()
}

fn task(op: &str, index: u32) -> Task {
    let op: Op = op.parse().expect("a test's op");
    Task { op, index: OpIndex(index), choice: 0, pc: 0, registers: [0; 12] }
}
