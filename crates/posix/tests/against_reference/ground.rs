//! Where the kernel arm runs: fresh directories on the file systems of this machine, and what those can do.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::LazyLock,
};

use posix::{Caller, Files, observe, shut_in};
use vfs::{Credentials, Errno, Fallocate, Op, Outcome, Tree, Value};

use crate::reference::notation::{create, fallocate, write, write_direct};

/// The file system below a directory, seen by a thread that cannot see anything else.
#[derive(Default)]
pub struct Kernel(Files);

impl Kernel {
    /// Does an op as this caller. Nothing of what is durable can be seen here, and a sync of the machine's disks would
    /// take long.
    pub fn apply(&mut self, caller: &Credentials, op: &Op) -> Outcome {
        if matches!(op, Op::Sync | Op::Syncfs) {
            return Ok(Value::Done);
        }
        let _as_caller = Caller::become_user(caller).expect("root may become anybody");
        self.0.apply(op)
    }
}

/// A file system of this machine.
pub struct Ground {
    pub name: &'static str,
    base: PathBuf,
    /// The modes of `fallocate` that it has.
    pub fallocate: Vec<Fallocate>,
    /// Whether it refuses direct writes that are not aligned.
    pub checks_direct: bool,
    /// `fs.protected_hardlinks` of the kernel.
    pub protected_hardlinks: bool,
}

/// Every ground that can be used here. Says out loud what is skipped, and why.
pub fn grounds() -> &'static [Ground] {
    static GROUNDS: LazyLock<Vec<Ground>> = LazyLock::new(|| {
        let candidates = [("the temporary directory", std::env::temp_dir()), ("/dev/shm", PathBuf::from("/dev/shm"))];
        candidates.into_iter().filter_map(|(name, base)| Ground::new(name, base)).collect()
    });
    &GROUNDS
}

/// Says that something is not tested. Written to standard error itself, because what a passing test prints is not
/// shown.
fn skipped(what: &str, reason: &str) {
    let _ = writeln!(io::stderr(), "skipped: {what}: {reason}");
}

impl Ground {
    fn new(name: &'static str, base: PathBuf) -> Option<Self> {
        let protected = fs::read_to_string("/proc/sys/fs/protected_hardlinks").unwrap_or_default();
        let protected_hardlinks = protected.trim() == "1";
        let mut ground = Self { name, base, fallocate: vec![], checks_direct: false, protected_hardlinks };
        match ground.probe() {
            Ok(()) => Some(ground),
            Err(reason) => {
                skipped(&format!("the kernel arm on {name}"), &reason);
                None
            }
        }
    }

    /// Runs something shut into a fresh directory, which is removed afterwards.
    pub fn run<T: Send>(&self, umask: u32, work: impl FnOnce(&mut Kernel) -> T + Send) -> Result<T, String> {
        let dir = tempfile::tempdir_in(&self.base).map_err(|error| format!("no directory: {error}"))?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                shut_in(dir.path(), umask).map_err(|error| format!("no chroot: {error}"))?;
                Ok(work(&mut Kernel::default()))
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn probe(&mut self) -> Result<(), String> {
        let (fallocate_modes, direct) = self.run(0, |kernel| {
            let root = Credentials::default();
            let mut run = |op: Op| -> Outcome { kernel.apply(&root, &op) };
            for op in [create("/f"), write("/f", 0, 16384, 1)] {
                run(op).expect("a fresh directory takes a file");
            }
            let has = |how: &Fallocate, run: &mut dyn FnMut(Op) -> Outcome| {
                run(fallocate("/f", *how, 0, 4096)) != Err(Errno::EOPNOTSUPP)
            };
            let modes: Vec<_> = Fallocate::ALL.iter().copied().filter(|how| has(how, &mut run)).collect();
            (modes, run(write_direct("/f", 1, 1, 1)))
        })?;
        for how in Fallocate::ALL.iter().filter(|how| !fallocate_modes.contains(how)) {
            skipped(&format!("fallocate {how:?} on {}", self.name), "not supported there");
        }
        self.fallocate = fallocate_modes;
        self.checks_direct = direct == Err(Errno::EINVAL);
        if !self.checks_direct {
            skipped(&format!("alignment of direct writes on {}", self.name), "not checked there");
        }
        Ok(())
    }
}

/// The tree that the shut-in thread sees.
pub fn tree() -> Tree {
    observe(&[]).expect("root can look at everything")
}
