//! The script in POSIX shell: one line an op, over the functions of `prelude.sh`.
//!
//! A shell follows symlinks wherever they lead, so ops whose paths or symlinks could lead out of the directory are left
//! to C, with everything else that has no exact form here.

use std::fmt::Write;

use vfs::{Data, Fallocate, File, Op, Path, Rename, WriteAt, WriteVia};

use super::plan::{CUT, Part, Plan};

const PRELUDE: &str = include_str!("prelude.sh");

/// The tools count in signed numbers, and some add two of them.
const NUMBER_MAX: u64 = 1 << 62;
/// `dd` holds what it writes in memory.
const WRITE_MAX: u64 = 64 << 20;
/// A value is an argument in hexadecimal; arguments end at 128 KiB.
const XATTR_MAX: usize = 32 << 10;

pub(super) fn script(plan: &Plan) -> String {
    let mut text = String::from("#!/bin/sh\n");
    for line in &plan.about {
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    if plan.parts.is_empty() {
        text += "#\n# The trace has no file-system ops: there is nothing to run.\nexit 0\n";
        return text;
    }
    text += "#\n# usage: sh repro.sh DIR [--after-recovery[=N]]\n\n";
    text += PRELUDE;
    write_parts(&mut text, plan).expect("a string takes everything");
    text
}

fn write_parts(text: &mut String, plan: &Plan) -> std::fmt::Result {
    for (number, part) in plan.parts.iter().enumerate() {
        writeln!(text, "\npart_{number}() {{")?;
        for (op_number, op) in &part.ops {
            match command(op) {
                Ok(command) => writeln!(text, "    run {} {command}", quoted(&op.to_string()))?,
                Err(why) => writeln!(text, "    # op {op_number}, {op}, needs the C script: {why}\n    :")?,
            }
        }
        write_end(text, part, number + 1, plan)?;
        writeln!(text, "}}")?;
    }
    writeln!(text)?;
    let mut stops = false;
    for (number, op) in plan.ops() {
        if let Err(why) = command(op) {
            writeln!(text, "needs_c {}", quoted(&format!("op {number}, {op}: {why}")))?;
            stops = true;
        }
    }
    if stops {
        text.push_str("exit 2\n");
    }
    for (tool, package) in tools(plan) {
        writeln!(text, "needs_tool {tool} {package}")?;
    }
    writeln!(text, "enter {} \"$@\"\n\"part_$part\"", plan.parts.len())
}

fn write_end(text: &mut String, part: &Part, next: usize, plan: &Plan) -> std::fmt::Result {
    let Some(cut) = &part.cut else { return Ok(()) };
    write!(text, "    # {CUT}\n    cut_power {}", quoted(CUT))?;
    for line in cut.iter().chain([&plan.afterwards(next)]) {
        write!(text, " \\\n        {}", quoted(line))?;
    }
    writeln!(text)
}

/// Tools that small systems lack, with the packages that have them.
fn tools(plan: &Plan) -> Vec<(&'static str, &'static str)> {
    let any = |uses: fn(&Op) -> bool| plan.ops().any(|(_, op)| uses(op));
    let mut tools = Vec::new();
    if any(|op| matches!(op, Op::Fallocate { .. })) {
        tools.push(("fallocate", "util-linux"));
    }
    if any(|op| matches!(op, Op::Rename { .. })) {
        tools.push(("perl", "perl-base"));
    }
    if any(|op| matches!(op, Op::Setxattr { .. } | Op::Removexattr { .. })) {
        tools.push(("setfattr", "attr"));
    }
    tools
}

/// Why an op has no exact form in shell.
type Obstacle = &'static str;

fn command(op: &Op) -> Result<String, Obstacle> {
    Ok(match op {
        Op::Open { .. } | Op::Close { .. } => return Err(NO_SLOTS),
        Op::Create { path, mode } => {
            format!("create_file {} {}", umask(*mode, 0o666)?, plain(path)?)
        }
        Op::Read { file, offset, len } => {
            let file = by_path(file)?;
            format!("read_range {file} {} {}", number(*offset)?, number(*len)?)
        }
        Op::Write { file, at, data, via } => write_command(file, *at, *data, *via)?,
        Op::Truncate { file, size } => format!("set_size {} {}", by_path(file)?, number(*size)?),
        Op::Fallocate { file, how, offset, len } => {
            let (file, offset, len) = (by_path(file)?, number(*offset)?, number(*len)?);
            format!("allocate {file} {offset} {len}{}", allocate_options(*how))
        }
        Op::Mkdir { path, mode } => format!("make_dir {} {}", umask(*mode, 0o777)?, plain(path)?),
        Op::Rmdir { path } => format!("rmdir {}", plain(path)?),
        Op::Unlink { path } => format!("unlink {}", plain(path)?),
        Op::Rename { how: Rename::Exchange, .. } => return Err("no tool exchanges two names"),
        Op::Rename { from, to, how: Rename::Replace } => format!("rename_over {} {}", plain(from)?, plain(to)?),
        Op::Rename { from, to, how: Rename::NoReplace } => format!("rename_to_new {} {}", plain(from)?, plain(to)?),
        Op::Link { from, to } => format!("link {} {}", plain(from)?, plain(to)?),
        Op::Symlink { target, path } => {
            if target.starts_with('/') || target.split('/').any(|name| name == "..") {
                return Err("the symlink may lead out of the directory");
            }
            format!("ln -sT -- {} {}", text(target)?, plain(path)?)
        }
        // Five digits: with fewer, chmod keeps the set-id bits of directories.
        Op::Chmod { path, mode } => format!("chmod {:05o} {}", mode & 0o7777, plain(path)?),
        Op::Chown { path, uid, gid } => format!("chown {} {}", owner(*uid, *gid)?, plain(path)?),
        Op::Setxattr { path, name, value } => {
            format!("setfattr -n {}{} {}", text(name)?, xattr_value(*value)?, plain(path)?)
        }
        Op::Removexattr { path, name } => format!("setfattr -x {} {}", text(name)?, plain(path)?),
        Op::Fsync { file } => format!("sync {}", by_path(file)?),
        Op::Fdatasync { file } => format!("sync -d {}", by_path(file)?),
        Op::Msync { .. } => return Err("no tool maps a file"),
        Op::Sync => "sync".to_owned(),
        Op::Syncfs => "sync -f .".to_owned(),
        Op::Remount => "remount".to_owned(),
        Op::Crash => unreachable!("a crash ends a part"),
    })
}

fn write_command(file: &File, at: WriteAt, data: Data, via: WriteVia) -> Result<String, Obstacle> {
    match via {
        WriteVia::Buffered => {}
        WriteVia::Mmap => return Err("no tool writes through a mapping"),
        WriteVia::Direct => return Err("no tool is sure to write directly"),
    }
    if data.len > WRITE_MAX {
        return Err("it writes too much at once");
    }
    let (file, Data { len, fill }) = (by_path(file)?, data);
    Ok(match at {
        WriteAt::End => format!("append {file} {len} {fill:03o}"),
        WriteAt::Offset(offset) => format!("write_at {file} {} {len} {fill:03o}", number(offset)?),
    })
}

const NO_SLOTS: Obstacle = "a shell has no slots for open files";

fn by_path(file: &File) -> Result<String, Obstacle> {
    match file {
        File::Path(path) => plain(path),
        File::Fd(_) => Err(NO_SLOTS),
    }
}

/// The path below the current directory, if each of its components is a plain name.
fn plain(path: &Path) -> Result<String, Obstacle> {
    if path.as_str() == "/" {
        return Ok(".".to_owned());
    }
    if path.as_str()[1..].split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err("tools take liberties with \".\", \"..\" and surplus slashes");
    }
    text(&format!(".{path}"))
}

