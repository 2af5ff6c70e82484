//! A file system that is in no table here: what its user says of it.

use posix::LOST_AND_FOUND;
use vfs::{
    Conventions, Fallocate, Modes, Op, OpKind, OpenFlags, OwnAttributes, Rename, WriteVia,
    contract::Contract,
    generate::{ObjectBounds, OpSet},
};

use crate::{file_system::bounds_of_any, kinds::ALL_OPS};

/// What a user says of a file system. In each command, `{dev}` stands for the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// As the kernel calls it.
    pub name: String,
    /// Makes a file system; without it the disk is full of zeros.
    pub mkfs: Option<String>,
    /// Looks at what was recovered: any exit code but 0 is a violation.
    pub fsck: Option<String>,
    /// Runs before the first mount after a crash: an exit code above 1 says that it could not repair everything.
    pub repair: Option<String>,
    /// What is demanded of it.
    pub contract: Contract,
    /// What it shows in its own way.
    pub conventions: Conventions,
    /// Names in the root that belong to it, see [`posix::is_hidden`].
    pub hidden: Vec<String>,
    /// What it does not have.
    pub lacks: Vec<Lacked>,
}

/// Something that a file system does not have. Kernels say so by many errnos, of which some mean other things too, so
/// that it has to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacked {
    /// Ops of a kind.
    Ops(OpKind),
    /// A way to write to files.
    Way(WriteVia),
    /// A way to rename.
    Rename(Rename),
    /// Something that `fallocate` does elsewhere.
    Fallocate(Fallocate),
}

impl Lacked {
    /// What is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        let ops = OpKind::from_name(name).map(Self::Ops);
        let way = || WriteVia::from_name(name).map(Self::Way);
        let rename = || Rename::from_name(name).map(Self::Rename);
        let fallocate = || Fallocate::from_name(name).map(Self::Fallocate);
        ops.or_else(way).or_else(rename).or_else(fallocate)
    }

    fn kind(self) -> Option<OpKind> {
        match self {
            Self::Ops(kind) => Some(kind),
            Self::Way(_) | Self::Rename(_) | Self::Fallocate(_) => None,
        }
    }

    /// Whether an op needs it.
    fn is_needed_for(self, op: &Op) -> bool {
        match (self, op) {
            (Self::Ops(kind), op) => op.kind() == kind,
            (Self::Way(lacked), Op::Write { via, .. }) => *via == lacked,
            // What cannot read and write directly does not open files for it either.
            (Self::Way(WriteVia::Direct), Op::Open { flags, .. }) => flags.contains(OpenFlags::DIRECT),
            (Self::Rename(lacked), Op::Rename { how, .. }) => *how == lacked,
            (Self::Fallocate(lacked), Op::Fallocate { how, .. }) => *how == lacked,
            _ => false,
        }
    }
}

impl Described {
    /// One of this name, of which nothing is known but what is demanded of it; its root has what many have there.
    pub fn new(name: &str, contract: Contract) -> Self {
        Self {
            name: name.to_owned(),
            mkfs: None,
            fsck: None,
            repair: None,
            contract,
            conventions: Conventions::POSIX,
            hidden: vec![LOST_AND_FOUND.name.to_owned()],
            lacks: Vec::new(),
        }
    }

    /// What it shows in its own way. Where nobody can make an attribute, all that are listed are the file system's.
    pub(crate) fn conventions(&self) -> Conventions {
        let makes_attributes = self.ops().contains(OpKind::Setxattr);
        let own_attributes = if makes_attributes { self.conventions.own_attributes } else { OwnAttributes::All };
        Conventions { own_attributes, ..self.conventions }
    }

    /// The kinds of ops that it has. Where modes come from the mount, there is no place for owners either.
    pub(crate) fn ops(&self) -> OpSet {
        let kinds: Vec<OpKind> = self.lacks.iter().filter_map(|lacked| lacked.kind()).collect();
        let owners = OpSet::of(&[OpKind::Chmod, OpKind::Chown]);
        let fixed = if self.conventions.modes == Modes::Kept { OpSet::EMPTY } else { owners };
        ALL_OPS.without(OpSet::of(&kinds)).without(fixed)
    }

    /// Whether it has an op, of a kind that it has, with these arguments.
    pub(crate) fn offers(&self, op: &Op) -> bool {
        !self.lacks.iter().any(|lacked| lacked.is_needed_for(op))
    }

    /// How far a workload goes.
    pub(crate) fn bounds(&self) -> ObjectBounds {
        let all = bounds_of_any();
        let has = |how: &Fallocate| !self.lacks.contains(&Lacked::Fallocate(*how));
        let fallocate = all.fallocate.iter().copied().filter(has).collect();
        ObjectBounds { ops: all.ops.intersection(self.ops()), fallocate, ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_left_out_and_nothing_else() {
        let words = ["link", "direct", "exchange", "punch_hole"];
        let lacks = words.iter().map(|word| Lacked::from_name(word).unwrap()).collect();
        let described = Described { lacks, ..Described::new("any", Contract::Mountable) };
        let offers = |op: &str| described.offers(&op.parse().unwrap());
        assert_eq!(described.ops(), ALL_OPS.without(OpSet::of(&[OpKind::Link])));
        assert!(!offers("link(\"/a\", \"/b\")") && offers("symlink(\"a\", \"/b\")"));
        assert!(!offers("write(\"/a\", offset=0, len=512, fill=1, via=direct)"));
        assert!(offers("write(\"/a\", offset=0, len=512, fill=1, via=mmap)"));
        assert!(!offers("open(\"/a\", O_RDWR|O_DIRECT, fd=0)") && offers("open(\"/a\", O_RDWR, fd=0)"));
        assert!(!offers("rename(\"/a\", \"/b\", how=exchange)") && offers("rename(\"/a\", \"/b\")"));
        let bounds = described.bounds();
        assert!(!bounds.ops.contains(OpKind::Link) && bounds.ops.contains(OpKind::Symlink));
        assert!(!bounds.fallocate.contains(&Fallocate::PunchHole) && bounds.fallocate.contains(&Fallocate::KeepSize));
        assert_eq!(Lacked::from_name("flying"), None);
    }

    #[test]
    fn attributes_that_nobody_can_make_are_those_of_the_file_system() {
        let usual = Described::new("any", Contract::Mountable);
        assert_eq!(usual.conventions(), Conventions::POSIX);
        let without = Described { lacks: vec![Lacked::Ops(OpKind::Setxattr)], ..usual };
        assert_eq!(without.conventions().own_attributes, OwnAttributes::All);
    }

    #[test]
    fn where_modes_are_fixed_there_are_no_owners() {
        let modes = Modes::Fixed { file: 0o644, dir: 0o755 };
        let conventions = Conventions { modes, ..Conventions::POSIX };
        let described = Described { conventions, ..Described::new("any", Contract::Mountable) };
        assert!(!described.ops().contains(OpKind::Chmod) && !described.ops().contains(OpKind::Chown));
        assert!(Described::new("any", Contract::Mountable).ops().contains(OpKind::Chmod));
    }
}
