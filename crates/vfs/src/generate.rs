//! Workload generators: which ops to try next.
//!
//! Each gives a plain list, in an order that depends on its arguments alone. [`object_ops`]
//! proposes what will work, from the objects that exist; [`ArgumentSets`] proposes everything over a fixed set of
//! names, so that errors are tried too. [`Weights`] draws ops at random, each argument as often as the user wants it.
//!
//! [`ace`] makes whole workloads instead, and [`jlang`] reads those that others have written down.

pub mod ace;
mod enumerate;
pub mod jlang;
mod object;
mod op_set;
mod relocate;
mod weighted;

pub use enumerate::ArgumentSets;
pub use object::{ObjectBounds, WritePlaces, object_ops};
pub use op_set::{OpSet, UnknownOps};
pub use weighted::{ArgumentCoverage, InputCounts, InputCoverage, PartitionCoverage, Weights, WeightsError};
