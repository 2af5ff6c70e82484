//! What a guest kernel prints, and what of that is a complaint.

use std::io::PipeReader;
use std::os::fd::AsFd as _;

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, read},
};

/// A kernel that says that something is wrong with itself or with a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The line by which it was recognised.
    pub line: String,
    /// That line and what followed, for people.
    pub text: String,
    /// Whether it is about what lies on the disk, not about the kernel itself.
    pub is_about_the_disk: bool,
}

/// What a kernel says only when the kernel itself is wrong.
const BUGS: [&str; 12] = [
    "WARNING: ",
    "BUG: ",
    "kernel BUG at ",
    "KASAN: ",
    "Kernel panic",
    "Oops",
    "INFO: task ",
    "INFO: possible ",
    "UBSAN: ",
    "possible circular locking",
    "possible recursive locking",
    "VFS: Busy inodes after unmount",
];

/// What a file system says of what it found on its disk. It may say so after a request has failed.
const DAMAGE: [&str; 4] = ["EXT2-fs error", "EXT2-fs (vdb): error", "EXT4-fs error", "JBD2: Spotted dirty metadata"];

/// An older part of the text is of no use.
const TEXT_MAX: usize = 1 << 16;
/// Of a complaint, so many bytes are kept: a call trace or two.
const COMPLAINT_MAX: usize = 4096;

/// What was printed so far.
#[derive(Debug)]
pub struct Console {
    pipe: PipeReader,
    text: Vec<u8>,
    /// How much of it was looked at.
    seen: usize,
    open: bool,
}

impl Console {
    /// Nothing was printed yet.
    ///
    /// # Errors
    /// The pipe cannot be read without waiting.
    pub fn new(pipe: PipeReader) -> Result<Self, Errno> {
        let flags = fcntl_getfl(&pipe)?;
        fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
        Ok(Self { pipe, text: Vec::new(), seen: 0, open: true })
    }

    /// Where it comes from.
    pub fn pipe(&self) -> std::os::fd::BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Whether anybody could print more.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Takes in what is there.
    pub fn drain(&mut self) {
        let mut buffer = [0; 4096];
        loop {
            match read(&self.pipe, &mut buffer) {
                Ok(0) => {
                    self.open = false;
                    break;
                }
                Ok(count) => self.text.extend_from_slice(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        if let Some(old) = self.text.len().checked_sub(TEXT_MAX).filter(|old| *old <= self.seen) {
            self.text.drain(..old);
            self.seen -= old;
        }
    }

    /// The first complaint since the last time.
    pub fn complaint(&mut self) -> Option<Complaint> {
        let text = String::from_utf8_lossy(&self.text[self.seen..]).into_owned();
        self.seen = self.text.len();
        complaint(&text)
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        let start = self.text.len().saturating_sub(COMPLAINT_MAX);
        String::from_utf8_lossy(&self.text[start..]).trim().to_owned()
    }
}

/// The first complaint in what a kernel printed.
pub fn complaint(text: &str) -> Option<Complaint> {
    let first = |signs: &[&str]| signs.iter().filter_map(|sign| text.find(sign)).min();
    let (bug, damage) = (first(&BUGS), first(&DAMAGE));
    let start = bug.or(damage)?;
    let start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim().to_owned();
    let mut end = text.len().min(start + COMPLAINT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(Complaint { line, text: text[start..end].trim().to_owned(), is_about_the_disk: bug.is_none() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_told_from_chatter() {
        let chatter = "EXT4-fs (vdb): mounted filesystem with ordered data mode\nrandom: crng init done\n";
        assert_eq!(complaint(chatter), None);
        let text = format!("{chatter}[ 1.0] EXT4-fs error (device vdb): ext4_lookup:1785: deleted inode\nmore\n");
        let found = complaint(&text).unwrap();
        assert_eq!(found.line, "[ 1.0] EXT4-fs error (device vdb): ext4_lookup:1785: deleted inode");
        assert!(found.text.ends_with("more") && found.is_about_the_disk);
        assert!(!complaint(&format!("{text}BUG: bad page state")).unwrap().is_about_the_disk);
        let long = format!("WARNING: {}", "ä".repeat(COMPLAINT_MAX));
        assert!(complaint(&long).unwrap().text.len() <= COMPLAINT_MAX);
    }

    #[test]
    fn each_complaint_is_heard_once() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut console = Console::new(reader).unwrap();
        std::io::Write::write_all(&mut writer, b"hello\nBUG: sleeping\n").unwrap();
        console.drain();
        assert_eq!(console.complaint().unwrap().line, "BUG: sleeping");
        assert_eq!(console.complaint(), None);
        assert!(console.is_open());
        drop(writer);
        console.drain();
        assert!(!console.is_open() && console.tail().starts_with("hello"));
    }
}
