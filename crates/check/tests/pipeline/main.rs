//! The pipeline from op to verdict, on file systems small enough to see through: right ones, about which it must be
//! silent, and ones that are wrong in a single way, which it must name.

mod absent;
mod asking;
mod beside;
mod comparing;
mod crashes;
mod equality;
mod faults;
mod flaky;
mod interrupting;
mod journal;
mod minimising;
mod properties;
mod recovering;
mod refusals;
mod replaying;
mod saving;
mod scoring;
mod searching;
mod shutting_down;
mod starting;
mod store;
mod toy;
mod traces;
