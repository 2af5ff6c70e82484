//! However a guest's owner ends, nothing of the guest stays behind.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use guest::{Guest, GuestError, Storage};
use posix::message::Step;
use rustix::process::{Pid, Signal, kill_process};

use crate::kernel;

/// Set in the process that is killed.
const TO_BE_KILLED: &str = "SHAKEDOWN_TEST_TO_BE_KILLED";
/// A machine that is busy takes its time; one that is not needs a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The processes that work in a folder, or did before it was removed.
fn processes_in(folder: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let works_there = |pid: &String| {
        let place = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        place.to_string_lossy().starts_with(folder)
    };
    processes.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(works_there).collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn folder_of(pid: u32) -> String {
    let owner = posix::process_name::of(pid);
    std::env::temp_dir().join(format!("shakedown-guest-{owner}-")).to_string_lossy().into_owned()
}

fn folders(prefix: &str) -> Vec<String> {
    let parent = Path::new(prefix).parent().unwrap().to_owned();
    let all = fs::read_dir(parent).unwrap().filter_map(|entry| Some(entry.ok()?.path().to_string_lossy().into_owned()));
    all.filter(|folder| folder.starts_with(prefix)).collect()
}

#[test]
fn a_guest_that_is_dropped_is_gone() {
    let Some(kernel) = kernel() else { return };
    let guest = Guest::boot(&kernel, 128, 0).unwrap();
    let process = Path::new("/proc").join(guest.kernel_process().unwrap().as_raw_nonzero().to_string());
    let folder = fs::read_link(process.join("cwd")).unwrap();
    assert!(folder.join("s.0").exists(), "a guest has a folder while it lives");
    drop(guest);
    assert!(!process.exists() && !folder.exists());
}

#[test]
fn nothing_is_left_of_a_guest_whose_owner_was_killed() {
    let Some(kernel) = kernel() else { return };
    if std::env::var_os(TO_BE_KILLED).is_some() {
        let _guest = Guest::boot(&kernel, 128, 0).unwrap();
        println!("\nbooted");
        std::thread::sleep(Duration::from_mins(1));
        return;
    }
    let name = "dying::nothing_is_left_of_a_guest_whose_owner_was_killed";
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(owner.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap() == "booted"));
    let folder = folder_of(owner.id());
    assert!(!folders(&folder).is_empty() && !processes_in(&folder).is_empty(), "the guest runs");
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until("its processes stay", || processes_in(&folder).is_empty());
    wait_until("its folder stays", || folders(&folder).is_empty());
}

/// By whom a kernel was ended decides who is accused: it aborts when it panics.
#[test]
fn a_kernel_that_is_killed_is_told_and_cleared_away() {
    let Some(kernel) = kernel() else { return };
    for (signal, by_somebody_else) in [(Signal::KILL, true), (Signal::TERM, true), (Signal::ABORT, false)] {
        let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
        let process = guest.kernel_process().unwrap();
        kill_process(process, signal).unwrap();
        let error = guest.run(&mut NoRequests, &[Step::Observe]).unwrap_err();
        let expected = if by_somebody_else { is_killed } else { is_dead };
        assert!(expected(&error), "{signal:?}: {error}");
        let process = Path::new("/proc").join(process.as_raw_nonzero().to_string());
        wait_until("its process stays", || !process.exists());
    }
}

fn is_killed(error: &GuestError) -> bool {
    matches!(error, GuestError::Killed)
}

fn is_dead(error: &GuestError) -> bool {
    matches!(error, GuestError::Died { .. })
}

/// What runs in a guest is in processes of the host that are below its kernel. It panics without the one of its init.
#[test]
fn a_process_of_a_kernel_that_is_killed_is_no_panic_of_the_kernel() {
    let Some(kernel) = kernel() else { return };
    let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
    let process = guest.kernel_process().unwrap().as_raw_nonzero();
    let below = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    for process in below.split_whitespace() {
        kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
    let error = guest.run(&mut NoRequests, &[Step::Observe]).unwrap_err();
    assert!(is_killed(&error), "{error}");
}

/// The folder is the supervisor's to remove, and it cannot.
#[test]
fn a_supervisor_that_is_killed_leaves_no_folder() {
    let Some(kernel) = kernel() else { return };
    let mut guest = Guest::boot(&kernel, 128, 0).unwrap();
    let process = Path::new("/proc").join(guest.kernel_process().unwrap().as_raw_nonzero().to_string());
    let folder = fs::read_link(process.join("cwd")).unwrap();
    let status = fs::read_to_string(process.join("status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
    let error = guest.run(&mut NoRequests, &[Step::Observe]).unwrap_err();
    assert!(is_killed(&error), "{error}");
    drop(guest);
    assert!(!folder.exists());
    wait_until("its processes stay", || processes_in(&folder.to_string_lossy()).is_empty());
}

/// No request comes this far.
struct NoRequests;

impl Storage for NoRequests {
    fn read(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}
