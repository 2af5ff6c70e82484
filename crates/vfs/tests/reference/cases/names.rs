//! Names: `mkdir`, `rmdir`, `unlink`, `link`, `symlink`, `rename`, link counts, sticky directories.

use vfs::Errno::{EACCES, EBUSY, EEXIST, EINVAL, EISDIR, EMLINK, ENAMETOOLONG, ENOENT, ENOTDIR, ENOTEMPTY, EPERM};

use super::{Case, case};
use crate::reference::notation::*;

pub fn cases() -> Vec<Case> {
    [making(), removing(), linking(), renaming(), exchanging(), permissions(), link_limits()].concat()
}

fn making() -> Vec<Case> {
    vec![
        case("mkdir counts its parent's links", [mkdir("/d")], mkdir("/d/e"), DONE).leaves("/\n  d/\n    e/\n"),
        case("mkdir over a file", [create("/f")], mkdir("/f"), fails(EEXIST)),
        case("mkdir over a directory with a slash", [mkdir("/d")], mkdir("/d/"), fails(EEXIST)),
        case("mkdir over a dangling symlink", [symlink("d", "/l")], mkdir("/l"), fails(EEXIST)),
        case("mkdir with a slash", [], mkdir("/d/"), DONE),
        case("mkdir of a dangling symlink with a slash", [symlink("d", "/l")], mkdir("/l/"), fails(EEXIST)),
        case("mkdir of the root", [], mkdir("/"), fails(EEXIST)),
        case("mkdir of ..", [mkdir("/d")], mkdir("/d/.."), fails(EEXIST)),
        case("mkdir keeps the sticky bit only", [], mkdir_mode("/d", 0o7777), DONE).leaves("/\n  d/  mode 1777\n"),
        case("mkdir obeys the umask", [], mkdir_mode("/d", 0o1777), DONE).umask(0o027).leaves("/\n  d/  mode 1750\n"),
        case(
            "a set-group-id directory hands down group and bit",
            [mkdir("/d"), chown("/d", None, 2000), chmod("/d", 0o2777)],
            mkdir("/d/e"),
            DONE,
        )
        .by(user())
        .leaves("/\n  d/  mode 2777 gid 2000\n    e/  mode 2755 uid 1000 gid 2000\n"),
        case("symlink over a file", [create("/f")], symlink("t", "/f"), fails(EEXIST)),
        case("symlink over a dangling symlink", [symlink("t", "/l")], symlink("u", "/l"), fails(EEXIST)),
        case("symlink with a slash", [], symlink("t", "/l/"), fails(ENOENT)),
        case("symlink over a directory with a slash", [mkdir("/d")], symlink("t", "/d/"), fails(EEXIST)),
        case("symlink to nothing", [], symlink("", "/l"), fails(ENOENT)),
        case("symlink to too much", [], symlink(&"t".repeat(4096), "/l"), fails(ENAMETOOLONG)),
        case("symlink to as much as there can be", [], symlink(&"t".repeat(4095), "/l"), DONE),
        case("symlink does not obey the umask", [], symlink("t", "/l"), DONE).umask(0o077).leaves("/\n  l -> t\n"),
        case(
            "symlink gets the group of a set-group-id directory",
            [mkdir("/d"), chown("/d", None, 2000), chmod("/d", 0o2777)],
            symlink("t", "/d/l"),
            DONE,
        )
        .by(user())
        .leaves("/\n  d/  mode 2777 gid 2000\n    l -> t  uid 1000 gid 2000\n"),
    ]
}

fn removing() -> Vec<Case> {
    let linked_dir = || vec![mkdir("/d"), symlink("d", "/l")];
    vec![
        case("rmdir", [mkdir("/d"), mkdir("/d/e")], rmdir("/d/e/"), DONE).leaves("/\n  d/\n"),
        case("rmdir of a full directory", [mkdir("/d"), create("/d/f")], rmdir("/d"), fails(ENOTEMPTY)),
        case("rmdir of a file", [create("/f")], rmdir("/f"), fails(ENOTDIR)),
        case("rmdir of a symlink", linked_dir(), rmdir("/l"), fails(ENOTDIR)),
        case("rmdir of a symlink with a slash", linked_dir(), rmdir("/l/"), fails(ENOTDIR)),
        case("rmdir of nothing", [], rmdir("/d"), fails(ENOENT)),
        case("rmdir of the root", [], rmdir("/"), fails(EBUSY)),
        case("rmdir of .", [mkdir("/d")], rmdir("/d/."), fails(EINVAL)),
        case("rmdir of ..", [mkdir("/d")], rmdir("/d/.."), fails(ENOTEMPTY)),
        case("unlink", [create("/f")], unlink("/f"), DONE).leaves("/\n"),
        case("unlink of one of two names", [create("/f"), link("/f", "/g")], unlink("/f"), DONE)
            .leaves("/\n  g  0 bytes  mode 0644 nlink 1\n"),
        case("unlink of a symlink", linked_dir(), unlink("/l"), DONE).leaves("/\n  d/\n"),
        case("unlink of a directory", [mkdir("/d")], unlink("/d"), fails(EISDIR)),
        case("unlink of a directory with a slash", [mkdir("/d")], unlink("/d/"), fails(EISDIR)),
        case("unlink of a file with a slash", [create("/f")], unlink("/f/"), fails(ENOTDIR)),
        case("unlink of a symlink with a slash", linked_dir(), unlink("/l/"), fails(ENOTDIR)),
        case("unlink of nothing with a slash", [], unlink("/f/"), fails(ENOENT)),
        case("unlink of the root", [], unlink("/"), fails(EISDIR)),
        case("unlink of .", [mkdir("/d")], unlink("/d/."), fails(EISDIR)),
    ]
}

