//! `open`: flags and what they make of each other; slots; files that are open without a name.

use vfs::{
    Errno::{EACCES, EBADF, EEXIST, EINVAL, EISDIR, ELOOP, ENOENT, ENOTDIR},
    Op, OpenFlags,
};

use super::{Case, case};
use crate::reference::notation::*;

const RDONLY: OpenFlags = OpenFlags::RDONLY;
const WRONLY: OpenFlags = OpenFlags::WRONLY;
const RDWR: OpenFlags = OpenFlags::RDWR;
const CREAT: OpenFlags = OpenFlags::CREAT;
const EXCL: OpenFlags = OpenFlags::EXCL;
const TRUNC: OpenFlags = OpenFlags::TRUNC;
const DIRECTORY: OpenFlags = OpenFlags::DIRECTORY;
const NOFOLLOW: OpenFlags = OpenFlags::NOFOLLOW;

pub fn cases() -> Vec<Case> {
    [creating(), existing(), directories_and_links(), slots(), nameless()].concat()
}

fn creating() -> Vec<Case> {
    vec![
        case("a missing file", [], open("/f", RDONLY, 1), fails(ENOENT)),
        case("a missing file is created", [], open("/f", CREAT, 1), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n"),
        case("EXCL without CREAT means nothing", [create("/f")], open("/f", EXCL, 1), DONE),
        case("EXCL refuses a file", [create("/f")], open("/f", CREAT | EXCL, 1), fails(EEXIST)),
        case("EXCL refuses a directory", [mkdir("/d")], open("/d", CREAT | EXCL, 1), fails(EEXIST)),
        case("EXCL refuses a dangling symlink", [symlink("f", "/l")], open("/l", CREAT | EXCL, 1), fails(EEXIST)),
        case("EXCL refuses the root", [], open("/", CREAT | EXCL, 1), fails(EEXIST)),
        case("a dangling symlink creates its target", [symlink("f", "/l")], open("/l", CREAT, 1), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n  l -> f\n"),
        case("a dangling symlink into nowhere", [symlink("d/f", "/l")], open("/l", CREAT, 1), fails(ENOENT)),
        case(
            "a dangling symlink that asks for a directory",
            [symlink("f/", "/l")],
            open("/l", CREAT, 1),
            fails(EISDIR),
        ),
        case(
            "NOFOLLOW refuses a dangling symlink",
            [symlink("f", "/l")],
            open("/l", CREAT | NOFOLLOW, 1),
            fails(ELOOP),
        ),
        case("a file cannot be created with a slash", [], open("/f/", CREAT, 1), fails(EISDIR)),
        case("the slash counts before EXCL", [mkdir("/d")], open("/d/", CREAT | EXCL, 1), fails(EISDIR)),
        case("creating a directory is not open's", [mkdir("/d")], open("/d", CREAT, 1), fails(EISDIR)),
        case("creating what is there and dotted", [mkdir("/d")], open("/d/..", CREAT, 1), fails(EISDIR)),
        case("CREAT and DIRECTORY exclude each other", [], open("/d", CREAT | DIRECTORY, 1), fails(EINVAL)),
        case("unknown flags are refused", [create("/f")], open("/f", OpenFlags(0o20_000_000), 1), fails(EINVAL))
            .reference_only("a kernel has more flags than the vocabulary"),
        case("create is exclusive", [create("/f")], create("/f"), fails(EEXIST)),
        case("the umask takes bits away", [], create_mode("/f", 0o6777), DONE)
            .umask(0o027)
            .leaves("/\n  f  0 bytes  mode 6750 nlink 1\n"),
        case("creating needs a writable directory", [], create("/f"), fails(EACCES)).by(user()),
        case("existence comes before permission", [create_mode("/f", 0o600)], create("/f"), fails(EEXIST)).by(user()),
        case("the creator may open what nobody may", [chmod("/", 0o777)], open_mode("/f", CREAT | RDWR, 0), DONE)
            .by(user())
            .then(write(1, 0, 1, 1), count(1))
            .then(read("/f", 0, 1), fails(EACCES)),
        case(
            "a set-group-id directory hands down its group",
            [mkdir("/d"), chown("/d", None, 2000), chmod("/d", 0o2777)],
            create_mode("/d/f", 0o2755),
            DONE,
        )
        .by(user())
        .leaves("/\n  d/  mode 2777 gid 2000\n    f  0 bytes  mode 2755 nlink 1 uid 1000 gid 2000\n"),
        case(
            "but makes no program of a foreign group",
            [mkdir("/d"), chown("/d", None, 3000), chmod("/d", 0o2777)],
            create_mode("/d/f", 0o2755),
            DONE,
        )
        .by(user())
        .leaves("/\n  d/  mode 2777 gid 3000\n    f  0 bytes  mode 0755 nlink 1 uid 1000 gid 3000\n"),
    ]
}

fn existing() -> Vec<Case> {
    let file = || vec![create("/f"), write("/f", 0, 10, 1)];
    vec![
        case("TRUNC empties", file(), open("/f", WRONLY | TRUNC, 1), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n"),
        case("TRUNC empties even for reading", file(), open("/f", RDONLY | TRUNC, 1), DONE)
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n"),
        case("TRUNC needs write permission", file(), open("/f", RDONLY | TRUNC, 1), fails(EACCES)).by(user()),
        case("CREAT leaves contents", file(), open("/f", CREAT | WRONLY, 1), DONE)
            .leaves("/\n  f  10 bytes: 10 x 01  mode 0644 nlink 1\n"),
        case("TRUNC of a user clears set-id bits", [create_mode("/f", 0o6777)], open("/f", WRONLY | TRUNC, 1), DONE)
            .by(user())
            .leaves("/\n  f  0 bytes  mode 0777 nlink 1\n"),
        case("reading needs permission", [create_mode("/f", 0o600)], open("/f", RDONLY, 1), fails(EACCES)).by(user()),
        case("writing needs permission", file(), open("/f", RDWR, 1), fails(EACCES)).by(user()),
        case("access mode 3 asks for both", file(), open("/f", OpenFlags(3), 1), fails(EACCES)).by(user()),
        case("access mode 3 gives neither", file(), open("/f", OpenFlags(3), 1), DONE)
            .then(read(1, 0, 1), fails(EBADF))
            .then(write(1, 0, 1, 1), fails(EBADF))
            .then(fsync(1), DONE),
    ]
}

fn directories_and_links() -> Vec<Case> {
    let linked_dir = || vec![mkdir("/d"), symlink("d", "/l")];
    let linked_file = || vec![create("/f"), symlink("f", "/l")];
    vec![
        case("a directory opens for reading", [mkdir("/d")], open("/d", RDONLY, 1), DONE),
        case("not for writing", [mkdir("/d")], open("/d", WRONLY, 1), fails(EISDIR)),
        case("nor to be truncated", [mkdir("/d")], open("/d", TRUNC, 1), fails(EISDIR)),
        case(
            "writing a directory is worse than no permission",
            [mkdir_mode("/d", 0)],
            open("/d", RDWR, 1),
            fails(EISDIR),
        )
        .by(user()),
        case("nor directly", [mkdir("/d")], open("/d", OpenFlags::DIRECT, 1), fails(EINVAL))
            .reference_only("tmpfs opens directories directly"),
        case("the root opens", [], open("/", DIRECTORY, 1), DONE),
        case("DIRECTORY refuses a file", [create("/f")], open("/f", DIRECTORY, 1), fails(ENOTDIR)),
        case("a slash refuses a file", [create("/f")], open("/f/", RDONLY, 1), fails(ENOTDIR)),
        case("NOFOLLOW refuses a symlink", linked_file(), open("/l", NOFOLLOW, 1), fails(ELOOP)),
        case("NOFOLLOW is about the last component", linked_dir(), open("/l/.", NOFOLLOW, 1), DONE),
        case("a slash follows in spite of NOFOLLOW", linked_dir(), open("/l/", NOFOLLOW, 1), DONE),
        case("DIRECTORY and NOFOLLOW on a symlink", linked_dir(), open("/l", DIRECTORY | NOFOLLOW, 1), fails(ENOTDIR)),
        case("DIRECTORY follows", linked_dir(), open("/l", DIRECTORY, 1), DONE),
    ]
}

fn slots() -> Vec<Case> {
    let two = || vec![create("/f"), create("/g"), open("/f", RDWR, 1)];
    vec![
        case("an empty slot cannot be closed", [], close(1), fails(EBADF)),
        case("a slot is empty after close", [create("/f"), open("/f", RDWR, 1)], close(1), DONE)
            .then(close(1), fails(EBADF))
            .then(read(1, 0, 1), fails(EBADF)),
        case("opening replaces what a slot held", two(), open("/g", RDWR, 1), DONE)
            .then(write(1, 0, 1, 2), count(1))
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n  g  1 bytes: 1 x 02  mode 0644 nlink 1\n"),
        case("a failed open leaves the slot", two(), open("/missing", RDWR, 1), fails(ENOENT))
            .then(write(1, 0, 1, 2), count(1))
            .leaves("/\n  f  1 bytes: 1 x 02  mode 0644 nlink 1\n  g  0 bytes  mode 0644 nlink 1\n"),
        case("a remount empties all slots", two(), Op::Remount, DONE).then(fsync(1), fails(EBADF)),
        case("so does a crash", two(), Op::Crash, DONE).then(fsync(1), fails(EBADF)),
        case("fsync of an empty slot", [], fsync(1), fails(EBADF)),
        case("fdatasync of an empty slot", [], fdatasync(1), fails(EBADF)),
        case("msync of an empty slot", [], msync(1, 0, 1), fails(EBADF)),
        case("fsync of a directory", [mkdir("/d")], fsync("/d"), DONE),
        case("fsync of what may not be read", [create_mode("/f", 0o600)], fsync("/f"), fails(EACCES)).by(user()),
        case("fsync through a slot for writing", [create("/f"), open("/f", WRONLY, 1)], fsync(1), DONE),
        case("sync", [], Op::Sync, DONE).then(Op::Syncfs, DONE),
    ]
}

fn nameless() -> Vec<Case> {
    let unlinked = || vec![create("/f"), write("/f", 0, 4, 1), open("/f", RDWR, 1), unlink("/f")];
    vec![
        case("an unlinked file can still be read", unlinked(), read(1, 0, 9), bytes(&[(4, 1)])).leaves("/\n"),
        case("and written", unlinked(), append(1, 2, 2), count(2)).then(read(1, 0, 9), bytes(&[(4, 1), (2, 2)])),
        case("and truncated", unlinked(), truncate(1, 1), DONE).then(read(1, 0, 9), bytes(&[(1, 1)])),
        case("and its name used again", unlinked(), create("/f"), DONE)
            .then(append(1, 1, 3), count(1))
            .leaves("/\n  f  0 bytes  mode 0644 nlink 1\n"),
        case(
            "a replaced file lives on too",
            [create("/f"), append("/f", 1, 1), create("/g"), open("/f", RDWR, 1)],
            rename("/g", "/f"),
            DONE,
        )
        .then(read(1, 0, 9), bytes(&[(1, 1)])),
        case("it has no capacity left to take after close", unlinked(), close(1), DONE)
            .then(create("/g"), DONE)
            .then(append("/g", 4, 1), count(4))
            .with(|config| config.capacity = Some(4)),
        case("until then it takes some", unlinked(), create("/g"), DONE)
            .then(append("/g", 4, 1), fails(vfs::Errno::ENOSPC))
            .with(|config| config.capacity = Some(4)),
        case("a removed directory can be synced", [mkdir("/d"), open("/d", RDONLY, 1), rmdir("/d")], fsync(1), DONE),
    ]
}
