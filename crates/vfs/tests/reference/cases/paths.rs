//! Walking a path: what is not there, what is not a directory, dots, slashes, symlinks, lengths, search permission.

use vfs::Errno::{EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR};

use super::{Case, case};
use crate::reference::notation::*;

/// A chain of symlinks `/l1 -> l0`, `/l2 -> l1`, ... that ends in a file.
fn chain(length: usize) -> Vec<vfs::Op> {
    let links = (1..=length).map(|n| symlink(&format!("l{}", n - 1), &format!("/l{n}")));
    std::iter::once(create("/l0")).chain(links).collect()
}

pub fn cases() -> Vec<Case> {
    let dir_and_file = || vec![mkdir("/d"), create("/d/f")];
    let long = "n".repeat(256);
    let longest = "n".repeat(255);
    let deep = format!("/{}", "d/".repeat(2048));
    vec![
        case("a missing directory", [], create("/d/f"), fails(ENOENT)),
        case("a file is no directory", [create("/f")], create("/f/g"), fails(ENOTDIR)),
        case("a file is no directory even for ..", [create("/f")], chmod("/f/../f", 0), fails(ENOTDIR)),
        case("a missing directory even for ..", [], chmod("/d/..", 0), fails(ENOENT)),
        case("dots and empty components", dir_and_file(), chmod("//d/.///../d/./f", 0o600), DONE),
        case("above the root is the root", [create("/f")], chmod("/../../f", 0o600), DONE),
        case("a trailing slash asks for a directory", [create("/f")], chmod("/f/", 0), fails(ENOTDIR)),
        case("a directory may have trailing slashes", [mkdir("/d")], chmod("/d//", 0o700), DONE),
        case("the root has many spellings", [], chmod("///.", 0o755), DONE),
        case("names have a limit", [], create(&format!("/{long}")), fails(ENAMETOOLONG)),
        case("a name of the greatest length", [], create(&format!("/{longest}")), DONE),
        case("a long name in a missing directory", [], create(&format!("/d/{long}")), fails(ENOENT)),
        case("a long name below a file", [create("/f")], create(&format!("/f/{long}")), fails(ENOTDIR)),
        case("paths have a limit, before anything is looked up", [], create(&deep), fails(ENAMETOOLONG)),
        case("no system call passes a zero byte", [], symlink("a\0b", "/a"), fails(EINVAL)),
        case("a symlink in the middle", [mkdir("/d"), symlink("d", "/l")], create("/l/f"), DONE),
        case("an absolute symlink", [mkdir("/d"), symlink("/d", "/d/l")], create("/d/l/f"), DONE)
            .leaves("/\n  d/\n    f  0 bytes  mode 0644 nlink 1\n    l -> /d\n"),
        case(
            "a relative symlink starts where it stands",
            [mkdir("/d"), symlink("f", "/d/l"), create("/d/f")],
            chmod("/d/l", 0o600),
            DONE,
        )
        .leaves("/\n  d/\n    f  0 bytes  mode 0600 nlink 1\n    l -> f\n"),
        case(
            ".. after a symlink goes up from its target",
            [mkdir("/d"), mkdir("/d/e"), symlink("d/e", "/l")],
            create("/l/../f"),
            DONE,
        )
        .leaves("/\n  d/\n    e/\n    f  0 bytes  mode 0644 nlink 1\n  l -> d/e\n"),
        case("a symlink to a file is no directory", [create("/f"), symlink("f", "/l")], create("/l/g"), fails(ENOTDIR)),
        case("a symlink to itself", [symlink("l", "/l")], chmod("/l", 0), fails(ELOOP)),
        case("a symlink to itself in the middle", [symlink("l", "/l")], create("/l/f"), fails(ELOOP)),
        case("forty symlinks", chain(40), chmod("/l40", 0o600), DONE),
        case("forty-one symlinks", chain(41), chmod("/l41", 0o600), fails(ELOOP)),
        case("a dangling symlink", [symlink("f", "/l")], chmod("/l", 0), fails(ENOENT)),
        case(
            "a symlink that asks for a directory",
            [create("/f"), symlink("f/", "/l")],
            chmod("/l", 0),
            fails(ENOTDIR),
        ),
        case("a symlink to the root", [symlink("/", "/l")], create("/l/f"), DONE),
        case(
            "a directory needs search permission",
            [mkdir_mode("/d", 0o700), create("/d/f")],
            read("/d/f", 0, 1),
            fails(EACCES),
        )
        .by(user()),
        case("search permission comes before existence", [mkdir_mode("/d", 0o700)], read("/d/f", 0, 1), fails(EACCES))
            .by(user()),
        case(
            "search permission comes before length",
            [mkdir_mode("/d", 0o700)],
            read(format!("/d/{long}").as_str(), 0, 1),
            fails(EACCES),
        )
        .by(user()),
        case("search permission even for .", [mkdir_mode("/d", 0o600)], fsync("/d/."), fails(EACCES)).by(user()),
        case("search is not reading", [mkdir_mode("/d", 0o711), create("/d/f")], read("/d/f", 0, 1), bytes(&[]))
            .by(user()),
        case(
            "the group decides, not the others",
            [mkdir_mode("/d", 0o705), chown("/d", None, 1000), create("/d/f")],
            read("/d/f", 0, 1),
            fails(EACCES),
        )
        .by(user()),
        case(
            "a supplementary group counts",
            [mkdir_mode("/d", 0o750), chown("/d", None, 2000), create("/d/f")],
            read("/d/f", 0, 1),
            bytes(&[]),
        )
        .by(user()),
        case(
            "the owner decides, not the group",
            [mkdir_mode("/d", 0o077), chown("/d", 1000, 1000)],
            read("/d/f", 0, 1),
            fails(EACCES),
        )
        .by(user()),
        case("root needs no permission", [mkdir_mode("/d", 0o000)], create("/d/f"), DONE),
        case("a new name that is no name", [mkdir("/d")], mkdir("/d/."), fails(EEXIST)),
        case("a new name that is the root", [], symlink("t", "/"), fails(EEXIST)),
    ]
}
