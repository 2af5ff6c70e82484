//! The pipeline from op to verdict, on file systems small enough to see through: right ones, about which it must be
//! silent, and ones that are wrong in a single way, which it must name.

mod crashes;
mod minimising;
mod properties;
mod replaying;
mod searching;
mod store;
mod traces;
