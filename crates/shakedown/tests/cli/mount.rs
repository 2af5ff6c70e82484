//! `shakedown mount`: however it ends, nothing stays mounted, and the exit code says how it went.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use super::program::{command, shakedown, text};

/// Whether this machine lets us mount. If not, that is said; in CI it must.
pub fn can_mount() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root && Path::new("/dev/fuse").exists() {
        return true;
    }
    assert!(std::env::var_os("CI").is_none(), "mounting needs root and /dev/fuse");
    // Written to standard error itself, because what a passing test prints is not shown.
    let _ = writeln!(std::io::stderr(), "skipped: mounting needs root and /dev/fuse");
    false
}

/// A server that has said that it is mounted, and what it said.
pub fn start(dir: &TempDir) -> (Child, String) {
    let mut server =
        command(&["mount", text(dir.path()), "--capacity", "1MiB"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (server, line)
}

pub fn is_mounted(dir: &TempDir) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == dir.path().to_str())
}

fn signal(server: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap().success());
}

#[test]
fn it_serves_until_a_signal_or_an_unmount() {
    if !can_mount() {
        return;
    }
    for end in ["-INT", "-TERM", "-HUP", "umount"] {
        let dir = TempDir::new().unwrap();
        let (mut server, line) = start(&dir);
        assert!(line.starts_with("Mounted on "), "{line}");
        assert!(line.contains("(1.0 MiB, 1,048,576 inodes)"), "{line}");
        fs::write(dir.path().join("f"), "served").unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"served");
        if end == "umount" {
            assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
        } else {
            signal(&server, end);
        }
        assert_eq!(server.wait().unwrap().code(), Some(0), "{end}");
        assert!(!is_mounted(&dir), "{end}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{end}");
    }
}

#[test]
fn a_signal_ends_it_even_while_it_is_used() {
    if !can_mount() {
        return;
    }
    let dir = TempDir::new().unwrap();
    let (mut server, _) = start(&dir);
    let open = fs::File::create(dir.path().join("f")).unwrap();
    signal(&server, "-INT");
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(!is_mounted(&dir));
    drop(open);
}

#[test]
fn what_is_wrong_is_one_line() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let missing = dir.path().join("missing");
    let cases: [(&[&str], &str); 4] = [
        (&["mount", text(&file)], "it is not a directory"),
        (&["mount", text(&missing)], "it is not a directory"),
        (&["mount", text(dir.path()), "--capacity", "10s"], "such as 64MiB"),
        (&["mount", text(dir.path()), "--inodes", "0"], "0 is not in 1.."),
    ];
    for (arguments, hint) in cases {
        let ran = shakedown(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(ran.stderr.starts_with("error: could not ") && ran.stderr.contains(hint), "{hint} in {ran:?}");
    }
}
