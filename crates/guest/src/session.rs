//! A mounted file system as a search keeps it: what it was mounted from, and what was done to it since.
//!
//! No kernel's memory can be copied, but what is in it follows from these two: a guest that mounts the same image and
//! does the same ops, with the same requests and allocations failing, is in the same state. So a state is restored by
//! replaying, and a guest that is in it already is simply used.

use std::sync::Arc;

use disk::Image;
use vfs::Op;
use xxhash_rust::xxh3::xxh3_128;

/// By what two sessions are the same, given the same disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionId(pub u128);

/// What failed while something was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failed {
    /// Requests to the disk, by their number.
    pub requests: Vec<u32>,
    /// An allocation of memory, by its number.
    pub allocation: Option<u32>,
}

impl Failed {
    pub fn is_none(&self) -> bool {
        self.requests.is_empty() && self.allocation.is_none()
    }
}

/// An op that was done, and what failed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub op: Op,
    pub failed: Failed,
}

/// What led to a mounted file system.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// What was mounted.
    pub base: Image,
    /// What failed while it was mounted.
    pub failed: Failed,
    /// What was done since.
    pub done: Vec<Arc<Done>>,
    /// Whether what was mounted may be damaged.
    is_excused: bool,
    pub id: SessionId,
}

impl Session {
    /// Just mounted.
    pub fn begin(base: Image, failed: Failed) -> Self {
        let id = hash(base.hash(), b"mount", &failed);
        Self { base, failed, done: Vec::new(), is_excused: false, id }
    }

    /// The same on a disk that lacks writes and that nobody has repaired since: the file system may find damage.
    #[must_use]
    pub fn excused(self) -> Self {
        Self { is_excused: true, id: hash(self.id.0, b"excused", &Failed::default()), ..self }
    }

    /// One op later.
    #[must_use]
    pub fn after(&self, op: &Op, failed: Failed) -> Self {
        let id = hash(self.id.0, op.to_string().as_bytes(), &failed);
        let mut done = self.done.clone();
        done.push(Arc::new(Done { op: op.clone(), failed }));
        Self { done, id, ..self.clone() }
    }

    /// The same in the kernel's memory, on an image that is the same wherever anything was read. Where the two images
    /// differ, the disk tells the states apart.
    #[must_use]
    pub fn on(&self, base: Image) -> Self {
        Self { base, ..self.clone() }
    }

    /// Whether anything failed since the mount, or a write before it: then a file system may complain.
    pub fn saw_failures(&self) -> bool {
        self.is_excused || !self.failed.is_none() || self.done.iter().any(|done| !done.failed.is_none())
    }
}

fn hash(before: u128, what: &[u8], failed: &Failed) -> SessionId {
    let mut bytes = before.to_le_bytes().to_vec();
    bytes.extend_from_slice(what);
    bytes.push(0);
    failed.requests.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    // No request has the number that parts the two kinds.
    let allocation = failed.allocation.map(|number| [u32::MAX, number]);
    allocation.iter().flatten().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    SessionId(xxh3_128(&bytes))
}

#[cfg(test)]
mod tests {
    use disk::Geometry;

    use super::*;
    use crate::storage::SECTOR;

    #[test]
    fn sessions_are_told_apart_by_all_that_led_to_them() {
        let image = Image::zeroed(Geometry { block_size: SECTOR, blocks: 2 });
        let mut other = image.clone();
        other.write(disk::Block(1), &[1; 512]).unwrap();
        let begin = || Session::begin(image.clone(), Failed::default());
        let request = |number| Failed { requests: vec![number], allocation: None };
        let allocation = |number| Failed { requests: Vec::new(), allocation: Some(number) };
        let ids = [
            begin(),
            Session::begin(other, Failed::default()),
            Session::begin(image.clone(), request(0)),
            Session::begin(image.clone(), allocation(0)),
            begin().after(&Op::Sync, Failed::default()),
            begin().after(&Op::Sync, request(1)),
            begin().after(&Op::Sync, allocation(1)),
            begin().after(&Op::Sync, allocation(2)),
            begin().after(&Op::Sync, Failed { allocation: Some(1), ..request(1) }),
            begin().after(&Op::Syncfs, Failed::default()),
            begin().excused(),
            begin().after(&Op::Sync, Failed::default()).after(&Op::Sync, Failed::default()),
        ]
        .map(|session| session.id);
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{place}");
        }
        assert_eq!(begin().id, begin().id);
        assert!(begin().after(&Op::Sync, request(1)).saw_failures() && !begin().saw_failures());
        assert!(begin().after(&Op::Sync, allocation(0)).saw_failures());
        assert!(begin().excused().after(&Op::Sync, Failed::default()).saw_failures());
    }
}
