//! The arguments of ops, each with its partitions and how much each of them weighs.

use super::{distribution::Distribution, due::Due, number::NumberPart, random::Random};
use crate::{Errno, Fallocate, File, OpKind, OpenFlags, Outcome, Rename, WriteVia, op::Op};

/// What values an argument takes, and how they are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Flags, bit by bit: each has a probability of its own.
    Flags,
    /// One of these words, the most usual first.
    Words(&'static [&'static str]),
    /// Permission bits in octal; any may be named, and these are tried if none is.
    Modes(&'static [&'static str]),
    /// A number by powers of two, up to this one if the user names no other.
    Number(u64),
}

/// An argument that has weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub op: OpKind,
    pub name: &'static str,
    pub domain: Domain,
}

const fn known(op: OpKind, name: &'static str, domain: Domain) -> Known {
    Known { op, name, domain }
}

const MODES: Domain = Domain::Modes(&["0644", "0755", "0600", "0640", "0777"]);
const SIZE: Domain = Domain::Number(1 << 16);
const IDS: Domain = Domain::Words(&["0", "1000"]);
const XATTRS: Domain = Domain::Words(&["user.one", "user.two"]);
const ACCESS: Domain = Domain::Words(&["O_RDWR", "O_RDONLY", "O_WRONLY"]);
const PLACES: Domain = Domain::Words(&["offset", "end"]);
const VIA: Domain = Domain::Words(&["buffered", "mmap", "direct"]);
const RENAME: Domain = Domain::Words(&["replace", "no_replace", "exchange"]);
const FALLOCATE: Domain = Domain::Words(&[
    "allocate",
    "keep_size",
    "punch_hole",
    "zero_range",
    "zero_range_keep_size",
    "collapse_range",
    "insert_range",
]);

/// Every argument that has weights. Paths have none: they come from a pool.
pub(super) const KNOWN: [Known; 24] = [
    known(OpKind::Open, "flags", Domain::Flags),
    known(OpKind::Open, "access", ACCESS),
    known(OpKind::Open, "mode", MODES),
    known(OpKind::Create, "mode", MODES),
    known(OpKind::Read, "offset", SIZE),
    known(OpKind::Read, "len", SIZE),
    known(OpKind::Write, "place", PLACES),
    known(OpKind::Write, "offset", SIZE),
    known(OpKind::Write, "len", SIZE),
    known(OpKind::Write, "via", VIA),
    known(OpKind::Truncate, "size", SIZE),
    known(OpKind::Fallocate, "how", FALLOCATE),
    known(OpKind::Fallocate, "offset", SIZE),
    known(OpKind::Fallocate, "len", SIZE),
    known(OpKind::Mkdir, "mode", MODES),
    known(OpKind::Rename, "how", RENAME),
    known(OpKind::Chmod, "mode", MODES),
    known(OpKind::Chown, "uid", IDS),
    known(OpKind::Chown, "gid", IDS),
    known(OpKind::Setxattr, "name", XATTRS),
    known(OpKind::Setxattr, "len", Domain::Number(1 << 8)),
    known(OpKind::Removexattr, "name", XATTRS),
    known(OpKind::Msync, "offset", SIZE),
    known(OpKind::Msync, "len", SIZE),
];

/// The flags of `open` that are set bit by bit, the most usual in programs first.
pub(super) const FLAGS: [(&str, OpenFlags); 9] = [
    ("O_CREAT", OpenFlags::CREAT),
    ("O_TRUNC", OpenFlags::TRUNC),
    ("O_EXCL", OpenFlags::EXCL),
    ("O_APPEND", OpenFlags::APPEND),
    ("O_DIRECTORY", OpenFlags::DIRECTORY),
    ("O_NOFOLLOW", OpenFlags::NOFOLLOW),
    ("O_SYNC", OpenFlags::SYNC),
    ("O_DSYNC", OpenFlags::DSYNC),
    ("O_DIRECT", OpenFlags::DIRECT),
];

/// How likely a flag is that has the full weight of its distribution.
const FLAG_LIKELY: f64 = 0.5;

/// One partition and what was asked of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Partition {
    pub name: String,
    /// Its share of all values; of flags, how often each is set.
    pub asked: f64,
}

/// The weights of one argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    pub known: Known,
    pub partitions: Vec<Partition>,
    /// The largest number.
    pub max: u64,
}

/// What a user says about an argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub distribution: Option<Distribution>,
    pub max: Option<u64>,
    /// Weights of single partitions, by name.
    pub weights: Vec<(String, f64)>,
}

