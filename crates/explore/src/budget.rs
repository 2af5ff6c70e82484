//! How much a search may cost, and which of these limits it met.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds on a search. `None` means no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Stop after this many distinct states (the expansion that reaches them is finished first). Random walks stop
    /// after coming to this many states, distinct or not.
    pub states: Option<u64>,
    /// Stop after this long.
    pub time: Option<Duration>,
    /// Do not look beyond this many actions from a start.
    pub depth: Option<u32>,
    /// Memory for visited states, trace links and waiting states, by the search's own account. When it is used up,
    /// waiting states are dropped at random; when that no longer helps, the search stops.
    pub memory_bytes: Option<u64>,
}

/// A limit that a search met: what it did not look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The budget of states was used up.
    States(u64),
    /// The time was up.
    Time(Duration),
    /// States at this depth were not expanded. The space within the bound is still searched completely.
    Depth(u32),
    /// The memory was used up and the search stopped.
    Memory(u64),
    /// The memory was used up; that many waiting states were dropped unexpanded.
    StatesDropped(u64),
    /// Asked to stop from outside.
    Interrupted,
    /// Stopped at the first violation, as asked.
    UntilViolation,
    /// What the system runs on is gone.
    CannotGoOn,
    /// The system panicked.
    Panic,
    /// A lossy visited set may have taken a new state for a known one.
    Lossy(String),
    /// Random walks sample; they never prove that nothing is left.
    Sampled(u64),
    /// The search could not be saved while it went on, so that more would have been lost if it had been killed.
    NotSaved(String),
}

impl Limit {
    /// Whether the bounded space may not have been exhausted because of this limit.
    pub fn cuts_the_search(&self) -> bool {
        !matches!(self, Limit::Depth(_) | Limit::NotSaved(_))
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::States(n) => write!(f, "stopped at {n} states"),
            Limit::Time(t) => write!(f, "stopped after {} s", t.as_secs_f64()),
            Limit::Depth(n) => write!(f, "states at depth {n} were not expanded"),
            Limit::Memory(n) => write!(f, "stopped with {} MiB in use", n >> 20),
            Limit::StatesDropped(n) => write!(f, "memory ran out: {n} waiting states were dropped at random"),
            Limit::Interrupted => f.write_str("interrupted"),
            Limit::UntilViolation => f.write_str("stopped at the first violation"),
            Limit::CannotGoOn => f.write_str("stopped: what the search needs is gone"),
            Limit::Panic => f.write_str("the target panicked"),
            Limit::Lossy(how) => f.write_str(how),
            Limit::NotSaved(why) => write!(f, "not saved at times while it went on: could not {why}"),
            Limit::Sampled(walks) => write!(f, "{walks} random walks are a sample"),
        }
    }
}
