//! Random ops over a few names, so that they meet each other: most succeed, many fail in interesting ways.

use fastrand::Rng;
use vfs::{Credentials, Data, Fallocate, Fd, File, Op, OpenFlags, Path, Rename, WriteAt, WriteVia};

use super::notation::{chmod, create_mode, mkdir_mode, open, stranger, user, write};

fn percent(random: &mut Rng, chance: u8) -> bool {
    random.u8(..100) < chance
}

fn pick<T: Clone>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())].clone()
}

/// One op, and who does it.
#[derive(Clone, Debug)]
pub struct Step {
    pub caller: Credentials,
    pub op: Op,
}

/// What a workload may use.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    pub fallocate: &'static [Fallocate],
    /// Direct writes that are not aligned, which some file systems refuse.
    pub unaligned_direct: bool,
    /// Callers other than root.
    pub users: bool,
}

/// Everything.
pub const ANYTHING: Allowed = Allowed { fallocate: Fallocate::ALL, unaligned_direct: true, users: true };

const MODES: [u32; 12] = [0o644, 0o755, 0o777, 0o600, 0o000, 0o4777, 0o2777, 0o6777, 0o2767, 0o1777, 0o3777, 0o4755];
const OFFSETS: [u64; 8] = [0, 0, 1, 511, 512, 4096, 5000, 8192];
const LENGTHS: [u64; 7] = [0, 1, 100, 512, 4096, 6000, 8192];
const TARGETS: [&str; 13] =
    ["a", "b", "../a", "d/a", "/a", "/d/", ".", "..", "/", "a/", "a/b", "missing", "../../d/../b"];

pub fn step(random: &mut Rng, allowed: Allowed) -> Step {
    let callers = [Credentials::default(), Credentials::default(), user(), stranger()];
    let caller = if allowed.users { pick(random, &callers) } else { Credentials::default() };
    Step { caller, op: op(random, allowed) }
}

/// What root does before a workload, so that it finds something to work on.
pub fn prelude() -> Vec<Step> {
    let ops = [
        chmod("/", 0o777),
        mkdir_mode("/d", 0o777),
        create_mode("/a", 0o666),
        create_mode("/d/a", 0o4777),
        write("/a", 0, 9000, 9),
        open("/a", OpenFlags::RDWR, 0),
        open("/d/a", OpenFlags::RDWR, 1),
    ];
    ops.into_iter().map(|op| Step { caller: Credentials::default(), op }).collect()
}

fn path(random: &mut Rng) -> Path {
    let depth = pick(random, &[1, 1, 1, 1, 2, 2, 2, 3]);
    let mut text = String::new();
    for _ in 0..depth {
        text += if percent(random, 3) { "//" } else { "/" };
        let long = "n".repeat(256);
        text += match random.u8(..100) {
            0..35 => "a",
            35..65 => "b",
            65..92 => "d",
            92..94 => ".",
            94..97 => "..",
            97 => &long,
            98 => "",
            _ => "c",
        };
    }
    if percent(random, 4) {
        text.push('/');
    }
    Path::new(&text).expect("it starts with a slash")
}

fn fd(random: &mut Rng) -> Fd {
    Fd(pick(random, &[0, 1, 2]))
}

fn file(random: &mut Rng) -> File {
    if percent(random, 40) { File::Fd(fd(random)) } else { File::Path(path(random)) }
}

fn flags(random: &mut Rng) -> OpenFlags {
    let mut flags = OpenFlags(pick(random, &[0, 1, 2, 2, 2, 3]));
    let some = [
        (40, OpenFlags::CREAT),
        (15, OpenFlags::EXCL),
        (15, OpenFlags::TRUNC),
        (15, OpenFlags::APPEND),
        (10, OpenFlags::DIRECTORY),
        (10, OpenFlags::NOFOLLOW),
        (5, OpenFlags::SYNC),
        (5, OpenFlags::DSYNC),
    ];
    for (chance, flag) in some {
        if percent(random, chance) {
            flags = flags | flag;
        }
    }
    flags
}

fn any_write(random: &mut Rng, allowed: Allowed) -> Op {
    let via = pick(random, &[WriteVia::Buffered, WriteVia::Buffered, WriteVia::Mmap, WriteVia::Direct]);
    let mut at = if percent(random, 25) { WriteAt::End } else { WriteAt::Offset(pick(random, &OFFSETS)) };
    let mut len = pick(random, &LENGTHS);
    let mut file = file(random);
    if via == WriteVia::Direct && !allowed.unaligned_direct {
        // A slot may have been opened to append at an odd size, so only paths are sure to be aligned.
        (at, len) = (WriteAt::Offset(pick(random, &[0, 512, 4096])), pick(random, &[512, 4096]));
        file = File::Path(path(random));
    }
    let data = Data { len, fill: pick(random, &[1, 2, 3, 255]) };
    Op::Write { file, at, data, via }
}

fn xattr_name(random: &mut Rng) -> &'static str {
    pick(
        random,
        &["user.a", "user.a", "user.b", "trusted.a", "security.a", "user.", "nothing", "other.a", "", "system.x"],
    )
}

fn op(random: &mut Rng, allowed: Allowed) -> Op {
    let mode = pick(random, &MODES);
    match random.u8(..100) {
        0..12 => Op::Open { path: path(random), flags: flags(random), mode, fd: fd(random) },
        12..16 => Op::Close { fd: fd(random) },
        16..23 => Op::Create { path: path(random), mode },
        23..28 => Op::Read { file: file(random), offset: pick(random, &OFFSETS), len: pick(random, &LENGTHS) },
        28..38 => any_write(random, allowed),
        38..42 => Op::Truncate { file: file(random), size: pick(random, &OFFSETS) },
        42..47 => Op::Fallocate {
            file: file(random),
            how: pick(random, allowed.fallocate),
            offset: pick(random, &[0, 1, 4096, 8192]),
            len: pick(random, &[0, 1, 512, 4096, 8192]),
        },
        47..54 => Op::Mkdir { path: path(random), mode },
        54..58 => Op::Rmdir { path: path(random) },
        58..63 => Op::Unlink { path: path(random) },
        63..74 => Op::Rename { from: path(random), to: path(random), how: pick(random, Rename::ALL) },
        74..79 => Op::Link { from: path(random), to: path(random) },
        79..83 => Op::Symlink { target: pick(random, &TARGETS).into(), path: path(random) },
        83..87 => Op::Chmod { path: path(random), mode },
        87..91 => {
            let ids = [None, Some(0), Some(1000), Some(1001), Some(2000)];
            Op::Chown { path: path(random), uid: pick(random, &ids), gid: pick(random, &ids) }
        }
        91..95 => Op::Setxattr {
            path: path(random),
            name: xattr_name(random).into(),
            value: Data { len: pick(random, &[0, 1, 20]), fill: 7 },
        },
        95..97 => Op::Removexattr { path: path(random), name: xattr_name(random).into() },
        97 => Op::Msync { file: file(random), offset: pick(random, &OFFSETS), len: pick(random, &LENGTHS) },
        98 => Op::Fsync { file: file(random) },
        _ => pick(random, &[Op::Remount, Op::Crash, Op::Fdatasync { file: File::Fd(Fd(1)) }]),
    }
}
