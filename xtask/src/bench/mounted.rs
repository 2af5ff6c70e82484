//! `shakedown mount` against another FUSE file system in memory, and the cost of its snapshots.
//!
//! The peer is `passthrough_ll`, the example of libfuse, on a tmpfs: a small program in C on the fastest in-memory file
//! system there is, with every cache of the kernel on. libfuse's own in-memory example came after the version that
//! Debian has, and what else is to be had speaks FUSE through Python or through an asynchronous runtime. It runs on one
//! thread and on several, and the faster one counts.
//!
//! All of them are exercised by the same program in turns, several rounds; each one's fastest round counts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::{Options, Verdict};
use crate::process;
use crate::setup;
use crate::shakedown::Shakedown;
use crate::workspace::{Metadata, cargo};

/// Create, write, rename, unlink: how much longer than the peer it may take.
const PEER_RATIO_MAX: f64 = 1.5;
/// A snapshot and a restore of a hundred files, one of them changed, in the server: what the caller waits for, less
/// the way there and back.
const SNAPSHOT_NANOS_MAX: u64 = 100_000;
/// Set in the environment of the copy of this program that has mounts of its own.
const APART: &str = "SHAKEDOWN_BENCH_APART";
/// Where the peer's source is.
pub const PEER_SOURCE: &str = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c";

const LOOPS: u32 = 5000;
const SNAPSHOTS: u32 = 1000;
/// fsx never unmaps what it has read through a mapping, and whenever a file is cut off, the kernel goes through all of
/// its mappings: the time of a run grows with the square of its ops. So a million ops are many short runs, with the
/// seeds from 1 on.
const FSX_OPS: u32 = 10_000;
const FSX_RUNS: u32 = 100;

/// Whether this machine can mount; if not, that is said, and in CI it is an error.
fn is_possible() -> Result<bool> {
    if setup::is_root()? && Path::new("/dev/fuse").exists() {
        return Ok(true);
    }
    ensure!(!process::in_ci(), "mounting needs root and /dev/fuse");
    println!("SKIPPED: mounting needs root and /dev/fuse");
    Ok(false)
}

/// Builds, exercises and judges.
///
/// # Errors
/// When something cannot be built, mounted or run.
pub(super) fn run(options: &Options, metadata: &Metadata) -> Result<Vec<Verdict>> {
    if !is_possible()? {
        return Ok(Vec::new());
    }
    if std::env::var_os(APART).is_none() {
        return run_apart(options);
    }
    let scratch = metadata.scratch("mounted")?;
    let shakedown = Shakedown::to_measure(metadata)?;
    process::run(cargo().args(["build", "--quiet", "--release", "--package", "reffs", "--example", "exercise"]))?;
    let exercise = metadata.target_directory.join("release/examples/exercise");
    let peer = build_peer(&scratch)?;
    let store = Store::mount(&scratch)?;
    let ours = || Mounted::start("shakedown", shakedown.command().arg("mount"), &[], &scratch);
    let theirs = |options: &[&str]| {
        let source = format!("source={},cache=always", store.0.display());
        let options: Vec<&str> = ["-f", "-o", &source].into_iter().chain(options.iter().copied()).collect();
        Mounted::start("passthrough_ll", &mut Command::new(&peer), &options, &scratch)
    };
    let [mut us, mut them, mut snapshots, mut refusals] = [u64::MAX; 4];
    for round in 1..=options.rounds {
        let ours = ours()?;
        us = us.min(ours.exercise(&exercise, "names", LOOPS)?);
        snapshots = snapshots.min(ours.exercise(&exercise, "snapshots", SNAPSHOTS)?);
        refusals = refusals.min(ours.exercise(&exercise, "refusals", SNAPSHOTS)?);
        drop(ours);
        for options in [&["-s"][..], &[]] {
            them = them.min(theirs(options)?.exercise(&exercise, "names", LOOPS)?);
        }
        println!(
            "round {round}: shakedown {us} ns, passthrough_ll {them} ns, snapshot and restore {snapshots} ns, of which \
             {refusals} ns for the way there and back"
        );
    }
    fsx(metadata, &ours()?, &scratch)?;
    Ok(verdicts(us, them, snapshots.saturating_sub(refusals)))
}

