//! Where a file system is mounted: by a worker on this machine, or in a guest that has clocks of its own.

use std::{io, time::Duration};

use guest::{Complaint, Guest, GuestError, Heeded, Storage};
use posix::message::{Answer, Step};

use crate::{HostError, Machine, MountedBy};

/// One place with its disk.
#[derive(Debug)]
pub(crate) enum Place {
    Worker(Box<Machine>),
    Guest(Box<Guest>),
}

/// How places are started.
#[derive(Debug)]
pub(crate) struct Start {
    /// The size of their disks.
    pub sectors: u64,
    pub mounted_by: MountedBy,
    /// Who may ask to give up waiting for a guest.
    pub heeded: Heeded,
}

impl Start {
    /// Starts one, which hangs if it neither asks nor answers for so long.
    pub fn place(&self, silence_max: Duration) -> Result<Place, HostError> {
        let commands = match &self.mounted_by {
            MountedBy::Guest(kernel) => {
                let kernel = kernel.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                let guest = Guest::boot(kernel, self.sectors, FIRST_CORE)?.heeding(self.heeded.clone());
                return Ok(Place::Guest(guest.into()));
            }
            MountedBy::Command(command) => std::slice::from_ref(command),
            MountedBy::RunningKernel => &[],
        };
        let mut machine = Machine::start(self.sectors, commands)?;
        machine.hangs_after(silence_max);
        Ok(Place::Worker(machine.into()))
    }
}

/// Guests with clocks of their own are there for whom nothing else is; one core will do.
const FIRST_CORE: usize = 0;

impl Place {
    /// Does a batch, with the requests of its disk going to `storage`, and waits for the answers: one for each step.
    pub fn run(&mut self, storage: &mut dyn Storage, batch: &[Step]) -> Result<Vec<Answer>, HostError> {
        match self {
            Self::Worker(machine) => machine.run(storage, batch),
            Self::Guest(guest) => Ok(guest.run(storage, batch)?),
        }
    }

    /// Answers what is asked of its disk while no batch is done; whether anything was. A guest stands still then.
    pub fn serve(&mut self, storage: &mut dyn Storage) -> bool {
        match self {
            Self::Worker(machine) => machine.serve_between_batches(storage),
            Self::Guest(_) => false,
        }
    }

    /// Why a command came to nothing just now, if it was one that mounts here.
    pub fn why_not(&mut self) -> Option<String> {
        match self {
            Self::Worker(machine) => machine.why_not(),
            Self::Guest(_) => None,
        }
    }

    /// How long the kernel has known its device. A guest knows its own anew with each mount: nobody else has it open.
    pub fn age(&self) -> Duration {
        match self {
            Self::Worker(machine) => machine.age(),
            Self::Guest(_) => Duration::ZERO,
        }
    }

    /// What the kernel complained about since the last time, as far as it is about our disk.
    pub fn complaint(&mut self) -> Option<Complaint> {
        match self {
            Self::Worker(machine) => machine.complaint(),
            Self::Guest(guest) => guest.complaint(),
        }
    }
}

impl From<GuestError> for HostError {
    fn from(error: GuestError) -> Self {
        match error {
            GuestError::Start(error) => Self::Start(error),
            GuestError::Died { console } => Self::Crashed { said: console },
            GuestError::Hung { console } => Self::Hung { said: console },
            GuestError::Message(error) => Self::Message(error),
            GuestError::Killed => Self::Died { said: GuestError::Killed.to_string() },
            GuestError::Protocol(words) => Self::Died { said: words },
            GuestError::GivenUp => Self::GivenUp,
        }
    }
}
