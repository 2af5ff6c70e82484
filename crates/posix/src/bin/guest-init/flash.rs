//! The disk as flash memory, for file systems that want no other.
//!
//! The kernel's `block2mtd` makes flash memory of a block device: it erases by filling with ones, and never lets go of
//! the device again. What it writes stays in the cache of the device until somebody syncs that, where flash would have
//! it at once, so we sync it after each op. And what the cache holds is forgotten before each mount, since the bytes of
//! the disk may have been replaced.

#![expect(unsafe_code, reason = "volumes are made and attached by ioctls, which have no safe wrapper")]

use std::os::fd::{AsRawFd as _, OwnedFd};

use libc::{c_int, c_ulong};
use posix::loop_device::forget_content;
use rustix::{
    fs::{CWD, Mode, OFlags, fsync, openat},
    io,
};

use super::init::DISK;

/// How much is erased at once.
const ERASE_BYTES: u32 = 1 << 16;
const SETTINGS: &str = "/sys/module/block2mtd/parameters/block2mtd";

/// Flash memory that is our disk.
pub struct Flash {
    disk: std::fs::File,
    has_volume: bool,
}

impl Flash {
    /// What a file system is mounted from.
    pub const DEVICE: &str = "mtd0";

    /// Makes flash memory of the disk. A kernel that cannot says `ENODEV`.
    pub fn attach() -> io::Result<Self> {
        let settings = openat(CWD, SETTINGS, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let settings = settings.map_err(|_| io::Errno::NODEV)?;
        io::write(&settings, format!("{DISK},{ERASE_BYTES}").as_bytes())?;
        let disk = openat(CWD, DISK, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { disk: disk.into(), has_volume: false })
    }

    /// Forgets what the disk looked like.
    pub fn forget_content(&self) -> io::Result<()> {
        forget_content(&self.disk).map_err(|_| io::Errno::IO)
    }

    /// Brings everything to the disk.
    pub fn write_back(&self) -> io::Result<()> {
        fsync(&self.disk)
    }

    /// Attaches the volume, which is made if there is none; what a file system is mounted from.
    pub fn open_volume(&mut self) -> io::Result<&'static str> {
        let control = open("/dev/ubi_ctrl")?;
        let request = Attach { number: 0, flash: 0, ..Attach::default() };
        ioctl(&control, UBI_IOCATT, &raw const request)?;
        self.has_volume = true;
        if open("/dev/ubi0_0").is_err() {
            let device = open("/dev/ubi0")?;
            make_volume(&device)?;
        }
        Ok("ubi0_0")
    }

    /// What was mounted is not any more.
    pub fn leave(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_volume) {
            let number: c_int = 0;
            ioctl(&open("/dev/ubi_ctrl")?, UBI_IOCDET, &raw const number)?;
        }
        self.write_back()
    }
}

const UBI_IOCATT: c_ulong = 0x4018_6f40;
const UBI_IOCDET: c_ulong = 0x4004_6f41;
const UBI_IOCMKVOL: c_ulong = 0x4098_6f00;

/// `struct ubi_attach_req` of the kernel; zeros are its defaults.
#[repr(C)]
#[derive(Default)]
struct Attach {
    number: i32,
    flash: i32,
    header_offset: i32,
    reserve: i16,
    padding: [i8; 10],
}

/// `struct ubi_mkvol_req` of the kernel.
#[repr(C, packed)]
struct MakeVolume {
    number: i32,
    alignment: i32,
    bytes: i64,
    kind: i8,
    flags: u8,
    name_len: i16,
    padding: [i8; 4],
    name: [u8; 128],
}

/// A volume that can be written to.
const DYNAMIC: i8 = 3;

/// Makes one volume of all that there is.
fn make_volume(device: &OwnedFd) -> io::Result<()> {
    let number = |file: &str| {
        let text = std::fs::read_to_string(format!("/sys/class/ubi/ubi0/{file}")).map_err(|_| io::Errno::IO)?;
        text.trim().parse::<i64>().map_err(|_| io::Errno::IO)
    };
    let bytes = number("avail_eraseblocks")? * number("eraseblock_size")?;
    let mut name = [0; 128];
    name[0] = b'v';
    let request =
        MakeVolume { number: 0, alignment: 1, bytes, kind: DYNAMIC, flags: 0, name_len: 1, padding: [0; 4], name };
    ioctl(device, UBI_IOCMKVOL, &raw const request)
}

fn open(path: &str) -> io::Result<OwnedFd> {
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The request must be the one that the command takes.
fn ioctl<T>(device: &OwnedFd, command: c_ulong, request: *const T) -> io::Result<()> {
    // SAFETY: each command here is given the structure that the kernel reads for it, which outlives the call.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), command, request) };
    if done >= 0 {
        Ok(())
    } else {
        Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(io::Errno::IO))
    }
}
