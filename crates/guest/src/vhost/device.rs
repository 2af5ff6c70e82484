//! One disk of a guest: its socket, its memory, its queue.

use std::{
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
};

use super::{
    Request, Status, VhostError,
    message::{Message, acknowledge, ask, call, reply},
    queue::Queue,
};
use crate::memory::{Memory, Region};

/// What the disk can do: requests of several segments, flushes, discards and zeroes; the protocol's own bits; modern
/// virtio. A cache that could be switched to write-through is not offered, so that it cannot be.
const FEATURES: u64 = 1 << 2 | 1 << 9 | 1 << 13 | 1 << 14 | 1 << 30 | 1 << 32;
/// Answers on demand, a socket for our own messages (without it there is no disk), configuration, and notifications as
/// messages.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;
/// Requests of more pieces are split by the driver.
const SEGMENTS_MAX: u32 = 64;
/// Where in the body of a configuration message the configuration begins.
const CONFIG_AT: usize = 12;
/// As long as the part of it that drivers of this age ask for.
const CONFIG_BYTES: usize = 64;
/// A discard covers at most so many sectors.
const DISCARD_SECTORS_MAX: u32 = 1 << 16;

/// One disk of a guest.
#[derive(Debug)]
pub(crate) struct Device {
    listener: UnixListener,
    socket: Option<UnixStream>,
    /// Where the kernel listens to us.
    calls: Option<UnixStream>,
    pub memory: Memory,
    queue: Queue,
    sectors: u64,
    /// Requests were completed that the kernel was not told of.
    has_results: bool,
}

/// What came of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was answered, and there is nothing to do.
    Answered,
    /// There are requests. The kernel stands still until [`Device::resume`].
    Kick,
    /// The kernel is gone.
    Closed,
}

impl Device {
    /// Listens on a socket for the kernel's driver.
    pub fn listen(socket: &Path, sectors: u64) -> std::io::Result<Self> {
        Ok(Self {
            listener: UnixListener::bind(socket)?,
            socket: None,
            calls: None,
            memory: Memory::default(),
            queue: Queue::default(),
            sectors,
            has_results: false,
        })
    }

    /// The socket on which the next message comes.
    pub fn waits_on(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().map_or_else(|| self.listener.as_fd(), AsFd::as_fd)
    }

    /// The driver's end, once it is there.
    pub fn socket(&self) -> Option<&UnixStream> {
        self.socket.as_ref()
    }

    /// Takes one message, or the connection that will bring them.
    pub fn receive(&mut self) -> Result<Event, VhostError> {
        let Some(socket) = &self.socket else {
            let (socket, _) = self.listener.accept().map_err(|_| VhostError::BadMessage(0))?;
            self.socket = Some(socket);
            return Ok(Event::Answered);
        };
        let Some(message) = Message::receive(socket)? else { return Ok(Event::Closed) };
        if message.what == ask::VRING_KICK {
            return Ok(Event::Kick);
        }
        self.answer(message)?;
        Ok(Event::Answered)
    }

    fn answer(&mut self, message: Message) -> Result<(), VhostError> {
        let what = message.what;
        let body = match what {
            ask::GET_FEATURES => Some(FEATURES.to_le_bytes().to_vec()),
            ask::GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES.to_le_bytes().to_vec()),
            ask::GET_QUEUE_NUM => Some(1_u64.to_le_bytes().to_vec()),
            ask::GET_CONFIG => Some(self.config(&message)?),
            ask::GET_VRING_BASE => {
                let taken = u64::from(self.queue.taken) << 32;
                Some(taken.to_le_bytes().to_vec())
            }
            _ => None,
        };
        let needs_reply = message.needs_reply;
        self.learn(message)?;
        let Some(socket) = &self.socket else { return Ok(()) };
        match body {
            Some(body) => reply(socket, what, &body),
            None if needs_reply => acknowledge(socket, what),
            None => Ok(()),
        }
    }

    /// Takes in what the kernel says of itself.
    fn learn(&mut self, mut message: Message) -> Result<(), VhostError> {
        let bad = || VhostError::BadMessage(message.what);
        let low = |number: u32| u16::try_from(number).map_err(|_| bad());
        match message.what {
            ask::SET_MEM_TABLE => {
                let count = message.u32(0)? as usize;
                if count != message.files.len() {
                    return Err(bad());
                }
                let files: Vec<_> = message.files.drain(..).collect();
                let mut regions = Vec::new();
                for (at, file) in (8..).step_by(32).zip(files) {
                    let (guest, len) = (message.u64(at)?, message.u64(at + 8)?);
                    let (user, offset) = (message.u64(at + 16)?, message.u64(at + 24)?);
                    regions.push(Region::map(guest, user, len, offset, file)?);
                }
                self.memory = Memory(regions);
            }
            ask::SET_VRING_NUM => self.queue.size = low(message.u32(4)?)?,
            ask::SET_VRING_ADDR => {
                (self.queue.descriptors, self.queue.used) = (message.u64(8)?, message.u64(16)?);
                self.queue.available = message.u64(24)?;
            }
            ask::SET_VRING_BASE => self.queue.restart(low(message.u32(4)?)?),
            ask::SET_BACKEND_REQ_FD => {
                self.calls = Some(message.files.pop().ok_or_else(bad)?.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn config(&self, message: &Message) -> Result<Vec<u8>, VhostError> {
        let mut config = [0; CONFIG_BYTES];
        config[..8].copy_from_slice(&self.sectors.to_le_bytes());
        let limits =
            [(12, SEGMENTS_MAX), (36, DISCARD_SECTORS_MAX), (40, 1), (44, 8), (48, DISCARD_SECTORS_MAX), (52, 1)];
        limits.iter().for_each(|(at, limit)| config[*at..*at + 4].copy_from_slice(&limit.to_le_bytes()));
        let mut body = message.body.clone();
        let asked = body.get_mut(CONFIG_AT..).ok_or(VhostError::BadMessage(message.what))?;
        let len = asked.len().min(CONFIG_BYTES);
        asked[..len].copy_from_slice(&config[..len]);
        Ok(body)
    }

    /// Takes the next request, if there is one.
    pub fn take(&mut self) -> Result<Option<Request>, VhostError> {
        self.queue.take(&self.memory)
    }

    /// Completes a request; `stored` bytes of its data were put into the guest's memory.
    pub fn complete(&mut self, request: &Request, status: Status, stored: usize) -> Result<(), VhostError> {
        self.has_results = true;
        self.queue.complete(&self.memory, request, status, stored)
    }

    /// Tells the kernel of the results and lets it go on after a kick.
    pub fn resume(&mut self) -> Result<(), VhostError> {
        if std::mem::take(&mut self.has_results)
            && let Some(calls) = &self.calls
        {
            call(calls)?;
        }
        self.socket.as_ref().map_or(Ok(()), |socket| acknowledge(socket, ask::VRING_KICK))
    }
}