impl Argument {
    /// Every partition has the weight that was asked for it; the others that of the distribution, or nothing if weights
    /// were asked for and no distribution. Asked for nothing at all, all weigh the same.
    pub fn new(known: Known, asked: &Asked) -> Self {
        let max = match known.domain {
            Domain::Number(max) => asked.max.unwrap_or(max),
            _ => 0,
        };
        let names = names(known.domain, max, asked);
        let rest = match (asked.distribution, asked.weights.is_empty()) {
            (Some(distribution), _) => Some(distribution),
            (None, true) => Some(Distribution::Uniform),
            (None, false) => None,
        };
        let count = names.len();
        let full = if known.domain == Domain::Flags { FLAG_LIKELY } else { 1.0 };
        let weight = |(place, name): (usize, String)| {
            let own = asked.weights.iter().find(|(asked, _)| *asked == name).map(|(_, weight)| *weight);
            let usual = || rest.map_or(0.0, |distribution| full * distribution.weight(place, count));
            Partition { asked: own.unwrap_or_else(usual), name }
        };
        let mut partitions: Vec<Partition> = names.into_iter().enumerate().map(weight).collect();
        if known.domain != Domain::Flags {
            let sum: f64 = partitions.iter().map(|partition| partition.asked).sum();
            partitions.iter_mut().for_each(|partition| partition.asked /= sum);
        }
        Self { known, partitions, max }
    }

    /// Whether anything can be drawn.
    pub fn is_possible(&self) -> bool {
        // Weights that are all zero, or too large to be added up, have left no shares.
        let shares: f64 = self.partitions.iter().map(|partition| partition.asked).sum();
        self.known.domain == Domain::Flags || shares > 0.5
    }

    /// The place of a partition, by its share.
    fn draw(&self, due: Due<'_>, random: &mut Random) -> usize {
        due.draw(&self.partitions, random)
    }

    pub fn word(&self, due: Due<'_>, random: &mut Random) -> &str {
        &self.partitions[self.draw(due, random)].name
    }

    pub fn number(&self, due: Due<'_>, random: &mut Random) -> u64 {
        let part: Option<NumberPart> = self.partitions[self.draw(due, random)].name.parse().ok();
        part.map_or(0, |part| part.draw(random, self.max))
    }

    pub fn mode(&self, due: Due<'_>, random: &mut Random) -> u32 {
        u32::from_str_radix(self.word(due, random), 8).unwrap_or(0)
    }

    /// Each flag by its own probability; `O_SYNC` holds the bit of `O_DSYNC`, so at most one of the two is set.
    pub fn flags(&self, due: Due<'_>, random: &mut Random) -> OpenFlags {
        let asked = |name: &str| self.partitions.iter().find(|one| one.name == name).map_or(0.0, |one| one.asked);
        let mut flags = OpenFlags::RDONLY;
        for (place, (name, flag)) in FLAGS.into_iter().enumerate() {
            let probability = self.partitions.get(place).map_or(0.0, |partition| due.share(place, partition));
            let probability = match name {
                "O_DSYNC" if flags.contains(OpenFlags::SYNC) => 0.0,
                "O_DSYNC" => probability / (1.0 - asked("O_SYNC")).max(f64::MIN_POSITIVE),
                _ => probability,
            };
            if random.happens(probability) {
                flags = flags | flag;
            }
        }
        flags
    }
}

/// The names of the partitions of a domain, in their order.
fn names(domain: Domain, max: u64, asked: &Asked) -> Vec<String> {
    match domain {
        Domain::Flags => FLAGS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        Domain::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Domain::Modes(_) if !asked.weights.is_empty() => asked.weights.iter().map(|(name, _)| name.clone()).collect(),
        Domain::Modes(modes) => modes.iter().map(|mode| (*mode).to_owned()).collect(),
        Domain::Number(_) => NumberPart::up_to(max).iter().map(ToString::to_string).collect(),
    }
}

/// What an op has as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Flags(OpenFlags),
    Word(String),
    Number(u64),
}

/// The arguments of an op that were exercised, given what it came to: those that have weights, if the system call was
/// made that takes them.
pub(super) fn exercised(op: &Op, outcome: &Outcome) -> Vec<(&'static str, Seen)> {
    if ends_before_its_call(op, outcome) { Vec::new() } else { arguments(op) }
}

