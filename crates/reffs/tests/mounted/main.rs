//! The reference mounted, used by system calls and by test suites that others wrote.
//!
//! The server is a process of its own, as for users: this program started once more, to run the test `serve`. All of it
//! needs root and `/dev/fuse`; without them each test says that it was skipped, or, in CI, fails.

mod attributes;
mod ending;
mod header;
mod mapped;
mod resized;
mod snapshots;
mod suites;
mod usable;

use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use reffs::{Mount, Options};
use rustix::{
    mount::{UnmountFlags, unmount},
    process::geteuid,
};
use tempfile::TempDir;

/// How the server of a test is told what to serve.
const SERVE: &str = "REFFS_TEST_SERVE";

/// Something must happen before this is over; on a machine that does nothing else it takes milliseconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// The server of all other tests. By itself it has nothing to do.
#[test]
fn serve() {
    let Ok(order) = std::env::var(SERVE) else { return };
    let mut words = order.splitn(3, ' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a test's order");
    let options = Options { capacity: number(), inodes: number(), threads: 3 };
    let dir = order.splitn(3, ' ').nth(2).expect("a test's order");
    Mount::start(dir.as_ref(), &options).unwrap().wait().unwrap();
}

/// Whether this machine lets us mount; if not, that is said.
fn can_mount() -> bool {
    let missing = if !geteuid().is_root() {
        "this is not root"
    } else if !Path::new("/dev/fuse").exists() {
        "there is no /dev/fuse"
    } else {
        return true;
    };
    skip(&format!("could not mount: {missing}"));
    false
}

/// Says that a test is not run, and why; in CI, where everything is there, it fails.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    // Written to standard error itself, because what a passing test prints is not shown.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// A mounted reference of a test.
struct Served {
    dir: TempDir,
    server: Child,
}

impl Served {
    /// Mounts one with room for anything; `None` if that is not possible here.
    fn start() -> Option<Self> {
        Self::with(1 << 30, 100_000)
    }

    fn with(capacity: u64, inodes: u64) -> Option<Self> {
        if !can_mount() {
            return None;
        }
        let dir = TempDir::new().unwrap();
        let before = fs::metadata(dir.path()).unwrap().dev();
        let server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "serve", "--nocapture"])
            .env(SERVE, format!("{capacity} {inodes} {}", dir.path().display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("it is mounted", || fs::metadata(dir.path()).unwrap().dev() != before);
        Some(Self { dir, server })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn is_mounted(&self) -> bool {
        let parent = fs::metadata(self.dir.path().parent().unwrap()).unwrap().dev();
        fs::metadata(self.dir.path()).map_or(true, |metadata| metadata.dev() != parent)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be unmounted already: some tests are about that.
        let _ = unmount(self.dir.path(), UnmountFlags::DETACH);
        let _ = self.server.wait();
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        sleep(Duration::from_millis(5));
    }
}
