//! A disk for a guest, by the protocol "vhost-user-blk": the kernel's driver sends messages over a socket and shares
//! its memory, in which it puts requests; we are the disk.
//!
//! What makes a guest deterministic is that notifications are messages too ("in-band"): the kernel waits for the
//! answer to each, so while an answer is withheld the kernel stands still.

mod device;
mod message;
mod queue;

pub(crate) use device::{Device, Event};
pub(crate) use queue::{Request, RequestKind, Status};

/// A guest that breaks the protocol.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VhostError {
    /// The socket or the memory file fails.
    #[error("talk to the guest: {0}")]
    Io(#[from] rustix::io::Errno),
    /// An address that is not in the guest's memory.
    #[error("follow the guest's rings: they lead out of its memory")]
    OutsideMemory,
    /// A message that is too short or comes without its file.
    #[error("understand the guest's message {0}")]
    BadMessage(u32),
    /// A request that is no request.
    #[error("understand the guest's request: {0}")]
    BadRequest(&'static str),
}
