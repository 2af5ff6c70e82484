//! The crash contracts: which trees may be found after a power cut and recovery, given what was done before.
//!
//! A [`History`] holds the ops and the trees of the reference after each; [`History::crash`] cuts the power at one
//! point of it; [`Crash::judge`] says what a found tree breaks of a [`Contract`], as a list of [`Breach`]es.
//!
//! # How a tree is judged
//! Names and attributes have histories of values. Pins raise the floor of a history (`pins`): only values at the floor
//! or later are allowed. A reading of the found tree says which node of the reference each found node is; a contract
//! holds if some reading has only allowed values (`explain`), and from `atomic` on if these go together (`seen`,
//! `moment`). Each contract is judged with all the weaker ones, so a stronger one never allows more. To measure what a
//! file system keeps, [`Crash::judge_each`] takes them apart (`guarantee`).
//!
//! # Decisions
//! Where the definition leaves something open, this is how it was closed, and why.
//!
//! - **A pin is about values, not versions.** A name that was changed and changed back is as it was; nobody can see a
//!   difference.
//! - **Below `atomic`, names are independent.** A renamed file may be found under both names or none. What is in a
//!   directory that is itself missing is not judged: the directory's own name is.
//! - **Two found nodes are never one node of the reference**, from `synced` on: a copy is another file. Below `atomic`
//!   there is one exception, a node that never had two names at once and is found under several of those that it had
//!   one after the other. A file system without link counts shows a rename in part like this, which `atomic` forbids.
//! - **A name without a node counts as absent** below `atomic`, which forbids it.
//! - **Nothing reads as zero.** Size and bytes may come from different ops. A moment at which the file did not reach an
//!   offset therefore allows a zero there, after an extension as well as before a truncation: file systems zero the
//!   tail of a block before the smaller size is durable. [`Zeros::Forbidden`] takes this away.
//! - **A write may be present in part**: each byte old or new, the size between old and new. Below `ordered` that goes
//!   for every write after the floor, because write-back extends files piece by piece; from `ordered` on only for a
//!   write that was under way. Other ops that change sizes are whole.
//! - **From `ordered` on, a pin needs its node.** Below, what is in a directory that is itself missing is not judged;
//!   but the one moment that explains everything must be one at which whatever was pinned has a pinned value.
//! - **`msync` and synchronous writes pin a range**: its bytes, and a size that reaches as far as the range did; what
//!   lies beyond it was not asked for.
//! - **`fdatasync` of a directory** pins the names in it: they are its data.
//! - **`fdatasync` of a new file**: its names are pinned if none of its names was pinned since it was created.
//! - **A synchronous mount** honours its promise from `fsynced` on, and does not cover stores through a mapping, which
//!   no kernel sees; an explicit call pins those.
//! - **Recovery pins everything** that it found, like an unmount.
//! - **`atomic` is about names, mode, owner, group and extended attributes.** Sizes and contents keep their own rules
//!   up to `ordered`. Link counts follow from the names. An op that makes or removes a node changes everything of it.
//! - **A file changed through a slot when it had no name** is in no tree; if such a file is found, its content is not
//!   judged.
//! - **No foreign data** is judged file by file. A file under a name that no op ever made may be any file.

mod breach;
mod chain;
mod content;
mod crash;
mod explain;
mod foreign;
mod guarantee;
mod history;
mod level;
mod moment;
mod opset;
mod pins;
pub mod promises;
mod report;
mod resolve;
mod seen;
mod things;

pub use breach::{Allowed, Breach, Clause, Pinned, Verb};
pub use crash::Crash;
pub use guarantee::Guarantee;
pub use history::{Event, History, Moment, Zeros};
pub use level::{Contract, UnknownContract};