fn linking() -> Vec<Case> {
    vec![
        case("link", [create("/f")], link("/f", "/g"), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 2\n  g  same node as /f\n"),
        case("link of a directory", [mkdir("/d")], link("/d", "/e"), fails(EPERM)),
        case("link over a file", [create("/f"), create("/g")], link("/f", "/g"), fails(EEXIST)),
        case("an existing name is worse than a directory", [mkdir("/d")], link("/d", "/d"), fails(EEXIST)),
        case("link over itself", [create("/f")], link("/f", "/f"), fails(EEXIST)),
        case("link of nothing", [], link("/f", "/g"), fails(ENOENT)),
        case("link to a missing directory", [create("/f")], link("/f", "/d/g"), fails(ENOENT)),
        case("link does not follow", [create("/f"), symlink("f", "/l")], link("/l", "/m"), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n  l -> f  nlink 2\n  m  same node as /l\n"),
        case("link of a dangling symlink", [symlink("f", "/l")], link("/l", "/m"), DONE),
        case("a slash makes link follow", [mkdir("/d"), symlink("d", "/l")], link("/l/", "/m"), fails(EPERM)),
        case("link with a slash", [create("/f")], link("/f", "/g/"), fails(ENOENT)),
        case("link of a file with a slash", [create("/f")], link("/f/", "/g"), fails(ENOTDIR)),
    ]
}

fn renaming() -> Vec<Case> {
    let two_files = || vec![create("/f"), append("/f", 1, 1), create("/g")];
    let dir_and_file = || vec![mkdir("/d"), create("/f")];
    let nested = || vec![mkdir("/a"), mkdir("/a/b"), mkdir("/c")];
    vec![
        case("rename", [create("/f")], rename("/f", "/g"), DONE).leaves("/\n  g  0 bytes  mode 0644 nlink 1\n"),
        case("rename replaces", two_files(), rename("/f", "/g"), DONE)
            .leaves("/\n  g  1 bytes: 1 x 01  mode 0644 nlink 1\n"),
        case("rename to itself", [create("/f")], rename("/f", "/f"), DONE),
        case("rename to another name of the same file", [create("/f"), link("/f", "/g")], rename("/f", "/g"), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 2\n  g  same node as /f\n"),
        case(
            "rename of one of two names over a third",
            [create("/f"), link("/f", "/g"), create("/h"), link("/h", "/i")],
            rename("/f", "/h"),
            DONE,
        )
        .leaves("/\n  g  0 bytes  mode 0644 nlink 2\n  h  same node as /g\n  i  0 bytes  mode 0644 nlink 1\n"),
        case("rename of a directory", nested(), rename("/a/b", "/c/b"), DONE).leaves("/\n  a/\n  c/\n    b/\n"),
        case("rename over an empty directory", nested(), rename("/a", "/c"), DONE).leaves("/\n  c/\n    b/\n"),
        case("rename over a full directory", nested(), rename("/c", "/a"), fails(ENOTEMPTY)),
        case("rename into itself", nested(), rename("/a", "/a/b/c"), fails(EINVAL)),
        case("rename onto what is in it", nested(), rename("/a", "/a/b"), fails(EINVAL)),
        case("rename over what it is in", nested(), rename("/a/b", "/a"), fails(ENOTEMPTY)),
        case("rename of a directory over a file", dir_and_file(), rename("/d", "/f"), fails(ENOTDIR)),
        case("rename of a file over a directory", dir_and_file(), rename("/f", "/d"), fails(EISDIR)),
        case(
            "rename of a file over what it is in",
            [mkdir("/d"), create("/d/f")],
            rename("/d/f", "/d"),
            fails(ENOTEMPTY),
        ),
        case("rename of nothing", [], rename("/f", "/g"), fails(ENOENT)),
        case("rename of nothing over something", [create("/g")], rename("/f", "/g"), fails(ENOENT)),
        case("rename to a missing directory", [create("/f")], rename("/f", "/d/f"), fails(ENOENT)),
        case("rename of the root", [], rename("/", "/d"), fails(EBUSY)),
        case("rename over the root", [create("/f")], rename("/f", "/"), fails(EBUSY)),
        case("rename of .", [mkdir("/d")], rename("/d/.", "/e"), fails(EBUSY)),
        case("rename of ..", [mkdir("/d")], rename("/d/..", "/e"), fails(EBUSY)),
        case("rename to ..", [mkdir("/d")], rename("/d", "/d/.."), fails(EBUSY)),
        case("dots are worse than a missing source", [], rename("/f", "/."), fails(EBUSY)),
        case("rename of a file with a slash", [create("/f")], rename("/f/", "/g"), fails(ENOTDIR)),
        case("rename of a file to a slash", [create("/f")], rename("/f", "/g/"), fails(ENOTDIR)),
        case("rename of a directory to a slash", [mkdir("/d")], rename("/d/", "/e/"), DONE),
        case("rename does not follow", [create("/f"), symlink("f", "/l")], rename("/l", "/m"), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n  m -> f\n"),
        case(
            "rename of a symlink with a slash",
            [mkdir("/d"), symlink("d", "/l")],
            rename("/l/", "/m"),
            fails(ENOTDIR),
        ),
        case(
            "rename replaces a symlink, not its target",
            [create("/f"), create("/g"), symlink("g", "/l")],
            rename("/f", "/l"),
            DONE,
        )
        .leaves("/\n  g  0 bytes  mode 0644 nlink 1\n  l  0 bytes  mode 0644 nlink 1\n"),
        case("no-replace to a new name", [create("/f")], rename_new("/f", "/g"), DONE),
        case("no-replace over a file", two_files(), rename_new("/f", "/g"), fails(EEXIST)),
        case("no-replace to itself", [create("/f")], rename_new("/f", "/f"), fails(EEXIST)),
        case("no-replace over the root", [create("/f")], rename_new("/f", "/"), fails(EEXIST)),
        case("no-replace of nothing", [create("/g")], rename_new("/f", "/g"), fails(ENOENT)),
        case("no-replace into itself", nested(), rename_new("/a", "/a/c"), fails(EINVAL)),
    ]
}

fn exchanging() -> Vec<Case> {
    let nested = || vec![mkdir("/a"), mkdir("/a/b"), create("/a/b/f"), create("/g"), append("/g", 1, 1)];
    vec![
        case("exchange", [create("/f"), mkdir("/d"), mkdir("/d/e")], exchange("/f", "/d/e"), DONE)
            .leaves("/\n  d/\n    e  0 bytes  mode 0644 nlink 1\n  f/\n"),
        case("exchange of directories", [mkdir("/d"), create("/d/f"), mkdir("/e")], exchange("/d", "/e"), DONE)
            .leaves("/\n  d/\n  e/\n    f  0 bytes  mode 0644 nlink 1\n"),
        case("exchange needs both", [create("/f")], exchange("/f", "/g"), fails(ENOENT)),
        case("exchange needs both, the other way", [create("/g")], exchange("/f", "/g"), fails(ENOENT)),
        case("exchange with itself", [create("/f")], exchange("/f", "/f"), DONE),
        case("exchange with what is below", nested(), exchange("/a", "/a/b/f"), fails(EINVAL)),
        case("exchange with what is above", nested(), exchange("/a/b/f", "/a"), fails(EINVAL)),
        case("exchange across directories", nested(), exchange("/a/b/f", "/g"), DONE)
            .leaves("/\n  a/\n    b/\n      f  1 bytes: 1 x 01  mode 0644 nlink 1\n  g  0 bytes  mode 0644 nlink 1\n"),
        case("exchange of a file with a slash", nested(), exchange("/a", "/g/"), fails(ENOTDIR)),
        case("exchange of a directory with a slash", nested(), exchange("/g", "/a/"), DONE),
        case("exchange from a file with a slash", nested(), exchange("/g/", "/a"), fails(ENOTDIR)),
        case("exchange of the root", nested(), exchange("/g", "/"), fails(EBUSY)),
    ]
}

fn permissions() -> Vec<Case> {
    let sticky = || vec![mkdir("/t"), chmod("/t", 0o1777), create("/t/f"), mkdir("/t/d")];
    let own = |setup: Vec<vfs::Op>, path: &str| [setup, vec![chown(path, 1000, 1000)]].concat();
    let readable = || vec![mkdir("/d"), create("/d/f"), mkdir("/d/e")];
    let open_dirs = || vec![mkdir_mode("/a", 0o777), mkdir_mode("/b", 0o777), mkdir("/a/d")];
    vec![
        case("mkdir needs a writable directory", [], mkdir("/d"), fails(EACCES)).by(user()),
        case("symlink does too", [], symlink("t", "/l"), fails(EACCES)).by(user()),
        case("link does too", [create_mode("/f", 0o666)], link("/f", "/g"), fails(EACCES)).by(user()),
        case("existence comes before permission", [mkdir("/d")], mkdir("/d"), fails(EEXIST)).by(user()),
        case("unlink needs a writable directory", readable(), unlink("/d/f"), fails(EACCES)).by(user()),
        case("missing is worse than forbidden", readable(), unlink("/d/g"), fails(ENOENT)).by(user()),
        case("forbidden is worse than a directory", readable(), unlink("/d/e"), fails(EACCES)).by(user()),
        case("forbidden is worse than no directory", readable(), rmdir("/d/f"), fails(EACCES)).by(user()),
        case(
            "rename needs both directories writable",
            [mkdir_mode("/a", 0o777), create("/a/f")],
            rename("/a/f", "/f"),
            fails(EACCES),
        )
        .by(user()),
        case("rename to the same file needs nothing", [create("/f"), link("/f", "/g")], rename("/f", "/g"), DONE)
            .by(user()),
        case("a directory that moves must be writable", open_dirs(), rename("/a/d", "/b/d"), fails(EACCES)).by(user()),
        case("but not within its directory", open_dirs(), rename("/a/d", "/a/e"), DONE).by(user()),
        case(
            "exchange moves both",
            [open_dirs(), vec![mkdir_mode("/b/w", 0o777)]].concat(),
            exchange("/b/w", "/a/d"),
            fails(EACCES),
        )
        .by(user()),
        case("sticky: others' files stay", sticky(), unlink("/t/f"), fails(EPERM)).by(user()),
        case("sticky: others' directories stay", sticky(), rmdir("/t/d"), fails(EPERM)).by(user()),
        case("sticky: others' names stay", sticky(), rename("/t/f", "/t/g"), fails(EPERM)).by(user()),
        case("sticky is worse than a directory", sticky(), unlink("/t/d"), fails(EPERM)).by(user()),
        case("sticky: one's own file goes", own(sticky(), "/t/f"), unlink("/t/f"), DONE).by(user()),
        case("sticky: the directory's owner may", own(sticky(), "/t"), unlink("/t/f"), DONE).by(user()),
        case(
            "sticky: others' files are not replaced",
            [sticky(), vec![create("/t/g"), chown("/t/g", 1000, 1000)]].concat(),
            rename("/t/g", "/t/f"),
            fails(EPERM),
        )
        .by(user()),
        case("sticky: root may", sticky(), unlink("/t/f"), DONE),
        case("others' files can be linked", [chmod("/", 0o777), create("/f")], link("/f", "/g"), DONE)
            .by(user())
            .reference_only("depends on fs.protected_hardlinks"),
        case("unless hard links are protected", [chmod("/", 0o777), create("/f")], link("/f", "/g"), fails(EPERM))
            .by(user())
            .with(|config| config.protected_hardlinks = true),
        case(
            "which spares what may be read and written",
            [chmod("/", 0o777), create_mode("/f", 0o666)],
            link("/f", "/g"),
            DONE,
        )
        .by(user())
        .with(|config| config.protected_hardlinks = true),
        case("but no programs", [chmod("/", 0o777), create_mode("/f", 0o4777)], link("/f", "/g"), fails(EPERM))
            .by(user())
            .with(|config| config.protected_hardlinks = true),
    ]
}

fn link_limits() -> Vec<Case> {
    let few = |config: &mut vfs::Config| config.link_max = 3;
    let nested = || vec![mkdir("/d"), mkdir("/d/e"), mkdir("/f")];
    vec![
        case(
            "a file has so many names",
            [create("/f"), link("/f", "/g"), link("/f", "/h")],
            link("/f", "/i"),
            fails(EMLINK),
        )
        .with(few),
        case("a directory has so many directories", nested(), mkdir("/d/g"), fails(EMLINK)).with(few),
        case("rename does not go beyond", nested(), rename("/f", "/d/f"), fails(EMLINK)).with(few),
        case("rename may replace a directory", nested(), rename("/f", "/d/e"), DONE).with(few),
        case(
            "exchange does not go beyond",
            [nested(), vec![create("/d/g")]].concat(),
            exchange("/d/g", "/f"),
            fails(EMLINK),
        )
        .with(few)
        .then(exchange("/f", "/d/g"), fails(EMLINK))
        .then(exchange("/f", "/d/e"), DONE),
    ]
}
