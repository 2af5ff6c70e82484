//! One small static program with three parts to play, so that a guest needs nothing else.
//!
//! - [`init`]: process 1 of the guest kernel. It takes batches from the mailbox and does them.
//! - [`supervise`]: the host's process above a guest, which clears away the guest when whoever started it is gone.
//! - [`launch`]: becomes the kernel, after arranging that the kernel dies with its supervisor and runs on one core.

mod init;
mod launch;
mod supervise;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let part = arguments.next();
    match part.as_ref().and_then(|part| part.to_str()) {
        _ if std::process::id() == 1 => init::run(),
        Some("supervise") => supervise::run(arguments),
        Some("launch") => launch::run(arguments),
        _ => {
            eprintln!("guest-init is started by shakedown, and by guest kernels");
            ExitCode::from(2)
        }
    }
}
