//! Nothing survives: whichever process of a run is killed, and whenever, what the run has made is gone.
//!
//! Needs root, `/dev/fuse` and loop devices; without them it says that it was skipped, or, in CI, fails.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use check::{Target as _, Task};
use disk::{Disk, OpIndex};
use guest::{FileSystem, FileSystemKind};
use host::{HostTarget, MountedBy, Subject};
use posix::loop_device;
use rustix::process::{Pid, Signal, kill_process};

/// In the environment of all processes of one run, and of no others.
const MARK: &str = "SHAKEDOWN_TEST_OF_KILLING";
/// How often something is killed.
const ROUNDS: u64 = 50;
/// The run is killed at some moment of so many milliseconds: from before its first worker to well into its ops.
const MOMENTS_MS: u64 = 250;
const GONE_MAX: Duration = Duration::from_mins(1);

fn target() -> HostTarget {
    let file_system = FileSystem { options: "nodelalloc".to_owned(), ..FileSystemKind::Ext4.usual() };
    HostTarget::new(Subject { file_system, mounted_by: MountedBy::RunningKernel })
}

/// What is killed: a process that works on a mounted file system until it cannot. A part that the other test plays, in
/// processes of its own.
#[test]
fn victim() {
    let target = target();
    if std::env::var_os(MARK).is_none() || target.ready().is_err() {
        return;
    }
    loop {
        let mut disk = Disk::new(target.mkfs());
        let Ok(mut mounted) = target.mount(&mut disk) else { return };
        for (number, op) in (0..).zip(["create(\"/f\")", "sync()", "mkdir(\"/d\")", "fsync(\"/f\")", "unlink(\"/f\")"])
        {
            let task =
                &mut Task { op: op.parse().unwrap(), index: OpIndex(number), choice: 0, pc: 0, registers: [0; 12] };
            target.step(&mut mounted, &mut disk, task);
            if target.complaint(&mounted).is_some() {
                return;
            }
        }
    }
}

#[test]
fn whoever_is_killed_nothing_is_left() {
    if let Err(error) = target().ready() {
        assert!(std::env::var_os("CI").is_none(), "could not {error}");
        let _ = writeln!(std::io::stderr(), "skipped: could not {error}");
        return;
    }
    let mut random = fastrand::Rng::with_seed(0);
    let mut killed = BTreeSet::new();
    for round in 0..ROUNDS {
        let mark = format!("{}-{round}", std::process::id());
        let mut run = start(&mark);
        std::thread::sleep(Duration::from_millis(random.u64(..MOMENTS_MS)));
        let processes = marked(&mark);
        let Some(one) = processes.get(random.usize(..processes.len().max(1))) else { continue };
        let _ = kill_process(one.pid, Signal::KILL);
        killed.insert(one.part.clone());
        wait_until_gone(&mark, &mut run, round);
        let keepers = processes.iter().filter(|process| process.part == "keep").map(|keeper| keeper.pid.as_raw_pid());
        for number in keepers.map(|pid| loop_device::NUMBERS.start + pid.cast_unsigned()) {
            assert!(!fs::exists(loop_device::path(number)).unwrap(), "round {round}, {one:?} was killed: loop{number}");
        }
    }
    assert_eq!(killed, ["", "keep", "worker"].map(ToOwned::to_owned).into(), "each part had its turn");
}

fn start(mark: &str) -> Child {
    let mut run = Command::new(std::env::current_exe().unwrap());
    run.args(["victim", "--exact"]).env(MARK, mark).stdout(Stdio::null()).stderr(Stdio::null());
    run.spawn().unwrap()
}

/// A process of a run.
#[derive(Debug)]
struct Process {
    pid: Pid,
    /// Which part of our program it plays; empty for the run itself.
    part: String,
}

fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let process = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_marked = environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|_| is_marked)?;
        let part = String::from_utf8_lossy(arguments.split(|byte| *byte == 0).nth(1)?).into_owned();
        let part = if part == "victim" { String::new() } else { part };
        Some(Process { pid: Pid::from_raw(pid)?, part })
    };
    processes.filter_map(process).collect()
}

/// The run itself, if it was not the one that was killed, ends when it cannot go on, and all others end by themselves.
fn wait_until_gone(mark: &str, run: &mut Child, round: u64) {
    let begun = Instant::now();
    loop {
        let ended = run.try_wait().unwrap().is_some();
        let left = marked(mark);
        if ended && left.is_empty() {
            return;
        }
        assert!(begun.elapsed() < GONE_MAX, "round {round}: {left:?} are left");
        std::thread::sleep(Duration::from_millis(2));
    }
}
