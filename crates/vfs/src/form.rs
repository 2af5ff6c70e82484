//! An op as a name and named arguments: what its text and its JSON have in common.
//!
//! Both written forms are thin shells around the two functions here, so an op and its defaults are described once,
//! and both forms use the same keys.

use std::sync::Arc;

use crate::{
    Data, Fallocate, Fd, File, Op, OpKind, OpenFlags, Path, Rename, WriteAt, WriteVia, nearest::Suggestion,
    path::InvalidPath,
};

/// The permission bits of a new file where none are given.
const FILE_MODE: u32 = 0o644;
/// The permission bits of a new directory where none are given.
const DIR_MODE: u32 = 0o755;

/// One argument. Text distinguishes quoted text from bare words; JSON has strings for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    Text(String),
    Word(String),
    Number(u64),
}

/// Why a name and arguments are not an op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// No op has this name.
    #[error("there is no op {name:?}{nearest}")]
    UnknownOp {
        /// The name that was given.
        name: String,
        /// The op that was perhaps meant.
        nearest: Suggestion,
    },
    /// The op needs an argument that was not given.
    #[error("{op} needs an argument `{key}`")]
    Missing {
        /// The op.
        op: &'static str,
        /// The argument.
        key: &'static str,
    },
    /// The op has no such argument, or it was given twice, or it excludes another one that was given.
    #[error("{op} takes no argument `{key}` here")]
    Unexpected {
        /// The op.
        op: &'static str,
        /// The argument.
        key: String,
    },
    /// The argument has a value of the wrong type.
    #[error("`{key}` of {op} must be {expected}")]
    Wrong {
        /// The op.
        op: &'static str,
        /// The argument.
        key: &'static str,
        /// What it must be.
        expected: String,
    },
}

impl FormError {
    /// The argument that is wrong, if it was given.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::UnknownOp { .. } | Self::Missing { .. } => None,
            Self::Unexpected { key, .. } => Some(key),
            Self::Wrong { key, .. } => Some(key),
        }
    }
}

/// The kind of op that has this name.
pub(crate) fn kind_named(name: &str) -> Result<OpKind, FormError> {
    OpKind::from_name(name).ok_or_else(|| FormError::UnknownOp {
        name: name.to_owned(),
        nearest: Suggestion::of(name, OpKind::ALL.iter().map(|kind| kind.name())),
    })
}

/// The arguments of an op, in order. What is left out here has the value that [`build`] gives it.
pub(crate) fn arguments(op: &Op) -> Vec<(&'static str, Arg)> {
    let text = |key, text: &str| (key, Arg::Text(text.to_owned()));
    let path = |key, path: &Path| text(key, path.as_str());
    let word = |key, word: &str| (key, Arg::Word(word.to_owned()));
    let number = |key, number: u64| (key, Arg::Number(number));
    let mode = |mode: u32| ("mode", Arg::Word(format!("0{mode:03o}")));
    let slot = |fd: Fd| number("fd", fd.0.into());
    let file = |file: &File| match file {
        File::Path(named) => path("file", named),
        File::Fd(fd) => slot(*fd),
    };
    let range = |named: &File, offset, len| vec![file(named), number("offset", offset), number("len", len)];
    let data = |data: &Data| [number("len", data.len), number("fill", data.fill.into())];

    match op {
        Op::Open { path: named, flags, mode: bits, fd } => {
            let mut args = vec![path("path", named), word("flags", &flags.to_string())];
            args.extend((*bits != open_mode(*flags)).then(|| mode(*bits)));
            args.push(slot(*fd));
            args
        }
        Op::Close { fd } => vec![slot(*fd)],
        Op::Create { path: named, mode: bits }
        | Op::Mkdir { path: named, mode: bits }
        | Op::Chmod { path: named, mode: bits } => vec![path("path", named), mode(*bits)],
        Op::Read { file, offset, len } | Op::Msync { file, offset, len } => range(file, *offset, *len),
        Op::Write { file: named, at, data: bytes, via } => {
            let place = match at {
                WriteAt::Offset(offset) => number("offset", *offset),
                WriteAt::End => word("at", "end"),
            };
            let mut args = vec![file(named), place];
            args.extend(data(bytes));
            args.extend((*via != WriteVia::Buffered).then(|| word("via", via.name())));
            args
        }
        Op::Truncate { file: named, size } => vec![file(named), number("size", *size)],
        Op::Fallocate { file, how, offset, len } => {
            let mut args = range(file, *offset, *len);
            args.extend((*how != Fallocate::Allocate).then(|| word("how", how.name())));
            args
        }
        Op::Rmdir { path: named } | Op::Unlink { path: named } => vec![path("path", named)],
        Op::Rename { from, to, how } => {
            let mut args = vec![path("from", from), path("to", to)];
            args.extend((*how != Rename::Replace).then(|| word("how", how.name())));
            args
        }
        Op::Link { from, to } => vec![path("from", from), path("to", to)],
        Op::Symlink { target, path: named } => vec![text("target", target), path("path", named)],
        Op::Chown { path: named, uid, gid } => {
            let ids = [("uid", uid), ("gid", gid)].into_iter();
            let given = ids.filter_map(|(key, id)| id.map(|id| number(key, id.into())));
            std::iter::once(path("path", named)).chain(given).collect()
        }
        Op::Setxattr { path: named, name, value } => {
            [path("path", named), text("name", name)].into_iter().chain(data(value)).collect()
        }
        Op::Removexattr { path: named, name } => vec![path("path", named), text("name", name)],
        Op::Fsync { file: named } | Op::Fdatasync { file: named } => vec![file(named)],
        Op::Sync | Op::Syncfs | Op::Remount | Op::Crash => vec![],
    }
}

