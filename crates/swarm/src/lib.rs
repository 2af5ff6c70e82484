//! A swarm: many searches of one target, each with its own seed, order, hash functions and weights, in a process of its
//! own.
//!
//! A search that is cut short has seen a part of the space, and which part depends on where it began to look. Several
//! that look elsewhere see more of it than one that looks longer. [`diversify`](diversify()) says how tasks differ,
//! [`Running`] starts and watches them, [`merge`](merge()) puts together what they found and how much of it was found
//! twice.

mod diversify;
mod merge;
mod overlap;
mod process;

pub use diversify::{Task, Variety, diversify};
pub use merge::{Merged, MergedViolation, TaskReport, merge};
pub use overlap::{Overlap, overlap};
pub use process::{Ended, Moment, Running, SwarmError};
