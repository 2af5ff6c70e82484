//! Random ops over a few names, so that they meet each other: most succeed, many fail in interesting ways.

use vfs::{Credentials, Data, Fallocate, Fd, File, Op, OpenFlags, Path, Rename, WriteAt, WriteVia};

use super::notation::{chmod, create_mode, mkdir_mode, open, stranger, user, write};

/// A small deterministic source of choices (the sequence of `SplitMix64`).
pub struct Choices(pub u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.below(from.len() as u64)).expect("an index of the slice");
        from[index].clone()
    }
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

pub fn step(choices: &mut Choices, allowed: Allowed) -> Step {
    let callers = [Credentials::default(), Credentials::default(), user(), stranger()];
    let caller = if allowed.users { choices.pick(&callers) } else { Credentials::default() };
    Step { caller, op: op(choices, allowed) }
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

fn path(choices: &mut Choices) -> Path {
    let depth = choices.pick(&[1, 1, 1, 1, 2, 2, 2, 3]);
    let mut text = String::new();
    for _ in 0..depth {
        text += if choices.percent(3) { "//" } else { "/" };
        let long = "n".repeat(256);
        text += match choices.below(100) {
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
    if choices.percent(4) {
        text.push('/');
    }
    Path::new(&text).expect("it starts with a slash")
}

fn fd(choices: &mut Choices) -> Fd {
    Fd(choices.pick(&[0, 1, 2]))
}

fn file(choices: &mut Choices) -> File {
    if choices.percent(40) { File::Fd(fd(choices)) } else { File::Path(path(choices)) }
}

fn flags(choices: &mut Choices) -> OpenFlags {
    let mut flags = OpenFlags(choices.pick(&[0, 1, 2, 2, 2, 3]));
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
        if choices.percent(chance) {
            flags = flags | flag;
        }
    }
    flags
}

fn any_write(choices: &mut Choices, allowed: Allowed) -> Op {
    let via = choices.pick(&[WriteVia::Buffered, WriteVia::Buffered, WriteVia::Mmap, WriteVia::Direct]);
    let mut at = if choices.percent(25) { WriteAt::End } else { WriteAt::Offset(choices.pick(&OFFSETS)) };
    let mut len = choices.pick(&LENGTHS);
    let mut file = file(choices);
    if via == WriteVia::Direct && !allowed.unaligned_direct {
        // A slot may have been opened to append at an odd size, so only paths are sure to be aligned.
        (at, len) = (WriteAt::Offset(choices.pick(&[0, 512, 4096])), choices.pick(&[512, 4096]));
        file = File::Path(path(choices));
    }
    let data = Data { len, fill: choices.pick(&[1, 2, 3, 255]) };
    Op::Write { file, at, data, via }
}

fn xattr_name(choices: &mut Choices) -> &'static str {
    choices.pick(&[
        "user.a",
        "user.a",
        "user.b",
        "trusted.a",
        "security.a",
        "user.",
        "nothing",
        "other.a",
        "",
        "system.x",
    ])
}

fn op(choices: &mut Choices, allowed: Allowed) -> Op {
    let mode = choices.pick(&MODES);
    match choices.below(100) {
        0..12 => Op::Open { path: path(choices), flags: flags(choices), mode, fd: fd(choices) },
        12..16 => Op::Close { fd: fd(choices) },
        16..23 => Op::Create { path: path(choices), mode },
        23..28 => Op::Read { file: file(choices), offset: choices.pick(&OFFSETS), len: choices.pick(&LENGTHS) },
        28..38 => any_write(choices, allowed),
        38..42 => Op::Truncate { file: file(choices), size: choices.pick(&OFFSETS) },
        42..47 => Op::Fallocate {
            file: file(choices),
            how: choices.pick(allowed.fallocate),
            offset: choices.pick(&[0, 1, 4096, 8192]),
            len: choices.pick(&[0, 1, 512, 4096, 8192]),
        },
        47..54 => Op::Mkdir { path: path(choices), mode },
        54..58 => Op::Rmdir { path: path(choices) },
        58..63 => Op::Unlink { path: path(choices) },
        63..74 => Op::Rename { from: path(choices), to: path(choices), how: choices.pick(Rename::ALL) },
        74..79 => Op::Link { from: path(choices), to: path(choices) },
        79..83 => Op::Symlink { target: choices.pick(&TARGETS).into(), path: path(choices) },
        83..87 => Op::Chmod { path: path(choices), mode },
        87..91 => {
            let ids = [None, Some(0), Some(1000), Some(1001), Some(2000)];
            Op::Chown { path: path(choices), uid: choices.pick(&ids), gid: choices.pick(&ids) }
        }
        91..95 => Op::Setxattr {
            path: path(choices),
            name: xattr_name(choices).into(),
            value: Data { len: choices.pick(&[0, 1, 20]), fill: 7 },
        },
        95..97 => Op::Removexattr { path: path(choices), name: xattr_name(choices).into() },
        97 => Op::Msync { file: file(choices), offset: choices.pick(&OFFSETS), len: choices.pick(&LENGTHS) },
        98 => Op::Fsync { file: file(choices) },
        _ => choices.pick(&[Op::Remount, Op::Crash, Op::Fdatasync { file: File::Fd(Fd(1)) }]),
    }
}
