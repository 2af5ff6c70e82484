//! What a script must print and leave behind.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use check::ScriptKind;
use vfs::{NodeKind, Op, Outcome, Runs, Tree, Value};

/// What the script prints for an op, as far as it is compared.
pub fn lines(kind: ScriptKind, op: &Op, outcome: &Outcome) -> Vec<String> {
    if *op == Op::Crash {
        return vec!["cut the power here".to_owned()];
    }
    let mut lines = vec![op.to_string()];
    match (kind, outcome) {
        (ScriptKind::Sh, Ok(_)) => lines.push("    = ok".to_owned()),
        (ScriptKind::Sh, Err(_)) => lines.push("    = failed".to_owned()),
        (ScriptKind::C, Err(errno)) => lines.push(format!("    = error {}", errno.number())),
        (ScriptKind::C, Ok(Value::Done)) => lines.push("    = 0".to_owned()),
        (ScriptKind::C, Ok(Value::Count(count))) => lines.push(format!("    = {count}")),
        (ScriptKind::C, Ok(Value::Bytes(bytes))) => {
            lines.extend(Runs(bytes).iter().map(|(len, fill)| format!("    {len} x {fill:02x}")));
            lines.push(format!("    = {}", bytes.len()));
        }
    }
    lines
}

/// What a script printed, without what is for people alone.
pub fn heard(kind: ScriptKind, said: &str) -> Vec<String> {
    let for_people = |line: &&str| {
        let detail = line.starts_with("    ") && !line.starts_with("    = ");
        detail && (kind == ScriptKind::Sh || !line.contains(" x "))
    };
    let mut after_cut = false;
    let mut heard = Vec::new();
    for line in said.lines() {
        after_cut = line == "cut the power here" || after_cut && line.starts_with("    ");
        let is_marker = line == "cut the power here";
        if is_marker || !after_cut && !for_people(&line) {
            let outcome = line.strip_prefix("    = error ").and_then(|error| error.split_once(':'));
            heard.push(outcome.map_or_else(|| line.to_owned(), |(number, _)| format!("    = error {number}")));
        }
    }
    heard
}

pub fn seen_by_reference(tree: &Tree) -> Vec<String> {
    let mut seen: Vec<_> = tree
        .paths()
        .into_iter()
        .map(|(path, id)| {
            let node = tree.node(id).unwrap();
            match &node.kind {
                NodeKind::Dir(_) => format!("{path:?} {:o}", node.mode),
                NodeKind::File(bytes) => file(path.as_str(), node.mode, node.nlink.into(), bytes),
                NodeKind::Symlink(target) => format!("{path:?} -> {target:?}"),
                NodeKind::Special(special) => format!("{path:?} {special}"),
            }
        })
        .collect();
    seen.sort();
    seen
}

pub fn seen_below(dir: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    walk(dir, "/", &mut seen);
    seen.sort();
    seen
}

fn walk(at: &Path, name: &str, seen: &mut Vec<String>) {
    let metadata = fs::symlink_metadata(at).unwrap();
    let mode = metadata.mode() & 0o7777;
    if metadata.is_symlink() {
        seen.push(format!("{name:?} -> {:?}", fs::read_link(at).unwrap().to_str().unwrap()));
    } else if metadata.is_file() {
        assert_eq!(metadata.len(), fs::read(at).unwrap().len() as u64);
        seen.push(file(name, mode, metadata.nlink(), &fs::read(at).unwrap()));
    } else {
        seen.push(format!("{name:?} {mode:o}"));
        for entry in fs::read_dir(at).unwrap() {
            let entry = entry.unwrap().file_name().into_string().unwrap();
            walk(&at.join(&entry), &format!("{}/{entry}", name.trim_end_matches('/')), seen);
        }
    }
}

fn file(name: &str, mode: u32, nlink: u64, bytes: &[u8]) -> String {
    let runs: Vec<_> = Runs(bytes).iter().map(|(len, fill)| format!("{len} x {fill:02x}")).collect();
    format!("{name:?} {mode:o}, {nlink} names, {} bytes: {}", bytes.len(), runs.join(", "))
}
