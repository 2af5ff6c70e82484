//! Running a script: in a directory of its own, in the language that it is written in.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use check::ScriptKind;
use vfs::{Op, Reference};

use crate::expected;

/// Whether a program can be started.
pub fn exists(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|dir| dir.join(program).is_file())
}

/// An empty directory, with room beside it.
pub struct Ground {
    around: PathBuf,
    pub dir: PathBuf,
}

impl Ground {
    pub fn new(name: &str) -> Self {
        let around = Path::new(env!("CARGO_TARGET_TMPDIR")).join("script").join(name);
        let dir = around.join("it's $DIR");
        if around.exists() {
            fs::remove_dir_all(&around).unwrap();
        }
        fs::create_dir_all(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        Self { around, dir }
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.around.join(name)
    }

    /// The names in the directory, in order.
    pub fn names(&self) -> Vec<String> {
        names(&self.dir)
    }
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// A language that this machine can run.
pub struct Arm {
    pub kind: ScriptKind,
}

impl Arm {
    /// Says so if the machine cannot, which must not happen where everything is to be tested.
    pub fn of(kind: ScriptKind) -> Option<Self> {
        let tool = match kind {
            ScriptKind::Sh => "sh",
            ScriptKind::C => "cc",
        };
        if exists(tool) {
            return Some(Self { kind });
        }
        eprintln!("SKIPPED: scripts in {kind} are not tested: there is no {tool}");
        assert!(std::env::var_os("CI").is_none(), "{tool} must be there in CI");
        None
    }

    pub fn all() -> impl Iterator<Item = Self> {
        [ScriptKind::Sh, ScriptKind::C].into_iter().filter_map(Self::of)
    }

    /// Checks the script and makes a program of it, beside the ground.
    pub fn prepare(&self, ground: &Ground, script: &str) -> PathBuf {
        let source = ground.beside(&format!("repro.{}", self.kind));
        fs::write(&source, script).unwrap();
        let program = ground.beside("a.out");
        let (mut command, program) = match self.kind {
            ScriptKind::Sh => (Command::new("sh"), source.clone()),
            ScriptKind::C => (Command::new("cc"), program),
        };
        match self.kind {
            ScriptKind::Sh => command.arg("-n"),
            ScriptKind::C => command.args(["-Wall", "-Werror", "-o"]).arg(&program),
        };
        let output = command.arg(&source).output().unwrap();
        assert!(output.status.success(), "{}\n{script}", String::from_utf8_lossy(&output.stderr));
        program
    }

    pub fn start(&self, program: &Path, arguments: &[impl AsRef<OsStr>]) -> Output {
        let mut command = match self.kind {
            ScriptKind::Sh => Command::new("sh"),
            ScriptKind::C => Command::new(program),
        };
        if self.kind == ScriptKind::Sh {
            command.arg(program);
        }
        command.args(arguments).current_dir(program.parent().unwrap()).output().unwrap()
    }

    /// Runs a script on the ground.
    pub fn run(&self, ground: &Ground, script: &str, more: &[&str]) -> Output {
        let program = self.prepare(ground, script);
        let arguments: Vec<_> = [ground.dir.as_os_str()].into_iter().chain(more.iter().map(OsStr::new)).collect();
        self.start(&program, &arguments)
    }

    /// Runs all parts of a script one after the other, as if recovery lost nothing.
    pub fn agrees_with_the_reference(&self, ground: &Ground, ops: &[Op], script: &str) {
        let mut reference = Reference::new();
        let mut lines = Vec::new();
        for op in ops {
            let outcome = reference.apply(op);
            lines.extend(expected::lines(self.kind, op, &outcome));
        }
        let program = self.prepare(ground, script);
        let around = names(&ground.around);
        let mut said = String::new();
        for part in 0..=ops.iter().filter(|op| **op == Op::Crash).count() {
            let mut arguments = vec![ground.dir.clone().into_os_string()];
            if part > 0 {
                arguments.push(format!("--after-recovery={part}").into());
            }
            let output = self.start(&program, &arguments);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && stderr.is_empty(), "part {part}: {:?} {stderr}", output.status);
            said += &String::from_utf8(output.stdout).unwrap();
        }
        let heard = expected::heard(self.kind, &said);
        for (at, line) in lines.iter().enumerate() {
            if let Some(other) = heard.get(at).filter(|heard| *heard != line)
                && beyond_this_file_system(&lines[at.saturating_sub(1)], other)
            {
                return;
            }
            assert_eq!(Some(line), heard.get(at), "after {:#?}\nin {said}", &lines[at.saturating_sub(6)..at]);
        }
        assert_eq!(heard.len(), lines.len());
        assert_eq!(expected::seen_below(&ground.dir), expected::seen_by_reference(&reference.tree()));
        assert_eq!(names(&ground.around), around, "something happened outside");
    }
}

/// Whether an op came to nothing because this file system has no such op; then says so.
fn beyond_this_file_system(op: &str, said: &str) -> bool {
    let beyond = said == "    = error 95" || said == "    = error 22" && op.contains("via=direct");
    if beyond {
        eprintln!("SKIPPED: the file system that holds the test's directory has no {op}");
        assert!(std::env::var_os("CI").is_none(), "CI must use one that has");
    }
    beyond
}
