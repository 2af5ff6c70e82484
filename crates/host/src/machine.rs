//! One worker with its disk: started, given batches, cleared away.
//!
//! While a batch is done, whoever has given it serves the disk. What the kernel does to the disk at other times,
//! because a clock or a thread of its own says so, waits until somebody serves what has waited. Nothing here waits for
//! ever.

use std::{
    io::{self, Read as _, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use guest::{Complaint, Console, Storage};
use posix::{
    loop_device,
    message::{Answer, BadMessage, Got, SECTOR, Step, frame, frame_len, unframe},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
};

use crate::{fuse::Connection, kernel_log::KernelLog};

/// A worker that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It cannot be started.
    #[error("start a worker: {0}")]
    Start(#[from] io::Error),
    /// It ended.
    #[error("go on with a worker: it ended{}", last_words(.said))]
    Died {
        /// What it, or what it started, said last.
        said: String,
    },
    /// It crashed, which nobody but the kernel that it is can have made it do.
    #[error("go on with a kernel: it crashed{}", last_words(.said))]
    Crashed {
        /// What it said last.
        said: String,
    },
    /// It neither asked anything of its disk nor answered for a long time.
    #[error("go on with a worker: it hangs{}", last_words(.said))]
    Hung {
        /// What it, or what it started, said last.
        said: String,
    },
    /// A guest made no request for a moment, and somebody asked not to wait.
    #[error("wait for a guest: somebody asked to stop")]
    GivenUp,
    /// A batch or its answers cannot be sent.
    #[error(transparent)]
    Message(#[from] BadMessage),
}

fn last_words(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; it said last: {words}") }
}

/// Without a request or an answer for so long, a worker hangs, unless another limit is set.
pub(crate) const SILENCE_MAX: Duration = Duration::from_mins(1);

/// So many of the last lines of what a command said.
const LINES_MAX: usize = 3;

/// A process that mounts a disk of ours.
#[derive(Debug)]
pub struct Machine {
    /// Closed before anything is waited for: whoever waits for the disk must not be waited for.
    disk: Option<Connection>,
    socket: UnixStream,
    console: Console,
    log: KernelLog,
    number: u32,
    started: Instant,
    silence_max: Duration,
    end_max: Duration,
    keeper: Child,
    /// The keeper clears all away when this is closed, by us or by our end.
    lifeline: Option<ChildStdin>,
}

impl Machine {
    /// Starts a worker with a disk of so many sectors; with a command, it is the command that mounts it, and a second
    /// one empties whatever else the first one uses.
    ///
    /// # Errors
    /// It takes root, `/dev/fuse` and loop devices.
    pub fn start(sectors: u64, commands: &[String]) -> Result<Self, HostError> {
        let (log, started) = (KernelLog::open(), Instant::now());
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(SILENCE_MAX))?;
        socket.set_write_timeout(Some(SILENCE_MAX))?;
        let (console, output) = io::pipe()?;
        let program = guest::program()?;
        // The command is dropped at once: it holds the worker's end of the socket, and whoever reads at ours must see
        // when nobody is left there.
        let mut keeper = {
            let mut keeper = Command::new(format!("/proc/self/fd/{}", program.as_fd().as_raw_fd()));
            keeper.arg("keep").args(commands).stdin(Stdio::piped()).stdout(OwnedFd::from(theirs)).stderr(output);
            keeper.process_group(0).spawn()?
        };
        let lifeline = keeper.stdin.take();
        let console = Console::new(console).map_err(io::Error::from)?;
        let mut machine = Self {
            disk: None,
            socket,
            console,
            log,
            number: 0,
            started,
            silence_max: SILENCE_MAX,
            end_max: END_MAX,
            keeper,
            lifeline,
        };
        machine.take_connection(sectors).map_err(|error| machine.with_last_words(error))?;
        let ready: Result<(), String> = unframe(&machine.converse(&mut NoDisk)?)?;
        ready.map_err(|words| HostError::Start(io::Error::other(words)))?;
        machine.log.listen_for(machine.number);
        Ok(machine)
    }

    /// How long ago it was started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// The number of its loop device.
    #[cfg(test)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    #[cfg(test)]
    pub(crate) fn grow_older(&mut self, by: Duration) {
        self.started -= by;
    }

    /// From now on, it hangs if it neither asks nor answers for so long.
    pub(crate) fn hangs_after(&mut self, silence: Duration) {
        self.silence_max = silence;
    }

    /// The worker sends its connection, or why it has none.
    fn take_connection(&mut self, sectors: u64) -> Result<(), HostError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut number = [0; 4];
        let mut buffers = [io::IoSliceMut::new(&mut number)];
        let flags = RecvFlags::WAITALL | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.socket, &mut buffers, &mut rights, flags).map_err(io::Error::from)?;
        let fd = rights.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        match fd {
            Some(fd) => {
                self.disk = Some(Connection::new(fd, sectors).map_err(io::Error::from)?);
                self.number = u32::from_le_bytes(number);
                Ok(())
            }
            None if received.bytes < number.len() => Err(HostError::Died { said: String::new() }),
            None => {
                let mut message = number.to_vec();
                message.resize(frame_len(&number)?, 0);
                self.socket.read_exact(&mut message[number.len()..])?;
                let words: Result<(), String> = unframe(&message)?;
                Err(HostError::Start(io::Error::other(words.err().unwrap_or_default())))
            }
        }
    }

    /// Does a batch, with the requests of its disk going to `storage`, and waits for the answers: one for each step.
    ///
    /// # Errors
    /// The worker ended or hangs. It cannot be used any more.
    pub fn run(&mut self, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, HostError> {
        let sent = frame(&batch)?;
        self.socket.write_all(&sent).map_err(|_| self.with_last_words(HostError::Died { said: String::new() }))?;
        let answers: Vec<Answer> = unframe(&self.converse(storage)?)?;
        // Without its keeper a worker loses its device, and what it answers then is no word of the file system.
        if !matches!(self.keeper.try_wait(), Ok(None)) {
            return Err(self.with_last_words(HostError::Died { said: String::new() }));
        }
        if answers.len() == batch.len() { Ok(answers) } else { Err(BadMessage::CutOff.into()) }
    }

    /// Serves the disk until a message comes.
    fn converse(&mut self, storage: &mut dyn Storage) -> Result<Vec<u8>, HostError> {
        self.serve(storage).map_err(|error| self.with_last_words(error))
    }

    fn serve(&mut self, storage: &mut dyn Storage) -> Result<Vec<u8>, HostError> {
        let died = || HostError::Died { said: String::new() };
        let mut last = Instant::now();
        loop {
            let [disk, socket, console] = self.poll(self.silence_max.saturating_sub(last.elapsed()))?;
            if console {
                self.console.drain();
            }
            if disk || socket {
                last = Instant::now();
            } else if last.elapsed() >= self.silence_max {
                return Err(HostError::Hung { said: String::new() });
            }
            let message = if socket { Some(self.receive().map_err(|_| died())?) } else { None };
            // What was asked by the time that the answer was there belongs to it.
            if disk || message.is_some() {
                self.disk.as_mut().ok_or_else(died)?.answer(storage).map_err(|_| died())?;
            }
            if let Some(message) = message {
                return Ok(message);
            }
        }
    }

    /// Answers what is asked of the disk while no batch is done; whether anything was. A disk that is gone is noticed
    /// by whoever gives the next batch.
    pub(crate) fn serve_between_batches(&mut self, storage: &mut dyn Storage) -> bool {
        self.disk.as_mut().is_some_and(|disk| disk.answer(storage).is_ok_and(|count| count > 0))
    }

    /// Which of disk, socket and console have something to say.
    fn poll(&self, patience: Duration) -> Result<[bool; 3], HostError> {
        let Some(disk) = &self.disk else { return Err(HostError::Died { said: String::new() }) };
        let patience = Timespec::try_from(patience).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let watched = [disk.as_fd(), self.socket.as_fd(), self.console.pipe()];
        let mut watched = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut watched, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => Ok(watched.map(|fd| !fd.revents().is_empty())),
            Err(error) => Err(HostError::Start(error.into())),
        }
    }

    fn receive(&mut self) -> Result<Vec<u8>, HostError> {
        let mut message = vec![0; SECTOR];
        self.socket.read_exact(&mut message)?;
        message.resize(frame_len(&message)?, 0);
        self.socket.read_exact(&mut message[SECTOR..])?;
        Ok(message)
    }

    /// What the kernel complained about since the last time, as far as it names our device.
    pub fn complaint(&mut self) -> Option<Complaint> {
        self.log.complaint()
    }

    /// Why a command came to nothing just now: words that fit behind a colon.
    pub(crate) fn why_not(&mut self) -> Option<String> {
        let Ok(Got::Said(why)) = self.run(&mut NoDisk, &[Step::WhyNot]).ok()?.pop()? else { return None };
        self.console.drain();
        let said = self.console.tail();
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Some(format!("{why}{}", last_words(&lines[lines.len().saturating_sub(LINES_MAX)..].join("; "))))
    }

    /// The error with what the worker said at last.
    fn with_last_words(&mut self, error: HostError) -> HostError {
        self.end();
        self.console.drain();
        let said = self.console.tail();
        match error {
            HostError::Died { .. } => HostError::Died { said },
            HostError::Hung { .. } => HostError::Hung { said },
            error => error,
        }
    }

    /// Whether the keeper has cleared all away; nothing if it has not come to an end.
    fn keeper_has_cleared(&mut self) -> Option<bool> {
        let begun = Instant::now();
        loop {
            match self.keeper.try_wait() {
                Ok(None) if begun.elapsed() < self.end_max => std::thread::sleep(PAUSE),
                Ok(None) => return None,
                ended => return Some(matches!(ended, Ok(Some(status)) if status.success())),
            }
        }
    }

    /// Ends the worker and all that is its.
    fn end(&mut self) {
        drop(self.disk.take());
        drop(self.lifeline.take());
        let Some(cleared) = self.keeper_has_cleared() else { return };
        if !cleared {
            // Somebody has ended the keeper, or it had to give up. It may not have come as far as to name its device.
            let number = if self.number == 0 { loop_device::first_number(self.keeper.id()) } else { self.number };
            let begun = Instant::now();
            let _ = loop_device::remove_soon(number, || begun.elapsed() < KEEPER_TIME_MAX);
        }
    }
}

