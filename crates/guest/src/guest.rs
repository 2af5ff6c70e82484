//! One running guest: booted, given batches, cleared away.
//!
//! Nobody serves its disks but whoever gives it a batch, and only while that batch is done. At all other times the
//! kernel stands still inside its read of the mailbox, so that the bytes of its disk may be replaced, if nothing is
//! mounted.

use std::{
    array::from_fn,
    fs,
    io::{self, Write as _},
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use posix::message::{ANSWERS_AT, Answer, BadMessage, MAILBOX_BYTES, SECTOR, Step, frame, unframe};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    io::Errno,
    net::sockopt::socket_peercred,
};

use crate::{
    Complaint, Kernel, Storage,
    console::Console,
    cpio::{Entry, archive},
    embedded,
    randomness::Randomness,
    vhost::{Device, Event, Request, RequestKind, Status, VhostError},
};

/// A guest that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// It cannot be started.
    #[error("start a guest: {0}")]
    Start(#[from] io::Error),
    /// Its kernel ended: it panicked, or something killed it.
    #[error("go on with a guest: its kernel ended; it said last: {console}")]
    Died {
        /// The end of what it printed.
        console: String,
    },
    /// It made no request for a long time, or far too many.
    #[error("go on with a guest: it hangs; it said last: {console}")]
    Hung {
        /// The end of what it printed.
        console: String,
    },
    /// It breaks the protocol of its disks.
    #[error("go on with a guest: could not {0}")]
    Protocol(String),
    /// A batch or its answers cannot be sent.
    #[error(transparent)]
    Message(#[from] BadMessage),
}

impl From<VhostError> for GuestError {
    fn from(error: VhostError) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// Without a request for so long, a guest hangs. On virtual time a kernel never waits for a clock, so this is all
/// computing.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// More requests than any batch needs.
const REQUESTS_MAX: u32 = 1 << 20;

/// A running guest.
#[derive(Debug)]
pub struct Guest {
    mailbox: Device,
    disk: Device,
    console: Console,
    /// The read of the mailbox in which the kernel stands still.
    waiting: Option<Request>,
    /// The batch that is being read, and the answers as far as they were written.
    batch: Vec<u8>,
    answers: Vec<u8>,
    randomness: Option<Randomness>,
    core: usize,
    supervisor: Child,
    /// The supervisor clears the guest away when this is closed, by us or by our end.
    lifeline: Option<ChildStdin>,
}

impl Guest {
    /// Boots a kernel on a core, with a disk of so many sectors.
    ///
    /// # Errors
    /// The kernel cannot be started, or does not come as far as its init.
    pub fn boot(kernel: &Kernel, sectors: u64, core: usize) -> Result<Self, GuestError> {
        let (mut supervisor, console, folder) = supervise(kernel, core)?;
        let lifeline = supervisor.stdin.take();
        let mailbox = Device::listen(&folder.join("s.0"), MAILBOX_BYTES / SECTOR as u64)?;
        let disk = Device::listen(&folder.join("s.1"), sectors)?;
        let mut guest = Self {
            mailbox,
            disk,
            console,
            waiting: None,
            batch: Vec::new(),
            answers: Vec::new(),
            randomness: None,
            core,
            supervisor,
            lifeline,
        };
        fs::write(folder.join("init.cpio"), initramfs())?;
        fs::write(folder.join("getrandom.so"), embedded::GETRANDOM)?;
        if let Some(lifeline) = &mut guest.lifeline {
            lifeline.write_all(b"!")?;
        }
        guest.serve_until_waiting(&mut NoDisk)?;
        let peer = guest.mailbox.socket().ok_or(VhostError::BadMessage(0))?;
        let kernel_process = socket_peercred(peer).map_err(io::Error::from)?.pid;
        guest.randomness = Some(Randomness::save(kernel_process, kernel.random_state())?);
        Ok(guest)
    }

    /// The core that it runs on. Whoever gives it batches should run there too: a switch between cores costs more than
    /// most requests.
    pub fn core(&self) -> usize {
        self.core
    }

    /// Does a batch, with its disk's requests going to `storage`, and waits for the answers: one for each step.
    ///
    /// # Errors
    /// The kernel ended, hangs or breaks the protocol. It cannot be used any more.
    pub fn run(&mut self, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, GuestError> {
        if batch.iter().any(|step| matches!(step, Step::Mount(_)))
            && let Some(randomness) = &self.randomness
        {
            randomness.restore()?;
        }
        self.batch = frame(&batch)?;
        self.answers.clear();
        if let Some(request) = self.waiting.take() {
            self.answer_mailbox_read(&request)?;
            self.mailbox.resume()?;
        }
        self.serve_until_waiting(storage)?;
        let answers: Vec<Answer> = unframe(&self.answers)?;
        if answers.len() != batch.len() {
            return Err(GuestError::Protocol("match answers with the steps of a batch".to_owned()));
        }
        Ok(answers)
    }

    /// What the kernel complained about since the last time.
    pub fn complaint(&mut self) -> Option<Complaint> {
        self.console.drain();
        self.console.complaint()
    }

    /// Serves both disks until the kernel stands still again.
    fn serve_until_waiting(&mut self, storage: &mut dyn Storage) -> Result<(), GuestError> {
        let mut requests = 0;
        let mut last = Instant::now();
        while self.waiting.is_none() {
            let [mailbox, disk, console] = self.poll(SILENCE_MAX.saturating_sub(last.elapsed()))?;
            if console {
                self.console.drain();
            }
            if mailbox || disk {
                last = Instant::now();
                requests += 1;
            } else if last.elapsed() >= SILENCE_MAX {
                return Err(GuestError::Hung { console: self.last_words() });
            }
            if requests > REQUESTS_MAX {
                return Err(GuestError::Hung { console: self.last_words() });
            }
            let closed = (disk && self.serve_disk(storage)?) || (mailbox && self.serve_mailbox()?);
            if closed || !self.console.is_open() {
                return Err(GuestError::Died { console: self.last_words() });
            }
        }
        Ok(())
    }

    /// Which of mailbox, disk and console have something to say.
    fn poll(&self, patience: Duration) -> Result<[bool; 3], GuestError> {
        let patience = Timespec::try_from(patience).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        let watched = [self.mailbox.waits_on(), self.disk.waits_on(), self.console.pipe()];
        let mut watched = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut watched, Some(&patience)) {
            Ok(_) | Err(Errno::INTR) => Ok(watched.map(|fd| !fd.revents().is_empty())),
            Err(error) => Err(GuestError::Start(error.into())),
        }
    }

    /// What the kernel printed at last. When it is gone, there may be more to come.
    fn last_words(&mut self) -> String {
        drop(self.lifeline.take());
        let _ = self.supervisor.wait();
        self.console.drain();
        self.console.tail()
    }

    /// Whether the kernel is gone.
    fn serve_disk(&mut self, storage: &mut dyn Storage) -> Result<bool, GuestError> {
        match self.disk.receive()? {
            Event::Answered => Ok(false),
            Event::Closed => Ok(true),
            Event::Kick => {
                while let Some(request) = self.disk.take()? {
                    let (status, stored) = serve(&self.disk, &request, storage)?;
                    self.disk.complete(&request, status, stored)?;
                }
                self.disk.resume()?;
                Ok(false)
            }
        }
    }

    /// Whether the kernel is gone.
    fn serve_mailbox(&mut self) -> Result<bool, GuestError> {
        match self.mailbox.receive()? {
            Event::Answered => return Ok(false),
            Event::Closed => return Ok(true),
            Event::Kick => {}
        }
        while let Some(request) = self.mailbox.take()? {
            match request.kind {
                RequestKind::Read if request.sector == 0 => {
                    self.waiting = Some(request);
                    return Ok(false);
                }
                RequestKind::Read => self.answer_mailbox_read(&request)?,
                RequestKind::Write => self.take_answers(&request)?,
                _ => self.mailbox.complete(&request, Status::Done, 0)?,
            }
        }
        self.mailbox.resume()?;
        Ok(false)
    }

    /// The batch lies at the beginning; behind it are zeros.
    fn answer_mailbox_read(&mut self, request: &Request) -> Result<(), GuestError> {
        let mut data = vec![0; request.len()];
        let start = usize::try_from(request.sector).unwrap_or(usize::MAX).saturating_mul(SECTOR);
        let batch = self.batch.get(start..).unwrap_or_default();
        let len = batch.len().min(data.len());
        data[..len].copy_from_slice(&batch[..len]);
        request.put(&self.mailbox.memory, &data)?;
        Ok(self.mailbox.complete(request, Status::Done, data.len())?)
    }

    fn take_answers(&mut self, request: &Request) -> Result<(), GuestError> {
        let data = request.data(&self.mailbox.memory)?;
        let at = request.sector.saturating_mul(SECTOR as u64).checked_sub(ANSWERS_AT);
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at as u64 + data.len() as u64 <= ANSWERS_AT);
        let Some(at) = at else { return Ok(self.mailbox.complete(request, Status::Failed, 0)?) };
        if self.answers.len() < at + data.len() {
            self.answers.resize(at + data.len(), 0);
        }
        self.answers[at..at + data.len()].copy_from_slice(&data);
        Ok(self.mailbox.complete(request, Status::Done, 0)?)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // It ends at once; to wait for it leaves no trace of the guest in the list of processes.
        let _ = self.supervisor.wait();
    }
}

/// Does one request; its status, and how many bytes were put into the guest's memory.
fn serve(disk: &Device, request: &Request, storage: &mut dyn Storage) -> Result<(Status, usize), GuestError> {
    let status = |went_well: bool| if went_well { Status::Done } else { Status::Failed };
    Ok(match request.kind {
        RequestKind::Read => {
            let mut data = vec![0; request.len()];
            let went_well = storage.read(request.sector, &mut data);
            request.put(&disk.memory, &data)?;
            (status(went_well), data.len())
        }
        RequestKind::Write => (status(storage.write(request.sector, &request.data(&disk.memory)?)), 0),
        RequestKind::Flush => (status(storage.flush()), 0),
        RequestKind::Discard | RequestKind::WriteZeroes => {
            let data = request.data(&disk.memory)?;
            let Some(range) = data.first_chunk::<16>() else { return Ok((Status::Unsupported, 0)) };
            let sector = u64::from_le_bytes(from_fn(|byte| range[byte]));
            let count = u32::from_le_bytes(from_fn(|byte| range[8 + byte]));
            let went_well = if request.kind == RequestKind::Discard {
                storage.discard(sector, count)
            } else {
                storage.write(sector, &vec![0; count as usize * SECTOR])
            };
            (status(went_well), 0)
        }
        RequestKind::Identify => {
            request.put(&disk.memory, b"shakedown\0")?;
            (Status::Done, request.len())
        }
        RequestKind::Other(_) => (Status::Unsupported, 0),
    })
}

/// While a kernel boots it looks at its disk, and finds nothing.
struct NoDisk;

impl Storage for NoDisk {
    fn read(&mut self, _: u64, data: &mut [u8]) -> bool {
        data.fill(0);
        true
    }

    fn write(&mut self, _: u64, _: &[u8]) -> bool {
        false
    }

    fn discard(&mut self, _: u64, _: u32) -> bool {
        false
    }

    fn flush(&mut self) -> bool {
        true
    }
}

/// Starts the supervisor of a guest, which waits for a word to start the kernel; and the folder that both work in.
fn supervise(kernel: &Kernel, core: usize) -> io::Result<(Child, Console, PathBuf)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (console, output) = io::pipe()?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("shakedown-guest-{}-{number}", std::process::id()));
    let program = program()?;
    let mut command = Command::new(format!("/proc/self/fd/{}", program.as_fd().as_raw_fd()));
    command.arg("supervise").arg(&folder).arg(core.to_string()).arg(kernel.program());
    command.arg(kernel.memory()).args(KERNEL_ARGUMENTS);
    command.env_clear().env("HOME", ".").env("LD_PRELOAD", "./getrandom.so");
    command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let mut supervisor = command.spawn()?;
    // From here on, the supervisor removes the folder.
    if let Err(error) = fs::create_dir(&folder) {
        drop(supervisor.stdin.take());
        let _ = supervisor.wait();
        return Err(error);
    }
    Ok((supervisor, Console::new(console)?, folder))
}

