//! The process above a worker: `keep [COMMAND [RESET]]`.
//!
//! It has a loop device and starts the worker, with its own standard output, a socket, as the worker's standard input.
//! When its standard input ends, because whoever holds the other end has let go or is dead, and when the worker ends,
//! it kills the worker, all that it started ends with it, and the loop device is taken away.

#![expect(unsafe_code, reason = "unshare can do more than is asked of it here, so its wrapper is unsafe")]

use std::{
    ffi::OsString,
    io::Read as _,
    os::fd::AsFd as _,
    process::{Child, Command, ExitCode},
    time::{Duration, Instant},
};

use posix::loop_device;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
    thread::{UnshareFlags, unshare_unsafe},
};

/// When nobody is left who could answer for the disk, the kernel has long let go of the device.
const LET_GO_MAX: Duration = Duration::from_secs(20);

pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match start(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: impl Iterator<Item = OsString>) -> std::io::Result<()> {
    let (number, device) = loop_device::add(std::process::id())?;
    let worker = spawn(number, arguments);
    if let Ok(worker) = worker {
        watch(worker);
    }
    drop(device);
    let mut since_alone = None;
    loop_device::remove_soon(number, || {
        // As long as somebody serves the disk, or could, what is still mounted may wait for that.
        if is_alone() {
            since_alone.get_or_insert_with(Instant::now);
        }
        since_alone.is_none_or(|since| since.elapsed() < LET_GO_MAX)
    })
}

fn spawn(number: u32, arguments: impl Iterator<Item = OsString>) -> std::io::Result<Child> {
    // SAFETY: this process has one thread; it is its children that get another namespace.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID)? };
    let socket = std::io::stdout().as_fd().try_clone_to_owned()?;
    let (alive, held) = std::io::pipe()?;
    // This program may lie nowhere, so it is not asked for by its name.
    let mut worker = Command::new("/proc/self/exe");
    worker.arg("worker").arg(number.to_string()).args(arguments).stdin(socket).stdout(alive);
    let worker = worker.spawn()?;
    // Closed by our end, and by nothing else: by that the worker sees that we have not ended before it could ask the
    // kernel to be told.
    std::mem::forget(held);
    // Whoever is at the other end of the socket must see that the worker has ended.
    rustix::stdio::dup2_stdout(std::fs::File::open("/dev/null")?)?;
    Ok(worker)
}

/// Waits until one of the two ends, then ends the worker.
fn watch(mut worker: Child) {
    let stdin = std::io::stdin();
    if let Ok(ends) = pidfd_open(Pid::from_child(&worker), PidfdFlags::empty()) {
        let mut either = [PollFd::new(&ends, PollFlags::IN), PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        while poll(&mut either, None) == Err(Errno::INTR) {}
    }
    let _ = worker.kill();
    let _ = worker.wait();
}

/// Whether the other end of the standard input is gone.
fn is_alone() -> bool {
    let stdin = std::io::stdin();
    let mut waits = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let has_something = poll(&mut waits, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0);
    has_something && stdin.lock().read(&mut [0]).is_ok_and(|count| count == 0)
}
