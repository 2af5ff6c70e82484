//! What was seen of a violation that does not show each time.

use serde::{Deserialize, Serialize};
use vfs::Outcome;

use crate::{
    replay::{Replayed, Shown},
    trace::{Move, Trace},
};

/// How often a violation is tried again before it counts as one that does not repeat.
pub const TRIES: u32 = 20;

/// What was seen of a violation when it was met, and how often it showed again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sighting {
    /// How often the trace was executed again from a fresh file system.
    pub tries: u32,
    /// In how many of these it showed.
    pub shown: u32,
    /// The fewest ops that showed it again from a state that was saved on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// What each side said to each op, where that was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Vec<Outcome>>,
    /// What each side showed after the last op, for people, where that was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<String>,
}

/// The last ops of a trace, done again from a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// How many.
    pub ops: usize,
    /// In which try they showed the violation.
    pub tries: u32,
}

impl Sighting {
    /// Whether it was tried again, from the start and from what was saved, and did not show.
    pub fn is_once(&self) -> bool {
        self.tries > 0 && self.shown == 0 && self.tail.is_none()
    }

    /// What stands above a violation that a replay does not show.
    pub fn heading(&self) -> &'static str {
        match self {
            Self { shown: 1.., .. } => "Seen, and not this time",
            Self { tail: Some(_), .. } => "Seen, and again from a saved state",
            Self { tries: 0, .. } => "Seen, and not tried again",
            Self { .. } => "Seen, and in no try again",
        }
    }

    /// How often it shows, as a sentence; whoever tells what was seen says what else there is.
    pub fn how_often(&self) -> String {
        let Self { tries, shown, tail, .. } = self;
        let from_saved = match tail {
            Some(Tail { ops: 1, tries }) => {
                format!("; the last op alone showed it, {}, from the state before it", in_try(*tries))
            }
            Some(Tail { ops, tries }) => {
                format!("; the last {ops} ops showed it, {}, from the state before them", in_try(*tries))
            }
            None => String::new(),
        };
        match (tries, shown) {
            (0, _) => format!("It was not tried again from the start{from_saved}."),
            (_, 0) => {
                format!("Nondeterministic: not in one of {tries} tries from the start did it show again{from_saved}.")
            }
            _ => format!("Nondeterministic: it shows in {shown} of {tries} tries."),
        }
    }
}

fn in_try(number: u32) -> String {
    if number == 1 { "at once".to_owned() } else { format!("in try {number}") }
}

impl Trace {
    /// What was seen when the violation was met, in place of a replay that does not show it.
    pub fn as_seen(&self, sighting: &Sighting) -> Replayed {
        let sides: Vec<&String> = std::iter::once(&self.target).chain(&self.against).collect();
        let said = |place: usize| sighting.outcomes.get(place).map_or(&[][..], Vec::as_slice);
        let shown = |a_move: &Move| {
            let Some(op) = a_move.op().map(|a_move| a_move.op) else { return Shown::says(String::new()) };
            let agreed = said(op).first().filter(|first| said(op).iter().all(|other| other == *first));
            let differs = sides.iter().zip(said(op)).filter(|_| agreed.is_none());
            Shown {
                op: Some(op),
                outcome: agreed.cloned(),
                differs: differs.map(|(side, outcome)| says(side, outcome)).collect(),
                ..Shown::says(self.ops.get(op).map(ToString::to_string).unwrap_or_default())
            }
        };
        Replayed { moves: self.schedule.iter().map(shown).collect(), violation: None }
    }
}

/// What one of several sides said, for people.
pub(crate) fn says(side: &str, outcome: &Outcome) -> String {
    match outcome {
        Ok(value) => format!("{side}: it {value}"),
        Err(errno) => format!("{side}: {errno} ({})", errno.meaning()),
    }
}