/// Whether an op ended before the system call that takes its arguments. Most ops are one call, which is made whatever
/// comes of it: a refused mkdir has tried its mode. What reads or writes by path opens the file first, and these are
/// the errors of that; all others, where an open may have them too, are those of the call in nearly every case. A write
/// through a mapping asks for the size first, which is all that it does to a slot that is empty.
fn ends_before_its_call(op: &Op, outcome: &Outcome) -> bool {
    let Err(errno) = outcome else { return false };
    let of_paths = [Errno::ENOENT, Errno::ENOTDIR, Errno::ELOOP, Errno::ENAMETOOLONG, Errno::EROFS];
    match op {
        // A directory can be opened to be read from, and it is the read that fails then.
        Op::Read { file: File::Path(_), .. } => of_paths.contains(errno),
        Op::Write { file: File::Path(_), .. }
        | Op::Fallocate { file: File::Path(_), .. }
        | Op::Msync { file: File::Path(_), .. } => *errno == Errno::EISDIR || of_paths.contains(errno),
        Op::Write { file: File::Fd(_), via: WriteVia::Mmap, .. } => *errno == Errno::EBADF,
        _ => false,
    }
}

/// The arguments of an op that have weights.
fn arguments(op: &Op) -> Vec<(&'static str, Seen)> {
    let word = |word: &str| Seen::Word(word.to_owned());
    let mode = |mode: u32| ("mode", Seen::Word(format!("{mode:04o}")));
    match op {
        Op::Open { flags, mode: bits, .. } => {
            let access = Seen::Word(flags.access().to_string());
            vec![("flags", Seen::Flags(*flags)), ("access", access), mode(*bits)]
        }
        Op::Create { mode: bits, .. } | Op::Mkdir { mode: bits, .. } | Op::Chmod { mode: bits, .. } => {
            vec![mode(*bits)]
        }
        Op::Read { offset, len, .. } | Op::Msync { offset, len, .. } => {
            vec![("offset", Seen::Number(*offset)), ("len", Seen::Number(*len))]
        }
        Op::Write { at, data, via, .. } => {
            let mut seen = vec![("len", Seen::Number(data.len)), ("via", word(WriteVia::name(*via)))];
            match at {
                crate::WriteAt::Offset(offset) => {
                    seen.extend([("place", word("offset")), ("offset", Seen::Number(*offset))]);
                }
                crate::WriteAt::End => seen.push(("place", word("end"))),
            }
            seen
        }
        Op::Truncate { size, .. } => vec![("size", Seen::Number(*size))],
        Op::Fallocate { how, offset, len, .. } => {
            vec![("how", word(Fallocate::name(*how))), ("offset", Seen::Number(*offset)), ("len", Seen::Number(*len))]
        }
        Op::Rename { how, .. } => vec![("how", word(Rename::name(*how)))],
        Op::Chown { uid, gid, .. } => {
            let id = |name, id: &Option<u32>| id.map(|id| (name, Seen::Word(id.to_string())));
            id("uid", uid).into_iter().chain(id("gid", gid)).collect()
        }
        Op::Setxattr { name, value, .. } => vec![("name", word(name)), ("len", Seen::Number(value.len))],
        Op::Removexattr { name, .. } => vec![("name", word(name))],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn an_argument_is_exercised_by_the_call_that_takes_it() {
        let by_path = r#"write("/f", offset=1, len=2, fill=3)"#;
        let cases = [
            (by_path, Err(Errno::ENOENT), 0),
            (by_path, Err(Errno::EISDIR), 0),
            (by_path, Err(Errno::ENOSPC), 4),
            (by_path, Ok(Value::Count(2)), 4),
            (r#"write("/f", at=end, len=2, fill=3, via=mmap)"#, Err(Errno::EINVAL), 3),
            ("write(fd=1, at=end, len=2, fill=3)", Err(Errno::EBADF), 3),
            ("write(fd=1, at=end, len=2, fill=3, via=mmap)", Err(Errno::EBADF), 0),
            (r#"read("/d", offset=0, len=1)"#, Err(Errno::EISDIR), 2),
            (r#"read("/d", offset=0, len=1)"#, Err(Errno::ENOTDIR), 0),
            (r#"msync("/f", offset=0, len=1)"#, Err(Errno::ELOOP), 0),
            (r#"fallocate("/f", how=punch_hole, offset=0, len=1)"#, Err(Errno::ENAMETOOLONG), 0),
            // One call each, which is told the path with all else.
            (r#"truncate("/f", size=7)"#, Err(Errno::ENOENT), 1),
            (r#"mkdir("/d", mode=0755)"#, Err(Errno::EEXIST), 1),
            (r#"chmod("/f", mode=0755)"#, Err(Errno::ENOENT), 1),
        ];
        for (text, outcome, expected) in cases {
            let op: Op = text.parse().unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(exercised(&op, &outcome).len(), expected, "{text} {outcome:?}");
        }
    }
}
