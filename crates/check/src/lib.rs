//! From an operation to a verdict, once, for every target.
//!
//! A [`Target`] is a file system with a disk. The [`Checker`] makes a searchable system of it: run an op, compare its
//! outcome and the tree with the reference, enumerate the crash states of what was written, recover each, and judge
//! what recovery made of it by the contract and by the target's own properties. What is found is kept as a [`Trace`]
//! that can be replayed, minimised, told as a story and exported as a script.

mod aftermath;
mod checker;
mod compare;
mod comparison;
mod counts;
mod crash;
mod crash_point;
mod fullness;
mod haste;
mod legal;
mod locks;
mod lost_and_found;
mod minimise;
mod move_under_way;
mod noted;
mod options;
mod probe;
mod recovery;
mod replay;
mod requests;
mod room;
mod run;
mod score;
mod script;
mod sighting;
mod size;
mod state;
mod story;
mod tally;
mod target;
mod trace;
mod unmounted;
mod wanted;
mod weighted;
mod workload;

pub use checker::{Action, Checker, Evidence};
pub use comparison::{Comparison, InProcess, NoSide, Side, SideState};
pub use counts::{Judged, Work};
pub use crash_point::{CrashPoint, TakenRequest};
pub use minimise::{minimise, settled};
pub use noted::Noted;
pub use options::{CheckOptions, Equality};
pub use replay::{ReplayError, Replayed, Shown, replay};
pub use requests::{Fate, Request, RequestBlock};
pub use run::{CheckReport, Checkable, PANIC, RunOptions, Save, Violated, search};
pub use score::Score;
pub use script::{ScriptKind, UnknownScriptKind, script};
pub use sighting::{Sighting, TRIES, Tail};
pub use state::{SUFFIX_MAX, State};
pub use story::Story;
pub use tally::{Affected, NAMED_MAX, WorkloadsReport};
pub use target::{Finding, Promise, Repeats, Target, Task, View};
pub use trace::{Move, OpMove, Trace, TraceError, VERSION};
pub use weighted::Weighted;
pub use workload::{Lack, Lacking, Workload};
