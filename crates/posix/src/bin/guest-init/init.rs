//! Process 1 of a guest: takes batches from the mailbox, does them, stores the answers.
//!
//! To read the mailbox is to wait: its server answers when it has work, and until then the kernel stands still in the
//! middle of that read, its clock included. So nothing happens in a guest that no batch has caused.

use std::{num::NonZeroU64, os::fd::OwnedFd, process::ExitCode, time::Instant};

use posix::{
    Mounter, Stage,
    message::{
        ANSWERS_AT, Answer, BATCH_AT, BOOTED, FIRST_READ, Medium, Mount, SECTOR, Step, frame, frame_len, unframe,
    },
    split_options,
};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::{self, pread, pwrite},
    mount::{MountFlags, UnmountFlags, mount, unmount},
    process::umask,
    system::{RebootCommand, finit_module, reboot},
    thread::{ClockId as SleepClock, clock_nanosleep_relative, set_current_timer_slack},
    time::{ClockId, Timespec, clock_settime},
};

use vfs::Outcome;

use crate::{allocations::Allocations, flash::Flash, leaks};

/// The disks, in the order in which the kernel was told of them.
const MAILBOX: &str = "/dev/vda";
pub const DISK: &str = "/dev/vdb";
/// Where the disk under check is mounted.
const MOUNT_POINT: &str = "/mnt";
/// When every mount happens, in seconds. Each op happens a second after the one before: times are stored on disk, so
/// they must not depend on what was done before the mount, nor on how often anybody looked at the clock, which moves
/// it.
const MOUNTED_AT: i64 = 1_000_000_000;
/// The level of a warning: the most important one that is printed on every console without alarming anybody.
const IS_PRINTED: &str = "<4>";
/// The least time that can pass.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 1 };
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
    // A wait is as short as it says, so that hundreds of them are over before the next tick.
    set_current_timer_slack(NonZeroU64::new(1))?;
    load_modules()?;
    end_the_boot()?;
    let mailbox = openat(CWD, MAILBOX, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())?;
    let allocations = Allocations::prepare();
    let disk = Disk { seconds: MOUNTED_AT, mounted_at: Instant::now(), allocations, flash: None };
    let mut stage = Stage::new(disk, MOUNT_POINT)?;
    let mut buffer = Aligned::new(FIRST_READ);
    loop {
        let batch: Vec<Step> = read_batch(&mailbox, &mut buffer)?;
        let answers: Vec<Answer> = batch.iter().map(|step| stage.step(step)).collect();
        write_answers(&mailbox, &mut buffer, &answers)?;
    }
}

/// Loads what a kernel needs that does not have everything built in: files that are named by their order.
fn load_modules() -> Result<(), Box<dyn std::error::Error>> {
    let mut modules: Vec<_> =
        std::fs::read_dir("/modules")?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    modules.sort();
    for module in modules {
        finit_module(std::fs::File::open(module)?, c"", 0)?;
    }
    Ok(())
}

