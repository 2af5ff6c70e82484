//! The process above a guest: `supervise FOLDER CPU KERNEL ARGUMENT...`.
//!
//! It waits for one byte on its standard input and then starts the kernel in the folder, in a process group of its own.
//! When the input ends, because whoever holds the other end has let go or is dead, and when the kernel ends, it kills
//! the whole group and removes the folder. Its own end tells whether somebody else has killed the kernel. It can be
//! told about a folder before that exists, so that there is no moment at which nobody would clear it away.

use std::{
    ffi::OsString,
    io::Read as _,
    os::{fd::AsFd, unix::process::CommandExt as _},
    path::Path,
    process::{Child, Command, ExitCode},
};

use posix::message::KERNEL_WAS_KILLED;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, pidfd_open,
        set_child_subreaper, wait, waitid,
    },
};

pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(folder) = arguments.next() else {
        eprintln!("supervise: which folder?");
        return ExitCode::from(2);
    };
    let folder = Path::new(&folder);
    let code = start(folder, arguments);
    // Nothing is left to be told if this fails, and nobody to tell it.
    let _ = std::fs::remove_dir_all(folder);
    code
}

fn start(folder: &Path, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let told = std::io::stdin().read_exact(&mut [0]);
    if told.is_err() {
        return ExitCode::SUCCESS;
    }
    // What the kernel's own helpers leave behind comes to this process, which waits for it below.
    let _ = set_child_subreaper(Pid::from_raw(1));
    // This program may lie nowhere, so it is not asked for by its name.
    let mut launch = Command::new("/proc/self/exe");
    launch.arg("launch").args(arguments).current_dir(folder).process_group(0).stdin(std::process::Stdio::null());
    match launch.spawn() {
        Ok(kernel) => watch(kernel),
        Err(error) => {
            eprintln!("supervise: {error}");
            ExitCode::from(2)
        }
    }
}

/// Waits until one of the two ends, then ends all.
fn watch(mut kernel: Child) -> ExitCode {
    let pid = Pid::from_child(&kernel);
    let stdin = std::io::stdin();
    if let Ok(ends) = pidfd_open(pid, PidfdFlags::empty()) {
        let mut either = [PollFd::new(&ends, PollFlags::IN), PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        while poll(&mut either, None) == Err(Errno::INTR) {}
    }
    // How it has ended by now; what is killed below has not.
    let ended = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kernel.wait();
    while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
    ExitCode::from(match ended.ok().flatten() {
        Some(ended) if ended.terminating_signal() == Some(Signal::KILL.as_raw()) => KERNEL_WAS_KILLED,
        ended => u8::from(ended.and_then(|ended| ended.exit_status()) != Some(0)),
    })
}
