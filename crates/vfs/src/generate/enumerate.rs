//! The enumerating generator: every kind of op with every combination of small argument sets.
//!
//! It does not look at the file system, so most of what it proposes fails: missing files, directories where files are
//! expected, closed slots, renames into oneself. That is its use, because error paths and errnos are behaviour too.

use std::sync::Arc;

use super::OpSet;
use crate::{Data, Fallocate, Fd, File, Op, OpKind, OpenFlags, Path, Rename, WriteAt, WriteVia};

/// The values that each argument takes. An empty set means that ops with such an argument are not proposed.
#[derive(Clone, Debug)]
pub struct ArgumentSets {
    /// The kinds of ops.
    pub ops: OpSet,
    /// Paths, for every argument that is one.
    pub paths: Vec<Path>,
    /// Slots.
    pub slots: Vec<Fd>,
    /// Flags of `open`.
    pub open_flags: Vec<OpenFlags>,
    /// Modes of files, directories and `chmod`.
    pub modes: Vec<u32>,
    /// Offsets; writes go to the end as well.
    pub offsets: Vec<u64>,
    /// Lengths of ranges and sizes for `truncate`.
    pub lens: Vec<u64>,
    /// Byte values to write.
    pub fills: Vec<u8>,
    /// Owners; the group stays.
    pub uids: Vec<u32>,
    /// Names of extended attributes.
    pub xattrs: Vec<Arc<str>>,
    /// What symlinks say.
    pub targets: Vec<Arc<str>>,
    /// The ways that writes take.
    pub write_via: Vec<WriteVia>,
    /// The modes of `fallocate`.
    pub fallocate: Vec<Fallocate>,
    /// The modes of `rename`.
    pub rename: Vec<Rename>,
}

impl ArgumentSets {
    /// Small sets over these paths: one or two values for each argument, every mode of `rename` and `fallocate`.
    pub fn over(paths: Vec<Path>) -> Self {
        Self {
            ops: OpSet::DEFAULT,
            targets: paths.iter().map(|path| Arc::from(path.as_str())).collect(),
            paths,
            slots: vec![Fd(0)],
            open_flags: vec![OpenFlags::RDWR, OpenFlags::RDWR | OpenFlags::CREAT | OpenFlags::EXCL],
            modes: vec![0o644],
            offsets: vec![0, 4096],
            lens: vec![0, 4096],
            fills: vec![1],
            uids: vec![1],
            xattrs: vec![Arc::from("user.a")],
            write_via: vec![WriteVia::Buffered],
            fallocate: Fallocate::ALL.to_vec(),
            rename: Rename::ALL.to_vec(),
        }
    }

    /// Every op over these sets, each once if the sets have no duplicates.
    pub fn ops(&self) -> Vec<Op> {
        self.ops.kinds().flat_map(|kind| self.ops_of(kind)).collect()
    }

    fn ops_of(&self, kind: OpKind) -> Vec<Op> {
        let paths = || self.paths.iter().cloned();
        let pairs = || product(&self.paths, &self.paths);
        let moded = || product(&self.paths, &self.modes);
        let data = || product(&self.lens, &self.fills).into_iter().map(|(len, fill)| Data { len, fill });
        match kind {
            OpKind::Open => self.opens(),
            OpKind::Close => self.slots.iter().map(|fd| Op::Close { fd: *fd }).collect(),
            OpKind::Create => each(moded(), |(path, mode)| Op::Create { path, mode }),
            OpKind::Read => each(self.ranges(), |(file, offset, len)| Op::Read { file, offset, len }),
            OpKind::Write => self.writes(&data().collect::<Vec<_>>()),
            OpKind::Truncate => each(product(&self.files(), &self.lens), |(file, size)| Op::Truncate { file, size }),
            OpKind::Fallocate => each(product(&self.ranges(), &self.fallocate), |((file, offset, len), how)| {
                Op::Fallocate { file, how, offset, len }
            }),
            OpKind::Mkdir => each(moded(), |(path, mode)| Op::Mkdir { path, mode }),
            OpKind::Rmdir => each(paths(), |path| Op::Rmdir { path }),
            OpKind::Unlink => each(paths(), |path| Op::Unlink { path }),
            OpKind::Rename => each(product(&pairs(), &self.rename), |((from, to), how)| Op::Rename { from, to, how }),
            OpKind::Link => each(pairs(), |(from, to)| Op::Link { from, to }),
            OpKind::Symlink => each(product(&self.targets, &self.paths), |(target, path)| Op::Symlink { target, path }),
            OpKind::Chmod => each(moded(), |(path, mode)| Op::Chmod { path, mode }),
            OpKind::Chown => {
                each(product(&self.paths, &self.uids), |(path, uid)| Op::Chown { path, uid: Some(uid), gid: None })
            }
            OpKind::Setxattr => {
                let named = product(&self.paths, &self.xattrs);
                let values = data().collect::<Vec<_>>();
                each(product(&named, &values), |((path, name), value)| Op::Setxattr { path, name, value })
            }
            OpKind::Removexattr => {
                each(product(&self.paths, &self.xattrs), |(path, name)| Op::Removexattr { path, name })
            }
            OpKind::Fsync => each(self.files(), |file| Op::Fsync { file }),
            OpKind::Fdatasync => each(self.files(), |file| Op::Fdatasync { file }),
            OpKind::Msync => each(self.ranges(), |(file, offset, len)| Op::Msync { file, offset, len }),
            OpKind::Sync => vec![Op::Sync],
            OpKind::Syncfs => vec![Op::Syncfs],
            OpKind::Remount => vec![Op::Remount],
            OpKind::Crash => vec![Op::Crash],
        }
    }

