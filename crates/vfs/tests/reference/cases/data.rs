//! Contents: `read`, `write` by every way, `truncate`, `fallocate`, limits.

use vfs::{
    Errno::{EACCES, EBADF, EFBIG, EINVAL, EISDIR, ENOENT, ENOSPC, EOVERFLOW},
    Fallocate::{Allocate, CollapseRange, InsertRange, KeepSize, PunchHole, ZeroRange, ZeroRangeKeepSize},
    Op, OpenFlags,
};

use super::{Case, case};
use crate::reference::notation::*;

const RDONLY: OpenFlags = OpenFlags::RDONLY;
const WRONLY: OpenFlags = OpenFlags::WRONLY;
const RDWR: OpenFlags = OpenFlags::RDWR;
const NEGATIVE: u64 = 1 << 63;

pub fn cases() -> Vec<Case> {
    [reading(), writing(), mapped(), direct(), sizes(), ranges(), limits(), set_id()].concat()
}

/// `/f` with 10 bytes of 1, open in slot 1.
fn file(flags: OpenFlags) -> Vec<Op> {
    vec![create("/f"), write("/f", 0, 10, 1), open("/f", flags, 1)]
}

fn reading() -> Vec<Case> {
    vec![
        case("a read is short at the end", file(RDONLY), read(1, 8, 100), bytes(&[(2, 1)])),
        case("a read at the end is empty", file(RDONLY), read(1, 10, 1), bytes(&[])),
        case("a read past the end is empty", file(RDONLY), read(1, 1000, 1), bytes(&[])),
        case("a read of nothing", file(RDONLY), read(1, 0, 0), bytes(&[])),
        case("a read through a slot for writing", file(WRONLY), read(1, 0, 1), fails(EBADF)),
        case("a read of a directory", [mkdir("/d")], read("/d", 0, 1), fails(EISDIR)),
        case("a read at a negative offset", file(RDONLY), read(1, NEGATIVE, 1), fails(EINVAL)),
        case("a negative offset is worse than no slot", [], read(2, NEGATIVE, 1), fails(EINVAL)),
        case("a missing path is worse than a negative offset", [], read("/g", NEGATIVE, 1), fails(ENOENT)),
        case("a range that wraps around", file(RDONLY), read(1, NEGATIVE - 1, 2), fails(EINVAL)),
        case("a range that wraps around a directory", [mkdir("/d")], read("/d", NEGATIVE - 1, 2), fails(EINVAL)),
    ]
}

fn writing() -> Vec<Case> {
    vec![
        case("a write in the middle", file(RDWR), write(1, 2, 3, 2), count(3))
            .then(read(1, 0, 99), bytes(&[(2, 1), (3, 2), (5, 1)])),
        case("a write past the end leaves a hole", file(RDWR), write(1, 12, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 0), (2, 2)])),
        case("a write of nothing does nothing", file(RDWR), write(1, 100, 0, 2), count(0))
            .then(read(1, 0, 99), bytes(&[(10, 1)])),
        case("a write at the end", file(RDWR), append(1, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 2)])),
        case("O_APPEND ignores the offset", file(RDWR | OpenFlags::APPEND), write(1, 0, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 2)])),
        case("a write through a slot for reading", file(RDONLY), write(1, 0, 1, 2), fails(EBADF)),
        case("even of nothing", file(RDONLY), write(1, 0, 0, 2), fails(EBADF)),
        case("a write through an empty slot", [], write(1, 0, 1, 2), fails(EBADF)),
        case("a write through a directory", [open("/", RDONLY, 1)], write(1, 0, 1, 2), fails(EBADF)),
        case("a write to a directory", [mkdir("/d")], write("/d", 0, 1, 2), fails(EISDIR)),
        case("a write at a negative offset", file(RDWR), write(1, NEGATIVE, 1, 2), fails(EINVAL)),
        case("a write that wraps around", file(RDWR), write(1, NEGATIVE - 1, 2, 2), fails(EINVAL)),
        case("a write through a symlink", [create("/f"), symlink("f", "/l")], write("/l", 0, 1, 2), count(1))
            .leaves("/\n  f  1 bytes: 1 x 02  mode 0644 nlink 1\n  l -> f\n"),
        case("a write without permission", file(RDONLY), write("/f", 0, 1, 2), fails(EACCES)).by(user()),
        case(
            "a slot keeps its permission",
            [create_mode("/f", 0o666), open("/f", RDWR, 1), chmod("/f", 0)],
            write(1, 0, 1, 2),
            count(1),
        )
        .by(user()),
    ]
}

