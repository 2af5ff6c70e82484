//! A program of the host that makes or checks a file system: `perform PROGRAM ARGUMENT...`.
//!
//! It gets the same memory each time: the same addresses, and the same 16 bytes where the kernel puts random ones for
//! the C library. That makes the guard of a stack frame of them, and some programs write frames to the disk that they
//! never filled (the log of `jfs_fsck`). Only who traces a process can put them there in time.

#![expect(unsafe_code, reason = "there is no safe wrapper for tracing, and for the personality of a process")]

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::{
        fs::FileExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Child, Command, ExitCode, ExitStatus},
};

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};

/// What the kernel calls the address of the random bytes, in the list that it gives to a new program.
const AT_RANDOM: u64 = 25;
/// Instead of them.
const FIXED: [u8; 16] = *b"not random at al";

/// Ends as the program ends, and dies with whoever started it.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = getppid();
    let Some(program) = arguments.next() else { return not_done("which program?") };
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() || getppid() != parent {
        return not_done("nobody is there to die with");
    }
    match perform(Command::new(&program).args(arguments)) {
        Ok(status) => ended_as(status),
        Err(error) => not_done(&format!("{}: {error}", program.display())),
    }
}

/// Every exit code is a word of the program's, so what is not is said by dying.
fn not_done(why: &str) -> ExitCode {
    eprintln!("perform: {why}");
    die_of(Signal::KILL)
}

fn ended_as(status: ExitStatus) -> ExitCode {
    match status.signal().and_then(Signal::from_named_raw) {
        Some(signal) => die_of(signal),
        None => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)),
    }
}

fn die_of(signal: Signal) -> ExitCode {
    let _ = kill_process(getpid(), signal);
    // The first fault is taken for an overflow of the stack by Rust's runtime, which steps aside for the second.
    let _ = kill_process(getpid(), signal);
    ExitCode::FAILURE
}

fn perform(command: &mut Command) -> io::Result<ExitStatus> {
    let own = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(own) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        // SAFETY: no memory is passed to either. A traced process stops when it has become another program.
        let traced = unsafe {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::ptrace(libc::PTRACE_TRACEME)
        };
        if traced == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between the two programs, there are only system calls.
    unsafe { command.pre_exec(prepare) };
    let mut child = command.spawn()?;
    let fixed = fix_randomness(&child);
    if fixed.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    fixed.map(|()| status)
}

/// Puts the bytes where the program that has just begun will look for them, and lets it go on.
fn fix_randomness(child: &Child) -> io::Result<()> {
    let pid = Pid::from_child(child);
    let stopped = waitpid(Some(pid), WaitOptions::UNTRACED)?;
    if !stopped.is_some_and(|(_, status)| status.stopped()) {
        return Err(io::Error::other("it did not begin"));
    }
    let list = fs::read(format!("/proc/{}/auxv", pid.as_raw_nonzero()))?;
    let (words, _) = list.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let address = words.chunks_exact(2).find(|entry| entry[0] == AT_RANDOM).map(|entry| entry[1]);
    if let Some(address) = address {
        let memory = File::options().write(true).open(format!("/proc/{}/mem", pid.as_raw_nonzero()))?;
        memory.write_all_at(&FIXED, address)?;
    }
    // SAFETY: the process is ours and is stopped; no memory is passed.
    let let_go = unsafe { libc::ptrace(libc::PTRACE_DETACH, pid.as_raw_nonzero().get(), 0, 0) };
    if let_go == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