    fn opens(&self) -> Vec<Op> {
        let how = product(&product(&self.open_flags, &self.modes), &self.slots);
        each(product(&self.paths, &how), |(path, ((flags, mode), fd))| Op::Open { path, flags, mode, fd })
    }

    fn writes(&self, data: &[Data]) -> Vec<Op> {
        let offsets = self.offsets.iter().copied().map(WriteAt::Offset);
        let places: Vec<WriteAt> = offsets.chain([WriteAt::End]).collect();
        let targets = product(&self.files(), &places);
        each(product(&product(&targets, data), &self.write_via), |(((file, at), data), via)| Op::Write {
            file,
            at,
            data,
            via,
        })
    }

    /// Slots are of use only where something can fill them.
    fn files(&self) -> Vec<File> {
        let slots = if self.ops.contains(OpKind::Open) { &self.slots[..] } else { &[] };
        let paths = self.paths.iter().cloned().map(File::Path);
        paths.chain(slots.iter().copied().map(File::Fd)).collect()
    }

    fn ranges(&self) -> Vec<(File, u64, u64)> {
        let ranges = product(&self.offsets, &self.lens);
        each(product(&self.files(), &ranges), |(file, (offset, len))| (file, offset, len))
    }
}

fn product<A: Clone, B: Clone>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|a| second.iter().map(|b| (a.clone(), b.clone()))).collect()
}

fn each<A, B>(items: impl IntoIterator<Item = A>, make: impl FnMut(A) -> B) -> Vec<B> {
    items.into_iter().map(make).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn count(ops: &str) -> usize {
        let paths = ["/", "/a", "/a/b"].map(|path| Path::new(path).unwrap());
        let sets = ArgumentSets { ops: ops.parse().unwrap(), ..ArgumentSets::over(paths.to_vec()) };
        let ops = sets.ops();
        assert_eq!(ops.iter().collect::<BTreeSet<_>>().len(), ops.len(), "no op twice");
        ops.len()
    }

    #[test]
    fn counts_are_products_of_the_sets() {
        let cases = [
            ("create", 3),
            ("rename", 3 * 3 * 3),
            ("link", 3 * 3),
            ("write", 3 * 3 * 2),
            ("fallocate", 3 * 2 * 2 * 7),
            ("fsync", 3),
            ("open,fsync", 3 * 2 + 4),
            ("setxattr", 3 * 2),
            ("sync", 1),
            ("default", 3 + 3 * 3 * 2 + 3 * 2 + 3 + 3 + 3 + 27 + 9 + 3 + 1),
        ];
        for (ops, expected) in cases {
            assert_eq!(count(ops), expected, "{ops}");
        }
    }

    #[test]
    fn every_kind_is_proposed() {
        let sets = ArgumentSets { ops: OpSet::ALL, ..ArgumentSets::over(vec![Path::root()]) };
        let kinds: BTreeSet<OpKind> = sets.ops().iter().map(Op::kind).collect();
        assert_eq!(kinds.len(), OpKind::ALL.len());
    }
}
