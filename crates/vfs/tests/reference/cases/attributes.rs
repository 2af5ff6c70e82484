//! `chmod` and `chown`: who may, and what becomes of set-id bits.

use vfs::Errno::{ENOENT, EPERM};

use super::{Case, case};
use crate::reference::notation::*;

pub fn cases() -> Vec<Case> {
    let own = |mode| vec![create("/f"), chown("/f", 1000, 1000), chmod("/f", mode)];
    vec![
        case("chmod sets twelve bits", [create("/f")], chmod("/f", 0o107_777), DONE)
            .leaves("/\n  f  0 bytes  mode 7777 nlink 1\n"),
        case("chmod follows symlinks", [create("/f"), symlink("f", "/l")], chmod("/l", 0o600), DONE)
            .leaves("/\n  f  0 bytes  mode 0600 nlink 1\n  l -> f\n"),
        case("chmod of nothing", [], chmod("/f", 0), fails(ENOENT)),
        case("chmod is the owner's", [create_mode("/f", 0o666)], chmod("/f", 0o777), fails(EPERM)).by(user()),
        case("chmod by the owner", own(0o644), chmod("/f", 0o4700), DONE)
            .by(user())
            .leaves("/\n  f  0 bytes  mode 4700 nlink 1 uid 1000 gid 1000\n"),
        case(
            "chmod by the owner keeps set-group-id of a group of his",
            [own(0o644), vec![chown("/f", None, 2000)]].concat(),
            chmod("/f", 0o2755),
            DONE,
        )
        .by(user())
        .leaves("/\n  f  0 bytes  mode 2755 nlink 1 uid 1000 gid 2000\n"),
        case(
            "and loses it with a foreign group",
            [own(0o644), vec![chown("/f", None, 3000)]].concat(),
            chmod("/f", 0o2755),
            DONE,
        )
        .by(user())
        .leaves("/\n  f  0 bytes  mode 0755 nlink 1 uid 1000 gid 3000\n"),
        case("on directories too", [mkdir("/d"), chown("/d", 1000, 3000)], chmod("/d", 0o2755), DONE)
            .by(user())
            .leaves("/\n  d/  uid 1000 gid 3000\n"),
        case("root keeps it with any group", [create("/f"), chown("/f", None, 3000)], chmod("/f", 0o2755), DONE)
            .leaves("/\n  f  0 bytes  mode 2755 nlink 1 gid 3000\n"),
        case("chown sets both", [create("/f")], chown("/f", 1, 2), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 uid 1 gid 2\n"),
        case("all bits set leaves it", [create("/f")], chown("/f", u32::MAX, 2), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 gid 2\n"),
        case("chown follows symlinks", [create("/f"), symlink("f", "/l")], chown("/l", 1, None), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1 uid 1\n  l -> f\n"),
        case("a file is not given away", own(0o644), chown("/f", 1001, None), fails(EPERM)).by(user()),
        case("but may be given to oneself", own(0o644), chown("/f", 1000, None), DONE).by(user()),
        case("a file is not taken", [create_mode("/f", 0o666)], chown("/f", 1000, None), fails(EPERM)).by(user()),
        case("its group may be one of the owner's", own(0o644), chown("/f", None, 2000), DONE).by(user()),
        case("but no other", own(0o644), chown("/f", None, 3000), fails(EPERM)).by(user()),
        case("nor for others", [create_mode("/f", 0o666)], chown("/f", None, 1000), fails(EPERM)).by(user()),
        case("changing nothing needs no right", [create("/f")], chown("/f", None, None), DONE).by(user()),
        case("unless bits would go", [create_mode("/f", 0o4755)], chown("/f", None, None), fails(EPERM)).by(user()),
        case("chown clears set-id bits, root's too", [create_mode("/f", 0o6755)], chown("/f", 1, None), DONE)
            .leaves("/\n  f  0 bytes  mode 0755 nlink 1 uid 1\n"),
        case("even if it changes nothing", [create_mode("/f", 0o6755)], chown("/f", None, None), DONE)
            .leaves("/\n  f  0 bytes  mode 0755 nlink 1\n"),
        case("set-group-id without execution stays", [create_mode("/f", 0o6745)], chown("/f", 1, None), DONE)
            .leaves("/\n  f  0 bytes  mode 2745 nlink 1 uid 1\n"),
        case("directories keep theirs", [mkdir("/d"), chmod("/d", 0o6755)], chown("/d", 1, None), DONE)
            .leaves("/\n  d/  mode 6755 uid 1\n"),
    ]
}
