//! A trace as a program that stands alone: the ops, for any mounted file system, without this project.
//!
//! Two languages. C says every op exactly. Shell reads more easily, but has no words for open files, mappings and
//! direct writes: a shell script of a trace that needs them says so and stops before it has done anything. Neither
//! ever leaves the directory that it was given, whatever symlinks and `..` the ops use. A program cannot cut the power
//! or recover: it stops where the trace cuts the power, and goes on when called again with `--after-recovery`.

mod c;
mod plan;
mod sh;

use std::{fmt, str::FromStr};

use crate::trace::Trace;
use plan::Plan;

/// The language of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    /// POSIX shell with the tools of a Debian system.
    Sh,
    /// C for Linux.
    C,
}

/// A language that scripts are not written in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a script in {0:?}: it is one of sh, c")]
pub struct UnknownScriptKind(String);

impl ScriptKind {
    const ALL: [Self; 2] = [Self::Sh, Self::C];

    fn name(self) -> &'static str {
        match self {
            Self::Sh => "sh",
            Self::C => "c",
        }
    }
}

impl fmt::Display for ScriptKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ScriptKind {
    type Err = UnknownScriptKind;

    fn from_str(text: &str) -> Result<Self, UnknownScriptKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownScriptKind(text.to_owned()))
    }
}

/// Writes a stand-alone reproducer of the trace's ops: `sh repro.sh DIR`, or `cc repro.c && ./a.out DIR`.
pub fn script(trace: &Trace, kind: ScriptKind) -> String {
    let plan = Plan::of(trace);
    match kind {
        ScriptKind::Sh => sh::script(&plan),
        ScriptKind::C => c::script(&plan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_name() {
        for kind in ScriptKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "bash".parse::<ScriptKind>().unwrap_err();
        assert_eq!(error.to_string(), "write a script in \"bash\": it is one of sh, c");
    }
}
