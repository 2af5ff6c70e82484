//! Disk requests in words, and what a power cut made of each.

use disk::{Cut, DiskLog, EntryIndex, EntryKind, TakenEntry};

use crate::target::Target;

/// A disk request as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// For people.
    pub says: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was done, and the power stayed on.
    Done,
    /// The power was cut, and it is on the medium.
    Reached,
    /// The power was cut, and a part of it is on the medium.
    Torn,
    /// It was in the cache when the power was cut.
    Lost,
    /// The power was cut before it was issued.
    NeverIssued,
}

impl Fate {
    /// For people, after the request.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::Done => "",
            Self::Reached => "  [on disk]",
            Self::Torn => "  [torn: partly on disk]",
            Self::Lost => "  [lost with the cache]",
            Self::NeverIssued => "  [never issued]",
        }
    }
}

/// What a power cut made of an entry of the log.
pub(crate) fn fate(cut: &Cut, taken: &[TakenEntry], index: EntryIndex) -> Fate {
    if index.0 >= cut.position().0 {
        return Fate::NeverIssued;
    }
    let is_pending = cut.pending().any(|(pending, _)| pending == index);
    match taken.iter().find(|taken| taken.entry == index) {
        _ if !is_pending => Fate::Reached,
        Some(TakenEntry { blocks: None, .. }) => Fate::Reached,
        Some(TakenEntry { blocks: Some(_), .. }) => Fate::Torn,
        None => Fate::Lost,
    }
}

/// A disk request in words.
pub(crate) fn describe<T: Target>(target: &T, log: &DiskLog, kind: &EntryKind) -> String {
    let size = log.base().geometry().block_size.bytes();
    match kind {
        EntryKind::Flush => "flush".to_owned(),
        EntryKind::Discard { block, count } => format!("discard {} ({count} blocks)", target.block_name(*block)),
        EntryKind::Write { block, data } | EntryKind::Fua { block, data } => {
            let verb = if matches!(kind, EntryKind::Fua { .. }) { "write (FUA)" } else { "write" };
            let name = target.block_name(*block);
            match target.block_content(*block, data) {
                Some(content) => format!("{verb} {name}: {content}"),
                None => format!("{verb} {name} ({} blocks)", data.len() / size),
            }
        }
    }
}