fn text(text: &str) -> Result<String, Obstacle> {
    if text.contains('\0') { Err("a zero byte cannot be passed") } else { Ok(quoted(text)) }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn number(number: u64) -> Result<u64, Obstacle> {
    if number > NUMBER_MAX { Err("tools take no number as large") } else { Ok(number) }
}

/// The umask that leaves this mode of what a tool asks for.
fn umask(mode: u32, asked: u32) -> Result<String, Obstacle> {
    if mode & !asked == 0 { Ok(format!("{:04o}", 0o777 & !mode)) } else { Err("no tool creates with such a mode") }
}

/// Owner and group as numbers, which the plus signs keep from being looked up as names.
fn owner(uid: Option<u32>, gid: Option<u32>) -> Result<String, Obstacle> {
    let id = |id: Option<u32>| id.filter(|id| *id != u32::MAX).map(|id| format!("+{id}"));
    match (id(uid), id(gid)) {
        (None, None) => Err("no tool changes neither owner nor group"),
        (Some(uid), None) => Ok(uid),
        (uid, Some(gid)) => Ok(format!("{}:{gid}", uid.unwrap_or_default())),
    }
}

fn xattr_value(value: Data) -> Result<String, Obstacle> {
    let byte = format!("{:02x}", value.fill);
    match usize::try_from(value.len) {
        Ok(0) => Ok(String::new()),
        Ok(len) if len <= XATTR_MAX => Ok(format!(" -v 0x{}", byte.repeat(len))),
        _ => Err("the value does not fit into an argument"),
    }
}

fn allocate_options(how: Fallocate) -> &'static str {
    match how {
        Fallocate::Allocate => "",
        Fallocate::KeepSize => " -n",
        Fallocate::PunchHole => " -p",
        Fallocate::ZeroRange => " -z",
        Fallocate::ZeroRangeKeepSize => " -z -n",
        Fallocate::CollapseRange => " -c",
        Fallocate::InsertRange => " -i",
    }
}
