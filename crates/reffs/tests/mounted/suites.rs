//! Test suites that others wrote, as external programs. `cargo xtask setup` installs them.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use tempfile::TempDir;

use super::{Served, skip};

/// What of pjdfstest is not run, and why. Everything else must pass.
const EXCLUDED: [(&str, &str); 3] = [
    ("erofs_named", "it remounts with mount(8), which hands a remount of FUSE to mount.fuse, which starts a new one"),
    ("erofs_new_file", "the same"),
    ("link_count_max", "pathconf cannot ask a FUSE file system for its highest link count"),
];

/// With which users permissions are tested: every Debian has them.
const CONFIGURATION: &str = r#"
[features]
posix_fallocate = {}
rename_ctime = {}
utime_now = {}
utimensat = {}
[settings]
naptime = 0.01
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"#;

/// A program of the set-up step; `None`, and a word about it, if it is not there. In CI it must be.
fn tool(name: &str) -> Option<Command> {
    let own = std::env::current_exe().unwrap();
    let target: PathBuf = own.ancestors().nth(3).unwrap().to_owned();
    let program = target.join("tools/bin").join(name);
    if program.exists() {
        return Some(Command::new(program));
    }
    skip(&format!("{name} is not installed: cargo xtask setup"));
    None
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn pjdfstest_passes() {
    let (Some(mut pjdfstest), Some(served)) = (tool("pjdfstest"), Served::start()) else { return };
    let Some(other) = Served::start() else { return };
    let scratch = TempDir::new().unwrap();
    let configuration = scratch.path().join("pjdfstest.toml");
    fs::write(&configuration, CONFIGURATION).unwrap();
    let output = pjdfstest
        .arg("-c")
        .arg(&configuration)
        .arg("-p")
        .arg(served.dir.path())
        .arg("-s")
        .arg(other.dir.path())
        .current_dir(scratch.path())
        .output()
        .unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Summary: 0 failed"), "{text}");
    let skipped = text.lines().filter(|line| line.trim_end().ends_with("skipped"));
    for test in skipped {
        let name = test.split_whitespace().next().and_then(|path| path.split("::").last()).unwrap_or("");
        assert!(EXCLUDED.iter().any(|(excluded, _)| *excluded == name), "{test} was skipped and is not on the list");
    }
    let passed = text.lines().filter(|line| line.trim_end().ends_with(" ok")).count();
    assert!(passed >= 384, "only {passed} passed");
}

/// Every op that fsx has. `cargo xtask bench` runs a million of them, and begins with these.
const EXERCISES: &str = include_str!("fsx.toml");

#[test]
fn fsx_reads_what_it_wrote() {
    let (Some(mut fsx), Some(served)) = (tool("fsx"), Served::start()) else { return };
    let scratch = TempDir::new().unwrap();
    let configuration = scratch.path().join("fsx.toml");
    fs::write(&configuration, EXERCISES).unwrap();
    let output = fsx
        .args(["-q", "-S", "1", "-N", "5000", "-f"])
        .arg(&configuration)
        .arg("-P")
        .arg(scratch.path())
        .arg(served.path("exercised"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
}
