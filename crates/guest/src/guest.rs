//! One running guest: booted, given batches, cleared away.
//!
//! Nobody serves its disks but whoever gives it a batch, and only while that batch is done. At all other times the
//! kernel stands still inside its read of the mailbox, so that the bytes of its disk may be replaced, if nothing is
//! mounted.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, ChildStdin},
    thread,
    time::{Duration, Instant},
};

use posix::message::{
    ANSWERS_AT, Answer, BATCH_AT, BadMessage, KERNEL_WAS_KILLED, MAILBOX_BYTES, SECTOR, Step, frame, unframe,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::sockopt::socket_peercred,
    process::Pid,
};

use crate::{
    Complaint, Kernel, Storage,
    console::Console,
    patience::{Heeded, LOOK_EVERY, Silence, children, computed_below},
    serve::{NoDisk, serve},
    stack,
    start::{Prepared, prepare},
    symbols,
    variables::Variables,
    vhost::{Device, Event, Request, RequestKind, Status, VhostError},
};

/// A guest that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// It cannot be started.
    #[error("start a guest: {0}")]
    Start(#[from] io::Error),
    /// Its kernel ended by itself: it panicked or crashed.
    #[error("go on with a guest: its kernel ended; it said last: {console}")]
    Died {
        /// The end of what it printed.
        console: String,
    },
    /// Somebody else ended its kernel, its supervisor or a process of it.
    #[error("go on with a guest: it was killed, as by a machine that runs out of memory")]
    Killed,
    /// It made no request for a long time, or far too many.
    #[error("go on with a guest: it hangs; it said last: {console}")]
    Hung {
        /// The end of what it printed, and where it was.
        console: String,
    },
    /// It made no request for a moment, and somebody asked not to wait.
    #[error("wait for a guest: somebody asked to stop")]
    GivenUp,
    /// It breaks the protocol of its disks.
    #[error("go on with a guest: could not {0}")]
    Protocol(String),
    /// A batch or its answers cannot be sent.
    #[error(transparent)]
    Message(#[from] BadMessage),
}

impl From<VhostError> for GuestError {
    fn from(error: VhostError) -> Self {
        match error {
            VhostError::Io(Errno::PIPE | Errno::CONNRESET) => Self::DIED,
            error => Self::Protocol(error.to_string()),
        }
    }
}

impl GuestError {
    /// Its last words are still to be heard.
    const DIED: Self = Self::Died { console: String::new() };
    const HUNG: Self = Self::Hung { console: String::new() };
}

/// A kernel that panics or is killed is gone long before, and its supervisor with it. One that was asked to end lets go
/// of its disks and stays.
const ENDING_MAX: Duration = Duration::from_secs(3);

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
    variables: Option<Variables>,
    kernel_process: Option<Pid>,
    program: PathBuf,
    core: usize,
    heeded: Heeded,
    folder: PathBuf,
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
        let Prepared { mut supervisor, console, folder } = prepare(kernel, core)?;
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
            variables: None,
            kernel_process: None,
            program: kernel.program().to_owned(),
            core,
            heeded: Heeded::default(),
            folder,
            supervisor,
            lifeline,
        };
        if let Some(lifeline) = &mut guest.lifeline {
            lifeline.write_all(b"!")?;
        }
        let booted = guest.serve_until_waiting(&mut NoDisk).and_then(|()| guest.end_boot());
        booted.map_err(|error| guest.with_last_words(error))?;
        let peer = guest.mailbox.socket().ok_or(VhostError::BadMessage(0))?;
        let kernel_process = socket_peercred(peer).map_err(io::Error::from)?.pid;
        guest.variables = Some(Variables::take(kernel_process, kernel.variables())?);
        guest.kernel_process = Some(kernel_process);
        Ok(guest)
    }

    /// The kernel has printed that it has booted before init has asked for its first batch.
    fn end_boot(&mut self) -> Result<(), GuestError> {
        self.console.drain();
        if self.console.is_of_boot() {
            return Err(GuestError::Protocol("hear from the kernel that it has booted".to_owned()));
        }
        Ok(())
    }

    /// The process that is the kernel.
    pub fn kernel_process(&self) -> Option<Pid> {
        self.kernel_process
    }

    /// The core that it runs on. Whoever gives it batches should run there too: a switch between cores costs more than
    /// most requests.
    pub fn core(&self) -> usize {
        self.core
    }

    /// The same guest, for which nobody waits who is asked to stop by this.
    #[must_use]
    pub fn heeding(mut self, heeded: Heeded) -> Self {
        self.heeded = heeded;
        self
    }

    /// Does a batch, with its disk's requests going to `storage`, and waits for the answers: one for each step.
    ///
    /// # Errors
    /// The kernel ended, hangs or breaks the protocol. It cannot be used any more.
    pub fn run(&mut self, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, GuestError> {
        self.converse(storage, batch).map_err(|error| self.with_last_words(error))
    }

    fn converse(&mut self, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, GuestError> {
        if batch.iter().any(|step| matches!(step, Step::Mount(_)))
            && let Some(variables) = &self.variables
        {
            variables.restore_randomness()?;
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

    /// What the kernel has printed since it was last asked for complaints.
    pub(crate) fn last_words(&mut self) -> String {
        self.console.drain();
        self.console.since_last()
    }

    /// Serves both disks until the kernel stands still again.
    fn serve_until_waiting(&mut self, storage: &mut dyn Storage) -> Result<(), GuestError> {
        let mut requests = 0;
        let mut silence = None;
        while self.waiting.is_none() {
            let [mailbox, disk, console] = self.poll(LOOK_EVERY)?;
            if console {
                self.console.drain();
            }
            let hangs = if mailbox || disk {
                silence = None;
                requests += 1;
                requests > REQUESTS_MAX
            } else if self.heeded.is_stopped() {
                return Err(GuestError::GivenUp);
            } else {
                self.is_silent_for_ever(&mut silence)
            };
            if hangs {
                return Err(GuestError::HUNG);
            }
            let closed = (disk && self.serve_disk(storage)?) || (mailbox && self.serve_mailbox()?);
            if closed || !self.console.is_open() {
                return Err(GuestError::DIED);
            }
        }
        Ok(())
    }

    /// Whether it hangs, given its silence so far, if it has begun.
    fn is_silent_for_ever(&self, silence: &mut Option<Silence>) -> bool {
        let now = Instant::now();
        let kernel = self.kernel_process.map(|kernel| kernel.as_raw_nonzero().get().cast_unsigned());
        let computed = computed_below(kernel.unwrap_or_else(|| self.supervisor.id()));
        silence.get_or_insert_with(|| Silence::begin(now, computed)).is_a_hang(now, computed)
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

    /// The error with what the kernel printed at last: its complaint, or the end of all; if it has not booted, that and
    /// nothing else. All of it is there when everything of the guest has ended.
    fn with_last_words(&mut self, error: GuestError) -> GuestError {
        let place = matches!(error, GuestError::Hung { .. }).then(|| self.call_trace()).flatten();
        // What ends while it boots is no fault of a file system, and may say why. One that is gone when it is given a
        // batch has no memory to write to.
        let is_gone = matches!(error, GuestError::Died { .. } | GuestError::Start(_));
        let may_be_killed = is_gone && !self.console.is_of_boot();
        let was_killed = may_be_killed && self.was_killed();
        self.end();
        self.console.drain();
        let has_lost_a_process = may_be_killed && self.console.has_lost_a_process();
        let complaint = self.console.complaint().map(|complaint| complaint.text);
        if has_lost_a_process || was_killed && complaint.is_none() {
            return GuestError::Killed;
        }
        let console = complaint.unwrap_or_else(|| self.console.tail());
        let console = symbols::with_functions(&console, &self.program);
        match error {
            GuestError::Died { .. } => GuestError::Died { console },
            GuestError::Hung { .. } => GuestError::Hung { console: and_where(console, place) },
            error => error,
        }
    }

    /// Whether it was somebody else who ended a kernel that has let go of its disks, or its supervisor, unless the
    /// kernel says otherwise.
    fn was_killed(&mut self) -> bool {
        let until = Instant::now() + ENDING_MAX;
        let ended = loop {
            match self.supervisor.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                ended => break ended.ok().flatten(),
            }
        };
        ended.is_none_or(|status| status.signal().is_some() || status.code() == Some(KERNEL_WAS_KILLED.into()))
    }

    /// Where the kernel is.
    fn call_trace(&self) -> Option<String> {
        let started = || Pid::from_raw(children(self.supervisor.id()).first()?.cast_signed());
        stack::call_trace(self.kernel_process.or_else(started)?, &self.program)
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
                RequestKind::Read if request.sector == BATCH_AT / SECTOR as u64 => {
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

    /// The batch lies at its place; all around it are zeros.
    fn answer_mailbox_read(&mut self, request: &Request) -> Result<(), GuestError> {
        let mut data = vec![0; request.len()];
        let start = request.sector.saturating_mul(SECTOR as u64).checked_sub(BATCH_AT);
        let start = start.and_then(|start| usize::try_from(start).ok());
        let batch = start.and_then(|start| self.batch.get(start..)).unwrap_or_default();
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

impl Guest {
    /// Ends the kernel and all that is its.
    fn end(&mut self) {
        drop(self.lifeline.take());
        // It ends at once; to wait for it leaves no trace of the guest in the list of processes.
        let _ = self.supervisor.wait();
        // A supervisor that was killed has not removed the folder. Its kernel was killed with it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The last words of a kernel, and where it was then.
fn and_where(said: String, place: Option<String>) -> String {
    let said = if said.is_empty() { "nothing".to_owned() } else { said };
    [said].into_iter().chain(place).collect::<Vec<_>>().join("\n")
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use explore::Stop;
    use rustix::process::{Signal, kill_process};

    use super::*;
    use crate::PLAIN;

    #[test]
    fn nobody_waits_for_a_guest_who_was_asked_to_stop() {
        let Ok(kernel) = Kernel::built(PLAIN) else {
            assert!(std::env::var_os("CI").is_none(), "build a kernel");
            return;
        };
        let heeded = Heeded::default();
        let mut guest = Guest::boot(&kernel, 128, 0).unwrap().heeding(heeded.clone());
        let stop = Stop::default();
        heeded.heed(&stop);
        stop.stop();
        guest.run(&mut NoDisk, &[Step::Observe]).expect("what does not wait is not given up");
        kill_process(guest.kernel_process().unwrap(), Signal::STOP).unwrap();
        assert!(matches!(guest.run(&mut NoDisk, &[Step::Observe]), Err(GuestError::GivenUp)));
    }
}
