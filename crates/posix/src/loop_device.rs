//! Loop devices of our own: block devices whose content is a file.
//!
//! Ours have numbers that no other program gives out by itself, so that one that was left behind can be told from
//! somebody else's. Each detaches by itself when nobody has it open or mounted any more; what is left then is an empty
//! device, which [`remove`] takes away.

#![expect(unsafe_code, reason = "loop devices are set up by ioctls, which have no safe wrapper")]

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    ops::Range,
    os::fd::{AsRawFd as _, RawFd},
    time::Duration,
};

use libc::{c_int, c_ulong};

/// Our numbers. Those that the kernel gives out begin at zero; the last that it knows is 2^20 - 1.
pub const NUMBERS: Range<u32> = 1 << 19..1 << 20;

const CONTROL: &str = "/dev/loop-control";
const LOOP_CLR_FD: c_ulong = 0x4C01;
const LOOP_CONFIGURE: c_ulong = 0x4C0A;
const LOOP_CTL_ADD: c_ulong = 0x4C80;
const LOOP_CTL_REMOVE: c_ulong = 0x4C81;
const BLKFLSBUF: c_ulong = 0x1261;
const BLKBSZSET: c_ulong = 0x4008_1271;
/// The device detaches when it is closed for the last time.
const AUTOCLEAR: u32 = 4;
/// What a device is configured with lies here, among much that is left at zero.
const NAME: Range<usize> = 64..128;
const CONFIG_BYTES: usize = 304;
const FLAGS: Range<usize> = 60..64;
const SECTOR: u32 = 512;

/// A new device that we have open, so that nobody takes it away.
///
/// # Errors
/// There is no control device, we may not use it, or no number is free.
pub fn add(first_try: u32) -> io::Result<(u32, File)> {
    let control = control()?;
    let count = NUMBERS.end - NUMBERS.start;
    for number in (0..count).map(|step| first_number(first_try.wrapping_add(step))) {
        match ioctl(control.as_raw_fd(), LOOP_CTL_ADD, number.into()) {
            // Whoever clears away left-overs may have been quicker than we are.
            Ok(_) => match open(number) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => return Ok((number, opened?)),
            },
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no number for a loop device is free"))
}

/// The number that [`add`] tries first.
pub fn first_number(first_try: u32) -> u32 {
    NUMBERS.start + first_try % (NUMBERS.end - NUMBERS.start)
}

/// Where a device lies.
pub fn path(number: u32) -> String {
    format!("/dev/loop{number}")
}

/// Opens a device.
///
/// # Errors
/// There is none, or we may not.
pub fn open(number: u32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path(number))
}

/// Gives a device its content.
///
/// # Errors
/// It has one already, or the file cannot be used.
pub fn attach(device: &File, content: &File) -> io::Result<()> {
    let mut config = [0_u8; CONFIG_BYTES];
    config[..4].copy_from_slice(&content.as_raw_fd().cast_unsigned().to_ne_bytes());
    config[4..8].copy_from_slice(&SECTOR.to_ne_bytes());
    config[FLAGS].copy_from_slice(&AUTOCLEAR.to_ne_bytes());
    config[NAME][..9].copy_from_slice(b"shakedown");
    // SAFETY: the kernel reads a `struct loop_config`, which has the size of the array.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, config.as_ptr()) };
    done(result).map(drop)
}

/// Forgets what the kernel remembers of a device's content, which nobody has mounted.
///
/// A flush may leave out what somebody else in the kernel holds just then, as whoever looks for memory to free; what
/// is in blocks of another size is given up without exception.
///
/// # Errors
/// We may not.
pub fn forget_content(device: &File) -> io::Result<()> {
    ioctl(device.as_raw_fd(), BLKFLSBUF, 0)?;
    for bytes in [SECTOR, 2 * SECTOR] {
        let bytes = libc::size_t::try_from(bytes).unwrap_or_default();
        // SAFETY: the kernel reads a number.
        let result = unsafe { libc::ioctl(device.as_raw_fd(), BLKBSZSET, &raw const bytes) };
        match done(result) {
            // Somebody has it all the same, and with it the right to choose the size.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            set => drop(set?),
        }
    }
    Ok(())
}

/// Takes a device away that nobody uses any more.
///
/// # Errors
/// It is in use, or we may not.
pub fn remove(number: u32) -> io::Result<()> {
    match ioctl(control()?.as_raw_fd(), LOOP_CTL_REMOVE, number.into()) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV)) => Ok(()),
        removed => removed.map(drop),
    }
}

/// As [`remove`], for a device whose last user has just gone: the kernel lets go of it a little later.
///
/// # Errors
/// It is still in use after so many tries.
pub fn remove_soon(number: u32, mut go_on: impl FnMut() -> bool) -> io::Result<()> {
    loop {
        match remove(number) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && go_on() => {
                // Mounted or held by nobody, but not detached: the last close came before the content was attached.
                if let Ok(device) = open(number) {
                    let _ = ioctl(device.as_raw_fd(), LOOP_CLR_FD, 0);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            removed => return removed,
        }
    }
}

/// The devices with our numbers that exist now.
pub fn ours() -> Vec<u32> {
    let Ok(blocks) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let number = |name: &str| name.strip_prefix("loop")?.parse().ok();
    let names = blocks.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| number(&name)).filter(|number| NUMBERS.contains(number)).collect()
}

fn control() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(CONTROL)
}

fn ioctl(fd: RawFd, request: c_ulong, number: c_ulong) -> io::Result<c_int> {
    // SAFETY: these requests take a number, not memory.
    done(unsafe { libc::ioctl(fd, request, number) })
}

fn done(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
