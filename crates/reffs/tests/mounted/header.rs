//! The header for C, compiled and used.

use std::{fs, io::ErrorKind, path::Path, process::Command};

use tempfile::TempDir;

use super::{Served, skip};

const PROGRAM: &str = include_str!("header.c");

#[test]
fn a_program_in_c_saves_and_restores() {
    let Some(served) = Served::start() else { return };
    let scratch = TempDir::new().unwrap();
    let (source, program) = (scratch.path().join("header.c"), scratch.path().join("header"));
    fs::write(&source, PROGRAM).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"];
    let compiled = Command::new("cc").args(flags).arg(include).arg("-o").arg(&program).arg(&source).output();
    let output = match compiled {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return skip("cc is not installed: cargo xtask setup");
        }
        compiled => compiled.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).arg(served.dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
