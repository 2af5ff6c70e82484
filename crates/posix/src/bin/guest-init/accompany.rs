//! A program of the host that must not outlive whoever started it: `accompany PROGRAM ARGUMENT...`.
//!
//! The program runs in a group of its own. When our standard input ends, because whoever holds the other end has let go
//! or is dead, the whole group is told to end, and after a while made to: a compiler removes what it has half written.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::AsFd as _,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

/// Who is told to end is given so long.
const END_SECONDS_MAX: i64 = 10;

/// Ends with the exit code of the program; one that died by a signal is told as a shell would.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = arguments.next() else {
        eprintln!("accompany: which program?");
        return ExitCode::from(2);
    };
    let child = Command::new(&program).args(arguments).stdin(Stdio::null()).process_group(0).spawn();
    match child.and_then(watch) {
        Ok(status) => code(status),
        Err(error) => {
            eprintln!("{}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}

/// Waits until one of the two ends, then ends the program with all that it has started.
fn watch(mut child: Child) -> io::Result<ExitStatus> {
    let group = Pid::from_child(&child);
    let ends = pidfd_open(group, PidfdFlags::empty())?;
    let stdin = io::stdin();
    let wait_for = |both: &mut [PollFd<'_>], seconds: Option<i64>| {
        let patience = seconds.map(|tv_sec| Timespec { tv_sec, tv_nsec: 0 });
        while poll(both, patience.as_ref()) == Err(Errno::INTR) {}
    };
    let of_the_program = || PollFd::new(&ends, PollFlags::IN);
    wait_for(&mut [of_the_program(), PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)], None);
    if child.try_wait()?.is_none() {
        let _ = kill_process_group(group, Signal::TERM);
        wait_for(&mut [of_the_program()], Some(END_SECONDS_MAX));
    }
    // What is left of the group is left by a program that has ended.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
