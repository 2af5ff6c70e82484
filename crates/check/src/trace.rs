//! A violation as a file: everything needed to see it again, exactly, and nothing that depends on the machine.

use disk::{CrashMode, Faults};
use explore::Severity;
use serde::{Deserialize, Serialize};
use vfs::Op;

use crate::{crash_point::CrashPoint, options::CheckOptions, sighting::Sighting};

/// The version of the format in which traces are written.
pub const VERSION: u32 = 1;
/// The version of a trace of several targets: the same with `against`.
const VERSION_AGAINST: u32 = 2;
/// The version of a trace whose violation does not show each time: the same with `sighting`.
const VERSION_SIGHTING: u32 = 3;

/// How to reach a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// See [`Trace::versioned`].
    pub version: u32,
    /// The target with its options.
    pub target: String,
    /// The targets that it was compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// How it was checked.
    pub options: CheckOptions,
    /// Which property was violated.
    pub property: String,
    /// How bad that is.
    pub severity: Severity,
    /// What was found, for people.
    pub detail: String,
    /// The workload of a set in which it was found, the first of those that begin with these ops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The ops, in the order in which they began.
    pub ops: Vec<Op>,
    /// What happened, move by move. The last move violates the property; without moves, the fresh file system does.
    pub schedule: Vec<Move>,
    /// What was seen when it was met. A trace that was found to show its violation each time does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sighting: Option<Sighting>,
}

/// One move of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Move {
    /// A whole op.
    Run(OpMove),
    /// An op begins and gets to its first disk request.
    Begin(OpMove),
    /// An op under way goes on to its next disk request.
    Go(OpMove),
    /// An action of a target that has no ops, by its place among the actions of its state.
    Act {
        /// The place.
        action: usize,
        /// What it does, for people.
        says: String,
    },
}

/// What a move does with an op.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpMove {
    /// Which of the trace's ops, counted from 0.
    pub op: usize,
    /// In which way it goes, where the target leaves that open.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub choice: u32,
    /// Which of its requests fail.
    #[serde(default, skip_serializing_if = "Faults::is_empty")]
    pub faults: Faults,
    /// Where the power is cut during this move; then the target recovers and goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashPoint>,
}

impl OpMove {
    /// An op that goes in its first way, undisturbed.
    pub fn undisturbed(op: usize) -> Self {
        Self { op, choice: 0, faults: Faults::new(), crash: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(choice: &u32) -> bool {
    *choice == 0
}

/// A trace that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Not JSON, or not a trace.
    #[error("read the trace: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by another version.
    #[error("read the trace: it has version {found}, this program reads versions {VERSION} to {VERSION_SIGHTING}")]
    Version {
        /// The version of the trace.
        found: u32,
    },
    /// A move names an op that the trace does not have.
    #[error("read the trace: move {number} names op {op}, but there are {ops} ops")]
    NoSuchOp {
        /// Which move, counted from 1.
        number: usize,
        /// What it names.
        op: usize,
        /// How many there are.
        ops: usize,
    },
    /// The power is cut in a trace of a search in which it never was.
    #[error("read the trace: in move {number} the power is cut, but its crash mode is off")]
    CutWhileOff {
        /// Which move, counted from 1.
        number: usize,
    },
    /// More requests fail than in the search that the trace is from.
    #[error("read the trace: {found} requests fail, but it allows {allowed}")]
    TooManyFaults {
        /// How many fail.
        found: usize,
        /// How many may.
        allowed: u8,
    },
}

impl Trace {
    /// The trace with the version that says all that there is to say and no more, so that older programs read what they
    /// can.
    #[must_use]
    pub fn versioned(self) -> Self {
        let version = match (&self.sighting, &self.against[..]) {
            (Some(_), _) => VERSION_SIGHTING,
            (None, [_, ..]) => VERSION_AGAINST,
            (None, []) => VERSION,
        };
        Self { version, ..self }
    }

    /// Reads a trace and checks that it is one.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn from_json(text: &str) -> Result<Self, TraceError> {
        // The version comes first: another version may have other fields, and that is not the reader's fault.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(text)?;
        if !(VERSION..=VERSION_SIGHTING).contains(&version) {
            return Err(TraceError::Version { found: version });
        }
        let trace: Self = serde_json::from_str(text)?;
        for (number, op_move) in (1..).zip(&trace.schedule).filter_map(|(number, a_move)| Some((number, a_move.op()?)))
        {
            if op_move.op >= trace.ops.len() {
                return Err(TraceError::NoSuchOp { number, op: op_move.op, ops: trace.ops.len() });
            }
            if op_move.crash.is_some() && trace.options.crash == CrashMode::Off {
                return Err(TraceError::CutWhileOff { number });
            }
        }
        let found = trace.schedule.iter().filter_map(Move::op).map(|op_move| op_move.faults.len()).sum();
        let allowed = trace.options.faults;
        if found > usize::from(allowed) { Err(TraceError::TooManyFaults { found, allowed }) } else { Ok(trace) }
    }

    /// The trace as pretty JSON that ends with a newline.
    ///
    /// # Panics
    /// Never: a trace is plain data.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data");
        text.push('\n');
        text
    }
}

impl Move {
    /// What it does with an op, if it does.
    pub fn op(&self) -> Option<&OpMove> {
        match self {
            Move::Run(op) | Move::Begin(op) | Move::Go(op) => Some(op),
            Move::Act { .. } => None,
        }
    }

    pub(crate) fn op_mut(&mut self) -> Option<&mut OpMove> {
        match self {
            Move::Run(op) | Move::Begin(op) | Move::Go(op) => Some(op),
            Move::Act { .. } => None,
        }
    }
}