fn mapped() -> Vec<Case> {
    vec![
        case("a store within the file", file(RDWR), write_mapped(1, 2, 3, 2), count(3))
            .then(read(1, 0, 99), bytes(&[(2, 1), (3, 2), (5, 1)])),
        case("a store past the end extends first", file(RDWR), write_mapped(1, 12, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 0), (2, 2)])),
        case("a store at the end", file(RDWR), append_mapped(1, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 2)])),
        case("a store does not care for O_APPEND", file(RDWR | OpenFlags::APPEND), write_mapped(1, 0, 2, 2), count(2))
            .then(read(1, 0, 99), bytes(&[(2, 2), (8, 1)])),
        case("nothing cannot be mapped", file(RDWR), write_mapped(1, 0, 0, 2), fails(EINVAL)),
        case("a mapping needs reading", file(WRONLY), write_mapped(1, 20, 1, 2), fails(EACCES))
            .leaves("/\n  f  10 bytes: 10 x 01  mode 0644 nlink 1\n"),
        case("a shared mapping needs writing", file(RDONLY), write_mapped(1, 0, 1, 2), fails(EACCES)),
        case("a store to a directory", [mkdir("/d")], write_mapped("/d", 0, 1, 2), fails(EISDIR)),
        case("a store through an empty slot", [], write_mapped(1, 0, 1, 2), fails(EBADF)),
        case(
            "a mapping beyond all files",
            file(RDWR),
            write_mapped(1, (NEGATIVE - 1) & !0xfff, 8192, 2),
            fails(EOVERFLOW),
        ),
        case("a sync of a mapped range", file(RDONLY), msync(1, 5, 100), DONE),
        case("a sync of nothing", file(RDONLY), msync(1, 0, 0), fails(EINVAL)),
        case("a sync needs reading", file(WRONLY), msync(1, 0, 1), fails(EACCES)),
        case("a directory is not opened for writing", [mkdir("/d")], msync("/d", 0, 1), fails(EISDIR)),
    ]
}

fn direct() -> Vec<Case> {
    let sectors = || vec![create("/f"), write("/f", 0, 1024, 1), open("/f", RDWR, 1)];
    vec![
        case("an aligned direct write", sectors(), write_direct("/f", 512, 512, 2), count(512))
            .then(read(1, 0, 2000), bytes(&[(512, 1), (512, 2)])),
        case("a direct write through any slot", sectors(), write_direct(1, 0, 512, 2), count(512)),
        case("an odd offset", sectors(), write_direct("/f", 1, 512, 2), fails(EINVAL)),
        case("an odd length", sectors(), write_direct("/f", 0, 100, 2), fails(EINVAL)),
        case("an odd end", [create("/f"), write("/f", 0, 10, 1)], append_direct("/f", 512, 2), fails(EINVAL)),
        case("an even end", sectors(), append_direct("/f", 512, 2), count(512)),
        case("a direct write of nothing", sectors(), write_direct("/f", 1, 0, 2), count(0)),
        case("a direct write through a slot for reading", file(RDONLY), write_direct(1, 1, 1, 2), fails(EBADF)),
        case(
            "a slot can be direct by itself",
            [create("/f"), open("/f", RDWR | OpenFlags::DIRECT, 1)],
            write_direct(1, 0, 512, 2),
            count(512),
        )
        .then(write(1, 3, 5, 2), fails(EINVAL))
        .then(read(1, 0, 512), bytes(&[(512, 2)]))
        .then(read(1, 1, 100), fails(EINVAL))
        .then(read(1, 600, 100), bytes(&[])),
    ]
}

fn sizes() -> Vec<Case> {
    vec![
        case("truncate cuts", file(RDWR), truncate("/f", 3), DONE).then(read(1, 0, 99), bytes(&[(3, 1)])),
        case("truncate extends with zeros", file(RDWR), truncate(1, 12), DONE)
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 0)])),
        case("what was cut does not come back", file(RDWR), truncate(1, 3), DONE)
            .then(truncate(1, 5), DONE)
            .then(read(1, 0, 99), bytes(&[(3, 1), (2, 0)])),
        case("a slot for reading cannot truncate", file(RDONLY), truncate(1, 0), fails(EINVAL)),
        case("nor can a directory's", [open("/", RDONLY, 1)], truncate(1, 0), fails(EINVAL)),
        case("nor an empty one", [], truncate(1, 0), fails(EBADF)),
        case("a directory has no size to set", [mkdir("/d")], truncate("/d", 0), fails(EISDIR)),
        case("truncate follows symlinks", [create("/f"), symlink("f", "/l")], truncate("/l", 2), DONE)
            .leaves("/\n  f  2 bytes: 2 x 00  mode 0644 nlink 1\n  l -> f\n"),
        case("truncate of nothing", [], truncate("/f", 0), fails(ENOENT)),
        case("truncate without permission", file(RDONLY), truncate("/f", 0), fails(EACCES)).by(user()),
        case("a negative size", file(RDWR), truncate(1, NEGATIVE), fails(EINVAL)),
        case("a negative size is worse than a missing file", [], truncate("/f", NEGATIVE), fails(EINVAL)),
    ]
}

