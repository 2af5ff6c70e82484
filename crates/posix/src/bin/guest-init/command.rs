//! A file system that a command mounts, most often one that runs in user space.

#![expect(unsafe_code, reason = "there is no safe wrapper that kills all processes")]

use std::{
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use posix::{Mounter, message::Mount};
use rustix::{
    fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx},
    io::Errno,
    mount::{UnmountFlags, unmount},
    process::{WaitOptions, wait},
};

use super::{volume::Volume, worker::Settles};

/// A command that has not mounted anything by then will not.
const MOUNT_TIME_MAX: Duration = Duration::from_secs(30);
/// What it started is given so long to end after it was unmounted.
const END_TIME_MAX: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(1);

/// A command with its disk, its folder and its mount point filled in.
pub struct Program {
    command: String,
    /// What empties the store that the command uses, beyond the folder.
    reset: Option<String>,
    volume: Volume,
    /// A folder for a command that has no disk.
    store: String,
    mount_point: String,
    running: Option<Child>,
    /// What became of the last command that did not do what it was to do.
    why_not: Option<String>,
}

impl Program {
    pub fn new(command: &str, reset: Option<&str>, volume: Volume, room: &str, mount_point: &str) -> Self {
        let store = format!("{room}/store");
        let filled = |command: &str| command.replace("{store}", &store).replace("{mnt}", mount_point);
        let command = filled(command).replace("{dev}", volume.path());
        let reset = reset.map(filled);
        Self { command, reset, volume, store, mount_point: mount_point.to_owned(), running: None, why_not: None }
    }

    /// Whether something is mounted. Whoever serves it is not asked: it may not answer.
    fn is_mounted(&self) -> bool {
        let flags = AtFlags::NO_AUTOMOUNT | AtFlags::from_bits_retain(DONT_SYNC);
        let seen = statx(CWD, self.mount_point.as_str(), flags, StatxFlags::empty());
        let is_root = |seen: rustix::fs::Statx| seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
        // A server that is gone cannot be asked, but is mounted.
        seen.map_or(true, is_root)
    }

    /// What has become of the command that was to mount, if it will not any more.
    fn has_failed(&mut self, begun: Instant) -> Option<String> {
        let ended = self.running.as_mut().and_then(|child| child.try_wait().ok().flatten());
        match ended {
            Some(status) if !status.success() => Some(ending(status)),
            // It may have left somebody there who is about to mount.
            Some(_) if matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) && !self.is_mounted() => {
                Some("it ended and mounted nothing".to_owned())
            }
            _ if begun.elapsed() > MOUNT_TIME_MAX => {
                Some(format!("it mounted nothing within {} s", MOUNT_TIME_MAX.as_secs()))
            }
            _ => None,
        }
    }

    /// Waits until all that the command started has ended, of itself or, after a while, because it is killed.
    fn wait_for_the_end(&mut self) {
        let begun = Instant::now();
        // This is the first process of its namespace: what loses its parent becomes a child of this one.
        while !matches!(wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
            if begun.elapsed() > END_TIME_MAX {
                kill_all();
            }
            std::thread::sleep(PAUSE);
        }
        self.running = None;
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit status {code}"),
        (_, signal) => format!("it was ended by signal {}", signal.unwrap_or_default()),
    }
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    shell
}

/// Ends all other processes. This is the first one of its namespace, so that these are the ones that it started.
fn kill_all() {
    // SAFETY: no memory is passed.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Of a file, what is known without asking whoever has it.
const DONT_SYNC: u32 = 0x4000;

impl Mounter for Program {
    fn mount(&mut self, _: &Mount) -> rustix::io::Result<()> {
        self.volume.forget_content()?;
        let child = shell(&self.command).spawn().map_err(|_| Errno::NOENT)?;
        self.running = Some(child);
        let begun = Instant::now();
        while !self.is_mounted() {
            if let Some(why_not) = self.has_failed(begun) {
                self.why_not = Some(why_not);
                // Nobody is to mount something later, when something else is wanted.
                self.kill()?;
                return Err(Errno::IO);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn before_op(&mut self) -> rustix::io::Result<()> {
        self.volume.before_op()
    }

    fn after_op(&mut self) -> rustix::io::Result<()> {
        self.volume.after_op()
    }

    fn unmount(&mut self) -> rustix::io::Result<()> {
        unmount(self.mount_point.as_str(), UnmountFlags::empty())?;
        self.wait_for_the_end();
        // A device that nobody has open any more writes back what it was given. We have it open: it must be told.
        self.volume.forget_content()
    }

    fn reset(&mut self) -> rustix::io::Result<()> {
        let emptied = match std::fs::remove_dir_all(&self.store) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::create_dir(&self.store),
        };
        emptied.map_err(|_| Errno::IO)?;
        let Some(reset) = &self.reset else { return Ok(()) };
        let status = shell(reset).status().map_err(|_| Errno::NOENT)?;
        if status.success() {
            return Ok(());
        }
        self.why_not = Some(ending(status));
        Err(Errno::IO)
    }

    fn why_not(&mut self) -> rustix::io::Result<String> {
        self.why_not.take().ok_or(Errno::NODATA)
    }

    fn kill(&mut self) -> rustix::io::Result<()> {
        kill_all();
        // What is mounted without anybody who serves it can only be let go.
        let _ = unmount(self.mount_point.as_str(), UnmountFlags::DETACH);
        self.wait_for_the_end();
        Ok(())
    }

    fn sleep(&mut self, seconds: u32) {
        std::thread::sleep(Duration::from_secs(seconds.into()));
    }
}

impl Settles for Program {
    fn settle(&mut self) {
        self.volume.settle();
    }
}
