//! Process 1 of a guest: takes batches from the mailbox, does them, stores the answers.
//!
//! To read the mailbox is to wait: its server answers when it has work, and until then the kernel stands still in the
//! middle of that read, its clock included. So nothing happens in a guest that no batch has caused.

use std::{os::fd::OwnedFd, process::ExitCode};

use posix::{
    Files, Hidden, LOST_AND_FOUND,
    message::{ANSWERS_AT, Answer, FIRST_READ, Got, Mount, SECTOR, Step, frame, frame_len, unframe},
    observe,
};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::{self, pread, pwrite},
    mount::{MountFlags, UnmountFlags, mount, unmount},
    process::{chdir, chroot, fchdir, umask},
    system::{RebootCommand, reboot},
    thread::{ClockId as SleepClock, clock_nanosleep_relative},
    time::{ClockId, Timespec, clock_settime},
};
use vfs::Errno;

/// The disks, in the order in which the kernel was told of them.
const MAILBOX: &str = "/dev/vda";
const DISK: &str = "/dev/vdb";
/// Where the disk under check is mounted.
const MOUNT_POINT: &str = "/mnt";
/// When every mount happens: times are stored on disk, so they must not depend on what was done before.
const NOW: Timespec = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
/// Answers are stored from the back, in pieces that one request holds.
const PIECE: usize = 1 << 16;

