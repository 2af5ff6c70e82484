//! What to check, beyond the target itself.

use disk::{CrashMode, Limits};
use serde::{Deserialize, Serialize};
use vfs::contract::Contract;

/// How a target is checked. Everything here is part of a trace, since all of it decides what a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckOptions {
    /// Which crash states are considered.
    pub crash: CrashMode,
    /// What is demanded of recovery.
    pub contract: Contract,
    /// Whether the search goes on from what recovery made of a crash state. From a state that violates a critical
    /// property it never goes on: what comes of damage is not another finding.
    pub continue_after_crash: bool,
    /// How many crash states at one position are enumerated before they are sampled.
    pub crash_states_max: usize,
    /// What the samples start from.
    pub seed: u64,
}

impl CheckOptions {
    pub(crate) fn limits(&self, only_new: bool) -> Limits {
        Limits { states_max: self.crash_states_max, seed: self.seed, only_new }
    }

    /// Under `prefix`, an older prefix was judged when it was the newest one. Without pins nothing that happens later
    /// makes it worse, so it need not be kept: every write counts as durable once it has been judged.
    pub(crate) fn forgets_older_prefixes(&self) -> bool {
        self.crash == CrashMode::Off || (self.crash == CrashMode::Prefix && self.contract == Contract::Mountable)
    }
}