/// A keeper may have to wait for the kernel, and the kernel for others. It goes on without us when we do not wait any
/// more.
const END_MAX: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(1);

/// In place of a keeper that is gone, we wait for so long until the kernel lets go of a device.
const KEEPER_TIME_MAX: Duration = Duration::from_secs(10);

impl Drop for Machine {
    fn drop(&mut self) {
        if self.lifeline.is_some() {
            self.end();
        }
    }
}

/// Ends workers, each with whatever is mounted there, and waits for all of them at once: who is stuck is waited for as
/// long as it may take, and so many who are stuck no longer than one.
pub(crate) fn end_together(seats: Vec<impl Send>) {
    std::thread::scope(|scope| {
        for seat in seats {
            scope.spawn(move || drop(seat));
        }
    });
}

/// While a worker starts, the kernel looks at its disk, and finds nothing.
pub(crate) struct NoDisk;

impl Storage for NoDisk {
    fn read(&mut self, _: u64, data: &mut [u8]) -> bool {
        data.fill(0);
        true
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    impl Machine {
        /// From now on, its keeper does not end, and is waited for so long.
        pub(crate) fn get_stuck(&mut self, end_max: Duration) -> Pid {
            let keeper = Pid::from_child(&self.keeper);
            kill_process(keeper, Signal::STOP).unwrap();
            self.end_max = end_max;
            keeper
        }
    }

    #[test]
    fn a_keeper_that_does_not_end_is_not_waited_for() {
        let mut machine = match Machine::start(8, &[]) {
            Ok(machine) => machine,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "could not {error}");
                eprintln!("skipped: could not {error}");
                return;
            }
        };
        let keeper = machine.get_stuck(Duration::ZERO);
        machine.end();
        assert_eq!(machine.keeper_has_cleared(), None);
        // Without us, it comes to its end all the same.
        kill_process(keeper, Signal::CONT).unwrap();
        machine.end_max = END_MAX;
        assert_eq!(machine.keeper_has_cleared(), Some(true));
    }
}