pub fn run() -> ExitCode {
    if let Err(error) = serve() {
        println!("guest-init: {error}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    ExitCode::FAILURE
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    mount("none", "/dev", "devtmpfs", MountFlags::empty(), None)?;
    umask(Mode::empty());
    let mailbox = openat(CWD, MAILBOX, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())?;
    let old_root = openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut session = Session { old_root, files: Files::new(), mounted: None };
    let mut buffer = Aligned::new(FIRST_READ);
    loop {
        let batch: Vec<Step> = read_batch(&mailbox, &mut buffer)?;
        let answers: Vec<Answer> = batch.iter().map(|step| session.step(step)).collect();
        write_answers(&mailbox, &mut buffer, &answers)?;
    }
}

fn read_batch(mailbox: &OwnedFd, buffer: &mut Aligned) -> Result<Vec<Step>, Box<dyn std::error::Error>> {
    fill(mailbox, &mut buffer.bytes()[..FIRST_READ], 0)?;
    let len = frame_len(buffer.bytes())?;
    if len > FIRST_READ {
        buffer.grow(len);
        fill(mailbox, &mut buffer.bytes()[FIRST_READ..len], FIRST_READ as u64)?;
    }
    Ok(unframe(&buffer.bytes()[..len])?)
}

fn fill(mailbox: &OwnedFd, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = pread(mailbox, &mut *bytes, at)?;
        if count == 0 {
            return Err(io::Errno::IO);
        }
        (bytes, at) = (&mut bytes[count..], at + count as u64);
    }
    Ok(())
}

fn write_answers(
    mailbox: &OwnedFd,
    buffer: &mut Aligned,
    answers: &Vec<Answer>,
) -> Result<(), Box<dyn std::error::Error>> {
    let framed = frame(answers)?;
    buffer.grow(framed.len());
    buffer.bytes()[..framed.len()].copy_from_slice(&framed);
    for (number, piece) in buffer.bytes()[..framed.len()].chunks(PIECE).enumerate() {
        let mut at = ANSWERS_AT + (number * PIECE) as u64;
        let mut rest = piece;
        while !rest.is_empty() {
            let count = pwrite(mailbox, rest, at)?;
            (rest, at) = (&rest[count..], at + count as u64);
        }
    }
    Ok(())
}

/// What is mounted, and the files that ops have opened.
struct Session {
    old_root: OwnedFd,
    files: Files,
    /// What is hidden of what is mounted.
    mounted: Option<&'static [Hidden]>,
}

impl Session {
    fn step(&mut self, step: &Step) -> Answer {
        match step {
            Step::Mount(how) => self.mount(how).map(|()| Got::Done),
            Step::Sleep { seconds } => {
                let span = Timespec { tv_sec: i64::from(*seconds), tv_nsec: 0 };
                let _ = clock_nanosleep_relative(SleepClock::Monotonic, &span);
                Ok(Got::Done)
            }
            // Without a file system, the root would be init's own.
            _ if self.mounted.is_none() => Err(Errno::ENODEV),
            Step::Run(op) => self.files.apply(op).map(Got::Value),
            Step::Observe => observe(self.mounted.unwrap_or_default()).map(Got::Tree),
            Step::Unmount => self.unmount().map(|()| Got::Done),
        }
    }

    fn mount(&mut self, how: &Mount) -> Result<(), Errno> {
        if self.mounted.is_some() {
            return Err(Errno::EBUSY);
        }
        let (flags, data) = split_options(&how.options);
        let data = std::ffi::CString::new(data).map_err(|_| Errno::EINVAL)?;
        clock_settime(ClockId::Realtime, NOW).map_err(errno)?;
        mount(DISK, MOUNT_POINT, how.kind.as_str(), flags, data.as_c_str()).map_err(errno)?;
        let entered = chroot(MOUNT_POINT).and_then(|()| chdir("/"));
        self.mounted = Some(if how.lost_and_found { &[LOST_AND_FOUND] } else { &[] });
        if let Err(error) = entered {
            let _ = self.unmount();
            return Err(errno(error));
        }
        Ok(())
    }

    fn unmount(&mut self) -> Result<(), Errno> {
        self.files.close_all();
        let left = fchdir(&self.old_root).and_then(|()| chroot(".")).and_then(|()| chdir("/"));
        left.and_then(|()| unmount(MOUNT_POINT, UnmountFlags::empty())).map_err(errno)?;
        self.mounted = None;
        Ok(())
    }
}

fn errno(error: io::Errno) -> Errno {
    Errno::from_number(error.raw_os_error()).unwrap_or(Errno::EIO)
}

/// What of the options is a flag of the system call, and what is left for the file system. Reading must not write, so
/// access times are never kept.
fn split_options(options: &str) -> (MountFlags, String) {
    const FLAGS: [(&str, MountFlags); 4] = [
        ("ro", MountFlags::RDONLY),
        ("sync", MountFlags::SYNCHRONOUS),
        ("dirsync", MountFlags::DIRSYNC),
        ("lazytime", MountFlags::LAZYTIME),
    ];
    let flag = |word: &str| FLAGS.iter().find(|(name, _)| *name == word).map(|(_, flag)| *flag);
    let words = || options.split(',').filter(|word| !word.is_empty());
    let flags = words().filter_map(flag).fold(MountFlags::NOATIME, |flags, flag| flags | flag);
    let data: Vec<&str> = words().filter(|word| flag(word).is_none()).collect();
    (flags, data.join(","))
}

/// Memory that starts at a sector, as direct transfers need it.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        let memory = vec![0; len + SECTOR];
        let start = memory.as_ptr().align_offset(SECTOR);
        Self { memory, start }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let len = self.memory.len() - SECTOR;
        &mut self.memory[self.start..self.start + len]
    }

    /// Makes it at least so long; what it holds stays.
    fn grow(&mut self, len: usize) {
        if self.bytes().len() < len {
            let mut longer = Self::new(len);
            let old = self.bytes();
            longer.bytes()[..old.len()].copy_from_slice(old);
            *self = longer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_between_the_call_and_the_file_system() {
        let (flags, data) = split_options("sync,data=journal,,nobarrier");
        assert_eq!((flags, data.as_str()), (MountFlags::NOATIME | MountFlags::SYNCHRONOUS, "data=journal,nobarrier"));
        assert_eq!(split_options(""), (MountFlags::NOATIME, String::new()));
    }

    #[test]
    fn memory_is_aligned_and_keeps_what_it_holds() {
        let mut memory = Aligned::new(SECTOR);
        memory.bytes()[3] = 7;
        memory.grow(5 * SECTOR);
        assert_eq!((memory.bytes()[3], memory.bytes().len()), (7, 5 * SECTOR));
        assert!(memory.bytes().as_ptr().addr().is_multiple_of(SECTOR));
    }
}