/// Runs this bench in a copy of this program that has mounts and processes of its own. If this one is killed, that one
/// is too, the kernel then ends all that it has started, and with the last of them its mounts are gone.
fn run_apart(options: &Options) -> Result<Vec<Verdict>> {
    let program = std::env::current_exe().context("could not find this program")?;
    let mut apart = Command::new("setpriv");
    apart.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    apart.arg(program).args(["bench", "--only", "mounted", "--rounds", &options.rounds.to_string()]);
    // It has said itself what it came to.
    process::run(apart.env(APART, "1")).map(|()| Vec::new())
}

fn verdicts(us: u64, them: u64, snapshots: u64) -> Vec<Verdict> {
    let ratio = us as f64 / them as f64;
    let text = format!("create, write, rename, unlink to passthrough_ll: {ratio:.2}x, at most {PEER_RATIO_MAX}x");
    let loops = Verdict { passed: ratio <= PEER_RATIO_MAX, text };
    let text = format!(
        "snapshot and restore of 100 files in the server: {:.1} us, at most {} us",
        snapshots as f64 / 1e3,
        SNAPSHOT_NANOS_MAX / 1000
    );
    vec![loops, Verdict { passed: snapshots <= SNAPSHOT_NANOS_MAX, text }]
}

/// A million ops of the exerciser, every kind that it has.
fn fsx(metadata: &Metadata, mounted: &Mounted, scratch: &Path) -> Result<()> {
    setup::suites()?;
    let configuration = scratch.join("fsx.toml");
    std::fs::write(&configuration, include_str!("../../../crates/reffs/tests/mounted/fsx.toml"))?;
    let start = Instant::now();
    for seed in 1..=FSX_RUNS {
        let mut fsx = Command::new(setup::suite(metadata, "fsx"));
        fsx.args(["-q", "-S", &seed.to_string(), "-N", &FSX_OPS.to_string(), "-f"]).arg(&configuration);
        process::run(fsx.arg("-P").arg(scratch).arg(mounted.dir.join(format!("exercised{seed}"))))?;
    }
    println!("fsx: {} ops in {:.0} s", FSX_RUNS * FSX_OPS, start.elapsed().as_secs_f64());
    Ok(())
}

fn build_peer(scratch: &Path) -> Result<PathBuf> {
    let flags = process::capture(Command::new("pkg-config").args(["--cflags", "--libs", "fuse3"]))?;
    let program = scratch.join("passthrough_ll");
    let mut gcc = Command::new("gcc");
    process::run(gcc.args(["-O2", PEER_SOURCE]).args(flags.split_whitespace()).arg("-o").arg(&program))?;
    Ok(program)
}

/// A tmpfs for the peer to pass through to.
struct Store(PathBuf);

impl Store {
    fn mount(scratch: &Path) -> Result<Self> {
        let dir = scratch.join("store");
        std::fs::create_dir(&dir)?;
        process::run(Command::new("mount").args(["-t", "tmpfs", "shakedown-bench"]).arg(&dir))?;
        Ok(Self(dir))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // There is nobody to tell; the next bench complains that it cannot empty its folder.
        let _ = process::run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// A file system that a child process serves.
struct Mounted {
    dir: PathBuf,
    server: Child,
}

impl Mounted {
    fn start(name: &str, command: &mut Command, options: &[&str], scratch: &Path) -> Result<Self> {
        let dir = scratch.join(format!("on-{name}"));
        std::fs::create_dir_all(&dir)?;
        let before = device(&dir)?;
        let server =
            command.arg(&dir).args(options).stdout(Stdio::null()).spawn().context("could not start a server")?;
        let mounted = Self { dir, server };
        let start = Instant::now();
        while device(&mounted.dir)? == before {
            if start.elapsed() > Duration::from_secs(20) {
                bail!("{name} did not mount");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(mounted)
    }

    fn exercise(&self, exercise: &Path, what: &str, rounds: u32) -> Result<u64> {
        let mut command = Command::new(exercise);
        let nanos = process::capture(command.arg(what).arg(&self.dir).arg(rounds.to_string()))?;
        nanos.trim().parse().context("could not read the time of an exercise")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = process::run(Command::new("umount").arg("--lazy").arg(&self.dir));
        // With the mount gone, so is its server.
        let _ = self.server.wait();
    }
}

fn device(dir: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(std::fs::metadata(dir)?.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_slow_is_said() {
        assert!(verdicts(150, 100, 99_999).iter().all(|verdict| verdict.passed));
        let missed = verdicts(151, 100, 100_001);
        assert!(missed.iter().all(|verdict| !verdict.passed));
        assert_eq!(missed[0].text, "create, write, rename, unlink to passthrough_ll: 1.51x, at most 1.5x");
    }
}
