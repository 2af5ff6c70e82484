//! What a move is made for.
//!
//! A search wants everything that can come of a move. To execute a trace, most of that is not needed: of the moves on
//! the way only the state after them counts, and of a move with a power cut only that cut.

use disk::{DiskLog, Image, Position};
use explore::Property;

use crate::{crash_point::CrashPoint, recovery::RECOVERY_NONDETERMINISTIC};

/// What is wanted of a move.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// Everything that can come of it.
    Everything,
    /// The first violation of a property.
    First(&'a str),
    /// What comes of this power cut.
    Cut(&'a CrashPoint),
    /// What is wrong while the power is on.
    NoCut,
    /// The state after it.
    StateAfter,
}

impl<'a> Wanted<'a> {
    /// Of a move on the way to the end of a trace that violates this property there.
    pub fn on_the_way(property: &str, cut: Option<&'a CrashPoint>) -> Self {
        if needs_everything(property) { Self::Everything } else { cut.map_or(Self::StateAfter, Self::Cut) }
    }

    /// Of the move at the end of such a trace.
    pub fn at_the_end(property: &str, cut: Option<&'a CrashPoint>) -> Self {
        if needs_everything(property) { Self::Everything } else { cut.map_or(Self::NoCut, Self::Cut) }
    }

    /// Whether a violation of this property is all that is wanted.
    pub fn is_for(self, property: Property) -> bool {
        matches!(self, Self::First(wanted) if wanted == property.name)
    }

    /// Whether it is wanted what unmounting shows.
    pub fn unmounts(self) -> bool {
        matches!(self, Self::Everything | Self::First(_) | Self::NoCut)
    }

    /// Which crash states are wanted at a position of the log of a move that began at `start`.
    pub fn cuts_at(self, log: &DiskLog, start: Position, position: Position) -> Cuts {
        match self {
            Self::Everything | Self::First(_) => Cuts::All,
            Self::Cut(point) if start.0.checked_add(point.entries) == Some(position.0) => {
                let taken = point.taken_in(log, start);
                let image = taken.and_then(|taken| log.cut(position).image_with(&taken).ok());
                image.map_or(Cuts::None, Cuts::To)
            }
            Self::Cut(_) | Self::NoCut | Self::StateAfter => Cuts::None,
        }
    }
}

/// Whether other recoveries than that of the last power cut show the violation too: two that contradict each other.
fn needs_everything(property: &str) -> bool {
    property == RECOVERY_NONDETERMINISTIC.name
}

/// Crash states of one position.
pub(crate) enum Cuts {
    All,
    /// Those that leave this on the medium: requests that others have overwritten are no difference.
    To(Image),
    None,
}