/// Without a mode, `open` makes files as `create` does; where it makes none, the mode means nothing and is 0.
fn open_mode(flags: OpenFlags) -> u32 {
    if flags.contains(OpenFlags::CREAT) { FILE_MODE } else { 0 }
}

/// The op of this kind with these arguments, in any order.
pub(crate) fn build(kind: OpKind, given: Vec<(String, Arg)>) -> Result<Op, FormError> {
    let mut args = Given { op: kind.name(), given };
    let op = match kind {
        OpKind::Open => {
            let flags = args.need("flags")?;
            let mode = args.maybe("mode")?.unwrap_or(open_mode(flags));
            Op::Open { path: args.need("path")?, flags, mode, fd: args.need("fd")? }
        }
        OpKind::Close => Op::Close { fd: args.need("fd")? },
        OpKind::Create => Op::Create { path: args.need("path")?, mode: args.maybe("mode")?.unwrap_or(FILE_MODE) },
        OpKind::Read => Op::Read { file: args.file()?, offset: args.need("offset")?, len: args.need("len")? },
        OpKind::Write => Op::Write {
            file: args.file()?,
            at: args.place()?,
            data: args.data()?,
            via: args.maybe("via")?.unwrap_or(WriteVia::Buffered),
        },
        OpKind::Truncate => Op::Truncate { file: args.file()?, size: args.need("size")? },
        OpKind::Fallocate => Op::Fallocate {
            file: args.file()?,
            how: args.maybe("how")?.unwrap_or(Fallocate::Allocate),
            offset: args.need("offset")?,
            len: args.need("len")?,
        },
        OpKind::Mkdir => Op::Mkdir { path: args.need("path")?, mode: args.maybe("mode")?.unwrap_or(DIR_MODE) },
        OpKind::Rmdir => Op::Rmdir { path: args.need("path")? },
        OpKind::Unlink => Op::Unlink { path: args.need("path")? },
        OpKind::Rename => Op::Rename {
            from: args.need("from")?,
            to: args.need("to")?,
            how: args.maybe("how")?.unwrap_or(Rename::Replace),
        },
        OpKind::Link => Op::Link { from: args.need("from")?, to: args.need("to")? },
        OpKind::Symlink => Op::Symlink { target: args.need("target")?, path: args.need("path")? },
        OpKind::Chmod => Op::Chmod { path: args.need("path")?, mode: args.need("mode")? },
        OpKind::Chown => Op::Chown { path: args.need("path")?, uid: args.maybe("uid")?, gid: args.maybe("gid")? },
        OpKind::Setxattr => Op::Setxattr { path: args.need("path")?, name: args.need("name")?, value: args.data()? },
        OpKind::Removexattr => Op::Removexattr { path: args.need("path")?, name: args.need("name")? },
        OpKind::Fsync => Op::Fsync { file: args.file()? },
        OpKind::Fdatasync => Op::Fdatasync { file: args.file()? },
        OpKind::Msync => Op::Msync { file: args.file()?, offset: args.need("offset")?, len: args.need("len")? },
        OpKind::Sync => Op::Sync,
        OpKind::Syncfs => Op::Syncfs,
        OpKind::Remount => Op::Remount,
        OpKind::Crash => Op::Crash,
    };
    args.finish(op)
}

/// The arguments that were given and not yet used.
struct Given {
    op: &'static str,
    given: Vec<(String, Arg)>,
}

