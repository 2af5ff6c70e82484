//! What was promised and not kept, as data and as a sentence.

use std::fmt;

use serde::Serialize;

use super::{Contract, Moment};
use crate::{NodeId, Path};

/// The part of a contract that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clause {
    /// `mountable`: the root is a directory.
    RootLost,
    /// `mountable`: every byte is zero or was written to that file at that offset.
    NoForeignData,
    /// `synced` and `fsynced`: a name leads where it led at its pin or later.
    PinnedName,
    /// The same for mode, owner, group, extended attributes and link target.
    PinnedAttributes,
    /// The same for the size.
    PinnedSize,
    /// The same for each byte.
    PinnedContent,
    /// `synced`: a name or attribute has a value that it had at some time.
    NeverHeld,
    /// `atomic`: a link count is the number of names.
    LinkCount,
    /// `atomic`: a name leads to a node that exists, and a directory has one name.
    SoundNames,
    /// `atomic`: a rename shows neither both names nor none.
    RenameAtomic,
    /// `atomic`: an exchange exchanges both.
    ExchangeAtomic,
    /// `atomic`: any other metadata op is seen entirely or not at all.
    OpAtomic,
    /// `ordered`: names and attributes are those of one moment.
    OneMoment,
    /// `prefix`: so are the contents.
    OneMomentContents,
}

impl Clause {
    /// Every clause.
    pub const ALL: [Self; 14] = [
        Self::RootLost,
        Self::NoForeignData,
        Self::PinnedName,
        Self::PinnedAttributes,
        Self::PinnedSize,
        Self::PinnedContent,
        Self::NeverHeld,
        Self::LinkCount,
        Self::SoundNames,
        Self::RenameAtomic,
        Self::ExchangeAtomic,
        Self::OpAtomic,
        Self::OneMoment,
        Self::OneMomentContents,
    ];

    /// Its name in every written form; it will not change.
    pub fn name(self) -> &'static str {
        match self {
            Self::RootLost => "root-lost",
            Self::NoForeignData => "no-foreign-data",
            Self::PinnedName => "pinned-name",
            Self::PinnedAttributes => "pinned-attributes",
            Self::PinnedSize => "pinned-size",
            Self::PinnedContent => "pinned-content",
            Self::NeverHeld => "never-held",
            Self::LinkCount => "link-count",
            Self::SoundNames => "sound-names",
            Self::RenameAtomic => "rename-atomic",
            Self::ExchangeAtomic => "exchange-atomic",
            Self::OpAtomic => "op-atomic",
            Self::OneMoment => "one-moment",
            Self::OneMomentContents => "one-moment-contents",
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The call that pinned something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pinned {
    /// When it returned.
    pub at: Moment,
    /// What it did, as a participle: "fsynced".
    pub how: &'static str,
}

/// A value that would have been right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Allowed {
    /// In words.
    pub value: String,
    /// The op that made it.
    pub since: Moment,
}

/// How the words of a value are joined to their subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// "it is absent".
    Is,
    /// "it has mode 0644".
    Has,
}

/// One promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The weakest contract that is broken.
    pub contract: Contract,
    /// Which part of it.
    pub clause: Clause,
    /// Where.
    pub path: Path,
    /// The node of the reference, where it is known which one was meant.
    #[serde(skip)]
    pub node: Option<NodeId>,
    /// The call that pinned it, unless the breach is not about a pin.
    pub pin: Option<Pinned>,
    /// The values that would have been right; with a pin, the first is the one at the pin. Empty where no single
    /// value is wrong but the way in which they go together.
    pub allowed: Vec<Allowed>,
    /// How `allowed` and `found` are to be read.
    pub verb: Verb,
    /// What was found, in words.
    pub found: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, allowed, found, .. } = self;
        let (was, with, is) = match self.verb {
            Verb::Is => ("was", "as", "is"),
            Verb::Has => ("had", "with", "has"),
        };
        let Some((first, later)) = allowed.split_first() else {
            return write!(f, "after the crash `{path}` {is} {found}");
        };
        write!(f, "`{path}` ")?;
        match &self.pin {
            Some(Pinned { at: Moment(0), .. }) => write!(f, "was durable at the start {with} {}", first.value)?,
            Some(Pinned { at, how }) => write!(f, "was {how} by {at} {with} {}", first.value)?,
            None => write!(f, "{was} {} ({})", first.value, first.since)?,
        }
        for value in later {
            write!(f, ", then {was} {} ({})", value.value, value.since)?;
        }
        write!(f, "; after the crash it {is} {found}")
    }
}
