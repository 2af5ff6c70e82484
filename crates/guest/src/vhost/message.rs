//! The messages: a header of three words (what, flags, length), a body, and files that come along.

use std::os::{fd::OwnedFd, unix::net::UnixStream};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recv, recvmsg, send};

use super::VhostError;

/// What the kernel asks. The numbers are the protocol's.
pub(super) mod ask {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const GET_QUEUE_NUM: u32 = 17;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
}

/// What we tell the kernel on our own: a queue has results.
const VRING_CALL: u32 = 4;

const VERSION: u32 = 1;
const IS_REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

/// Longer than any message of this protocol.
const BODY_MAX: usize = 4096;
/// The kernel hands over a file for each region of its memory, of which it has one or two.
const FILES_MAX: usize = 8;

/// A message from the kernel.
pub(super) struct Message {
    pub what: u32,
    pub body: Vec<u8>,
    pub files: Vec<OwnedFd>,
    /// Whether the kernel waits for a word that it was received.
    pub needs_reply: bool,
}

impl Message {
    /// Waits for one; `None` when the kernel is gone.
    pub fn receive(socket: &UnixStream) -> Result<Option<Self>, VhostError> {
        let mut header = [0; 12];
        let mut files = Vec::new();
        if !receive_header(socket, &mut header, &mut files)? {
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (what, flags, len) = (word(0), word(4), word(8) as usize);
        if len > BODY_MAX {
            return Err(VhostError::BadMessage(what));
        }
        let mut body = vec![0; len];
        if len > 0 && recv(socket, &mut body[..], RecvFlags::WAITALL)?.0 < len {
            return Ok(None);
        }
        Ok(Some(Self { what, body, files, needs_reply: flags & NEEDS_REPLY != 0 }))
    }

    /// The word at a place in the body.
    pub fn u32(&self, at: usize) -> Result<u32, VhostError> {
        let bytes = self.body.get(at..).and_then(|rest| rest.first_chunk::<4>());
        bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or(VhostError::BadMessage(self.what))
    }

    /// The long word at a place in the body.
    pub fn u64(&self, at: usize) -> Result<u64, VhostError> {
        let bytes = self.body.get(at..).and_then(|rest| rest.first_chunk::<8>());
        bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(VhostError::BadMessage(self.what))
    }
}

/// The files come along with the first byte.
fn receive_header(socket: &UnixStream, header: &mut [u8], files: &mut Vec<OwnedFd>) -> Result<bool, VhostError> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [std::io::IoSliceMut::new(header)],
        &mut control,
        RecvFlags::WAITALL | RecvFlags::CMSG_CLOEXEC,
    );
    let count = match received {
        Err(rustix::io::Errno::CONNRESET) => return Ok(false),
        received => received?.bytes,
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    Ok(count == header.len())
}

/// Answers a message.
pub(super) fn reply(socket: &UnixStream, what: u32, body: &[u8]) -> Result<(), VhostError> {
    transmit(socket, what, VERSION | IS_REPLY, body)
}

/// Says that a message was received.
pub(super) fn acknowledge(socket: &UnixStream, what: u32) -> Result<(), VhostError> {
    reply(socket, what, &0_u64.to_le_bytes())
}

/// Says over the socket that the kernel gave for it that the first queue has results.
pub(super) fn call(socket: &UnixStream) -> Result<(), VhostError> {
    transmit(socket, VRING_CALL, VERSION, &[0; 8])
}

fn transmit(socket: &UnixStream, what: u32, flags: u32, body: &[u8]) -> Result<(), VhostError> {
    let len = u32::try_from(body.len()).map_err(|_| VhostError::BadMessage(what))?;
    let mut bytes = Vec::with_capacity(12 + body.len());
    [what, flags, len].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.extend_from_slice(body);
    // The few bytes of a message always fit into the socket's buffer.
    send(socket, &bytes, SendFlags::NOSIGNAL)?;
    Ok(())
}
