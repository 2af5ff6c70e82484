//! Ops that name what they work on by path alone.

use rustix::{
    fs::{
        AtFlags, CWD, Gid, Mode, RenameFlags, Uid, XattrFlags, chmodat, chownat, linkat, mkdirat, removexattr,
        renameat_with, rmdir, setxattr, symlinkat, unlink,
    },
    io,
};
use vfs::{Op, Rename};

/// Does such an op; `None` if it is another one.
pub(crate) fn run(op: &Op) -> Option<io::Result<()>> {
    Some(match op {
        Op::Mkdir { path, mode } => mkdirat(CWD, path.as_str(), Mode::from_bits_retain(*mode)),
        Op::Rmdir { path } => rmdir(path.as_str()),
        Op::Unlink { path } => unlink(path.as_str()),
        Op::Rename { from, to, how } => renameat_with(CWD, from.as_str(), CWD, to.as_str(), flags(*how)),
        Op::Link { from, to } => linkat(CWD, from.as_str(), CWD, to.as_str(), AtFlags::empty()),
        Op::Symlink { target, path } => symlinkat(&**target, CWD, path.as_str()),
        Op::Chmod { path, mode } => chmodat(CWD, path.as_str(), Mode::from_bits_retain(*mode), AtFlags::empty()),
        Op::Chown { path, uid, gid } => {
            // The number that means "as it is" in the system call is refused by the wrapper, which has `None` for it.
            let given = |id: &Option<u32>| id.filter(|id| *id != u32::MAX);
            let (uid, gid) = (given(uid).map(Uid::from_raw), given(gid).map(Gid::from_raw));
            chownat(CWD, path.as_str(), uid, gid, AtFlags::empty())
        }
        Op::Setxattr { path, name, value } => usize::try_from(value.len)
            .map_err(|_| io::Errno::TOOBIG)
            .and_then(|len| setxattr(path.as_str(), &**name, &vec![value.fill; len], XattrFlags::empty())),
        Op::Removexattr { path, name } => removexattr(path.as_str(), &**name),
        _ => return None,
    })
}

fn flags(how: Rename) -> RenameFlags {
    match how {
        Rename::Replace => RenameFlags::empty(),
        Rename::NoReplace => RenameFlags::NOREPLACE,
        Rename::Exchange => RenameFlags::EXCHANGE,
    }
}
