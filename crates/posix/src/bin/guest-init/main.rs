//! One small static program with seven parts to play, so that a guest, and a mount on the host, need nothing else.
//!
//! - [`init`]: process 1 of the guest kernel. It takes batches from the mailbox and does them; [`flash`] is what its
//!   disk is to some file systems.
//! - [`supervise`]: the host's process above a guest, which clears away the guest when whoever started it is gone.
//! - [`launch`]: becomes the kernel, after arranging that the kernel dies with its supervisor and runs on one core.
//! - [`perform`]: runs a program of the host so that what it does follows from its arguments.
//! - [`worker`]: a process of the host that mounts a disk of ours (its [`volume`]), as a file system of the running
//!   kernel or by a [`command`].
//! - [`keep`]: the process above a worker, which clears away what the worker leaves.
//! - [`accompany`]: the process above a long job on the host, which ends when whoever wanted it is gone.

mod accompany;
mod allocations;
mod command;
mod flash;
mod init;
mod keep;
mod launch;
mod leaks;
mod perform;
mod supervise;
mod tick;
mod volume;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let part = arguments.next();
    match part.as_ref().and_then(|part| part.to_str()) {
        // It is the first process too, of its namespace.
        Some("worker") => worker::run(arguments),
        _ if std::process::id() == 1 => init::run(),
        Some("keep") => keep::run(arguments),
        Some("supervise") => supervise::run(arguments),
        Some("launch") => launch::run(arguments),
        Some("perform") => perform::run(arguments),
        Some("accompany") => accompany::run(arguments),
        _ => {
            eprintln!("guest-init is started by shakedown, and by guest kernels");
            ExitCode::from(2)
        }
    }
}
