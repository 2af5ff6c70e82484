//! Extended attributes: namespaces, lengths, permissions, and which check comes first.

use vfs::Errno::{E2BIG, EACCES, EINVAL, ENODATA, ENOENT, EOPNOTSUPP, EPERM, ERANGE};

use super::{Case, case};
use crate::reference::notation::*;

pub fn cases() -> Vec<Case> {
    let file = || vec![create("/f")];
    let long = format!("user.{}", "n".repeat(251));
    let longest = format!("user.{}", "n".repeat(250));
    vec![
        case("set", file(), setxattr("/f", "user.a", 3), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 user.a=[3 x 07]\n"),
        case("replace", [create("/f"), setxattr("/f", "user.a", 3)], setxattr("/f", "user.a", 0), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 user.a=[]\n"),
        case("on a directory", [mkdir("/d")], setxattr("/d", "user.a", 3), DONE),
        case("on the target of a symlink", [create("/f"), symlink("f", "/l")], setxattr("/l", "user.a", 3), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 user.a=[3 x 07]\n  l -> f\n"),
        case("on nothing", [], setxattr("/f", "user.a", 3), fails(ENOENT)),
        case("remove", [create("/f"), setxattr("/f", "user.a", 3)], removexattr("/f", "user.a"), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n"),
        case("remove what is not there", file(), removexattr("/f", "user.a"), fails(ENODATA)),
        case("no name", file(), setxattr("/f", "", 3), fails(ERANGE)),
        case("a name that is too long", file(), setxattr("/f", &long, 3), fails(ERANGE)),
        case("a name of the greatest length", file(), setxattr("/f", &longest, 3), DONE),
        case("a name is worse than a missing file", [], setxattr("/f", "", 3), fails(ERANGE)),
        case("removing no name", file(), removexattr("/f", ""), fails(ERANGE)),
        case("a value that is too long", file(), setxattr("/f", "user.a", 65_537), fails(E2BIG)),
        case("a value is worse than a missing file", [], setxattr("/f", "user.a", 65_537), fails(E2BIG)),
        case("a value of the greatest length", file(), setxattr("/f", "user.a", 65_536), DONE)
            .reference_only("file systems store less"),
        case("a namespace without a name", file(), setxattr("/f", "user.", 3), fails(EINVAL)),
        case("a name without a namespace", file(), setxattr("/f", "a", 3), fails(EOPNOTSUPP)),
        case("an unknown namespace", file(), setxattr("/f", "other.a", 3), fails(EOPNOTSUPP)),
        case("removing from an unknown namespace", file(), removexattr("/f", "other.a"), fails(EOPNOTSUPP)),
        case("system is not for everything", file(), setxattr("/f", "system.a", 3), fails(EOPNOTSUPP)),
        case("trusted is root's", file(), setxattr("/f", "trusted.a", 3), DONE),
        case("and no user's", [create_mode("/f", 0o666)], setxattr("/f", "trusted.a", 3), fails(EPERM)).by(user()),
        case("security is root's", file(), setxattr("/f", "security.a", 3), DONE),
        case("and no user's either", [create_mode("/f", 0o666)], removexattr("/f", "security.a"), fails(EPERM))
            .by(user()),
        case("capabilities are not any bytes", file(), setxattr("/f", "security.capability", 20), fails(EINVAL)),
        case("user needs write permission", file(), setxattr("/f", "user.a", 3), fails(EACCES)).by(user()),
        case("and no ownership", [create_mode("/f", 0o666)], setxattr("/f", "user.a", 3), DONE).by(user()),
        case("permission is worse than an unknown namespace", file(), setxattr("/f", "other.a", 3), fails(EACCES))
            .by(user()),
        case("permission is worse than absence", file(), removexattr("/f", "user.a"), fails(EACCES)).by(user()),
        case(
            "a sticky directory's are its owner's",
            [mkdir("/d"), chmod("/d", 0o1777)],
            setxattr("/d", "user.a", 3),
            fails(EPERM),
        )
        .by(user()),
    ]
}
