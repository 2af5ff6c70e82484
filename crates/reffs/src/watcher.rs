//! What unmounts when the server cannot: a small process that outlives it.
//!
//! If the server is killed, the kernel keeps a dead mount on which every call fails. The watcher is a shell that waits
//! for the end of its standard input, which comes when the server is gone however it ended, and then unmounts what the
//! server had mounted. It has a process group of its own, so that Ctrl-C reaches the server only; if it is killed
//! itself, another takes its place.

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// `$1` is the mount point, `$2` the name of the mount's source, which no other mount has.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
read -r _
grep -q "^$2 " /proc/self/mounts || exit 0
umount -l "$1" 2>/dev/null || fusermount3 -u -z "$1" 2>/dev/null || fusermount -u -z "$1" 2>/dev/null
"#;

/// A watcher that is running, and replaced when it ends.
pub struct Watcher {
    shared: Arc<Mutex<Watched>>,
}

struct Watched {
    child: Option<Child>,
    is_over: bool,
}

impl Watcher {
    /// Starts watching.
    pub fn start(dir: &Path, source: &str) -> io::Result<Self> {
        let child = spawn(dir, source)?;
        let pid = Pid::from_child(&child);
        let shared = Arc::new(Mutex::new(Watched { child: Some(child), is_over: false }));
        let (dir, source, keeper) = (dir.to_owned(), source.to_owned(), Arc::clone(&shared));
        thread::Builder::new().name("watcher".to_owned()).spawn(move || keep(&dir, &source, pid, &keeper))?;
        Ok(Self { shared })
    }
}

/// There is nothing to unmount any more: the watcher sees the end of its input, finds no mount, and ends.
impl Drop for Watcher {
    fn drop(&mut self) {
        let mut watched = lock(&self.shared);
        watched.is_over = true;
        if let Some(mut child) = watched.child.take() {
            drop(child.stdin.take());
            // It was ours and nothing depends on how it ended.
            let _ = child.wait();
        }
    }
}

fn lock(shared: &Mutex<Watched>) -> std::sync::MutexGuard<'_, Watched> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts another watcher in the place of one that ended before its time.
fn keep(dir: &Path, source: &str, mut pid: Pid, shared: &Mutex<Watched>) {
    loop {
        // It is only looked at here; whoever holds it takes its end.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let mut watched = lock(shared);
        if watched.is_over {
            return;
        }
        let Ok(next) = spawn(dir, source) else { return };
        pid = Pid::from_child(&next);
        if let Some(mut ended) = watched.child.replace(next) {
            let _ = ended.wait();
        }
    }
}

fn spawn(dir: &Path, source: &str) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "shakedown-watcher"])
        .arg(dir)
        .arg(source)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()
}
