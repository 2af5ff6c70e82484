//! A set of op kinds, as the user names it: `default`, `metadata,fsync`, `all,-crash`.

use std::{fmt, str::FromStr};

use crate::{OpKind, nearest::Suggestion};

/// Which kinds of ops a generator may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpSet(u32);

impl OpSet {
    /// No op at all.
    pub const EMPTY: Self = Self(0);
    /// Every op.
    pub const ALL: Self = Self::of(OpKind::ALL);
    /// What changes names and attributes.
    pub const METADATA: Self = Self::of(&[
        OpKind::Create,
        OpKind::Mkdir,
        OpKind::Rmdir,
        OpKind::Unlink,
        OpKind::Rename,
        OpKind::Link,
        OpKind::Symlink,
        OpKind::Chmod,
        OpKind::Chown,
        OpKind::Setxattr,
        OpKind::Removexattr,
    ]);
    /// What changes contents and sizes.
    pub const DATA: Self = Self::of(&[OpKind::Create, OpKind::Write, OpKind::Truncate, OpKind::Fallocate]);
    /// What makes things durable, short of unmounting.
    pub const PERSISTENCE: Self =
        Self::of(&[OpKind::Fsync, OpKind::Fdatasync, OpKind::Msync, OpKind::Sync, OpKind::Syncfs]);
    /// What most programs do: the ops that find most bugs in the fewest states.
    pub const DEFAULT: Self = Self::of(&[
        OpKind::Create,
        OpKind::Write,
        OpKind::Truncate,
        OpKind::Mkdir,
        OpKind::Rmdir,
        OpKind::Unlink,
        OpKind::Rename,
        OpKind::Link,
        OpKind::Fsync,
        OpKind::Sync,
    ]);

    /// The sets that have a name.
    const NAMED: [(&str, Self); 5] = [
        ("default", Self::DEFAULT),
        ("metadata", Self::METADATA),
        ("data", Self::DATA),
        ("persistence", Self::PERSISTENCE),
        ("all", Self::ALL),
    ];

    /// Exactly these kinds.
    pub const fn of(kinds: &[OpKind]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    /// Whether ops of this kind are in the set.
    pub fn contains(self, kind: OpKind) -> bool {
        self.0 & Self::of(&[kind]).0 != 0
    }

    /// The kinds, in the order of the vocabulary.
    pub fn kinds(self) -> impl Iterator<Item = OpKind> {
        OpKind::ALL.iter().copied().filter(move |kind| self.contains(*kind))
    }

    /// What is in either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this one only.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Default for OpSet {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for OpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kinds().map(OpKind::name).collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for OpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpSet({self})")
    }
}

/// A word that is neither an op nor a set of ops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use the ops {word:?}: no op, no set and no file has this name{nearest}")]
pub struct UnknownOps {
    word: String,
    nearest: Suggestion,
}

impl FromStr for OpSet {
    type Err = UnknownOps;

    /// Names of ops and of sets, joined by commas, from left to right; a `-` before a name takes away.
    fn from_str(text: &str) -> Result<Self, UnknownOps> {
        text.split(',').map(str::trim).try_fold(Self::EMPTY, |set, word| {
            Ok(match word.strip_prefix('-') {
                Some(removed) => set.without(one(removed)?),
                None => set.union(one(word)?),
            })
        })
    }
}

fn one(word: &str) -> Result<OpSet, UnknownOps> {
    let set = OpSet::NAMED.iter().find(|(name, _)| *name == word).map(|(_, set)| *set);
    let kind = || OpKind::from_name(word).map(|kind| OpSet::of(&[kind]));
    set.or_else(kind).ok_or_else(|| {
        let known = OpKind::ALL.iter().map(|kind| kind.name()).chain(OpSet::NAMED.iter().map(|(name, _)| *name));
        UnknownOps { word: word.to_owned(), nearest: Suggestion::of(word, known) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sets_add_up() {
        let set: OpSet = "create, data,-truncate".parse().unwrap();
        assert_eq!(set.to_string(), "create,write,fallocate");
        assert_eq!("all".parse::<OpSet>().unwrap().kinds().count(), OpKind::ALL.len());
        assert_eq!("all,-all".parse(), Ok(OpSet::EMPTY));
        assert_eq!("default".parse(), Ok(OpSet::default()));
    }

    #[test]
    fn every_set_is_read_back_from_its_kinds() {
        for (name, set) in OpSet::NAMED {
            assert_eq!(set.to_string().parse(), Ok(set), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_names_the_nearest() {
        let error = "create,metdata".parse::<OpSet>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "use the ops \"metdata\": no op, no set and no file has this name; the nearest is \"metadata\""
        );
        assert!("".parse::<OpSet>().is_err());
        assert!("create,".parse::<OpSet>().is_err());
    }
}
