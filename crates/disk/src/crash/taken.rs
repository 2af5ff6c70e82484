//! Which pending entries a crash state took: enough, with the log, to build its image again.

use serde::{Deserialize, Serialize};

use crate::{Block, EntryIndex};

/// The pending entries that reached the medium, oldest first. One whose every block was overwritten by a later taken
/// one counts as taken: it cannot be told, and it is the simpler story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Taken(pub Vec<TakenEntry>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakenEntry {
    /// Which entry of the log.
    pub entry: EntryIndex,
    /// Which of its blocks, if the write was torn; otherwise all that were pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Block>>,
}

impl Taken {
    /// Whole entries.
    pub fn whole(entries: impl IntoIterator<Item = EntryIndex>) -> Self {
        Self(entries.into_iter().map(|entry| TakenEntry { entry, blocks: None }).collect())
    }
}
