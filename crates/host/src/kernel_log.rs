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

    /// Only what names this loop device counts.
    pub fn listen_for(&mut self, number: u32) {
        self.name = format!("loop{number}");
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
                    if let Some(line) = words.lines().next().filter(|line| line.contains(&self.name)) {
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
