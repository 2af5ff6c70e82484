//! From a process to a kernel: `launch CPU KERNEL ARGUMENT...`.

#![expect(unsafe_code, reason = "there is no safe wrapper for the personality of a process")]

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

use rustix::{
    process::{Signal, getppid, set_parent_process_death_signal},
    thread::{CpuSet, sched_setaffinity},
};

/// Only returns if the kernel cannot be started.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = getppid();
    let cpu = arguments.next().and_then(|cpu| cpu.to_str()?.parse::<usize>().ok());
    let (Some(cpu), Some(kernel)) = (cpu, arguments.next()) else {
        eprintln!("launch: which core, and which kernel?");
        return ExitCode::from(2);
    };
    let tied = set_parent_process_death_signal(Some(Signal::KILL));
    if tied.is_err() || getppid() != parent {
        eprintln!("launch: nobody is there to die with");
        return ExitCode::from(2);
    }
    let mut only = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        only.set(cpu);
    }
    // Slower elsewhere, but not wrong.
    let _ = sched_setaffinity(None, &only);
    // SAFETY: no memory is passed. Addresses that differ from run to run would show in what the kernel does.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let error = Command::new(&kernel).args(arguments).exec();
    eprintln!("launch: {}: {error}", kernel.display());
    ExitCode::from(2)
}