/// The same for every guest, because the kernel mixes it into its random state; so sockets have relative names.
const KERNEL_ARGUMENTS: [&str; 12] = [
    "initrd=init.cpio",
    "con=null",
    "con0=null,fd:1",
    // Warnings are printed, chatter is not.
    "loglevel=5",
    "virtio_uml.device=s.0:2",
    "virtio_uml.device=s.1:2",
    "time-travel=inf-cpu",
    "time-travel-start=1000000000",
    // Some file systems write to disk what an earlier owner left in their memory.
    "init_on_alloc=1",
    "hung_task_panic=1",
    // What the kernel leaves in files of the host lies in its folder, too.
    "umid=guest",
    "uml_dir=./",
];

/// The program that supervises, launches and is init, as a file that lies nowhere.
fn program() -> io::Result<&'static OwnedFd> {
    static PROGRAM: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    let file = fs::File::from(memfd_create("guest-init", MemfdFlags::CLOEXEC)?);
    (&file).write_all(embedded::PROGRAM)?;
    // A program that is open for writing cannot be started.
    let read_only = fs::File::open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
    Ok(PROGRAM.get_or_init(|| read_only.into()))
}

fn initramfs() -> Vec<u8> {
    archive(&[
        Entry::Dir("dev"),
        Entry::Device("dev/console", 5, 1),
        Entry::Dir("mnt"),
        Entry::Program("init", embedded::PROGRAM),
    ])
}
