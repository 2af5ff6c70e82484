//! The names of ACE: two files and their siblings, in the root and in a directory, and with nesting in one below.

use crate::Path;

/// A file or directory of ACE, as the tool writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub &'static str);

/// The first of two files, the one that an op is usually about.
pub(super) const FILES: [Name; 3] = [Name("foo"), Name("A/foo"), Name("AC/foo")];
/// The second.
pub(super) const SECOND_FILES: [Name; 3] = [Name("bar"), Name("A/bar"), Name("AC/bar")];
pub(super) const A: Name = Name("A");
pub(super) const B: Name = Name("B");
pub(super) const C: Name = Name("AC");
pub(super) const ROOT: Name = Name("test");
/// How many of the files there are without nesting.
pub(super) const FLAT: usize = 2;

/// Every name.
pub(super) const ALL: [Name; 10] =
    [FILES[0], FILES[1], FILES[2], SECOND_FILES[0], SECOND_FILES[1], SECOND_FILES[2], A, B, C, ROOT];

impl Name {
    /// Where it is: the directory `AC` lies in `A` and is called `C`.
    pub(super) fn path(self) -> Path {
        let below_root = match self.0.strip_prefix("AC") {
            Some(rest) => format!("/A/C{rest}"),
            None if self == ROOT => "/".to_owned(),
            None => format!("/{}", self.0),
        };
        Path::new(&below_root).expect("it starts at the root")
    }

    pub(super) fn is_directory(self) -> bool {
        [A, B, C, ROOT].contains(&self)
    }

    /// The directory that it is in.
    pub(super) fn parent(self) -> Self {
        if self == C {
            return A;
        }
        match self.0.split_once('/') {
            Some((directory, _)) => ALL.into_iter().find(|name| name.0 == directory).unwrap_or(ROOT),
            None => ROOT,
        }
    }

    /// Its neighbour, for which an fsync may matter too; what has none is its own.
    pub(super) fn sibling(self) -> Self {
        let pairs = FILES.into_iter().zip(SECOND_FILES).chain([(A, B)]);
        let other = pairs.into_iter().find_map(|(one, other)| match self {
            this if this == one => Some(other),
            this if this == other => Some(one),
            _ => None,
        });
        other.unwrap_or(self)
    }

    /// Its number among all names.
    pub(super) fn number(self) -> usize {
        ALL.iter().position(|name| *name == self).expect("there are no others")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_related_as_they_read() {
        assert_eq!(Name("AC/foo").path().as_str(), "/A/C/foo");
        assert_eq!((C.path().as_str(), ROOT.path().as_str(), B.path().as_str()), ("/A/C", "/", "/B"));
        assert_eq!((Name("AC/bar").parent(), C.parent(), A.parent(), Name("foo").parent()), (C, A, ROOT, ROOT));
        assert_eq!((A.sibling(), B.sibling(), C.sibling(), ROOT.sibling()), (B, A, C, ROOT));
        assert_eq!(Name("A/bar").sibling(), Name("A/foo"));
        assert!(ALL.iter().all(|name| name.sibling().sibling() == *name));
    }
}
