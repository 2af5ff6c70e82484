//! What to check, beyond the target itself.

use disk::{CrashMode, Limits};
use serde::{Deserialize, Serialize};
use vfs::contract::Contract;

use crate::target::Target;

/// How a target is checked. Everything here is part of a trace, since all of it decides what a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct CheckOptions {
    /// Which crash states are considered.
    pub crash: CrashMode,
    /// What is demanded of recovery.
    pub contract: Contract,
    /// Whether each guarantee is judged by itself, see [`Guarantee`](vfs::contract::Guarantee), instead of the contract
    /// as a whole. A guarantee that is broken is a violated property of its name, and keeps no other from being judged.
    #[serde(default, skip_serializing_if = "is_false")]
    pub each_guarantee: bool,
    /// Whether the search goes on from what recovery made of a crash state. From a state that violates a critical
    /// property it never goes on: what comes of damage is not another finding.
    pub continue_after_crash: bool,
    /// Whether each recovered file system is tried out, see [`Target::probe`](crate::Target::probe). Going on does not
    /// replace it: no workload need unmount, and a search that is cut short never uses most of what it recovered. It
    /// is run once for each recovery that is run, which costs the mapping models 12 % (link, cached, two threads) to
    /// 77 % (index, ordered) more instructions.
    pub probe: bool,
    /// Whether the power is cut during recovery too, at every point.
    #[serde(default)]
    pub recovery_crashes: bool,
    /// How many requests of a trace may fail at most.
    #[serde(default)]
    pub faults: u8,
    /// Which states count as one.
    #[serde(default)]
    pub equality: Equality,
    /// How many crash states at one position are enumerated before they are sampled.
    pub crash_states_max: usize,
    /// What the samples start from.
    pub seed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(switch: &bool) -> bool {
    !switch
}

/// Which states of a file system count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Equality {
    /// Those from which the same can happen: disk, memory and past are the same.
    #[default]
    Full,
    /// Those whose trees have the same shape, whatever their names and wherever things lie on the disk, if the last ops
    /// were of the same kinds.
    ///
    /// That leaves out what the disk looks like, so a search that exhausts the shapes has not seen every state. What it
    /// has seen is one file system of every shape, after every recent past: most bugs need no more, and there are
    /// thousands of times fewer.
    Shape {
        /// How many of the last ops count.
        suffix: u8,
    },
    /// Those whose trees and open files are the same, wherever things lie on the disk and however they came there: the
    /// abstract state of a search by comparison.
    ///
    /// What a kernel keeps in memory can never be seen whole, so states of a real file system that are told apart by
    /// all that led to them are never met again. Like a shape, a tree leaves out the disk: no such search is complete.
    Tree,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            crash: CrashMode::Prefix,
            contract: Contract::Mountable,
            each_guarantee: false,
            continue_after_crash: true,
            probe: true,
            recovery_crashes: false,
            faults: 0,
            equality: Equality::Full,
            crash_states_max: 4096,
            seed: 0,
        }
    }
}

impl CheckOptions {
    pub(crate) fn limits(&self, only_new: bool) -> Limits {
        Limits { states_max: self.crash_states_max, seed: self.seed, only_new }
    }

    /// Whether the crash states that are possible now may be forgotten, because they have been judged.
    ///
    /// Under `flushed` and `prefix`, a crash state that was possible earlier was judged, and explored, when it first
    /// became possible; the ones that will become possible follow from what a reader sees. Without pins nothing that
    /// happens later makes an old one worse. So what is durable and what is pending need not be told apart.
    ///
    /// Two things make images durable that nobody sees now, and then what is pending must be remembered: a FUA write,
    /// which overtakes it, and under `flushed` a limited cache, which pushes out its oldest write.
    pub fn forgets_what_was_judged<T: Target>(&self, target: &T) -> bool {
        let judged_once = self.contract == Contract::Mountable && !target.uses_fua();
        match self.crash {
            CrashMode::Off => true,
            CrashMode::Flushed => judged_once && target.cache().is_none(),
            CrashMode::Prefix => judged_once,
            CrashMode::Subsets | CrashMode::Torn => false,
        }
    }

    /// The mode by which states are told apart.
    pub(crate) fn remembered<T: Target>(&self, target: &T) -> CrashMode {
        if self.forgets_what_was_judged(target) { CrashMode::Off } else { self.crash }
    }
}