/// Has the kernel print the mark that ends its boot. It goes the way of the kernel's own words, so that none of those
/// can be overtaken: what init prints itself comes by another one.
fn end_the_boot() -> io::Result<()> {
    let messages = openat(CWD, "/dev/kmsg", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    io::write(&messages, format!("{IS_PRINTED}{BOOTED}\n").as_bytes())?;
    Ok(())
}

fn read_batch(mailbox: &OwnedFd, buffer: &mut Aligned) -> Result<Vec<Step>, Box<dyn std::error::Error>> {
    fill(mailbox, &mut buffer.bytes()[..FIRST_READ], BATCH_AT)?;
    let len = frame_len(buffer.bytes())?;
    if len > FIRST_READ {
        buffer.grow(len);
        fill(mailbox, &mut buffer.bytes()[FIRST_READ..len], BATCH_AT + FIRST_READ as u64)?;
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

/// The disk under check.
struct Disk {
    /// When the next op happens.
    seconds: i64,
    /// When it was mounted last, by the clock that nobody sets.
    mounted_at: Instant,
    allocations: Allocations,
    /// The disk as flash memory, once it was wanted.
    flash: Option<Flash>,
}

impl Disk {
    /// What the file system is mounted from.
    fn source(&mut self, medium: Medium) -> io::Result<&'static str> {
        if medium == Medium::Disk {
            return Ok(DISK);
        }
        if self.flash.is_none() {
            see_the_kernel()?;
            self.flash = Some(Flash::attach()?);
        }
        let flash = self.flash.as_mut().ok_or(io::Errno::NODEV)?;
        flash.forget_content()?;
        if medium == Medium::Flash { Ok(Flash::DEVICE) } else { flash.open_volume() }
    }

    /// Gives the memory of caches back. What was freed last is freed in earnest a moment later. What is in use then has
    /// leaked, and keeps its neighbours from being given back, so that this kernel cannot start anew (`ENOTEMPTY`).
    fn empty_caches(&mut self, caches: &[String]) -> io::Result<()> {
        self.sleep(1);
        see_the_kernel()?;
        for cache in caches {
            let path = format!("/sys/kernel/slab/{cache}/shrink");
            let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            io::write(&file, b"1")?;
            let left = std::fs::read_to_string(format!("/sys/kernel/slab/{cache}/total_objects"));
            if left.is_ok_and(|count| !count.trim_start().starts_with('0')) {
                return Err(io::Errno::NOTEMPTY);
            }
        }
        Ok(())
    }
}

/// Lets so much virtual time pass.
fn wait(span: &Timespec) {
    let _ = clock_nanosleep_relative(SleepClock::Monotonic, span);
}

/// What the kernel shows and takes in files.
fn see_the_kernel() -> io::Result<()> {
    match mount("none", "/sys", "sysfs", MountFlags::empty(), None) {
        Ok(()) | Err(io::Errno::BUSY) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Mounter for Disk {
    fn mount(&mut self, how: &Mount) -> io::Result<()> {
        let (flags, data) = split_options(&how.options);
        let data = std::ffi::CString::new(data).map_err(|_| io::Errno::INVAL)?;
        if !how.emptied.is_empty() {
            self.empty_caches(&how.emptied)?;
        }
        self.seconds = MOUNTED_AT;
        self.mounted_at = Instant::now();
        self.before_op()?;
        let source = self.source(how.medium);
        let mounted = source.and_then(|source| {
            self.allocations.call(|| mount(source, MOUNT_POINT, how.kind.as_str(), flags, data.as_c_str()))
        });
        if let (Err(_), Some(flash)) = (mounted, &mut self.flash) {
            flash.leave()?;
        }
        mounted
    }

    fn before_op(&mut self) -> io::Result<()> {
        let now = Timespec { tv_sec: self.seconds, tv_nsec: 0 };
        self.seconds += 1;
        clock_settime(ClockId::Realtime, now)
    }

    fn unmount(&mut self) -> io::Result<()> {
        self.before_op()?;
        self.allocations.call(|| unmount(MOUNT_POINT, UnmountFlags::empty()))?;
        self.flash.as_mut().map_or(Ok(()), Flash::leave)
    }

    /// Flash memory has no cache: what was written there is there.
    fn after_op(&mut self) -> io::Result<()> {
        self.flash.as_ref().map_or(Ok(()), Flash::write_back)
    }

    /// Virtual time passes only when nobody has anything to do. Without this, a thread that fills a cache of free space
    /// (btrfs has such) would come before the next op or after it, by how many messages lie between the two, and blocks
    /// would be found elsewhere.
    fn rest(&mut self) {
        wait(&MOMENT);
    }

    fn file_systems(&mut self) -> io::Result<Vec<String>> {
        let list = std::fs::read_to_string("/proc/filesystems").map_err(|_| io::Errno::IO)?;
        Ok(list.lines().filter_map(|line| line.split_whitespace().last()).map(ToOwned::to_owned).collect())
    }

    fn find_leaks(&mut self) -> io::Result<String> {
        self.sleep(leaks::AGE_SECONDS);
        leaks::find(self.mounted_at.elapsed())
    }

    fn sleep(&mut self, seconds: u32) {
        wait(&Timespec { tv_sec: i64::from(seconds), tv_nsec: 0 });
    }

    fn perform(&mut self, op: &mut dyn FnMut() -> Outcome) -> Outcome {
        self.allocations.call(op)
    }

    fn watch(&mut self, failing: Option<u32>) {
        self.allocations.watch(failing);
    }

    fn watched(&mut self) -> u32 {
        self.allocations.count()
    }
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
    fn memory_is_aligned_and_keeps_what_it_holds() {
        let mut memory = Aligned::new(SECTOR);
        memory.bytes()[3] = 7;
        memory.grow(5 * SECTOR);
        assert_eq!((memory.bytes()[3], memory.bytes().len()), (7, 5 * SECTOR));
        assert!(memory.bytes().as_ptr().addr().is_multiple_of(SECTOR));
    }
}
