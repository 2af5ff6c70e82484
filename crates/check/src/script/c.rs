//! The script in C: one call an op, over the functions of `prelude.c`, which has a form for every op.

use std::fmt::{self, Write};

use vfs::{Fallocate, File, Op, Rename, WriteAt, WriteVia};

use super::plan::{CUT, Part, Plan};

const PRELUDE: &str = include_str!("prelude.c");

pub(super) fn script(plan: &Plan) -> String {
    let mut text = String::new();
    write_script(&mut text, plan).expect("a string takes everything");
    text
}

fn write_script(text: &mut String, plan: &Plan) -> fmt::Result {
    text.push_str("/*\n");
    for line in &plan.about {
        // Neither the end of this comment nor what compilers warn of.
        let line = line.replace("*/", "* /").replace("/*", "/ *");
        writeln!(text, "{}", format!(" * {line}").trim_end())?;
    }
    if plan.parts.is_empty() {
        return text.write_str(
            " *\n * The trace has no file-system ops: there is nothing to run.\n */\n\
             int main(void)\n{\n    return 0;\n}\n",
        );
    }
    write!(text, " *\n * usage: cc repro.c && ./a.out DIR [--after-recovery[=N]]\n */\n\n{PRELUDE}")?;
    for (number, part) in plan.parts.iter().enumerate() {
        write_part(text, number, part, plan)?;
    }
    let names: Vec<_> = (0..plan.parts.len()).map(|number| format!("part_{number}")).collect();
    writeln!(text, "\nint main(int argc, char **argv)\n{{")?;
    writeln!(text, "    void (*parts[])(void) = {{{}}};", names.join(", "))?;
    writeln!(text, "    parts[enter(argc, argv, {})]();\n    return 0;\n}}", names.len())
}

fn write_part(text: &mut String, number: usize, part: &Part, plan: &Plan) -> fmt::Result {
    writeln!(text, "\nvoid part_{number}(void)\n{{")?;
    for (_, op) in &part.ops {
        writeln!(text, "    op({});", quoted(&op.to_string()))?;
        writeln!(text, "    result({});", call(op))?;
    }
    if let Some(cut) = &part.cut {
        writeln!(text, "    /* {CUT} */\n    puts({});", quoted(CUT))?;
        for line in cut.iter().chain([&plan.afterwards(number + 1)]) {
            writeln!(text, "    puts({});", quoted(&format!("    {line}")))?;
        }
    }
    writeln!(text, "}}")
}

fn call(op: &Op) -> String {
    if has_zero_byte(op) {
        // A string would end there, and the call would do something else.
        return "fails(EINVAL)".to_owned();
    }
    let path = || op.paths().first().map(|path| quoted(path.as_str())).unwrap_or_default();
    match op {
        Op::Open { flags, mode, fd, .. } => format!("open_slot({}, {flags}, 0{mode:o}, {})", path(), fd.0),
        Op::Close { fd } => format!("close_slot({})", fd.0),
        Op::Create { mode, .. } => format!("create_file({}, 0{mode:o})", path()),
        Op::Read { file, offset, len } => format!("read_range({}, {}, {})", by(file), number(*offset), number(*len)),
        Op::Write { file, at, data, via } => {
            let function = if *via == WriteVia::Mmap { "write_mapped" } else { "write_bytes" };
            let (offset, how) = match (at, via) {
                (WriteAt::Offset(offset), WriteVia::Direct) => (*offset, "O_DIRECT"),
                (WriteAt::Offset(offset), _) => (*offset, "0"),
                (WriteAt::End, WriteVia::Direct) => (0, "O_APPEND | O_DIRECT"),
                (WriteAt::End, _) => (0, "O_APPEND"),
            };
            format!("{function}({}, {}, {}, {}, {how})", by(file), number(offset), number(data.len), data.fill)
        }
        Op::Truncate { file, size } => format!("set_size({}, {})", by(file), number(*size)),
        Op::Fallocate { file, how, offset, len } => {
            format!("allocate({}, {}, {}, {})", by(file), allocate_mode(*how), number(*offset), number(*len))
        }
        Op::Mkdir { mode, .. } => format!("make_dir({}, 0{mode:o})", path()),
        Op::Rmdir { .. } => format!("remove_dir({})", path()),
        Op::Unlink { .. } => format!("unlink_name({})", path()),
        Op::Rename { to, how, .. } => {
            format!("rename_name({}, {}, {})", path(), quoted(to.as_str()), rename_flags(*how))
        }
        Op::Link { to, .. } => format!("link_name({}, {})", path(), quoted(to.as_str())),
        Op::Symlink { target, .. } => format!("make_symlink({}, {})", quoted(target), path()),
        Op::Chmod { mode, .. } => format!("set_mode({}, 0{mode:o})", path()),
        Op::Chown { uid, gid, .. } => format!("set_owner({}, {}, {})", path(), id(*uid), id(*gid)),
        Op::Setxattr { name, value, .. } => {
            format!("set_xattr({}, {}, {}, {})", path(), quoted(name), number(value.len), value.fill)
        }
        Op::Removexattr { name, .. } => format!("remove_xattr({}, {})", path(), quoted(name)),
        Op::Fsync { file } => format!("fsync_file({})", by(file)),
        Op::Fdatasync { file } => format!("fdatasync_file({})", by(file)),
        Op::Msync { file, offset, len } => format!("msync_range({}, {}, {})", by(file), number(*offset), number(*len)),
        Op::Sync => "sync_all()".to_owned(),
        Op::Syncfs => "syncfs(root)".to_owned(),
        Op::Remount => "remount()".to_owned(),
        Op::Crash => unreachable!("a crash ends a part"),
    }
}

fn has_zero_byte(op: &Op) -> bool {
    match op {
        Op::Symlink { target: text, .. } | Op::Setxattr { name: text, .. } | Op::Removexattr { name: text, .. } => {
            text.contains('\0')
        }
        _ => false,
    }
}

fn by(file: &File) -> String {
    match file {
        File::Path(path) => format!("PATH({})", quoted(path.as_str())),
        File::Fd(fd) => format!("SLOT({})", fd.0),
    }
}

/// A string literal. Octal escapes end after three digits, whatever follows; a question mark could begin a trigraph.
fn quoted(text: &str) -> String {
    let digit = |byte: u8| char::from(b'0' + byte % 8);
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => literal.extend(['\\', digit(byte >> 6), digit(byte >> 3), digit(byte)]),
        }
    }
    literal.push('"');
    literal
}

/// A number that a compiler does not take for a negative one.
fn number(number: u64) -> String {
    if i64::try_from(number).is_ok() { number.to_string() } else { format!("{number}u") }
}

fn id(id: Option<u32>) -> String {
    id.map_or("-1".to_owned(), |id| format!("{id}u"))
}

fn allocate_mode(how: Fallocate) -> &'static str {
    match how {
        Fallocate::Allocate => "0",
        Fallocate::KeepSize => "FALLOC_FL_KEEP_SIZE",
        Fallocate::PunchHole => "FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE",
        Fallocate::ZeroRange => "FALLOC_FL_ZERO_RANGE",
        Fallocate::ZeroRangeKeepSize => "FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE",
        Fallocate::CollapseRange => "FALLOC_FL_COLLAPSE_RANGE",
        Fallocate::InsertRange => "FALLOC_FL_INSERT_RANGE",
    }
}

fn rename_flags(how: Rename) -> &'static str {
    match how {
        Rename::Replace => "0",
        Rename::NoReplace => "RENAME_NOREPLACE",
        Rename::Exchange => "RENAME_EXCHANGE",
    }
}
