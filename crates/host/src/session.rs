//! A mounted file system as a search keeps it: what it was mounted from, what was done to it since, and what that asked
//! of the disk.
//!
//! As with guests, a state is restored by doing the same again. What comes of it differs in its bytes, so it is by the
//! shape of the run that the same is recognised.

use std::sync::Arc;

use disk::{Asked, Image};
use vfs::Op;
use xxhash_rust::xxh3::xxh3_128;

/// By what two sessions are the same, given the same disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionId(pub u128);

/// What was done, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// `None` is the mount.
    pub op: Option<Op>,
    /// Which requests failed.
    pub failed: Vec<u32>,
    /// What was asked of the disk.
    pub asked: Vec<Asked>,
}

/// What led to a mounted file system.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// What was mounted.
    pub base: Image,
    /// The mount, and what was done since.
    pub done: Vec<Arc<Done>>,
    /// Whether what was mounted may be damaged.
    is_excused: bool,
    pub id: SessionId,
}

impl Session {
    /// Just mounted.
    pub fn begin(base: Image, failed: Vec<u32>, asked: Vec<Asked>) -> Self {
        let id = hash(base.hash(), b"mount", &failed);
        Self { base, done: vec![Arc::new(Done { op: None, failed, asked })], is_excused: false, id }
    }

    /// The same on a disk that lacks writes and that nobody has repaired since: the file system may find damage.
    #[must_use]
    pub fn excused(self) -> Self {
        Self { is_excused: true, id: hash(self.id.0, b"excused", &[]), ..self }
    }

    /// One op later.
    #[must_use]
    pub fn after(&self, op: &Op, failed: Vec<u32>, asked: Vec<Asked>) -> Self {
        let id = hash(self.id.0, op.to_string().as_bytes(), &failed);
        let mut done = self.done.clone();
        done.push(Arc::new(Done { op: Some(op.clone()), failed, asked }));
        Self { base: self.base.clone(), done, is_excused: self.is_excused, id }
    }

    /// All that was asked of the disk since the mount.
    pub fn asked(&self) -> Vec<Asked> {
        self.done.iter().flat_map(|done| done.asked.iter().copied()).collect()
    }

    /// Whether a request failed since the mount, or a write before it: then a file system may complain.
    pub fn saw_failures(&self) -> bool {
        self.is_excused || self.done.iter().any(|done| !done.failed.is_empty())
    }
}

fn hash(before: u128, what: &[u8], failed: &[u32]) -> SessionId {
    let mut bytes = before.to_le_bytes().to_vec();
    bytes.extend_from_slice(what);
    bytes.push(0);
    failed.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    SessionId(xxh3_128(&bytes))
}