impl Given {
    fn maybe<T: FromArg>(&mut self, key: &'static str) -> Result<Option<T>, FormError> {
        let Some(index) = self.given.iter().position(|(given, _)| given == key) else { return Ok(None) };
        let (_, arg) = self.given.remove(index);
        T::from_arg(arg).map(Some).map_err(|expected| FormError::Wrong { op: self.op, key, expected })
    }

    fn need<T: FromArg>(&mut self, key: &'static str) -> Result<T, FormError> {
        self.maybe(key)?.ok_or(FormError::Missing { op: self.op, key })
    }

    fn file(&mut self) -> Result<File, FormError> {
        match self.maybe("fd")? {
            Some(fd) => Ok(File::Fd(fd)),
            None => self.need("file").map(File::Path),
        }
    }

    fn place(&mut self) -> Result<WriteAt, FormError> {
        match self.maybe("at")? {
            Some(End) => Ok(WriteAt::End),
            None => self.need("offset").map(WriteAt::Offset),
        }
    }

    fn data(&mut self) -> Result<Data, FormError> {
        Ok(Data { len: self.need("len")?, fill: self.need("fill")? })
    }

    fn finish(self, op: Op) -> Result<Op, FormError> {
        match self.given.into_iter().next() {
            Some((key, _)) => Err(FormError::Unexpected { op: self.op, key }),
            None => Ok(op),
        }
    }
}

/// The word in `at=end`.
struct End;

/// What an argument can be read as; the error says what it should have been.
trait FromArg: Sized {
    fn from_arg(arg: Arg) -> Result<Self, String>;
}

/// Numbers follow C: `0x` begins hexadecimal, `0` octal, anything else decimal.
fn c_number(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if digits.starts_with('+') => None,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

fn number_up_to(max: u64, arg: &Arg) -> Result<u64, String> {
    let number = match arg {
        Arg::Number(number) => Some(*number),
        Arg::Word(digits) | Arg::Text(digits) => c_number(digits),
    };
    number.filter(|number| *number <= max).ok_or_else(|| format!("a number from 0 to {max}"))
}

macro_rules! number_from_arg {
    ($($type:ty)*) => {$(
        impl FromArg for $type {
            fn from_arg(arg: Arg) -> Result<Self, String> {
                let max = Self::MAX;
                let number = number_up_to(max.into(), &arg)?;
                Ok(Self::try_from(number).unwrap_or(max))
            }
        }
    )*};
}

number_from_arg! { u8 u32 u64 }

macro_rules! word_from_arg {
    ($($type:ty)*) => {$(
        impl FromArg for $type {
            fn from_arg(arg: Arg) -> Result<Self, String> {
                let word = match arg {
                    Arg::Word(word) | Arg::Text(word) => word,
                    Arg::Number(number) => number.to_string(),
                };
                let known = || Self::ALL.iter().map(|one| one.name());
                Self::from_name(&word).ok_or_else(|| format!("one of {}", known().collect::<Vec<_>>().join(", ")))
            }
        }
    )*};
}

word_from_arg! { WriteVia Fallocate Rename }

impl FromArg for Fd {
    fn from_arg(arg: Arg) -> Result<Self, String> {
        u8::from_arg(arg).map(Fd)
    }
}

impl FromArg for Arc<str> {
    fn from_arg(arg: Arg) -> Result<Self, String> {
        match arg {
            Arg::Text(text) => Ok(text.into()),
            Arg::Word(_) | Arg::Number(_) => Err("text in quotes".to_owned()),
        }
    }
}

impl FromArg for Path {
    fn from_arg(arg: Arg) -> Result<Self, String> {
        let expected = || "a path in quotes that starts with '/'".to_owned();
        match arg {
            Arg::Text(text) => Path::new(&text).map_err(|error| match error {
                InvalidPath::NotAbsolute(_) => expected(),
                InvalidPath::ZeroByte(_) => "a path without a zero byte, at which it would end".to_owned(),
            }),
            Arg::Word(_) | Arg::Number(_) => Err(expected()),
        }
    }
}

impl FromArg for OpenFlags {
    fn from_arg(arg: Arg) -> Result<Self, String> {
        match arg {
            Arg::Word(flags) | Arg::Text(flags) => {
                flags.parse().map_err(|unknown| format!("open flags joined by '|' (could not {unknown})"))
            }
            Arg::Number(_) => Err("open flags joined by '|', such as O_CREAT|O_RDWR".to_owned()),
        }
    }
}

impl FromArg for End {
    fn from_arg(arg: Arg) -> Result<Self, String> {
        match arg {
            Arg::Word(word) | Arg::Text(word) if word == "end" => Ok(End),
            _ => Err("the word end (or give an offset)".to_owned()),
        }
    }
}