fn ranges() -> Vec<Case> {
    let blocks = || {
        vec![create("/f"), write("/f", 0, 4096, 1), append("/f", 4096, 2), append("/f", 4096, 3), open("/f", RDWR, 1)]
    };
    let whole = || read(1, 0, 99_999);
    vec![
        case("allocate extends", file(RDWR), fallocate(1, Allocate, 8, 4), DONE)
            .then(read(1, 0, 99), bytes(&[(10, 1), (2, 0)])),
        case("allocate within changes nothing", file(RDWR), fallocate(1, Allocate, 0, 4), DONE)
            .then(read(1, 0, 99), bytes(&[(10, 1)])),
        case("keep size keeps it", file(RDWR), fallocate(1, KeepSize, 0, 100), DONE)
            .then(read(1, 0, 999), bytes(&[(10, 1)])),
        case("punch hole zeros", file(RDWR), fallocate(1, PunchHole, 2, 3), DONE)
            .then(read(1, 0, 99), bytes(&[(2, 1), (3, 0), (5, 1)])),
        case("punch hole keeps the size", file(RDWR), fallocate(1, PunchHole, 8, 100), DONE)
            .then(read(1, 0, 999), bytes(&[(8, 1), (2, 0)])),
        case("punch hole past the end", file(RDWR), fallocate(1, PunchHole, 80, 100), DONE)
            .then(read(1, 0, 999), bytes(&[(10, 1)])),
        case("zero range extends", file(RDWR), fallocate(1, ZeroRange, 8, 4), DONE)
            .then(read(1, 0, 99), bytes(&[(8, 1), (4, 0)])),
        case("zero range may keep the size", file(RDWR), fallocate(1, ZeroRangeKeepSize, 8, 4), DONE)
            .then(read(1, 0, 99), bytes(&[(8, 1), (2, 0)])),
        case("collapse closes the gap", blocks(), fallocate(1, CollapseRange, 4096, 4096), DONE)
            .then(whole(), bytes(&[(4096, 1), (4096, 3)])),
        case("collapse of what is not a block", blocks(), fallocate(1, CollapseRange, 1, 4096), fails(EINVAL)),
        case("collapse by what is not a block", blocks(), fallocate(1, CollapseRange, 0, 100), fails(EINVAL)),
        case("collapse up to the end", blocks(), fallocate(1, CollapseRange, 8192, 4096), fails(EINVAL)),
        case("insert opens a gap", blocks(), fallocate(1, InsertRange, 4096, 4096), DONE)
            .then(whole(), bytes(&[(4096, 1), (4096, 0), (4096, 2), (4096, 3)])),
        case("insert of more than follows", blocks(), fallocate(1, InsertRange, 8192, 8192), DONE)
            .then(whole(), bytes(&[(4096, 1), (4096, 2), (8192, 0), (4096, 3)])),
        case("insert at the end", blocks(), fallocate(1, InsertRange, 12288, 4096), fails(EINVAL)),
        case("insert of what is not a block", blocks(), fallocate(1, InsertRange, 4096, 1), fails(EINVAL)),
        case("a range of nothing", file(RDWR), fallocate(1, Allocate, 0, 0), fails(EINVAL)),
        case("a negative length", file(RDWR), fallocate(1, Allocate, 0, NEGATIVE), fails(EINVAL)),
        case("a negative offset", file(RDWR), fallocate(1, Allocate, NEGATIVE, 1), fails(EINVAL)),
        case("a range that wraps around", file(RDWR), fallocate(1, Allocate, NEGATIVE - 1, 1), fails(EFBIG)),
        case("an empty slot comes before the range", [], fallocate(1, Allocate, 0, 0), fails(EBADF)),
        case("the range comes before the slot's mode", file(RDONLY), fallocate(1, Allocate, 0, 0), fails(EINVAL)),
        case("a slot for reading", file(RDONLY), fallocate(1, Allocate, 0, 1), fails(EBADF)),
        case("a directory", [mkdir("/d")], fallocate("/d", Allocate, 0, 1), fails(EISDIR)),
        case("a directory's slot", [open("/", RDONLY, 1)], fallocate(1, Allocate, 0, 1), fails(EBADF)),
    ]
}

