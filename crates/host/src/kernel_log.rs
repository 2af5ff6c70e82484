//! What the running kernel says of our device. What it says without naming a device may be about anybody's.

use std::os::fd::OwnedFd;

use guest::Complaint;
use rustix::{
    fs::{CWD, Mode, OFlags, SeekFrom, openat, seek},
    io::{Errno, read},
};

/// The kernel's log from now on; without the right to read it there is nothing to hear.
#[derive(Debug)]
pub(crate) struct KernelLog {
    file: Option<OwnedFd>,
    name: String,
}

/// The longest record that the kernel hands out.
const RECORD_MAX: usize = 8192;
/// The name by which complaints know the device.
const KNOWN_AS: &str = "vdb";

impl KernelLog {
    pub fn open() -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(CWD, "/dev/kmsg", flags, Mode::empty()).ok();
        let file = file.filter(|file| seek(file, SeekFrom::End(0)).is_ok());
        Self { file, name: String::new() }
    }

    /// From now on, only what names this loop device counts. What was said before was said of an earlier device of
    /// this number: nothing has been mounted on this one yet.
    pub fn listen_for(&mut self, number: u32) {
        self.name = format!("loop{number}");
        drop(self.complaint());
    }

    /// The first complaint since the last time.
    pub fn complaint(&mut self) -> Option<Complaint> {
        let file = self.file.as_ref()?;
        let mut text = String::new();
        let mut record = [0; RECORD_MAX];
        loop {
            match read(file, &mut record) {
                Ok(0) => break,
                Ok(len) => {
                    let record = String::from_utf8_lossy(&record[..len]);
                    let words = record.split_once(';').map_or("", |(_, words)| words);
                    if let Some(line) = words.lines().next().filter(|line| is_about(line, &self.name)) {
                        text.push_str(&line.replace(&self.name, KNOWN_AS));
                        text.push('\n');
                    }
                }
                // Older records were overwritten before they were read.
                Err(Errno::PIPE | Errno::INTR) => {}
                Err(_) => break,
            }
        }
        guest::complaint(&text)
    }
}

/// Whether a line is about this device: not about a longer number, nor about a thread that is named after the device
/// and had to wait. On a busy machine the kernel says of any thread that it is blocked or stuck.
fn is_about(line: &str, device: &str) -> bool {
    const WAITED: [&str; 2] = [" blocked for more than ", " stuck for "];
    let is_whole = |(at, _): (usize, &str)| !line[at + device.len()..].starts_with(|next: char| next.is_ascii_digit());
    line.match_indices(device).any(is_whole) && !WAITED.iter().any(|waited| line.contains(waited))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    const DAMAGE: &str = "EXT4-fs error (device loop524289): ext4_lookup:1785: inode #2: deleted inode referenced";

    /// A log whose records come from here.
    fn log() -> (KernelLog, impl Fn(&str)) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let say = move |words: &str| {
            theirs.send(format!("3,1,2,-;{words}\n").as_bytes()).unwrap();
        };
        (KernelLog { file: Some(ours.into()), name: String::new() }, say)
    }

    #[test]
    fn what_was_said_of_an_earlier_device_of_the_number_is_not_said_of_ours() {
        let (mut log, say) = log();
        say(DAMAGE);
        log.listen_for(524_289);
        assert_eq!(log.complaint(), None);
        say("EXT4-fs (loop524289): mounted filesystem with ordered data mode");
        say(DAMAGE);
        assert_eq!(log.complaint().unwrap().line, DAMAGE.replace("loop524289", "vdb"));
        assert_eq!(log.complaint(), None);
    }

    #[test]
    fn what_is_said_of_other_devices_or_of_a_busy_machine_is_no_complaint() {
        let (mut log, say) = log();
        log.listen_for(524_289);
        say(&DAMAGE.replace("524289", "52428"));
        say(&DAMAGE.replace("524289", "5242890"));
        say("INFO: task jbd2/loop524289:4711 blocked for more than 120 seconds.");
        say("watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [jbd2/loop524289:4711]");
        say("WARNING: CPU: 0 PID: 1 at fs/inode.c:1 somebody_elses+0x1/0x2");
        assert_eq!(log.complaint(), None);
    }
}
