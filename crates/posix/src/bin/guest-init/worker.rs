//! A process of the host that mounts a disk of ours: `worker LOOP [COMMAND [RESET]]`.
//!
//! It is the first process of a process namespace and has a mount namespace of its own, so that its mounts, and all
//! that a command starts, end with it. Its disk is one file that is served through FUSE by whoever holds the other end
//! of its standard input, a socket: there it sends the FUSE connection, then it takes batches and answers them. On that
//! file is a loop device, which is mounted by the running kernel, or by a command.

#![expect(unsafe_code, reason = "unshare can do more than is asked of it here, so its wrapper is unsafe")]

use std::{
    fs::File,
    io::{IoSlice, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    process::ExitCode,
};

use posix::{
    Mounter, Stage, loop_device,
    message::{Answer, Step, frame, frame_len, unframe},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    mount::{MountFlags, MountPropagationFlags, mount, mount_change},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    process::{Signal, set_parent_process_death_signal, umask},
    thread::{UnshareFlags, unshare_unsafe},
};
use vfs::Op;

use super::{command::Program, volume::Volume};

/// A directory that exists wherever FUSE does and that nothing in our namespace looks into: what is mounted there is
/// seen by nobody else, and no directory has to be made on the host for it.
const ROOM: &str = "/sys/fs/fuse/connections";

pub fn run(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let word = |word: Option<std::ffi::OsString>| word.and_then(|word| word.into_string().ok());
    let number = word(arguments.next()).and_then(|number| number.parse().ok());
    let command = word(arguments.next());
    let reset = word(arguments.next());
    let Some(number) = number else {
        eprintln!("worker: which loop device?");
        return ExitCode::from(2);
    };
    let stdin = std::io::stdin().as_fd().try_clone_to_owned();
    let Ok(mut socket) = stdin.map(UnixStream::from) else { return ExitCode::from(2) };
    // Whoever is at the other end reads what went wrong there, if it went wrong.
    match serve(&mut socket, number, command, reset.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = frame(&Err::<(), String>(error.to_string())).map(|words| socket.write_all(&words));
            ExitCode::FAILURE
        }
    }
}

type Failed = Box<dyn std::error::Error>;

fn serve(socket: &mut UnixStream, number: u32, command: Option<String>, reset: Option<&str>) -> Result<(), Failed> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    see_that_the_keeper_lives()?;
    prepare_room().map_err(|error| format!("prepare a mount namespace: {error}"))?;
    send_connection(socket, number).map_err(|error| format!("serve a disk through FUSE: {error}"))?;
    let (disk, mount_point) = (format!("{ROOM}/disk"), format!("{ROOM}/mnt"));
    let volume = Volume::attach(number, &disk, &mount_point);
    let volume = volume.map_err(|error| format!("attach {}: {error}", loop_device::path(number)))?;
    match command {
        Some(command) => {
            let program = Program::new(&command, reset, volume, ROOM, &mount_point);
            answer(socket, Stage::new(program, &mount_point)?)
        }
        None => answer(socket, Stage::new(volume, &mount_point)?),
    }
}

/// The keeper may have ended before the kernel was asked to end us with it. Our standard output is a pipe whose other
/// end it holds.
fn see_that_the_keeper_lives() -> Result<(), Failed> {
    let stdout = std::io::stdout();
    let mut held = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut held, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    if held[0].revents().contains(PollFlags::HUP) {
        return Err("go on: the keeper has ended".into());
    }
    Ok(rustix::stdio::dup2_stdout(File::open("/dev/null")?)?)
}

/// A place that ends with this process.
fn prepare_room() -> rustix::io::Result<()> {
    // SAFETY: this process has one thread, and what it shares with others is what it inherited: open files.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount("none", ROOM, "tmpfs", MountFlags::empty(), None)?;
    umask(Mode::empty());
    mkdirat(CWD, format!("{ROOM}/mnt"), Mode::RWXU)?;
    openat(CWD, format!("{ROOM}/disk"), OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR).map(drop)
}

/// Makes the disk and gives its connection away. As long as nobody here has it too, the disk ends with its server, and
/// whoever waits for it gets an error.
fn send_connection(socket: &UnixStream, number: u32) -> rustix::io::Result<()> {
    let fuse: OwnedFd = openat(CWD, "/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&fuse);
    // Its root is no directory but the disk itself.
    let options = format!("fd={fd},rootmode=100000,user_id=0,group_id=0,allow_other");
    let options = std::ffi::CString::new(options).map_err(|_| rustix::io::Errno::INVAL)?;
    mount("shakedown", format!("{ROOM}/disk"), "fuse.shakedown", MountFlags::empty(), options.as_c_str())?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let fds = [fuse.as_fd()];
    rights.push(SendAncillaryMessage::ScmRights(&fds));
    let number = number.to_le_bytes();
    sendmsg(socket, &[IoSlice::new(&number)], &mut rights, SendFlags::empty()).map(drop)
}

/// Takes batches until nobody sends any.
fn answer(socket: &mut UnixStream, mut stage: Stage<impl Mounter + Settles>) -> Result<(), Failed> {
    socket.write_all(&frame(&Ok::<(), String>(()))?)?;
    let mut beginning = [0; posix::message::SECTOR];
    while socket.read_exact(&mut beginning).is_ok() {
        let mut message = beginning.to_vec();
        message.resize(frame_len(&beginning)?, 0);
        socket.read_exact(&mut message[beginning.len()..])?;
        let batch: Vec<Step> = unframe(&message)?;
        let answers: Vec<Answer> = batch.iter().map(|step| settled(&mut stage, step)).collect();
        socket.write_all(&frame(&answers)?)?;
    }
    Ok(())
}

fn settled(stage: &mut Stage<impl Mounter + Settles>, step: &Step) -> Answer {
    let answer = match step {
        // To sync every file system of the host is neither ours to do nor to wait for.
        Step::Run(Op::Sync) => stage.step(&Step::Run(Op::Syncfs)),
        step => stage.step(step),
    };
    stage.mounter().settle();
    answer
}

/// Waits until what was asked of the disk has been answered.
pub trait Settles {
    /// Waits.
    fn settle(&mut self);
}

/// The content of a small file of the kernel's.
pub fn reread(file: &mut File) -> Option<String> {
    use std::io::Seek as _;
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    Some(text)
}
