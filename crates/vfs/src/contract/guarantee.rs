//! The contracts taken apart: each thing that a program may rely on, judged by itself.
//!
//! A contract includes every weaker one, so a file system that breaks a weak one is told nothing of the strong ones.
//! Here each guarantee trusts its own pins and no others: what `fsync` keeps is judged as if `sync` had promised
//! nothing, and the order of ops as if nothing had been pinned at all. So one pass over crash states tells of every
//! guarantee whether it holds, and a breach is told where it belongs.
//!
//! What was durable at the start is trusted by `sync` alone, whose business it is. A value that never was breaks
//! `ordered` and `prefix`, which no moment explains then; whether a rename was seen as a whole cannot be said of it.

use super::{
    Contract, Moment,
    breach::{Breach, Clause},
    chain::Chain,
    explain,
    history::Record,
    pins::{Floors, Pin},
};
use crate::{Op, Tree};

/// One thing that a program may rely on after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guarantee {
    /// On a synchronous mount, whatever has returned is there. By mount(8), all I/O is done synchronously then, and
    /// ext2, ext3, ext4, fat, vfat, ufs and xfs are those that honour it.
    SynchronousMount,
    /// What `sync`, `syncfs` or an unmount covered is there.
    Sync,
    /// The content and the attributes of a file are there that was fsynced.
    Fsync,
    /// So are its names.
    FsyncName,
    /// So are the names in a directory that was fsynced, and its attributes.
    FsyncDirectory,
    /// What `fdatasync` or `msync` covered is there.
    Fdatasync,
    /// What was written through `O_SYNC` or `O_DSYNC` is there.
    SynchronousWrite,
    /// A rename is seen entirely or not at all.
    RenameAtomic,
    /// Names, sizes and attributes are those of one moment.
    Ordered,
    /// The contents are those of the same moment.
    Prefix,
}

impl Guarantee {
    /// Every guarantee.
    pub const ALL: [Self; 10] = [
        Self::SynchronousMount,
        Self::Sync,
        Self::Fsync,
        Self::FsyncName,
        Self::FsyncDirectory,
        Self::Fdatasync,
        Self::SynchronousWrite,
        Self::RenameAtomic,
        Self::Ordered,
        Self::Prefix,
    ];

    /// Its name in every written form; it will not change.
    pub fn name(self) -> &'static str {
        match self {
            Self::SynchronousMount => "sync-mount",
            Self::Sync => "sync",
            Self::Fsync => "fsync",
            Self::FsyncName => "fsync-name",
            Self::FsyncDirectory => "fsync-directory",
            Self::Fdatasync => "fdatasync",
            Self::SynchronousWrite => "o-sync",
            Self::RenameAtomic => "rename",
            Self::Ordered => "ordered",
            Self::Prefix => "prefix",
        }
    }

    /// The weakest contract that includes it.
    pub fn contract(self) -> Contract {
        match self {
            Self::Sync => Contract::Synced,
            Self::SynchronousMount
            | Self::Fsync
            | Self::FsyncName
            | Self::FsyncDirectory
            | Self::Fdatasync
            | Self::SynchronousWrite => Contract::Fsynced,
            Self::RenameAtomic => Contract::Atomic,
            Self::Ordered => Contract::Ordered,
            Self::Prefix => Contract::Prefix,
        }
    }

    /// Whether it is about calls that make something durable.
    fn is_about_pins(self) -> bool {
        self.contract() < Contract::Atomic
    }

    /// What it trusts of a pin.
    fn trusts(self, record: &Record, pin: &Pin) -> Option<Pin> {
        match (self, pin, &record.event.op) {
            (Self::SynchronousMount, Pin::Everything { synchronous: true }, _)
            | (Self::Sync, Pin::Everything { synchronous: false }, _)
            | (Self::FsyncDirectory, Pin::Directory { .. }, _)
            | (Self::Fdatasync, Pin::File { .. }, Op::Fdatasync { .. } | Op::Msync { .. })
            | (Self::SynchronousWrite, Pin::File { .. }, Op::Write { .. }) => Some(pin.clone()),
            (Self::Fsync, pin @ Pin::File { .. }, Op::Fsync { .. }) => Some(pin.without_names()),
            (Self::FsyncName, pin @ Pin::File { .. }, Op::Fsync { .. }) => Some(pin.names_only()),
            _ => None,
        }
    }

    /// Whether it says anything about a crash here.
    pub(super) fn is_in_force(self, chain: &Chain) -> bool {
        let trusts = |record: &Record| record.pins.iter().any(|pin| self.trusts(record, pin).is_some());
        let pinned = || chain.returned().iter().any(|record| trusts(record));
        match self {
            Self::Sync => chain.base().nodes.len() > 1 || pinned(),
            Self::RenameAtomic => (1..=chain.end()).any(|moment| matches!(chain.op(moment), Some(Op::Rename { .. }))),
            Self::Ordered | Self::Prefix => chain.end() > 0,
            _ => pinned(),
        }
    }

    /// What a found tree breaks of it, if anything.
    pub(super) fn breach(self, chain: &Chain, found: &Tree) -> Option<Breach> {
        let trusted = |record: &Record, pin: &Pin| self.trusts(record, pin);
        let floors = Floors::trusting(chain.base(), chain.returned(), trusted);
        if self.is_about_pins() {
            let breaches = explain::values(self.contract(), floors, chain, found);
            return breaches.into_iter().find(|breach| self == Self::Sync || is_pinned(breach));
        }
        let of_no_moment = explain::values(Contract::Synced, floors.clone(), chain, found).into_iter().next();
        match self {
            Self::RenameAtomic if of_no_moment.is_some() => None,
            Self::RenameAtomic => explain::renames(floors, chain, found),
            _ => {
                let breach = of_no_moment.or_else(|| explain::together(self.contract(), floors, chain, found));
                breach.map(|breach| Breach { contract: self.contract(), ..breach })
            }
        }
    }
}

/// Whether a call has pinned what is broken. What was durable at the start was pinned by none.
fn is_pinned(breach: &Breach) -> bool {
    debug_assert!(breach.clause != Clause::OneMoment, "it is about single values");
    breach.pin.as_ref().is_some_and(|pin| pin.at > Moment(0))
}