fn limits() -> Vec<Case> {
    let small = |config: &mut vfs::Config| config.file_size_max = 16;
    let full = |config: &mut vfs::Config| config.capacity = Some(16);
    vec![
        case("a write beyond the greatest size", file(RDWR), write(1, 16, 1, 2), fails(EFBIG)).with(small),
        case("a write up to the greatest size", file(RDWR), write(1, 12, 9, 2), count(4)).with(small),
        case("a write of nothing beyond", file(RDWR), write(1, 99, 0, 2), count(0)).with(small),
        case("truncate beyond", file(RDWR), truncate(1, 17), fails(EFBIG)).with(small),
        case("allocate beyond", file(RDWR), fallocate(1, Allocate, 10, 7), fails(EFBIG)).with(small),
        case("a hole beyond", file(RDWR), fallocate(1, PunchHole, 10, 7), fails(EFBIG)).with(small),
        case("a mapping beyond", file(RDWR), write_mapped(1, 10, 7, 2), fails(EOVERFLOW)).with(small),
        case("an append to a full file", file(RDWR), append(1, 6, 2), count(6))
            .then(append(1, 1, 2), fails(EFBIG))
            .with(small),
        case("insert beyond", file(RDWR), fallocate(1, InsertRange, 4, 8), fails(EFBIG))
            .with(|config| (config.file_size_max, config.block_size) = (16, 4)),
        case("a write that fits in part", file(RDWR), append(1, 9, 2), count(6))
            .then(append(1, 1, 2), fails(ENOSPC))
            .with(full),
        case("a full disk takes overwrites", file(RDWR), append(1, 6, 2), count(6))
            .then(write(1, 0, 16, 3), count(16))
            .with(full),
        case("a write after a hole that does not fit", file(RDWR), write(1, 20, 1, 2), fails(ENOSPC)).with(full),
        case("truncate beyond the capacity", file(RDWR), truncate(1, 17), fails(ENOSPC)).with(full),
        case("a mapping beyond the capacity", file(RDWR), write_mapped(1, 10, 7, 2), fails(ENOSPC)).with(full),
        case("cutting makes room", file(RDWR), truncate(1, 0), DONE).then(append(1, 16, 2), count(16)).with(full),
    ]
}

fn set_id() -> Vec<Case> {
    let program = || vec![create("/f"), chmod("/f", 0o6777), write("/f", 0, 10, 1)];
    let cleared = "/\n  f  10 bytes: 10 x 01  mode 0777 nlink 1\n";
    let kept = "/\n  f  10 bytes: 10 x 01  mode 6777 nlink 1\n";
    vec![
        case("a user's write clears set-id bits", program(), write("/f", 0, 1, 1), count(1)).by(user()).leaves(cleared),
        case("root's write does not", program(), write("/f", 0, 1, 1), count(1)).leaves(kept),
        case("a write of nothing does not", program(), write("/f", 0, 0, 1), count(0)).by(user()).leaves(kept),
        case("a user's truncate does, even to the same size", program(), truncate("/f", 10), DONE)
            .by(user())
            .leaves(cleared),
        case("a store does not", program(), write_mapped("/f", 0, 1, 1), count(1)).by(user()).leaves(kept),
        case("unless it extends the file", program(), write_mapped("/f", 10, 1, 1), count(1))
            .by(user())
            .leaves("/\n  f  11 bytes: 11 x 01  mode 0777 nlink 1\n"),
        case(
            "set-group-id without execution stays with the group",
            [create("/f"), chown("/f", None, 2000), chmod("/f", 0o6666)],
            write("/f", 0, 1, 1),
            count(1),
        )
        .by(user())
        .leaves("/\n  f  1 bytes: 1 x 01  mode 2666 nlink 1 gid 2000\n"),
        case(
            "but not with strangers",
            [create("/f"), chown("/f", None, 3000), chmod("/f", 0o6666)],
            write("/f", 0, 1, 1),
            count(1),
        )
        .by(user())
        .leaves("/\n  f  1 bytes: 1 x 01  mode 0666 nlink 1 gid 3000\n"),
    ]
}
