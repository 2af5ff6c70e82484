//! Nothing survives: however a run on this machine ends, and whichever of its processes is killed, what it has made is
//! gone: processes, loop devices, mounts and temporary files.
//!
//! Needs root, `/dev/fuse`, loop devices, fuse2fs and bindfs; without them each test says that it was skipped, or, in
//! CI, fails.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use posix::loop_device;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// In the environment of all processes of one run, and of no others.
const MARK: &str = "SHAKEDOWN_TEST_OF_KILLING";
/// How often something is killed.
const ROUNDS: usize = 50;
/// A run that is over before anything of it could be killed does not count, but so many are enough.
const TRIES_MAX: usize = 4 * ROUNDS;
/// The run is killed at some moment of so many milliseconds: from before its first worker to well into its ops.
const MOMENTS_MS: u64 = 300;
const GONE_MAX: Duration = Duration::from_mins(1);

/// What the running kernel mounts, what a command mounts, and what stores things elsewhere and is killed.
const TARGETS: [&[&str]; 3] = [&["host:ext4"], &[FUSE2FS], &["fuse:\"bindfs -f {store} {mnt}\"", "--crash", "kill"]];
const FUSE2FS: &str = "fuse:\"fuse2fs {dev} {mnt}\"?mkfs=\"mke2fs -q -F -t ext2 -b 1024 -N 32 -m 0 {dev}\",\
                       repair=\"e2fsck -fy {dev}\"";
/// Nothing of this is synced, so that nobody breaks a promise and the run goes on; but it ends when it cannot.
const LONG: [&str; 5] = ["--ops", "create,unlink,mkdir,rmdir", "--budget", "10m", "--until-violation"];

