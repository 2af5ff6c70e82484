//! Writes that go wrong in silence: the n-th is lost, lands elsewhere, or is altered on its way.
//!
//! The file system is told that all went well; readers and crash states see what really happened.

use std::borrow::Cow;

use crate::{Block, Geometry};

/// What happens to the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corruption {
    /// It never happens.
    Lose,
    /// It lands at another block; where that is past the end of the disk, it is lost.
    Misdirect {
        /// The first block that it overwrites instead.
        to: Block,
    },
    /// One byte changes.
    Alter {
        /// Which byte of the data; past its end, counting starts again.
        offset: usize,
        /// The bits that flip.
        flip: u8,
    },
}

/// One write to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corruptor {
    /// How many writes (FUA or not) are done right first: 0 corrupts the next one.
    pub write: u64,
    /// What happens to it.
    pub corruption: Corruption,
}

impl Corruptor {
    /// What really happens to the next write; `None` if it is lost.
    pub(crate) fn corrupt<'a>(
        this: &mut Option<Self>,
        geometry: Geometry,
        block: Block,
        data: &'a [u8],
    ) -> Option<(Block, Cow<'a, [u8]>)> {
        let unharmed = (block, Cow::Borrowed(data));
        let Some(corruptor) = this else { return Some(unharmed) };
        if corruptor.write > 0 {
            corruptor.write -= 1;
            return Some(unharmed);
        }
        let corruption = corruptor.corruption;
        *this = None;
        match corruption {
            Corruption::Lose => None,
            Corruption::Misdirect { to } => {
                geometry.blocks_of(to, data.len()).is_ok().then_some((to, Cow::Borrowed(data)))
            }
            Corruption::Alter { offset, flip } => {
                let mut altered = data.to_vec();
                altered[offset % data.len()] ^= flip;
                Some((block, Cow::Owned(altered)))
            }
        }
    }
}