#[test]
fn whoever_is_killed_nothing_is_left() {
    if !can_mount() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(0);
    let mut killed = BTreeSet::new();
    let mut rounds = 0;
    for _ in 0..TRIES_MAX {
        let target = TARGETS[rounds % TARGETS.len()];
        let run = Run::start(&[target, &LONG].concat());
        std::thread::sleep(Duration::from_millis(random.u64(..MOMENTS_MS)));
        let processes = run.processes();
        let one = processes.get(random.usize(..processes.len().max(1)));
        match one.filter(|one| kill_process(one.pid, Signal::KILL).is_ok()) {
            Some(one) => {
                killed.insert(one.part.clone());
                rounds += 1;
                run.end_soon();
                let how = format!("round {rounds}, {one:?} was killed");
                // Where a command mounts, what is about to become that command still goes by the name of its worker.
                let is_ours = target == TARGETS[0] && ["keep", "worker"].contains(&one.part.as_str());
                let code = run.leaves_nothing(&how);
                assert!(!(is_ours && code == Some(1)), "{how}, and the file system is accused");
            }
            None => drop(run.killed().leaves_nothing("nothing was found to kill")),
        }
        if rounds == ROUNDS {
            break;
        }
    }
    assert_eq!(rounds, ROUNDS);
    for part in ["check", "keep", "worker"] {
        assert!(killed.contains(part), "{part} had its turn: {killed:?}");
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    for target in TARGETS {
        if !can_mount() {
            return;
        }
        let run = Run::start(&[target, &LONG].concat());
        let begun = Instant::now();
        while !run.processes().iter().any(|process| process.part == "worker") {
            assert!(begun.elapsed() < GONE_MAX, "{target:?} starts a worker");
            std::thread::sleep(Duration::from_millis(2));
        }
        run.end_soon();
        assert_eq!(run.leaves_nothing("interrupted"), Some(0), "{target:?}");
    }
}

#[test]
fn a_run_that_finds_nothing_leaves_nothing() {
    for target in TARGETS {
        if !can_mount() {
            return;
        }
        let run = Run::start(&[target, &["--ops", "create,mkdir", "--depth", "1"]].concat());
        assert_eq!(run.leaves_nothing("it ended well"), Some(0), "{target:?}");
    }
}

#[test]
fn a_run_that_finds_something_leaves_nothing() {
    if !can_mount() {
        return;
    }
    let run = Run::start(&["host:ext4?lies=flush", "--ops", "create,fsync", "--depth", "2", "--crash", "flushed"]);
    assert_eq!(run.leaves_nothing("it found something"), Some(1));
}

/// Whether this machine lets us mount. If not, that is said; in CI it must.
fn can_mount() -> bool {
    let needed = ["/dev/fuse", "/dev/loop-control", "/usr/bin/fuse2fs", "/usr/bin/bindfs"];
    let missing = needed.into_iter().find(|path| !Path::new(path).exists());
    let missing = if geteuid().is_root() { missing } else { Some("root") };
    if let Some(missing) = missing {
        assert!(std::env::var_os("CI").is_none(), "{missing} is missing");
        // Written to standard error itself, because what a passing test prints is not shown.
        let _ = writeln!(std::io::stderr(), "skipped: {missing} is missing");
    }
    missing.is_none()
}

/// A run of the program, and what there was of the kind that it makes before it was started.
struct Run {
    child: Child,
    mark: String,
    temporary: TempDir,
    devices: BTreeSet<u32>,
    mounts: BTreeSet<String>,
}

impl Run {
    fn start(arguments: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let temporary = TempDir::new().unwrap();
        let (devices, mounts) = (devices_of_nobody(), mounts());
        let mut command = Command::new(env!("CARGO_BIN_EXE_shakedown"));
        command.arg("check").args(arguments).env(MARK, &mark).env("TMPDIR", temporary.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, mark, temporary, devices, mounts }
    }

    /// A run goes on that has lost a worker which had nothing to do, or a process that its command can spare.
    fn end_soon(&self) {
        std::thread::sleep(Duration::from_millis(50));
        let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
    }

    fn killed(mut self) -> Self {
        self.child.kill().unwrap();
        self
    }

    fn processes(&self) -> Vec<Process> {
        let wanted = format!("{MARK}={}", self.mark);
        let is_ours = |process: &Process| {
            let environment = fs::read(format!("/proc/{}/environ", process.pid.as_raw_nonzero())).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
        };
        processes().into_iter().filter(is_ours).collect()
    }

    /// Waits until all of it is gone, which it must be by itself; its exit code.
    fn leaves_nothing(mut self, how: &str) -> Option<i32> {
        let begun = Instant::now();
        let status = loop {
            let status = self.child.try_wait().unwrap();
            let processes = self.processes();
            let devices: Vec<u32> = devices_of_nobody().difference(&self.devices).copied().collect();
            if let (Some(status), [], []) = (status, &processes[..], &devices[..]) {
                break status;
            }
            assert!(begun.elapsed() < GONE_MAX, "{how}: {status:?}, {processes:?}, {devices:?} are left");
            std::thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(mounts().difference(&self.mounts).collect::<Vec<_>>(), Vec::<&String>::new(), "{how}");
        let files: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(files.is_empty(), "{how}: {files:?}");
        status.code()
    }
}

/// A test that fails leaves nothing either.
impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process of a run.
#[derive(Debug)]
struct Process {
    pid: Pid,
    /// Which part of our program it plays: its first argument.
    part: String,
    /// The argument after that.
    of: String,
}

/// All that there are, with arguments.
fn processes() -> Vec<Process> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let process = |pid: i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = arguments.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        Some(Process { pid: Pid::from_raw(pid)?, part: words.nth(1)?, of: words.next().unwrap_or_default() })
    };
    pids.filter_map(process).collect()
}

/// The loop devices with our numbers that no keeper or worker has, of whatever run.
fn devices_of_nobody() -> BTreeSet<u32> {
    let devices = loop_device::ours();
    // What a keeper has not yet given to its worker is the first that was free from its own number on.
    let number = |process: Process| match process.part.as_str() {
        "keep" => Some(loop_device::first_number(process.pid.as_raw_nonzero().get().cast_unsigned())),
        "worker" => process.of.parse().ok(),
        _ => None,
    };
    let taken: BTreeSet<u32> = processes().into_iter().filter_map(number).collect();
    devices.into_iter().filter(|device| !taken.contains(device)).collect()
}

/// What is mounted where workers mount, or from a device of ours. Theirs is a namespace that nobody else looks into.
fn mounts() -> BTreeSet<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let devices: Vec<String> = loop_device::ours().into_iter().map(loop_device::path).collect();
    let is_ours = |line: &&str| {
        let is_from = |device: &String| line.split(' ').any(|word| word == device);
        line.contains("/sys/fs/fuse/connections/") || devices.iter().any(is_from)
    };
    all.lines().filter(is_ours).map(ToOwned::to_owned).collect()
}
